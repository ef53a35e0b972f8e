"""A browser that tests drive: Chromium without a window, told what to do through its DevTools protocol, over two pipes."""
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

KEYS = {
    "Tab": (9, ""), "Enter": (13, "\r"), "Space": (32, " "), "Escape": (27, ""), "End": (35, ""), "Home": (36, ""),
}


def find():
    """Chromium's path; None where there is none."""
    named = os.environ.get("HERMES_CHROMIUM")
    for name in [named] if named else ["chromium", "chromium-browser", "google-chrome"]:
        path = shutil.which(name)
        if path:
            return path
    return None


class Chromium:
    """One window with one page. Whatever it waits for, it waits `limit` seconds at most."""

    def __init__(self, path, limit=30):
        self.limit = limit
        self.folder = tempfile.TemporaryDirectory(prefix="hermes-chromium-", ignore_cleanup_errors=True)
        to_browser, from_browser = os.pipe(), os.pipe()
        # Above the numbers that the browser wants, 3 and 4.
        read, write = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser[0], from_browser[1]))
        os.close(to_browser[0]), os.close(from_browser[1])

        def place():
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            [path, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", f"--user-data-dir={self.folder.name}",
             "about:blank"],
            preexec_fn=place, pass_fds=(3, 4, read, write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(read), os.close(write)
        self.out, self.into = to_browser[1], from_browser[0]
        self.buffer = b""
        self.count = 0
        self.session = None
        self.events = []
        # What pages complained of: exceptions, and what their Content-Security-Policy refused.
        self.complaints = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        for end in (self.out, self.into):
            os.close(end)
        self.process.terminate()
        try:
            self.process.wait(self.limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()

    # The protocol

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        number, end = self.count, time.monotonic() + self.limit
        while True:
            answer = self.receive(end, method)
            if answer.get("id") == number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self, end, what):
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.into], [], [], left)[0]:
                raise AssertionError(f"the browser did not answer {what} in {self.limit} s")
            piece = os.read(self.into, 1 << 20)
            if not piece:
                raise AssertionError("the browser has ended")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        if "method" in message:
            self.note(message["method"], message["params"])
        return message

    def note(self, method, parameters):
        self.events.append((method, parameters))
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(parameters["exceptionDetails"])[:500])
        if method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            entry = parameters["entry"]
            # A page that is refused on purpose is an error to the browser's log.
            if entry["source"] != "network":
                self.complaints.append(f"{entry['text']} {entry.get('url', '')}")

    def wait(self, method, what):
        end = time.monotonic() + self.limit
        while not any(name == method for name, _ in self.events):
            self.receive(end, what)

    # Pages

    def open(self, url):
        self.events.clear()
        answer = self.call("Page.navigate", url=url)
        assert "errorText" not in answer, f"{url}: {answer.get('errorText')}"
        self.wait("Page.loadEventFired", url)

    def leave(self, act):
        """Does what leads to another page, and waits for that."""
        self.events.clear()
        act()
        self.wait("Page.loadEventFired", "the next page")

    def run(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, f"{script}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def until(self, script, what):
        end = time.monotonic() + self.limit
        while not self.run(script):
            assert time.monotonic() < end, f"it did not come to it: {what}"
            time.sleep(0.05)

    def screen(self, width, height=800, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}])

    def language(self, code):
        agent = self.call("Browser.getVersion")["userAgent"]
        self.call("Emulation.setUserAgentOverride", userAgent=agent, acceptLanguage=code)

    def scripts(self, are_on):
        self.call("Emulation.setScriptExecutionDisabled", value=not are_on)

    def connection(self, is_on):
        self.call("Network.emulateNetworkConditions", offline=not is_on, latency=0, downloadThroughput=-1,
                  uploadThroughput=-1)

    def shoot(self, file, tallest=2000):
        """The whole page, down to so many pixels."""
        width, height = self.run("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, tallest), "scale": 1}
        image = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        pathlib.Path(file).write_bytes(base64.b64decode(image))

    # The keyboard

    def press(self, key, modifiers=0):
        code, text = KEYS[key]
        name = " " if key == "Space" else key
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=key, windowsVirtualKeyCode=code,
                      modifiers=modifiers, **({"text": text} if text and kind == "keyDown" else {}))

    def type(self, text):
        self.call("Input.insertText", text=text)

    def tab_to(self, selector):
        """Goes to an element as who has no mouse does, and sees to it that one sees where one is."""
        for _ in range(200):
            self.press("Tab")
            found = f"document.activeElement && document.activeElement.matches({json.dumps(selector)})"
            if self.run(found):
                style = "getComputedStyle(document.activeElement)"
                assert self.run(f"{style}.outlineStyle !== 'none' && parseFloat({style}.outlineWidth) >= 2"), (
                    f"{selector} does not show that it has the focus")
                return
        raise AssertionError(f"Tab does not lead to {selector} on {self.run('location.href')}")
