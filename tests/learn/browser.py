"""A page in headless Chromium, spoken to over a pipe (Chrome DevTools Protocol): no driver and no port is needed."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


class Page:
    def __init__(self, url, width=1400, height=900, dark=False, rate=1):
        self.folder = tempfile.mkdtemp()
        to, self.pipe_in = os.pipe()
        self.pipe_out, back = os.pipe()
        arguments = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu",
                     "--disable-dev-shm-usage", "--remote-debugging-pipe",
                     f"--user-data-dir={self.folder}", f"--window-size={width},{height}", "about:blank"]

        def pipes():
            reading, writing = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to, back))  # these may be 3 and 4
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        # Chromium reads from descriptor 3 and writes to 4.
        self.process = subprocess.Popen(arguments, preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to)
        os.close(back)
        self.number, self.rest, self.session, self.events = 0, b"", None, []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Network":
            self.send(f"{domain}.enable")
        self.send("Performance.enable", timeDomain="threadTicks")  # other processes do not count
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        if dark:
            self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        if rate != 1:
            self.send("Emulation.setCPUThrottlingRate", rate=rate)
        self.send("Page.navigate", url=url)
        self.wait("document.documentElement && document.documentElement.dataset.ready === 'yes'")

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.pipe_in, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                part = os.read(self.pipe_out, 1 << 20)
                if not part:
                    raise RuntimeError("Chromium has ended")
                self.rest += part
            text, _, self.rest = self.rest.partition(b"\0")
            answer = json.loads(text)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def run(self, script):
        result = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", str(result)))
        return result["result"].get("value")

    def wait(self, condition):
        self.run(f"new Promise((done) => {{ const ask = () => {condition} ? done() : setTimeout(ask, 5); ask(); }})")

    def key(self, key, shift=False):
        code = {" ": "Space"}.get(key, key)
        text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        for kind in "keyDown", "keyUp":
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=code, modifiers=8 if shift else 0,
                      **(text if kind == "keyDown" else {}))
        self.wait("typeof due === 'undefined' || !due")  # the panel follows a little later, if keys come fast

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def problems(self):
        """Errors of the script and of the console, and requests for anything but the page itself."""
        self.run("1")
        found = []
        for event in self.events:
            told = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(told["exceptionDetails"]["exception"].get("description"))
            if event.get("method") == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
                found.append(f"console: {told['args']}")
            if event.get("method") == "Network.requestWillBeSent" and not told["request"]["url"].startswith(
                    ("file:", "about:", "data:")):
                found.append(told["request"]["url"])
        return found

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        self.session = None
        try:
            self.send("Browser.close")
        except (RuntimeError, OSError):
            pass
        self.process.wait(10)
        os.close(self.pipe_in)
        os.close(self.pipe_out)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
