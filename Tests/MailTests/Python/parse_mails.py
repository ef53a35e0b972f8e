"""Reads mails, one in base64 a line, and says of each what Python's email package makes of it: a JSON object a line."""
import base64, email, email.policy, email.utils, json, re, sys

for line in open(sys.argv[1]):
    data = base64.b64decode(line)
    message = email.message_from_bytes(data, policy=email.policy.default)
    parts = {part.get_content_type(): part for part in message.walk() if not part.is_multipart()}
    content = {}
    for kind, part in parts.items():
        # get_content would not show a wrong charset; lines end as they came.
        content[kind] = part.get_payload(decode=True).decode(part.get_content_charset()).replace("\r\n", "\n")
    defects = [repr(defect) for part in message.walk() for defect in part.defects]
    defects += [f"{name}: {defect!r}" for name in message.keys() for defect in message[name].defects]
    sender = message["from"].addresses[0]
    rest = data.replace(b"\r\n", b"")
    print(json.dumps({
        "names": message.keys(), "subject": str(message["subject"]), "name": sender.display_name,
        "address": sender.addr_spec, "recipients": [a.addr_spec for n in ("to", "cc", "bcc") if message[n] for a in message[n].addresses],
        "text": content.get("text/plain"), "html": content.get("text/html"), "defects": defects,
        "id": message["message-id"], "date": email.utils.parsedate_to_datetime(message["date"]).timestamp(),
        "unsubscribe": message["list-unsubscribe"], "oneClick": message["list-unsubscribe-post"],
        "longest": max(len(line) for line in data.split(b"\r\n")), "ascii": data.isascii(),
        "bare": rest.count(b"\n") + rest.count(b"\r"), "leadingDots": len(re.findall(rb"(?m)^\.", data)),
    }))
