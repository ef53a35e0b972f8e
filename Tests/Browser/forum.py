#!/usr/bin/env python3
"""The forum as people use it, in Chromium: forum.py HERMES [FOLDER]

HERMES is the program to be tried; it is started with a database of its own, on a port of its own. Screenshots go to
FOLDER, .build/screenshots unless it is told. Without Chromium (Debian: apt-get install chromium; or HERMES_CHROMIUM=PATH)
nothing is tried, and it says so."""
import base64
import hmac
import json
import pathlib
import re
import struct
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from walk import WIDTHS, Server, arguments, log_in, server_session, walking

TOPICS = [
    "¿Roma en tres días o mejor en cinco?", "Trenes nocturnos por los Balcanes", "El Camino en invierno: ¿locura o gloria?",
    "Comer bien y barato en Lisboa", "Night buses in Turkey: worth it?", "Con dos niños pequeños por Islandia",
    "Qué llevar a la Patagonia en octubre", "Ferries between the Greek islands", "Viajar sola por Marruecos",
    "Interrail a los cuarenta y cinco", "Un mes en furgoneta por Noruega",
    "<script>document.title='mal'</script> & otros <b>nombres</b> raros",
]


def fill(server):
    """A forum in which something has been said."""
    ana, _ = server.member("ana")
    luis, _ = server.member("luis", "en")
    server.member("mod", "en", ("miembros", "moderadores"))
    topics = []
    # The limits of members do not bind the master.
    for number in range(60):
        name = TOPICS[number] if number < len(TOPICS) else f"Rincones de la provincia número {number}"
        topics.append(server.call("POST", "classes/Temas", {"Tema": name, "avisar": False})["objectId"])
    opened = server.call("POST", "functions/abrirTema", {
        "tema": "Una semana en las islas Lofoten", "avisar": False,
        "comentario": "Voy en junio con mi hermana.\n\n¿Coche o autobús? ¿Merece la pena dormir en una rorbu?"}, ana)
    topic = opened["result"]["tema"]
    pointer = {"__type": "Pointer", "className": "Temas", "objectId": topic}
    said = [
        "Coche sin dudarlo: las distancias engañan y hay dos autobuses al día.",
        "Take the bus to Å and walk. It is the best part, honestly: https://www.visitnorway.com/places/lofoten.",
        "Nosotros dormimos en una rorbu en Reine.\nCara, pero no se olvida.",
        "<img src=x onerror=alert(1)> ¿alguien sabe de ferris? Pago 5 < 10 & ya.",
    ]
    for number in range(26):
        words = said[number] if number < len(said) else f"Otra idea, la número {number}: subid al Reinebringen al amanecer."
        server.call("POST", "classes/Comentarios",
                    {"Tema": pointer, "comentario": words, "avisar": False}, luis if number % 2 else ana)
    return topic


