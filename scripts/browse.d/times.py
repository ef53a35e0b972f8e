"""How long each key of the browser takes, from its press to the screen that it is for."""
import re
import time

from world import chosen


def times(world):
    """Each key on Comentarios."""
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
