"""An SMTP server for tests: takes mail, says what it took, and fails where it is told to.

A recipient names its fault and how often it strikes: `rcpt4.2.ana@example.com` is refused for now the first two times.
To whoever asked for `bye.` it says good-bye as most servers do, to others never.
Accepted mails go to FOLDER/mails, events to FOLDER/events, one JSON object a line; the port to FOLDER/port.
"""
import argparse, asyncio, collections, email, email.policy, email.utils, json, os, ssl

from aiosmtpd.smtp import SMTP, AuthResult, syntax

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--port", type=int, default=0)
parser.add_argument("--greeting", help="said in place of the greeting, and the connection is closed")
parser.add_argument("--certificate", help="with its key in the same file; STARTTLS is offered")
parser.add_argument("--smtps", action="store_true", help="TLS from the first byte")
parser.add_argument("--auth", help="USER:PASSWORD, without which no mail is taken")
options = parser.parse_args()

attempts = collections.Counter()


def write(name, record):
    with open(os.path.join(options.folder, name), "a") as file:
        file.write(json.dumps(record) + "\n")


def fault(recipient, step):
    """Whether a recipient's fault is this one, and strikes."""
    parts = recipient.split(".")
    if len(parts) < 3 or parts[0] != step:
        return False
    attempts[recipient] += 1
    return attempts[recipient] <= int(parts[1])


def described(data, session, envelope):
    message = email.message_from_bytes(data, policy=email.policy.default)
    parts = {part.get_content_type(): part for part in message.walk() if not part.is_multipart()}
    text = {kind: part.get_content() for kind, part in parts.items()}
    defects = [repr(defect) for part in message.walk() for defect in part.defects]
    defects += [f"{name}: {defect!r}" for name in message.keys() for defect in getattr(message[name], "defects", ())]
    return {
        "sender": envelope.mail_from, "recipients": envelope.rcpt_tos,
        "headers": [[name, str(value)] for name, value in message.items()],
        "names": [address.display_name for address in message["from"].addresses],
        "date": email.utils.parsedate_to_datetime(message["date"]).timestamp(),
        "text": text.get("text/plain"), "html": text.get("text/html"), "defects": defects,
        "longest": max(len(line) for line in data.split(b"\r\n")), "ascii": data.isascii(),
        "bare": data.replace(b"\r\n", b"").count(b"\n") + data.replace(b"\r\n", b"").count(b"\r"),
        "tls": session.ssl is not None, "user": session.auth_data.decode() if session.auth_data else None,
        "raw": data.decode("utf-8", "replace"),
    }


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        write("events", {"step": "rcpt", "to": address})
        server.says_bye = ".bye." in address
        if fault(address, "rcpt4"):
            return "451 4.3.0 come back later"
        if fault(address, "rcpt5"):
            return "550 5.1.1 nobody of that name"
        if fault(address, "hold-rcpt"):
            await server.hold("rcpt", address)
        if fault(address, "cut-rcpt"):
            server.transport.abort()
            return "250 never read"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(self, server, session, envelope):
        to = envelope.rcpt_tos[0]
        record = described(envelope.original_content, session, envelope)
        write("events", {"step": "dot", "to": to, "id": dict(record["headers"])["Message-ID"]})
        if fault(to, "dot4"):
            return "452 4.2.2 no room just now"
        if fault(to, "dot5"):
            return "554 5.7.1 that is no mail for us"
        if fault(to, "hold-dot"):
            await server.hold("dot", to)
        if fault(to, "wait-dot"):
            # Until the test says that it may go on.
            write("events", {"step": "waiting", "to": to})
            while not os.path.exists(os.path.join(options.folder, "go")):
                await asyncio.sleep(0.01)
        if fault(to, "cut-dot"):
            server.transport.abort()
            return "250 never read"
        write("mails", record)
        return "250 2.0.0 OK: queued as TEST"


class Server(SMTP):
    async def hold(self, step, address):
        """Stays silent until the other side has gone."""
        write("events", {"step": "held-" + step, "to": address})
        try:
            # aiosmtpd cancels this.
            await asyncio.sleep(3600)
        finally:
            write("events", {"step": "gone-" + step, "to": address})

    async def _handle_client(self):
        if options.greeting:
            write("events", {"step": "greeting"})
            await self.push(options.greeting)
            self.transport.close()
            return
        await super()._handle_client()

    @syntax("DATA")
    async def smtp_DATA(self, arg):
        to = self.envelope.rcpt_tos[0] if self.envelope.rcpt_tos else ""
        if fault(to, "data4"):
            return await self.push("451 4.3.0 not now")
        if fault(to, "data5"):
            return await self.push("554 5.5.1 never")
        if fault(to, "hold-data"):
            await self.hold("data", to)
        if fault(to, "cut-data"):
            await self.push("354 go on")
            await self._reader.readline()
            self.transport.abort()
            return
        await super().smtp_DATA(arg)

    @syntax("QUIT")
    async def smtp_QUIT(self, arg):
        # A server that never says good-bye must keep nobody.
        write("events", {"step": "quit"})
        if getattr(self, "says_bye", False):
            return await super().smtp_QUIT(arg)
        await asyncio.sleep(3600)


def authenticate(server, session, envelope, mechanism, data):
    user, password = options.auth.split(":", 1)
    good = data.login == user.encode() and data.password == password.encode()
    write("events", {"step": "auth", "good": good})
    return AuthResult(success=good, handled=good, auth_data=data.login if good else None)


async def main():
    context = None
    if options.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.certificate)

    def make():
        return Server(
            Handler(), enable_SMTPUTF8=False, data_size_limit=None,
            tls_context=None if options.smtps else context,
            authenticator=authenticate if options.auth else None, auth_required=bool(options.auth),
            auth_require_tls=not options.smtps)

    server = await asyncio.get_running_loop().create_server(
        make, "127.0.0.1", options.port, ssl=context if options.smtps else None)
    path = os.path.join(options.folder, "port")
    with open(path + ".new", "w") as file:
        file.write(str(server.sockets[0].getsockname()[1]))
    os.rename(path + ".new", path)
    await server.serve_forever()


asyncio.run(main())