def as_stranger(walk, topic):
    b = walk.browser
    b.language("en")
    b.screen(*WIDTHS[0])
    walk.open("/")
    walk.shows("Anyone reads")
    assert b.run("document.querySelectorAll('ol.topics > li').length") == 50
    assert b.run("document.title") == "Hermes Forum", "a topic's name has acted"
    # Nothing has to come before it is shown, but the page itself.
    blocking = b.run("performance.getEntriesByType('resource').filter((file) => file.renderBlockingStatus === 'blocking')"
                     ".map((file) => file.name)")
    assert blocking == [], blocking
    b.until("performance.getEntriesByType('paint').length > 0", "the page is shown")
    walk.look("topics")
    # Older topics come to the end of the list, and the focus goes to the first of them.
    b.tab_to(".pager a[rel=next]")
    b.press("Enter")
    b.until("document.querySelectorAll('ol.topics > li').length === 61", "older topics come")
    assert b.run("document.activeElement.closest('li') === document.querySelectorAll('ol.topics > li')[50]")
    # Without a script they are a page.
    b.scripts(False)
    walk.open("/")
    walk.follow(".pager a[rel=next]")
    b.scripts(True)
    assert b.run("document.querySelectorAll('ol.topics > li').length") == 11
    walk.look("older-topics")
    walk.open(f"/tema/{topic}")
    walk.shows("Voy en junio")
    walk.shows("<img src=x onerror=alert(1)>")
    assert b.run("document.querySelectorAll('main img').length") == 0
    walk.look("topic-stranger")
    # On paper there is what was said, and nothing to press.
    b.call("Emulation.setEmulatedMedia", media="print")
    assert not b.run("[...document.querySelectorAll('nav, form, footer, .invite')].some((part) => part.checkVisibility())")
    assert b.run("document.querySelector('.words').checkVisibility()")
    b.call("Emulation.setEmulatedMedia", media="")
    b.language("es")
    walk.open("/buscar?q=dormimos+rorbu")
    walk.shows("Nosotros dormimos en una rorbu")
    walk.look("search")
    walk.open("/normas")
    walk.look("netiquette")
    walk.open("/nuevo")
    assert walk.path.startswith("/entrar"), walk.path
    walk.open("/tema/nadie")
    walk.shows("Ese tema no existe")
    walk.look("nothing-here")


def as_newcomer(walk, topic):
    """Signs up and writes, with the keyboard alone."""
    b = walk.browser
    b.screen(*WIDTHS[0])
    walk.open("/registro")
    walk.look("sign-up")
    b.screen(*WIDTHS[0])
    walk.open("/registro")
    for name, text in [("usuario", "Ana"), ("correo", "vega@example.com"), ("clave", "Clave-7"), ("nombre", "Vega"),
                       ("movil", "600 100 200"), ("ciudad", "Burgos")]:
        walk.fill_in(name, text)
    walk.press_button()
    walk.shows("Ese nombre de usuario ya está cogido")
    walk.look("sign-up-refused")
    b.screen(*WIDTHS[0])
    assert b.run("document.querySelector('[name=correo]').value") == "vega@example.com"
    b.run("document.querySelector('[name=usuario]').value = ''")
    walk.fill_in("usuario", "vega")
    walk.fill_in("clave", "Clave-7")
    walk.press_button()
    assert walk.path == "/", walk.path
    walk.shows("vega", "header")
    walk.look("topics-member")
    b.screen(*WIDTHS[1])
    walk.open("/")
    walk.follow("a[href='/nuevo']")
    walk.fill_in("tema", "islas Lofoten")
    b.until("document.querySelector('form .hint li a')?.innerText.includes('Lofoten')", "a topic of that name is shown")
    walk.look("open-topic")
    b.screen(*WIDTHS[1])
    walk.fill_in("comentario", "¿Alguien ha ido en septiembre?\nBusco compañía.")
    b.run("document.querySelector('[name=tema]').value = 'Auroras en septiembre'")
    walk.press_button()
    walk.shows("¿Alguien ha ido en septiembre?")
    walk.look("topic-own")
    walk.open(f"/tema/{topic}")
    walk.follow(".pager a[href$='desde=final']")
    b.tab_to("[name=comentario]")
    b.type("יום טוב")
    assert b.run("getComputedStyle(document.activeElement).direction") == "rtl", "it is written as it will be read"
    b.run("document.activeElement.value = ''")
    b.type("Yo fui en mayo y no paró de llover.")
    b.leave(lambda: b.press("Enter", modifiers=2))
    walk.shows("no paró de llover")
    assert walk.path.startswith(f"/tema/{topic}?desde="), walk.path
    walk.look("commented")
    # What was written and not sent is there again.
    b.tab_to("[name=comentario]")
    b.type("A medias")
    walk.open(f"/tema/{topic}")
    assert b.run("document.querySelector('[name=comentario]').value") == "A medias"
    # So is what was sent into a connection that had gone.
    b.tab_to("[name=comentario]")
    b.connection(False)
    b.leave(lambda: b.press("Enter", modifiers=2))
    assert b.run("location.protocol") == "chrome-error:", "the browser reaches nobody"
    b.connection(True)
    walk.open(f"/tema/{topic}")
    assert b.run("document.querySelector('[name=comentario]').value") == "A medias"
    walk.follow("header .me button")
    walk.open("/entrar")
    walk.look("log-in")
    b.screen(*WIDTHS[0])
    walk.open(f"/entrar?a=/tema/{topic}")
    walk.fill_in("usuario", "VEGA@example.com")
    walk.fill_in("clave", "falsa")
    b.tab_to("main form button")
    b.press("Enter")
    b.until("document.querySelector('#error')?.innerText.includes('no son correctos')", "a wrong password is refused")
    assert b.run("document.activeElement.name") == "clave", "one writes on where one was"
    b.type("Clave-7")
    walk.press_button()
    assert walk.path == f"/tema/{topic}", walk.path
    walk.shows("vega", "header")
    walk.tokens["vega"] = server_session(walk)
    walk.open("/recuperar")
    walk.look("recover")


