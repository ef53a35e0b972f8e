#!/usr/bin/env python3
"""The acceptance of `hermes browse`: keys into a real terminal (tmux), screens out, on a server of its own.

    scripts/browse_scenarios.py                     all, with .build/debug/hermes
    scripts/browse_scenarios.py --only 5,13 --keep  some, and the folder stays
    scripts/browse_scenarios.py --server URL --data DIR
                                                    on a server that runs, with a class Comentarios of any size (such as
                                                    scripts/seed --lines makes); the other classes are added to it
    scripts/browse_scenarios.py --times --server …  how long each key takes there, instead

Between browser and server stands a proxy that writes down every request. Ends with 77 and a sentence where there is no
tmux. Needs Python 3.9 or later.
"""
import argparse
import http.client
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent.parent
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


# The scenarios, as browse.md numbers them.

def s1(world):
    "start: READ, no count sent"
    screen = world.browse().wait("Comentarios")
    check("READ " in screen.splitlines()[0], screen)
    time.sleep(0.5)
    check(not any("count" in one["body"] for one in world.proxy.requests), "a count was sent")


def s2(world):
    "# on Comentarios: the number; others blank"
    terminal = world.browse()
    terminal.wait("Comentarios")
    while "Comentarios" not in chosen(terminal.screen()):
        terminal.type("j")
    terminal.type("#")
    screen = terminal.wait(f"{world.rows:,}", 120)
    lines = [line for line in screen.splitlines() if re.search(r"^\s*>?\s*(Temas|_User|_Role)\b", line)]
    check(lines and not any(re.search(r"\d", line) for line in lines), screen)


def s3(world):
    "PgDn x50: none twice or missed, no skip"
    terminal = world.browse("Comentarios")
    terminal.wait("more below")
    seen = []
    for _ in range(50):
        screen = terminal.still()
        seen += re.findall(r"^[> x][* ]([A-Za-z0-9]{10}) ", screen, re.M)
        if re.search(r", 0 below", screen):
            break
        terminal.type("NPage")
        terminal.wait(lambda now: now != screen)
    order = list(dict.fromkeys(seen))
    expected = [row["objectId"] for row in world.call("POST", "/classes/Comentarios", {
        "_method": "GET", "order": "-createdAt,-objectId", "limit": len(order), "keys": "objectId"})["results"]]
    check(order == expected, f"{len(order)} rows, which are not the first ones in their order")
    check(len(order) > 900 or len(order) == world.rows, f"{len(order)} rows were seen")
    check(not any("skip" in one["body"] for one in world.proxy.requests), "a skip was sent")


def s4(world):
    "G k k g: oldest, then newest"
    terminal = world.browse("Comentarios")
    newest = chosen(terminal.wait("more below"))
    terminal.type("G")
    oldest = world.call("POST", "/classes/Comentarios", {"_method": "GET", "order": "createdAt,objectId", "limit": 3})["results"]
    terminal.wait(lambda screen: oldest[0]["objectId"] in chosen(screen))
    terminal.type("k", "k")
    terminal.wait(lambda screen: oldest[2]["objectId"] in chosen(screen))
    terminal.type("g")
    terminal.wait(lambda screen: chosen(screen) == newest)


def s5(world):
    "/cerado = true: caret; Enter inert; Tab mends"
    terminal = world.browse("Temas")
    terminal.wait("El Camino")
    terminal.type("/", "cerado = true")
    screen = terminal.wait("^ no field cerado in Temas; Tab: cerrado")
    lines = screen.splitlines()
    check(lines[23].index("^") == lines[22].index("cerado"), screen)
    before = len(world.proxy.requests)
    terminal.type("Enter")
    time.sleep(0.3)
    check(len(world.proxy.requests) == before, "Enter was not inert")
    terminal.type("Tab")
    terminal.wait("Filter> cerrado = true")
    terminal.type("Enter")
    terminal.wait("[cerrado = true]")


def s6(world):
    "/autor.username = lucia: hers; q: old row"
    terminal = world.browse("Temas")
    terminal.wait("El Camino")
    terminal.type("/", "autor.username = lucia", "Enter")
    screen = terminal.wait(lambda screen: "[autor.username" in screen and "@ana" not in screen and "@lucia" in screen)
    terminal.type("j", "j", "Enter")
    terminal.wait("<- Comentarios.Tema")
    row = chosen(screen)
    terminal.type("q")
    screen = terminal.wait("[autor.username")
    check("El Camino" in chosen(screen) and chosen(screen) != row, screen)


