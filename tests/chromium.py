"""A page in headless Chromium, driven over the pipe of its DevTools protocol, so that nothing need be installed beside it."""
import json
import os
import shutil
import subprocess
import tempfile
import time

BINARY = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars", "--no-first-run",
         "--disable-background-networking", "--disable-dev-shm-usage", "--window-size=1200,800"]


class Page:
    """One page. What it writes to its console and asks of the network is in ``said`` and ``asked``."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        there, self.write = os.pipe()
        self.read, back = os.pipe()

        def place():  # Chromium reads commands from 3 and answers on 4
            first, second = os.dup(there), os.dup(back)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen([BINARY, *FLAGS, f"--user-data-dir={self.folder.name}"], preexec_fn=place,
                                        close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there)
        os.close(back)
        self.rest, self.number, self.said, self.asked, self.session = b"", 0, [], [], None
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self.session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self(f"{domain}.enable")

    def __call__(self, method, **parameters):
        """The result of a command."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(answer["error"]["message"])
                return answer["result"]
            self.heed(answer)

    def next(self):
        while b"\0" not in self.rest:
            more = os.read(self.read, 1 << 16)
            if not more:
                raise RuntimeError("Chromium ended")
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\0")
        return json.loads(line)

    def heed(self, event):
        method, about = event.get("method", ""), event.get("params", {})
        if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.said.append(json.dumps(about))
        elif method == "Network.requestWillBeSent":
            self.asked.append(about["request"]["url"])

    def open(self, url):
        self("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && document.getElementById('view')?.dataset.scale")

    def js(self, code):
        """What an expression comes to."""
        found = self("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(json.dumps(found["exceptionDetails"]))
        return found["result"].get("value")

    def until(self, code, seconds=20):
        """Wait for something to be true, and give it back."""
        end = time.monotonic() + seconds
        while not (value := self.js(code)):
            assert time.monotonic() < end, code
            time.sleep(0.02)
        return value

    def mouse(self, kind, x, y, **more):
        self("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", buttons=int(kind == "mousePressed"), clickCount=1)

    def drag(self, x, y, dx, dy):
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        for share in (0.25, 0.5, 1):
            self.mouse("mouseMoved", x + dx * share, y + dy * share, button="left", buttons=1)
        self.mouse("mouseReleased", x + dx, y + dy, button="left", clickCount=1)

    def key(self, key, text="", modifiers=0):
        codes = {"Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39, "Tab": 9}
        about = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper())), "modifiers": modifiers}
        text = text or (key if len(key) == 1 else "\r" if key == "Enter" else "")
        self("Input.dispatchKeyEvent", type="keyDown", **about, **({"text": text} if text else {}))
        self("Input.dispatchKeyEvent", type="keyUp", **about)

    def type(self, text):
        self("Input.insertText", text=text)

    def screenshot(self, path):
        import base64

        with open(path, "wb") as file:
            file.write(base64.b64decode(self("Page.captureScreenshot")["data"]))

    def close(self):
        try:
            self.session = None
            self("Browser.close")
        except (RuntimeError, OSError):
            pass
        finally:
            os.close(self.write)
            os.close(self.read)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.folder.cleanup()