def as_friend(walk, topic):
    """Changes and reports what was said, makes friends, and talks to them: with the keyboard alone."""
    b = walk.browser
    b.screen(*WIDTHS[1])
    walk.open(f"/tema/{topic}?pagina=2")
    walk.follow("a[href$='/editar']")
    b.tab_to("[name=comentario]")
    b.press("End", modifiers=2)
    b.type(" ¡Qué frío!")
    walk.look("edit-comment")
    b.screen(*WIDTHS[1])
    walk.press_button("main button[value=guardar]")
    walk.shows("¡Qué frío!")
    walk.shows("editado")
    walk.follow("a[href$='/denunciar']")
    walk.fill_in("motivo", "Publicidad")
    walk.look("report")
    b.screen(*WIDTHS[1])
    walk.press_button()
    walk.shows("los moderadores lo mirarán")
    walk.follow("a.person[href^='/miembro/ana']")
    walk.fill_in("mensaje", "¡Hola! ¿Vamos juntas a Lofoten?")
    walk.look("member")
    b.screen(*WIDTHS[1])
    walk.press_button("main button[value=invitar]")
    walk.shows("La invitación está en camino")
    walk.look("invited")
    b.screen(*WIDTHS[0])
    log_in(walk, "ana", "/avisos")
    walk.shows("vega quiere ser tu amigo")
    walk.look("notices")
    b.screen(*WIDTHS[0])
    walk.open("/avisos")
    walk.follow("main a[href='/amigos']")
    walk.shows("¿Vamos juntas a Lofoten?")
    walk.look("invitation")
    b.screen(*WIDTHS[0])
    walk.open("/amigos")
    walk.press_button(".list .buttons form:first-child button")
    walk.shows("Ya sois amigos")
    walk.look("friends")
    b.screen(*WIDTHS[0])
    walk.open("/amigos")
    walk.press_button("main .list button.second")
    assert walk.path.startswith("/charla/"), walk.path
    walk.fill_in("cuerpo", "¡Vamos! Mira los vuelos: https://example.com/vuelos")
    walk.press_button("main form[data-draft] button")
    walk.shows("¡Vamos!")
    chat = walk.path
    b.tab_to("[name=cuerpo]")
    walk.server.call("POST", "classes/Mensajes", {
        "conversacion": {"__type": "Pointer", "className": "Conversaciones", "objectId": chat.split("/")[-1]},
        "tipo": "texto", "cuerpo": "Salen los martes."}, walk.tokens["vega"])
    b.until("document.querySelector('.chat').innerText.includes('Salen los martes')", "a message of the other comes by itself")
    # So does the first of all.
    walk.server.call("POST", "functions/borrarConversacion", {"conversacion": chat.split("/")[-1]}, server_session(walk))
    walk.open(chat)
    walk.shows("Sin mensajes todavía")
    walk.server.call("POST", "classes/Mensajes", {
        "conversacion": {"__type": "Pointer", "className": "Conversaciones", "objectId": chat.split("/")[-1]},
        "tipo": "texto", "cuerpo": "¿Sigues ahí?"}, walk.tokens["vega"])
    b.until("document.querySelector('.chat').innerText.includes('¿Sigues ahí?')", "the first message comes by itself")
    assert "Sin mensajes" not in walk.text()
    walk.look("chat")
    b.screen(*WIDTHS[0])
    walk.open("/charlas")
    walk.fill_in("nombre", "Lofoten 2027")
    b.tab_to("[name='con:vega']")
    b.press("Space")
    walk.look("chats")
    b.screen(*WIDTHS[0])
    walk.press_button("main button[value=grupo]")
    walk.shows("Lofoten 2027")
    walk.fill_in("cuerpo", "Aquí lo hablamos todo.")
    walk.press_button("main form[data-draft] button")
    walk.look("group")
    b.screen(*WIDTHS[0])
    walk.open("/ajustes")
    b.tab_to("[name=avisos]")
    b.press("Space")
    walk.look("settings")
    b.screen(*WIDTHS[0])
    walk.press_button("main form button")
    walk.shows("Guardado")
    walk.follow("main a[href='/ajustes/cuenta']")
    walk.look("account")
    b.screen(*WIDTHS[0])
    walk.follow("main a[href='/ajustes/correo']")
    walk.fill_in("correo", "ana.ruiz@example.com")
    walk.fill_in("clave", "mala")
    walk.press_button()
    walk.shows("La contraseña no es correcta.")
    walk.look("address")
    b.screen(*WIDTHS[0])
    walk.fill_in("clave", "Clave-7")
    walk.press_button()
    walk.shows("Tu correo está cambiado.")
    walk.follow("main a[href='/ajustes/clave']")
    walk.fill_in("clave", "Clave-7")
    walk.fill_in("nueva", "Nueva-8")
    walk.look("password")
    b.screen(*WIDTHS[0])
    walk.press_button()
    walk.shows("Tu contraseña está cambiada.")
    walk.follow("main a[href='/ajustes/clave']")
    walk.fill_in("clave", "Nueva-8")
    walk.fill_in("nueva", "Clave-7")
    walk.press_button()
    walk.shows("Tu contraseña está cambiada.")
    walk.open("/ajustes")
    assert not b.run("document.querySelector('[name=avisos]').checked")


