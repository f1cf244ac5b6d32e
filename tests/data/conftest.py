from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest


class Server(ThreadingHTTPServer):
    """Serves `files`, a dict from name to bytes, on this machine.

    breaks: the numbers of bytes after which the next answers break off. length: the Content-Length to state; None for
    the right one. requests: the requested names.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.breaks, self.requests, self.length = {}, deque(), [], None
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.removeprefix("/")
        self.server.requests.append(name)
        if name not in self.server.files:
            self.send_error(404)
            return
        content = self.server.files[name]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)) if self.server.length is None else self.server.length)
        self.end_headers()
        self.wfile.write(content[:self.server.breaks.popleft() if self.server.breaks else None])

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
