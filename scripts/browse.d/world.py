"""A server with its data, a terminal that looks at it, and a proxy in between that writes down every request."""
import http.client
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

HOSTILE = [
    "Mate\x1b]52;c;aGFjaw==\x07 con \x1b[2J\x1b[31msal", "\u202egpj.exe\u202c \u2066x", "שלום עולם 123", "مرحبا بالعالم",
    "👩\u200d👩\u200d👧 familia 👍🏽 🇪🇸", "漢字とかな" * 12, "Z" + "\u0301" * 200 + "algo", "largo " * 20000, "", "a\nb\tc\rd",
    "\x9b31m C1 \x85", "\u200b\u200d\ufeff cero", "e\u0301tude",
]


class Failure(Exception):
    pass


class Proxy(threading.Thread):
    """Forwards to the server and remembers what went by."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.target = urlsplit(target)
        self.requests = []
        self.change = None
        self.delay = 0
        self.connections = set()
        self.start_listening()
        self.start()

    def start_listening(self, port=0):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                outer.connections.add(self.connection)

            def log_message(self, *_):
                pass

            def forward(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                parsed = json.loads(body) if body else {}
                method = parsed.get("_method", self.command) if isinstance(parsed, dict) else self.command
                record = {"method": method, "path": self.path, "body": parsed, "at": time.monotonic()}
                outer.requests.append(record)
                if outer.change:
                    outer.change(record)
                upstream = http.client.HTTPConnection(outer.target.hostname, outer.target.port, timeout=600)
                keys = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection", "content-length")}
                upstream.request(self.command, self.path, body, keys)
                record["upstream"] = upstream
                watch = threading.Thread(target=outer.watch, args=(self.connection, upstream, record), daemon=True)
                watch.start()
                try:
                    answer = upstream.getresponse()
                    data = answer.read()
                except (OSError, http.client.HTTPException):
                    record["cancelled"] = time.monotonic()
                    self.close_connection = True
                    return
                record["done"] = time.monotonic()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("connection", "transfer-encoding", "content-length", "date", "server"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                upstream.close()

            do_GET = do_POST = do_PUT = do_DELETE = forward

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_port

    def watch(self, downstream, upstream, record):
        """A client that goes away takes its request with it."""
        while "done" not in record and "cancelled" not in record:
            try:
                if downstream.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b"":
                    record["left"] = time.monotonic()
                    if upstream.sock:
                        upstream.sock.shutdown(socket.SHUT_RDWR)
                    return
            except BlockingIOError:
                pass
            except OSError:
                return
            time.sleep(0.02)

    def run(self):
        self.server.serve_forever(poll_interval=0.05)

    def kill(self):
        self.server.shutdown()
        self.server.server_close()
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
                connection.close()
            except OSError:
                pass
        self.connections.clear()

    def revive(self):
        self.start_listening(self.port)
        threading.Thread(target=self.run, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.port}{self.target.path}"


class Terminal:
    """A program in a terminal of its own."""
    number = 0

    def __init__(self, command, environment, width=80, height=24, log=None):
        Terminal.number += 1
        self.socket = f"hermes-{os.getpid()}-{Terminal.number}"
        names = " ".join(f"{k}={json.dumps(v)}" for k, v in environment.items())
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), f"env -u NO_COLOR {names} cat")
        self.tmux("set-option", "-g", "set-clipboard", "on")
        self.tmux("set-option", "-g", "remain-on-exit", "on")
        if log:
            self.tmux("pipe-pane", "-o", f"cat > {log}")
        self.tmux("respawn-pane", "-k", f"env -u NO_COLOR {names} {command}")

    def tmux(self, *words, check=True):
        done = subprocess.run(["tmux", "-L", self.socket, *words], capture_output=True, text=True, timeout=30)
        if check and done.returncode:
            raise Failure(f"tmux {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def type(self, *keys):
        """Names of keys as tmux has them; other texts as they stand."""
        for key in keys:
            if re.fullmatch(r"Enter|Escape|Tab|Space|BSpace|NPage|PPage|Up|Down|Left|Right|Home|End|DC|C-\w", key):
                self.tmux("send-keys", key)
            else:
                self.tmux("send-keys", "-l", key)
            time.sleep(0.03)

    def paste(self, text):
        self.tmux("set-buffer", text)
        self.tmux("paste-buffer", "-p")

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def wait(self, what, seconds=30):
        """Until the screen holds a text, or a function of it says so."""
        test = what if callable(what) else lambda screen: what in screen
        end = time.monotonic() + seconds
        while True:
            screen = self.screen()
            if test(screen):
                return screen
            if time.monotonic() > end:
                raise Failure(f"not seen: {what!r}\n{screen}")
            time.sleep(0.05)

    def still(self, seconds=30):
        """Until two looks in a row are the same and nothing is being read."""
        last = None
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            screen = self.screen()
            if screen == last and "reading " not in screen:
                return screen
            last = screen
            time.sleep(0.15)
        raise Failure(f"the screen does not come to rest\n{last}")

    def close(self):
        self.tmux("kill-server", check=False)


class World:
    def __init__(self, options):
        self.options = options
        self.hermes = options.hermes
        self.folder = tempfile.mkdtemp(prefix="hermes-browse-")
        os.chmod(self.folder, 0o755)
        self.process = None
        if options.server:
            self.url, self.data = options.server, options.data
        else:
            self.start_server()
        self.keys = json.loads((Path(self.data) / "keys.json").read_text())
        self.proxy = Proxy(self.url)
        self.rows = options.rows
        if options.server:
            self.find_or_fill()
        else:
            self.fill()

    def start_server(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.data = self.folder + "/data"
        self.url = f"http://127.0.0.1:{port}/parse"
        self.log = open(self.folder + "/server.log", "wb")
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", self.hermes, "serve", "--data", self.data, "--port", str(port), "--app-name",
             "forum"], stdout=self.log, stderr=subprocess.STDOUT)
        end = time.monotonic() + 120
        while time.monotonic() < end:
            if "listening on" in Path(self.folder + "/server.log").read_text():
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise Failure("the server did not start: " + Path(self.folder + "/server.log").read_text()[-2000:])

    def call(self, method, path, body=None):
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=120)
        connection.request(method, parts.path + path, json.dumps(body) if body is not None else None, {
            "X-Parse-Application-Id": self.keys["appId"], "X-Parse-Master-Key": self.keys["masterKey"],
            "Content-Type": "application/json"})
        answer = connection.getresponse()
        data = json.loads(answer.read() or b"{}")
        connection.close()
        if answer.status >= 300:
            raise Failure(f"{method} {path}: {answer.status} {data}")
        return data

    def batch(self, requests):
        made = []
        for start in range(0, len(requests), 50):
            answers = self.call("POST", "/batch", {"requests": requests[start:start + 50]})
            made += [one["success"]["objectId"] for one in answers]
        return made

    def find_or_fill(self):
        """On a server that runs: what an earlier run has added stays."""
        try:
            self.lucia = self.find("_User", {"username": "lucia"})[0]["objectId"]
            self.topics = [row["objectId"] for row in self.find("Temas", {"Tema": {"$regex": "^El Camino en bici"}})]
        except IndexError:
            self.fill()
        self.rows = self.call("POST", "/classes/Comentarios", {"_method": "GET", "count": 1, "limit": 0})["count"]

    def find(self, name, where):
        return self.call("POST", f"/classes/{name}", {"_method": "GET", "where": where, "order": "comentarios" if name == "Temas" else ""})["results"]

    def make_class(self, name, fields):
        try:
            self.call("POST", f"/schemas/{name}", {"className": name, "fields": fields})
        except Failure as failure:
            if "103" not in str(failure):
                raise

    def fill(self):
        pointer = lambda name: {"type": "Pointer", "targetClass": name}
        self.make_class("Temas", {
            "Tema": {"type": "String", "required": True}, "autor": pointer("_User"), "comentarios": {"type": "Number"},
            "ultimo": {"type": "Date"}, "cerrado": {"type": "Boolean"}})
        self.make_class("Comentarios", {
            "Tema": pointer("Temas"), "Texto": {"type": "String"}, "n": {"type": "Number"}})
        self.make_class("Hostil", {
            "texto": {"type": "String"}, "autor": pointer("_User"), "n": {"type": "Number"}})
        self.make_class("Ancha", {
            f"columna{i:02}": {"type": "String"} for i in range(100)})
        self.make_class("Adjuntos", {"titulo": {"type": "String"}, "datos": {"type": "Bytes"}, "foto": {"type": "File"}})
        self.lucia = self.call("POST", "/users", {"username": "lucia", "password": "ruta-2015"})["objectId"]
        ana = self.call("POST", "/users", {"username": "ana", "password": "ruta-2015"})["objectId"]
        self.call("POST", "/roles", {"name": "miembros", "ACL": {}, "users": {"__op": "AddRelation", "objects": [
            {"__type": "Pointer", "className": "_User", "objectId": self.lucia}]}})
        user = lambda i: {"__type": "Pointer", "className": "_User", "objectId": i}
        self.topics = self.batch([{"method": "POST", "path": "/parse/classes/Temas", "body": {
            "Tema": f"El Camino en bici {i}", "autor": user(self.lucia if i % 3 else ana), "comentarios": i, "cerrado": i % 2 == 0,
            "ACL": {"*": {"read": True}, self.lucia: {"write": True}, "role:miembros": {"write": True}}}} for i in range(60)])
        self.batch([{"method": "POST", "path": "/parse/classes/Comentarios", "body": {
            "Tema": {"__type": "Pointer", "className": "Temas", "objectId": self.topics[-1 - i % 5]}, "Texto": f"comentario {i}",
            "n": i}} for i in range(min(self.rows, 450))])
        gone = {"__type": "Pointer", "className": "_User", "objectId": "weggeweg12"}
        self.batch([{"method": "POST", "path": "/parse/classes/Hostil", "body": {"texto": text, "autor": gone, "n": i}}
                    for i, text in enumerate(HOSTILE)])
        self.batch([{"method": "POST", "path": "/parse/classes/Ancha", "body": {f"columna{i:02}": f"v{i}" for i in range(0, 100, 2)}}])

    def browse(self, *words, width=80, height=24, log=None, environment=None):
        variables = {"HERMES_DATA": self.data, "HERMES_URL": self.proxy.url(), "TERM": "tmux-256color", "LANG": "C.UTF-8",
                     **(environment or {})}
        self.proxy.requests.clear()
        terminal = Terminal(" ".join([self.hermes, "browse", *words]), variables, width, height, log)
        self.open.append(terminal)
        terminal.wait("READ")
        return terminal

    open = []

    def sent(self, *methods):
        return [one for one in self.proxy.requests if one["method"] in methods]

    def close(self):
        for terminal in self.open:
            terminal.close()
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
        if not self.options.keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def check(is_so, what):
    if not is_so:
        raise Failure(what)


def chosen(screen):
    return next((line for line in screen.splitlines() if line.startswith(">")), "")


def write(terminal):
    terminal.type("W")
    terminal.wait("Write to")
    terminal.type("y")
    terminal.wait("WRITE")


def open_topic(world):
    terminal = world.browse(f"Temas:{world.topics[-1]}")
    terminal.wait("El Camino en bici 59")
    return terminal


def to_field(terminal, name):
    for _ in range(30):
        if re.match(rf">\s+{name}\b", chosen(terminal.screen())):
            return
        terminal.type("j")
        time.sleep(0.05)
    raise Failure(f"no field {name}\n{terminal.screen()}")