def as_moderator(walk, topic):
    """Hides, closes and pins; in English."""
    b = walk.browser
    b.screen(*WIDTHS[1])
    log_in(walk, "mod", "/moderar")
    walk.shows("Publicidad")
    walk.look("reports")
    b.screen(*WIDTHS[1])
    walk.open("/moderar")
    walk.follow("main .list a.button")
    walk.look("moderate-comment")
    b.screen(*WIDTHS[1])
    walk.press_button("main form button")
    walk.shows("The comment is hidden.")
    walk.look("hidden")
    b.screen(*WIDTHS[1])
    walk.open(f"/tema/{topic}/editar")
    walk.look("manage-topic")
    b.screen(*WIDTHS[1])
    walk.open(f"/tema/{topic}/editar")
    walk.press_button("main form:nth-of-type(2) button")
    walk.shows("The topic was changed.")
    walk.shows("Pinned")
    walk.open(f"/tema/{topic}/editar")
    walk.press_button("main form:nth-of-type(1) button")
    walk.shows("The topic is closed to comments.")
    walk.look("closed")
    walk.open("/")
    walk.look("topics-moderator")


def size(server):
    """The first page with all that it loads, as they come."""
    page = urllib.request.urlopen(server.url + "/", timeout=60).read()
    sizes = {"/": len(page)}
    for path in sorted(set(re.findall(rb'(?:href|src)="(/[^"]*-[0-9a-f]{12}\.\w+)"', page))):
        sizes[path.decode()] = len(urllib.request.urlopen(server.url + path.decode(), timeout=60).read())
    print("bytes of the first page:", sizes)
    assert len(sizes) == 4 and sum(sizes.values()) < 60_000, sizes
    # Ten segments of TCP, which a server sends before it hears whether they arrive.
    packed = urllib.request.Request(server.url + "/", headers={"Accept-Encoding": "gzip"})
    length = len(urllib.request.urlopen(packed, timeout=60).read())
    print("compressed:", length)
    assert length < 14_000, length


