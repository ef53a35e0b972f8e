/// An address as SMTP and a header can carry it: `local@domain` in ASCII, of the plain characters only (RFC 5321's
/// dot-string). What needs quotes, and addresses outside ASCII, are not sent to.
struct MailAddress: Sendable, Equatable {
    let text: String
    var domain: String { text.lastIndex(of: "@").map { String(text[text.index(after: $0)...]) } ?? "" }

    /// nil where mail cannot go to it.
    init?(_ text: String) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard text.utf8.count <= 254, parts.count == 2, (1...64).contains(parts[0].utf8.count),
            Self.isDotted(parts[0], Self.isLocal), Self.isDotted(parts[1], Self.isDomain),
            parts[1].split(separator: ".").allSatisfy({
                $0.utf8.count <= 63 && $0.first != "-" && $0.last != "-"
            })
        else { return nil }
        self.text = text
    }

    private static func isDotted(_ text: Substring, _ isAllowed: (UInt8) -> Bool) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false)
            .allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(isAllowed) }
    }

    private static func isDomain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    private static let marks = Set("!#$%&'*+/=?^_`{|}~".utf8)
    private static func isLocal(_ byte: UInt8) -> Bool { isDomain(byte) || marks.contains(byte) }
}

/// Whom a mail comes from: an address, and a name before it perhaps.
public struct MailSender: Sendable, Equatable {
    let address: MailAddress
    let name: String?
}

extension MailSender {
    /// - Parameter text: `foro@example.com` or `El Foro <foro@example.com>`.
    /// - Throws: `MailFault`, the end of a sentence about it.
    public init(_ text: String) throws(MailFault) {
        var name: String?
        var address = text
        if text.hasSuffix(">"), let open = text.lastIndex(of: "<") {
            address = String(text[text.index(after: open)...].dropLast())
            var given = text[..<open].drop { $0 == " " }
            while given.last == " " { given.removeLast() }
            if given.count > 1, given.first == "\"", given.last == "\"" { given = given.dropFirst().dropLast() }
            if !given.isEmpty { name = String(given) }
        }
        guard let address = MailAddress(address) else {
            throw MailFault(
                "is no address that mail can come from, such as foro@example.com or Foro <foro@example.com>")
        }
        guard !(name ?? "").unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw MailFault("holds a line break or another control character")
        }
        self.address = address
        self.name = name
    }
}
