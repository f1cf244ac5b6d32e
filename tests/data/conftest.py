from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest


class Server(ThreadingHTTPServer):
    """Serves `files`, a dict from name to bytes, on this machine.

    ranges: whether it can send a part. breaks: after how many bytes each of the next answers breaks off.
    length: the Content-Length it states, None for the right one. requests: the name and the range of each.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.ranges, self.breaks, self.requests = {}, True, deque(), []
        self.length = None
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        name, wanted = self.path.removeprefix("/"), self.headers.get("Range")
        self.server.requests.append((name, wanted))
        if name not in self.server.files:
            self.send_error(404)
            return
        content, start = self.server.files[name], 0
        if wanted and self.server.ranges:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        length = str(len(content) - start) if self.server.length is None else self.server.length
        self.send_header("Content-Length", length)
        self.end_headers()
        stop = start + self.server.breaks.popleft() if self.server.breaks else None
        self.wfile.write(content[start:stop])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    with Server() as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
