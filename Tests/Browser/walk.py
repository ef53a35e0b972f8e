"""A forum of its own, and a walk through its pages in Chromium: what the tests in a browser have in common."""
import contextlib
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import chromium

WIDTHS = [(360, 740), (1280, 800)]


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Server:
    """A forum that runs for this test alone. Nobody listens at port 9, where its mails go unless it is told otherwise."""

    def __init__(self, program, smtp=9):
        self.folder = tempfile.TemporaryDirectory(prefix="hermes-browser-", ignore_cleanup_errors=True)
        # PostgreSQL runs as another user where this program is root.
        pathlib.Path(self.folder.name).chmod(0o755)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        config = pathlib.Path(self.folder.name, "config.json")
        config.write_text(json.dumps({
            "app": "forum", "port": self.port, "appId": "foro", "masterKey": "maestra", "logLevel": "error",
            "auth": {"mfa": {}}, "email": {"smtp": f"smtp://127.0.0.1:{smtp}", "from": "foro@example.com"}}))
        self.command = [program, "serve", "--config", config, "--data", self.folder.name + "/data"]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while True:
            assert self.process.poll() is None, "the server has ended"
            try:
                urllib.request.urlopen(self.url + "/parse/health", timeout=5).read()
                return
            except OSError:
                assert time.monotonic() < end, "the server does not begin to serve"
                time.sleep(0.1)

    def kill(self):
        """As a machine does that loses its power: nothing is finished."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.folder.cleanup()

    def call(self, method, path, body=None, token=None):
        headers = {"X-Parse-Application-Id": "foro", "Content-Type": "application/json"}
        headers.update({"X-Parse-Session-Token": token} if token else {"X-Parse-Master-Key": "maestra"})
        request = urllib.request.Request(
            f"{self.url}/parse/{path}", None if body is None else json.dumps(body).encode(), headers, method=method)
        try:
            return json.load(urllib.request.urlopen(request, timeout=60))
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.read().decode()}")

    def member(self, name, language="es", roles=("miembros",)):
        fields = {"usuario": name, "contraseña": "Clave-7", "correo": f"{name}@example.com", "nombre": name.title(),
                  "movil": "+34600100200", "ciudad": "Soria", "idioma": language}
        request = urllib.request.Request(
            f"{self.url}/parse/functions/registrar", json.dumps(fields).encode(),
            {"X-Parse-Application-Id": "foro", "Content-Type": "application/json"})
        made = json.load(urllib.request.urlopen(request, timeout=60))["result"]
        user = {"__type": "Pointer", "className": "_User", "objectId": made["objectId"]}
        for role in roles:
            where = urllib.parse.quote(json.dumps({"name": role}))
            found = self.call("GET", f"roles?where={where}")["results"][0]["objectId"]
            self.call("PUT", f"roles/{found}", {"users": {"__op": "AddRelation", "objects": [user]}})
        return made["sessionToken"], user


# Whatever has text must stand out from what is behind it: WCAG 2.1, 1.4.3. Answers those that do not.
CONTRAST = """
(() => {
  const numbers = (color) => (color.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = numbers(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] > 0.99) return color;
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const box = element.getBoundingClientRect();
    if (!own && !("value" in element) || !box.width || box.bottom < 0) continue;
    const [a, b] = [light(numbers(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push(`${element.tagName} ${element.textContent.trim().slice(0, 30)} ${ratio.toFixed(2)}`);
  }
  return bad;
})()
"""


# What has no name for who does not see it; headings that leave a step out.
NAMES = """
(() => {
  const bad = [];
  for (const field of document.querySelectorAll("input:not([type=hidden]), textarea, select"))
    if (!field.labels.length) bad.push(`no label: ${field.name}`);
  for (const element of document.querySelectorAll("a, button"))
    if (!element.textContent.trim()) bad.push(`no text: ${element.outerHTML.slice(0, 60)}`);
  const levels = [...document.querySelectorAll("h1, h2, h3")].map((heading) => Number(heading.tagName[1]));
  if (levels[0] !== 1 || levels.filter((level) => level === 1).length !== 1) bad.push("not one h1 at the start");
  levels.forEach((level, index) => { if (index && level > levels[index - 1] + 1) bad.push("a heading is left out"); });
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  if (new Set(ids).size !== ids.length) bad.push("an id stands twice");
  if (!["es", "en"].includes(document.documentElement.lang)) bad.push("no language");
  return bad;
})()
"""


class Walk:
    """Walks through the forum and looks at each page it is told to."""

    def __init__(self, browser, server, folder):
        self.browser, self.server, self.folder = browser, server, folder
        self.taken = 0
        # Sessions of members, for what another device does meanwhile.
        self.tokens = {}

    def open(self, path):
        self.browser.open(self.server.url + path)

    def look(self, name):
        """At both widths, light and dark; leaves screenshots."""
        b = self.browser
        self.taken += 1
        for width, height in WIDTHS:
            for dark in (False, True):
                b.screen(width, height, dark)
                what = f"{name} at {width}, {'dark' if dark else 'light'}"
                # A layout that is wider than the screen scrolls sideways.
                assert b.run("document.documentElement.scrollWidth <= innerWidth"), f"{what} is too wide"
                bad = b.run(CONTRAST)
                assert not bad, f"{what}: too little contrast: {bad}"
                b.shoot(self.folder / f"{self.taken:02}-{name}-{width}-{'dark' if dark else 'light'}.png")
        bad = b.run(NAMES)
        assert not bad, f"{name}: {bad}"
        assert not b.complaints, f"{name}: the browser complains: {b.complaints}"

    def fill_in(self, name, text):
        self.browser.tab_to(f"[name='{name}']")
        self.browser.type(text)

    def press_button(self, selector="main form button:not([name])"):
        self.browser.tab_to(selector)
        self.browser.leave(lambda: self.browser.press("Enter"))

    def follow(self, selector):
        self.browser.tab_to(selector)
        self.browser.leave(lambda: self.browser.press("Enter"))

    def text(self, selector="main"):
        return self.browser.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    @property
    def path(self):
        return self.browser.run("location.pathname + location.search")

    def shows(self, words, selector="main"):
        seen = self.text(selector)
        assert words in seen, f"{self.path} does not show “{words}”: {seen[:400]}"


def server_session(walk):
    """Which no script of a page can read."""
    assert "sesion" not in walk.browser.run("document.cookie")
    cookies = walk.browser.call("Network.getCookies")["cookies"]
    return next(cookie["value"] for cookie in cookies if cookie["name"] == "sesion")


def log_in(walk, name, after="/"):
    walk.browser.call("Network.clearBrowserCookies")
    walk.open(f"/entrar?a={after}")
    walk.fill_in("usuario", name)
    walk.fill_in("clave", "Clave-7")
    walk.press_button()


def arguments(what):
    """HERMES, FOLDER and Chromium's path; without Chromium it says so and ends."""
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ".build/screenshots")
    path = chromium.find()
    if not path:
        print(f"NOT TRIED: {what} in a browser. There is no Chromium: apt-get install chromium")
        sys.exit()
    folder.mkdir(parents=True, exist_ok=True)
    return sys.argv[1], folder, path


@contextlib.contextmanager
def walking(path, server, folder):
    """A browser on the server's pages; where something fails, a picture of it."""
    browser = chromium.Chromium(path)
    try:
        walk = Walk(browser, server, folder)
        try:
            yield walk
        except BaseException:
            browser.shoot(folder / "where-it-failed.png")
            print("on the page", walk.path, file=sys.stderr)
            raise
    finally:
        browser.close()
