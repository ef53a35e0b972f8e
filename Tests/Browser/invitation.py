#!/usr/bin/env python3
"""An invitation on a bad day, in Chromium: invitation.py HERMES [FOLDER]

The SMTP server is down when members are invited, and Hermes is killed before it comes back. Each mail arrives once all the
same; its link is opened in the browser, in both languages, and accepted there; everybody is told. HERMES and FOLDER are
those of forum.py; so is what happens without Chromium."""
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from walk import WIDTHS, Server, arguments, free_port, log_in, server_session, walking

SMTP = pathlib.Path(__file__).parents[1] / "Support/smtp_server.py"


class Postbox:
    """The tests' own SMTP server, on a port that is known before it runs."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="hermes-postbox-", ignore_cleanup_errors=True)
        self.port = free_port()
        self.process = None

    def start(self):
        self.process = subprocess.Popen(["/usr/bin/python3", SMTP, self.folder.name, "--port", str(self.port)])

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()

    @property
    def mails(self):
        try:
            lines = pathlib.Path(self.folder.name, "mails").read_text().split("\n")[:-1]
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines]

    def wait(self, count, limit=120):
        end = time.monotonic() + limit
        while len(self.mails) < count:
            assert self.process.poll() is None, "the SMTP server has ended: scripts/setup installs what it needs"
            assert time.monotonic() < end, f"{len(self.mails)} of {count} mails have come"
            time.sleep(0.1)


# Whom ana invites: a member for each language, and an address that is nobody's yet, which is written to in her own.
GUESTS = {
    "luz": ("es", "¿Quieres ser mi amigo?", "ana quiere ser tu amigo", "Ya sois amigos"),
    "bob": ("en", "You want to be my friend?", "ana wants to be your friend", "You are friends now"),
    "eva": ("en", "You want to be my friend?", "ana wants to be your friend", "You are friends now"),
}


def invite(server):
    ana, _ = server.member("ana", "en")
    for name in ("luz", "bob"):
        server.member(name, GUESTS[name][0])
    for guest in ({"usuario": "luz", "mensaje": "¿Vamos juntas?"}, {"usuario": "bob"}, {"correo": "eva@example.com"}):
        answer = server.call("POST", "functions/invitar", guest, ana)
        assert answer["result"]["estado"] == "pendiente", answer


def letters(postbox):
    """The mails by their addressee's name, each of which has come once."""
    found = {}
    for mail in postbox.mails:
        (address,) = mail["recipients"]
        name = address.split("@")[0]
        assert name not in found, f"two mails to {address}"
        found[name] = mail
    return found


def link(mail, name):
    (line,) = [line for line in mail["text"].splitlines() if "token=" in line]
    assert dict(mail["headers"])["Subject"] == GUESTS[name][1], mail["headers"]
    return line.strip()


def accept(walk, name, address):
    """Opens the mail's link, and says yes with the keyboard."""
    b = walk.browser
    language, _, question, done = GUESTS[name]
    b.screen(*WIDTHS[0])
    # Whatever the browser speaks: the page speaks the member's language.
    b.language("en" if language == "es" else "es")
    b.open(address)
    walk.shows(question)
    assert b.run("document.documentElement.lang") == language
    walk.look(f"invitation-{name}")
    b.screen(*WIDTHS[0])
    walk.press_button("button[value=aceptar]")
    if name == "eva":
        walk.shows("You need an account")
        walk.look("invitation-no-account")
        b.screen(*WIDTHS[0])
        b.language("en")
        walk.follow("main a[href^='/registro']")
        for field, text in [("usuario", name), ("correo", f"{name}@example.com"), ("clave", "Clave-7"), ("nombre", "Eva"),
                            ("movil", "600 100 201"), ("ciudad", "Vic")]:
            walk.fill_in(field, text)
        walk.press_button()
        # Back where the link led.
        assert walk.path.startswith("/invitacion?token="), walk.path
        walk.press_button("button[value=aceptar]")
    walk.shows(done)
    walk.look(f"friends-{name}")
    # Once more says the same.
    b.open(address)
    walk.shows(done)


def told(walk, name):
    """The notices of the new friendships, as their addressee reads them."""
    log_in(walk, name, "/avisos")
    friends = list(GUESTS) if name == "ana" else ["ana"]
    for friend in friends:
        walk.shows(friend)
    walk.look(f"told-{name}")
    where = urllib.parse.quote(json.dumps({"tipo": "amistad"}))
    notices = walk.server.call("GET", f"classes/Avisos?where={where}", token=server_session(walk))["results"]
    assert len(notices) == len(friends), notices


def main():
    program, folder, path = arguments("an invitation")
    postbox = Postbox()
    server = None
    try:
        server = Server(program, smtp=postbox.port)
        invite(server)
        server.kill()
        assert not postbox.mails
        postbox.start()
        server.start()
        postbox.wait(len(GUESTS))
        with walking(path, server, folder) as walk:
            for name, mail in sorted(letters(postbox).items()):
                accept(walk, name, link(mail, name))
            for name in ("ana", *GUESTS):
                told(walk, name)
        # Meanwhile no other mail has come.
        assert set(letters(postbox)) == set(GUESTS)
    finally:
        if server:
            server.stop()
        postbox.close()
    print(f"invitations outlive servers, and their links make friends in {path}; {walk.taken} pages are in {folder}")


if __name__ == "__main__":
    main()