def s7(world):
    "/Texto ~ zz, Esc: the connection is closed within a second"
    terminal = world.browse("Comentarios")
    first = chosen(terminal.wait("more below"))
    hold = threading.Event()
    world.proxy.change = (lambda record: hold.wait(5)) if world.rows < 100_000 else None
    try:
        terminal.type("/", "Texto ~ zzqq", "Enter")
        terminal.wait("Esc cancels", 10)
        terminal.type("Escape")
        pressed = time.monotonic()
        terminal.wait("cancelled", 5)
        check(chosen(terminal.screen()) == first, "the old rows are gone")
        hold.set()
        end = time.monotonic() + 10
        record = next(one for one in reversed(world.proxy.requests) if "zzqq" in json.dumps(one["body"]))
        while "left" not in record and "done" not in record and time.monotonic() < end:
            time.sleep(0.02)
        if world.rows >= 100_000:
            check(record.get("left", 1e18) - pressed < 1, "the connection was not closed in a second")
    finally:
        hold.set()
        world.proxy.change = None


def s8(world):
    "Enter, autor, Enter, q q: same row, nothing asked"
    terminal = world.browse("Temas")
    terminal.wait("El Camino")
    terminal.type("j", "j")
    row = chosen(terminal.still())
    terminal.type("Enter")
    terminal.wait("<- Comentarios.Tema")
    to_field(terminal, "autor")
    terminal.type("Enter")
    terminal.wait("username")
    terminal.still()
    asked = len(world.proxy.requests)
    terminal.type("q", "q")
    terminal.wait(lambda screen: chosen(screen) == row)
    check(len(world.proxy.requests) == asked, "something was asked")


def s9(world):
    "f Enter: Comentarios of this topic"
    terminal = open_topic(world)
    terminal.type("f")
    terminal.wait("<- Comentarios.Tema")
    terminal.type("Enter")
    terminal.wait(f"[Tema = Temas:{world.topics[-1]}]")
    terminal.wait("comentario")
    # What is asked afterwards is about pointers that did not come along.
    where = next(one["body"]["where"] for one in reversed(world.proxy.requests) if "order" in one["body"])
    check(json.dumps(where).count(world.topics[-1]) == 1, where)


def s10(world):
    "a dangling pointer, Enter: (gone)"
    terminal = world.browse("Hostil")
    terminal.wait("(gone)")
    terminal.type("Enter")
    terminal.wait("autor")
    to_field(terminal, "autor")
    terminal.type("Enter")
    terminal.wait("(gone): there is no _User")


def s11(world):
    "a: names; user and role miembros differ"
    terminal = open_topic(world)
    terminal.type("a")
    screen = terminal.wait("@lucia")
    check("role miembros" in screen and "everybody" in screen, screen)


def s12(world):
    'e in READ: "W to write", nothing sent'
    terminal = open_topic(world)
    terminal.still()
    before = len(world.proxy.requests)
    terminal.type("e")
    terminal.wait("W to write")
    check(len(world.proxy.requests) == before, "something was sent")


def edit(world, text):
    terminal = open_topic(world)
    write(terminal)
    to_field(terminal, "Tema")
    terminal.type("e")
    terminal.wait("e done")
    terminal.type("Enter")
    terminal.wait("Tema (String):")
    terminal.type(text, "Enter")
    terminal.wait("changed")
    return terminal


def s13(world):
    "W y e, Tema, e y: PUT of Tema alone"
    terminal = edit(world, "!")
    terminal.type("e")
    terminal.wait("Save 1 change to Temas")
    terminal.type("y")
    terminal.wait("saved")
    puts = world.sent("PUT")
    check(len(puts) == 1 and puts[0]["body"] == {"Tema": "El Camino en bici 59!"}, puts)
    world.call("PUT", f"/classes/Temas/{world.topics[-1]}", {"Tema": "El Camino en bici 59"})


