"""What the browser does on a real screen, each by its number in browse.md."""
import json
import os
import re
import threading
import time
from pathlib import Path

from world import check, chosen, open_topic, to_field, write


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


def begin_edit(world):
    terminal = open_topic(world)
    write(terminal)
    to_field(terminal, "Tema")
    terminal.type("e")
    terminal.wait("e done")
    terminal.type("Enter")
    terminal.wait("Tema (String):")
    return terminal


def edit(world, text):
    terminal = begin_edit(world)
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
    terminal = begin_edit(world)
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