def main():
    program, folder, path = arguments("the forum")
    for old in folder.glob("*.png"):
        old.unlink()
    server = Server(program)
    try:
        topic = fill(server)
        with walking(path, server, folder) as walk:
            size(server)
            for part in PARTS:
                part(walk, topic)
    finally:
        server.stop()
    print(f"the forum works in {path}; screenshots of {walk.taken} pages are in {folder}")


def one_time_password(secret, step):
    """RFC 6238, of six digits."""
    mac = hmac.new(base64.b32decode(secret), struct.pack(">Q", step), "sha1").digest()
    offset = mac[-1] & 15
    return f"{(struct.unpack('>I', mac[offset:offset + 4])[0] & 0x7FFFFFFF) % 1_000_000:06}"


def with_second_factor(walk, topic):
    """Logs in with an app's code and with one for recovery, with and without a script, in both languages."""
    b = walk.browser
    secret, step = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", int(time.time()) // 30
    token, user = walk.server.member("eva")
    mfa = {"secret": secret, "token": one_time_password(secret, step - 1)}
    answer = walk.server.call("PUT", f"users/{user['objectId']}", {"authData": {"mfa": mfa}}, token)
    codes = answer["authDataResponse"]["mfa"]["recovery"].split(", ")
    for language, scripts, code, asks, wrong in [
            ("es", True, None, "pide además un código", "El código no es correcto"),
            ("en", False, codes[0], "asks for a code too", "The code is wrong"),
            ("en", True, codes[1], "asks for a code too", "The code is wrong")]:
        b.screen(*WIDTHS[0])
        b.call("Network.clearBrowserCookies")
        b.language(language)
        b.scripts(scripts)
        walk.open(f"/entrar?a=/tema/{topic}")
        walk.fill_in("usuario", "eva")
        walk.fill_in("clave", "Clave-7")
        if scripts:
            # The page stays, and so does the password.
            b.tab_to("main form button")
            b.press("Enter")
            b.until("document.activeElement.name === 'codigo'", "the code is asked for")
            assert b.run("document.querySelector('[name=clave]').value") == "Clave-7"
        else:
            walk.press_button()
            walk.shows(asks)
            assert b.run("document.querySelector('[name=clave]').value") == ""
            walk.fill_in("clave", "Clave-7")
            walk.fill_in("codigo", "000000")
            walk.press_button()
            walk.shows(wrong)
            walk.fill_in("clave", "Clave-7")
        if scripts:
            walk.shows(asks)
            b.type("000000")
            b.press("Enter")
            b.until(f"document.querySelector('#error').innerText.includes({json.dumps(wrong)})", "a wrong code is refused")
        walk.look(f"second-factor-{language}{'' if scripts else '-no-script'}")
        b.screen(*WIDTHS[0])
        b.run("document.activeElement.blur()")
        walk.fill_in("codigo", code or one_time_password(secret, int(time.time()) // 30))
        b.leave(lambda: b.press("Enter"))
        assert walk.path == f"/tema/{topic}", walk.path
        walk.shows("eva", "header")


PARTS = [as_stranger, as_newcomer, as_friend, as_moderator, with_second_factor]

if __name__ == "__main__":
    main()
