"""Leads Chromium through a page as somebody with a keyboard and no scripts does, and makes pictures of what he sees.

  chromium_pages.py FOLDER NAME URL [KEYS]…      KEYS: `tab`, `enter`, or `type:TEXT`

Writes FOLDER/NAME-360.png and FOLDER/NAME-1280.png of the first page, FOLDER/NAME-after-… of the last one, and prints one
line of JSON: {"title", "text", "url", "focus"} of the last one.
"""
import base64
import json
import os
import subprocess
import sys
import tempfile


class Chromium:
    """The DevTools protocol by way of a pipe: messages end with a NUL."""

    def __init__(self, folder):
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()
        for end in (to_read, from_write):
            os.set_inheritable(end, True)

        def ends():
            # Copied beyond 3 and 4 first, so that neither overwrites the other.
            first, second = os.dup(to_read), os.dup(from_write)
            while min(first, second) <= 4:
                first, second = os.dup(first), os.dup(second)
            os.dup2(first, 3)
            os.dup2(second, 4)
        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--hide-scrollbars", f"--user-data-dir={folder}",
             "--remote-debugging-pipe", "about:blank"],
            preexec_fn=ends, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.number, self.rest, self.session = 0, b"", None
        target = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.ask("Page.enable")
        self.ask("Emulation.setScriptExecutionDisabled", value=True)

    def message(self):
        while b"\0" not in self.rest:
            part = os.read(self.from_read, 1 << 16)
            if not part:
                sys.exit("Chromium has ended")
            self.rest += part
        line, self.rest = self.rest.split(b"\0", 1)
        return json.loads(line)

    def ask(self, method, **parameters):
        self.number += 1
        call = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            call["sessionId"] = self.session
        os.write(self.to_write, json.dumps(call).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                if "error" in message:
                    sys.exit(f"{method}: {message['error']}")
                return message["result"]

    def wait_for(self, event):
        while self.message().get("method") != event:
            pass

    def size(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                 mobile=width < 600)

    def open(self, url):
        self.ask("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def pictures(self, folder, name):
        for width, height in ((360, 740), (1280, 800)):
            self.size(width, height)
            data = self.ask("Page.captureScreenshot", format="png")["data"]
            with open(f"{folder}/{name}-{width}.png", "wb") as file:
                file.write(base64.b64decode(data))

    def key(self, name, code, text=None):
        common = {"key": name, "code": name, "windowsVirtualKeyCode": code}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def press(self, keys):
        if keys == "tab":
            self.key("Tab", 9)
        elif keys == "enter":
            self.key("Enter", 13, "\r")
            self.wait_for("Page.loadEventFired")
        else:
            self.ask("Input.insertText", text=keys.removeprefix("type:"))

    def seen(self):
        nodes = self.ask("Accessibility.getFullAXTree")["nodes"]
        texts = [n["name"]["value"] for n in nodes
                 if n.get("role", {}).get("value") == "StaticText" and n.get("name", {}).get("value")]
        focus = [n["name"].get("value") for n in nodes
                 if any(p["name"] == "focused" and p["value"]["value"] for p in n.get("properties", []))
                 and n.get("role", {}).get("value") != "RootWebArea"]
        frame = self.ask("Page.getFrameTree")["frameTree"]["frame"]
        root = next((n["name"]["value"] for n in nodes if n.get("role", {}).get("value") == "RootWebArea"), "")
        return {"title": root, "text": " ".join(texts), "url": frame["url"], "focus": focus[0] if focus else None}

    def close(self):
        self.process.kill()
        self.process.wait()


def main():
    folder, name, url, *keys = sys.argv[1:]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        chromium = Chromium(profile)
        try:
            chromium.open(url)
            first = chromium.seen()
            chromium.pictures(folder, name)
            for one in keys:
                chromium.press(one)
            last = chromium.seen()
            if keys:
                chromium.pictures(folder, name + "-after")
            print(json.dumps({"first": first, "last": last}))
        finally:
            chromium.close()


if __name__ == "__main__":
    main()