def s14(world):
    "same, changed meanwhile: three values"
    terminal = edit(world, "!")
    world.call("PUT", f"/classes/Temas/{world.topics[-1]}", {"Tema": "De otro"})
    try:
        terminal.type("e")
        screen = terminal.wait("Changed by somebody else")
        check(all(text in screen for text in ["was   El Camino en bici 59", "is    De otro", "yours El Camino en bici 59!"]), screen)
        check(not world.sent("PUT"), "it was written")
    finally:
        world.call("PUT", f"/classes/Temas/{world.topics[-1]}", {"Tema": "El Camino en bici 59"})


def s15(world):
    "Number 3l: caret, no PUT"
    terminal = open_topic(world)
    write(terminal)
    to_field(terminal, "comentarios")
    terminal.type("e")
    terminal.wait("e done")
    terminal.type("Enter")
    terminal.wait("comentarios (Number):")
    terminal.type("BSpace", "BSpace", "3l", "Enter")
    terminal.wait("^ a Number")
    check(not world.sent("PUT"), "it was sent")


def s16(world):
    "u y: old value"
    terminal = edit(world, "?")
    terminal.type("e")
    terminal.wait("Save 1 change")
    terminal.type("y")
    terminal.wait("saved")
    terminal.type("u")
    terminal.wait("Undo in Temas")
    terminal.type("y")
    terminal.wait("undone")
    now = world.call("GET", f"/classes/Temas/{world.topics[-1]}")["Tema"]
    check(now == "El Camino en bici 59", now)


def s17(world):
    "D y u: no DELETE; D y, 10 s: one"
    made = world.call("POST", "/classes/Temas", {"Tema": "Para borrar"})["objectId"]
    terminal = world.browse(f"Temas:{made}")
    terminal.wait("Para borrar")
    write(terminal)
    terminal.type("D")
    terminal.wait("Hooks may delete more")
    terminal.type("y")
    terminal.wait("to be deleted")
    terminal.type("u")
    terminal.wait("is kept")
    time.sleep(11)
    check(not world.sent("DELETE"), "it was deleted")
    terminal.type("D")
    terminal.wait("Hooks may delete more")
    terminal.type("y")
    terminal.wait(f"deleted Temas {made}", 30)
    check(len(world.sent("DELETE")) == 1, "not one DELETE")


def s18(world):
    "12 marks, D, 11: no DELETE"
    terminal = world.browse("Temas")
    terminal.wait("El Camino")
    write(terminal)
    terminal.type(*["Space"] * 12)
    terminal.wait("12 marked")
    terminal.type("D")
    terminal.wait("Type 12 to delete 12 of Temas:")
    terminal.type("11", "Enter")
    terminal.wait("not deleted")
    time.sleep(0.5)
    check(not world.sent("DELETE"), "something was deleted")


def s19(world):
    'paste "Dy\\n": ignored'
    terminal = world.browse("Temas")
    terminal.wait("El Camino")
    write(terminal)
    terminal.paste("Dy\n")
    terminal.wait("pasted text is ignored")
    time.sleep(0.5)
    check("Delete" not in terminal.screen() and not world.sent("DELETE"), terminal.screen())


def s20(world):
    "_Session: ****; x shows; y j without token"
    world.call("POST", "/login", {"username": "lucia", "password": "ruta-2015"})
    log = world.folder + "/session.log"
    terminal = world.browse("_Session", log=log)
    terminal.still()
    terminal.type("Enter")
    terminal.wait("sessionToken")
    to_field(terminal, "sessionToken")
    screen = terminal.still()
    check("****" in chosen(screen), screen)
    check(all("sessionToken" not in one["body"].get("keys", "") for one in world.proxy.requests), "the token was asked for")
    terminal.type("x")
    terminal.wait(lambda screen: re.search(r"r:[0-9a-f]{20}", chosen(screen)) or "sha256" in chosen(screen) or len(chosen(screen)) > 50)
    terminal.type("y", "j")
    terminal.wait("copied without")
    copied = terminal.tmux("show-buffer")
    check("sessionToken" not in copied and "objectId" in copied, copied)


def s21(world):
    "y c: OSC 52 with $HERMES_MASTER_KEY"
    terminal = open_topic(world)
    terminal.type("y", "c")
    terminal.wait("copied")
    copied = terminal.tmux("show-buffer")
    check("$HERMES_MASTER_KEY" in copied and world.keys["masterKey"] not in copied, copied)


