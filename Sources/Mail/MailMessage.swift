import Wire

/// A mail with all its words, and how it looks on the way: RFC 5322 and MIME, ASCII in lines of at most 78 characters.
struct MailMessage: Sendable {
    let from: MailSender
    let to: MailAddress
    let subject: String
    let text: String
    /// nil: there is only text.
    let html: String?
    /// The same for each attempt, so that receivers know a second copy for what it is.
    let id: String
    let date: Timestamp
    /// An http or https URL without blanks; see `Mailer.check`.
    let unsubscribe: String?

    var bytes: [UInt8] {
        var head = """
            Date: \(HeaderText.date(date))
            From: \(sender)
            To: <\(to.text)>
            Subject: \(HeaderText.unstructured(subject))
            Message-ID: <\(id)@\(from.address.domain)>
            MIME-Version: 1.0
            Auto-Submitted: auto-generated

            """
        if let unsubscribe {
            // RFC 2369 and RFC 8058. A URL is not broken into lines, however long.
            head += "List-Unsubscribe: <\(unsubscribe)>\n"
            if unsubscribe.hasPrefix("https://") { head += "List-Unsubscribe-Post: List-Unsubscribe=One-Click\n" }
        }
        guard let html else { return Self.crlf(head) + Self.part("plain", text) }
        // A `=_` can't come in quoted-printable, so no text holds the boundary.
        let boundary = "=_\(id)"
        head += "Content-Type: multipart/alternative;\n boundary=\"\(boundary)\"\n\n"
        return Self.crlf(head + "--\(boundary)\n") + Self.part("plain", text)
            + Self.crlf("\n--\(boundary)\n") + Self.part("html", html) + Self.crlf("\n--\(boundary)--\n")
    }

    private var sender: String {
        let address = "<\(from.address.text)>"
        guard let name = from.name, !HeaderText.oneLine(name).isEmpty else { return address }
        // On a line of its own: a name's last line and the longest address don't fit on one.
        return HeaderText.phrase(name) + "\n \(address)"
    }

    private static func part(_ subtype: String, _ text: String) -> [UInt8] {
        crlf("Content-Type: text/\(subtype); charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n")
            + QuotedPrintable.encode(text)
    }

    /// The lines of a text of ours, which end in LF (or CR LF already).
    private static func crlf(_ text: String) -> [UInt8] {
        var out: [UInt8] = []
        for byte in text.utf8 where byte != 13 {
            if byte == 10 { out.append(13) }
            out.append(byte)
        }
        return out
    }
}