def width(text):
    import unicodedata
    return sum(0 if unicodedata.combining(c) or unicodedata.category(c) == "Cf" else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in text)


def s22(world):
    "hostile rows at 80x24 and 200x50: columns straight, title kept"
    for size in [(80, 24), (200, 50)]:
        terminal = world.browse("Hostil", width=size[0], height=size[1])
        terminal.tmux("rename-window", "mine")
        screen = terminal.still()
        check("^[" in screen and "<202E>" in screen, screen)
        check("\x1b" not in screen and "\u202e" not in screen and "\u200d" not in screen, repr(screen))
        rows = [line for line in screen.splitlines() if "(gone)" in line]
        check(len(rows) >= 10, screen)
        # What stands behind the texts begins in the same column in every row.
        ends = {width(line[:line.index("(gone)")]) for line in rows}
        check(len(ends) == 1, f"{ends}\n{screen}")
        check(terminal.tmux("display-message", "-p", "#{pane_title}").strip() != "hack", "the title was changed")
        terminal.close()
    terminal = world.browse("Ancha", width=80)
    screen = terminal.wait("columna")
    check(re.search(r"\+\d+>", screen.splitlines()[1]), screen)
    for _ in range(15):
        terminal.type("l")
    terminal.wait("columna14")


def s23(world):
    "NO_COLOR: no colour codes"
    for variables, has_colour in [({"NO_COLOR": "1"}, False), ({}, True)]:
        log = world.folder + f"/colour-{has_colour}.log"
        terminal = world.browse("Temas", log=log, environment=variables)
        terminal.wait("El Camino")
        terminal.type("/", "cerado")
        terminal.wait("no field cerado")
        terminal.type("Escape", "Q")
        time.sleep(0.5)
        output = Path(log).read_bytes()
        found = bool(re.search(rb"\x1b\[[0-9;]*3[0-7][;m]", output))
        check(found == has_colour, f"colours: {found}, NO_COLOR: {not has_colour}")
        terminal.close()


def s24(world):
    "resize 40x10 in an edit, back: text kept"
    terminal = open_topic(world)
    write(terminal)
    to_field(terminal, "Tema")
    terminal.type("e")
    terminal.wait("e done")
    terminal.type("Enter")
    terminal.wait("Tema (String):")
    terminal.type(" y vuelta")
    terminal.resize(40, 10)
    terminal.wait("too small")
    terminal.resize(80, 24)
    terminal.wait("Tema (String): El Camino en bici 59 y vuelta")


def s25(world):
    'server killed in a form: text stays; "not saved"'
    terminal = edit(world, "&")
    terminal.type("e")
    terminal.wait("Save 1 change")
    world.proxy.kill()
    try:
        terminal.type("y")
        terminal.wait("lost")
        screen = terminal.screen()
        check("59&" in screen, screen)
    finally:
        world.proxy.revive()
    screen = terminal.wait("not saved", 20)
    check("59&" in screen and "changed" in screen, screen)


# What browse.md asks for beside them.

def s26(world):
    "Bytes and a File from <path"
    made = world.call("POST", "/classes/Adjuntos", {"titulo": "con datos"})["objectId"]
    content = bytes(range(256)) * 1000
    path = Path(world.folder) / "mis datos.bin"
    path.write_bytes(content)
    terminal = world.browse(f"Adjuntos:{made}")
    terminal.wait("con datos")
    write(terminal)
    terminal.type("e")
    terminal.wait("e done")
    to_field(terminal, "datos")

    def from_file(path):
        terminal.type("Enter", "<")
        terminal.wait("^ the path of a file behind <")
        terminal.type(path, "Enter")

    from_file("/no/such/file")
    terminal.wait("cannot be read: No such file")
    from_file(str(path))
    terminal.wait("256,000 bytes of")
    terminal.type("e")
    terminal.wait("Save 1 change to Adjuntos")
    terminal.type("y")
    terminal.wait("saved")
    import base64
    stored = world.call("GET", f"/classes/Adjuntos/{made}")["datos"]
    check(stored == {"__type": "Bytes", "base64": base64.b64encode(content).decode()}, str(stored)[:200])
    terminal.type("e")
    terminal.wait("e done")
    to_field(terminal, "foto")
    from_file(str(path))
    # This version of the server stores no files, and the browser says so.
    terminal.wait(lambda screen: "does not do that (108)" in screen or "the file is stored" in screen)
    upload = world.sent("POST")[-1]
    check(upload["path"].endswith("/files/mis_datos.bin") and upload["body"]["base64"] == stored["base64"], upload["path"])


def s27(world):
    "o: $EDITOR and back; ^C there is the editor's"
    script, seen = Path(world.folder) / "editor", Path(world.folder) / "editor.seen"
    script.write_text(f"""#!/bin/sh
stat -c '%a %n' "$1" >> {seen}
trap 'echo interrupted >> {seen}; printf "una línea\\notra\\n" > "$1"; exit 0' INT
printf 'the editor'
while :; do sleep 0.1; done
""")
    script.chmod(0o755)
    terminal = world.browse(f"Temas:{world.topics[-1]}", environment={"EDITOR": str(script), "TMPDIR": world.folder})
    terminal.wait("El Camino en bici 59")
    write(terminal)
    to_field(terminal, "Tema")
    terminal.type("e")
    terminal.wait("e done")
    terminal.type("o")
    terminal.wait("the editor")
    terminal.type("C-c")
    screen = terminal.wait("una línea\\notra")
    check("the editor" not in screen and "WRITE" in screen, screen)
    mode, path = seen.read_text().split("\n")[0].split(" ", 1)
    check(mode == "600" and not os.path.exists(path), f"{mode} {path}")
    check("interrupted" in seen.read_text(), "the editor was not told of ^C")
    terminal.type("Enter")
    terminal.wait("changed")
    terminal.type("e")
    terminal.wait("Save 1 change")
    terminal.type("y")
    terminal.wait("saved")
    now = world.call("GET", f"/classes/Temas/{world.topics[-1]}")["Tema"]
    world.call("PUT", f"/classes/Temas/{world.topics[-1]}", {"Tema": "El Camino en bici 59"})
    check(now == "una línea\notra", repr(now))


def s28(world):
    "y v of 120 KB: into a file of mode 0600; of 6 KB: OSC 52"
    for text, is_file in [("largo " * 20000, True), ("corto " * 1000, False)]:
        made = world.call("POST", "/classes/Hostil", {"texto": text})["objectId"]
        terminal = world.browse(f"Hostil:{made}", environment={"TMPDIR": world.folder})
        terminal.wait("texto")
        to_field(terminal, "texto")
        terminal.type("y", "v")
        screen = terminal.wait("copied")
        world.call("DELETE", f"/classes/Hostil/{made}")
        if is_file:
            path = re.search(r"copied into (\S+)", screen)
            check(path and Path(path[1]).read_text() == text, screen)
            check(os.stat(path[1]).st_mode & 0o777 == 0o600, oct(os.stat(path[1]).st_mode))
        else:
            terminal.wait(lambda _: terminal.tmux("show-buffer", check=False).rstrip("\n") == text)


def s29(world):
    "? sort col Enter: what the key would have done"
    terminal = world.browse("Temas")
    terminal.wait("El Camino")
    terminal.type("?", "who may")
    screen = terminal.wait("Keys> who may")
    check(chosen(screen).startswith("> a "), screen)
    terminal.type("Escape")
    terminal.wait("El Camino")
    terminal.type("?", "cancel", "BSpace", "BSpace", "BSpace", "BSpace", "BSpace", "BSpace", "filter", "Enter")
    terminal.wait("Filter>")


def times(world):
    """Each key on Comentarios, from its press to the screen that it is for."""
    some = world.call("POST", "/classes/Comentarios", {"_method": "GET", "where": {"Tema": {"$exists": True}}, "limit": 1, "skip": 100})["results"][0]
    terminal = world.browse()
    terminal.wait("Comentarios")
    while "Comentarios" not in chosen(terminal.screen()):
        terminal.type("j")
        time.sleep(0.05)

    def measure(name, keys, what, before=()):
        for key in before:
            terminal.type(key)
        terminal.still()
        asked = len(world.proxy.requests)
        begin = time.monotonic()
        for key in keys:
            if re.fullmatch(r"[A-Z][A-Za-z]+|C-.", key):
                terminal.tmux("send-keys", key)
            else:
                terminal.tmux("send-keys", "-l", key)
        end = begin + 60
        while True:
            screen = terminal.screen()
            if "Sort anyway" in screen or "without an index" in screen:
                terminal.tmux("send-keys", "y")
            if what(screen) and "reading " not in screen.splitlines()[21]:
                break
            if time.monotonic() > end:
                print(f"{name:<34}  more than 60 s\n{screen}", flush=True)
                terminal.type("Escape", "Escape")
                break
            time.sleep(0.01)
        took = time.monotonic() - begin
        sent = [one for one in world.proxy.requests[asked:] if "done" in one]
        server = max((one["done"] - one["at"] for one in sent), default=0)
        print(f"{name:<34} {took * 1000:8.0f} ms   the server {server * 1000:8.0f} ms, {len(sent)} requests", flush=True)

    rows = lambda screen: re.search(r"\d+ in \d+ ms", screen) is not None
    state = lambda text: lambda screen: text in screen
    filtered = lambda text: lambda screen: screen.splitlines()[22].startswith(f"Filter> {text}"[:70]) and (rows(screen) or " none" in screen.splitlines()[21])
    measure("Enter: the class", ["Enter"], lambda s: "more below" in s)
    before = chosen(terminal.screen())
    measure("PgDn", ["NPage"], lambda s: chosen(s) != before)
    measure("G", ["G"], state("counted from the end"))
    measure("k at the end", ["k"], rows)
    measure("g", ["g"], lambda s: chosen(s) == before)
    measure(": a date in the middle", [":", "2023-07-01", "Enter"], lambda s: chosen(s) not in ("", before) and rows(s))
    measure("r", ["r"], rows, before=["g"])
    measure("Enter: an object", ["Enter"], state("ACL"))
    measure("a: who may", ["a"], state("everybody"))
    measure("q q", ["q", "q"], lambda s: chosen(s) == before)
    measure("i: the schema", ["i"], state("the class"))
    measure("q", ["q"], lambda s: chosen(s) == before)
    for text in [f"Tema = Temas:{some['Tema']['objectId']}", "Autor.username = lucia", "createdAt > 2024-06-01 and createdAt < 2024-06-02",
                 "Votos = 3", "Votos = 999", "Texto ^= Fuimos", "Texto ~ zzqq", f"objectId = {some['objectId']}"]:
        measure(f"/ {text[:32]}", ["/", text, "Enter"], filtered(text))
        measure("/ nothing", ["/"] + ["C-h"] * len(text) + ["Enter"], lambda s: "[" not in s.splitlines()[0] and "more below" in s)
    measure("f: of a topic", [":", f"Temas:{world.topics[-1]}", "Enter"], state("El Camino"))
    measure("f Enter: its Comentarios", ["f", "Enter"], filtered(f"Tema = Temas:{world.topics[-1]}"))
    measure("#", ["#"], state(" objects"))
    measure("# of all", [":", "Comentarios", "Enter", "#"], state(f"{world.rows:,} objects"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hermes", default=str(HERE / ".build/debug/hermes"))
    parser.add_argument("--server")
    parser.add_argument("--data")
    parser.add_argument("--rows", type=int, default=450, help="how many Comentarios are to be made")
    parser.add_argument("--times", action="store_true", help="time the keys instead of trying the scenarios")
    parser.add_argument("--only", help="numbers of scenarios")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    options.hermes = os.path.abspath(options.hermes)
    if not shutil.which("tmux"):
        print("skipped: there is no tmux here (apt install tmux)")
        sys.exit(77)
    wanted = [int(n) for n in options.only.split(",")] if options.only else range(1, 30)
    world = World(options)
    failures = 0
    try:
        if options.times:
            times(world)
            return
        for number in wanted:
            scenario = globals()[f"s{number}"]
            begin = time.monotonic()
            try:
                scenario(world)
                print(f"ok   {number:2} {scenario.__doc__}  ({time.monotonic() - begin:.1f} s)", flush=True)
            except (Failure, subprocess.SubprocessError) as failure:
                failures += 1
                print(f"FAIL {number:2} {scenario.__doc__}\n{failure}", flush=True)
            for terminal in world.open:
                terminal.close()
            world.open.clear()
    finally:
        world.close()
    print(f"{len(list(wanted)) - failures} of {len(list(wanted))} scenarios hold")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
