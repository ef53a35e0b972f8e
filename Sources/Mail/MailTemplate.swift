/// The mails that the server writes by itself.
public enum MailTemplate: String, Sendable, CaseIterable {
    /// A link that proves an address. Needs `link`.
    case verifyEmail
    /// A link that leads to a new password. Needs `link`.
    case passwordReset
    /// `name` invites somebody who has no account. Needs `link` and `name`.
    case invitation
    /// A link that logs in. Needs `link`.
    case logInLink
    /// Somebody signed up with an address that has an account. Needs `link`, to log in.
    case accountExists

    /// What its words may ask for between `{{` and `}}`.
    var placeholders: Set<String> { needed.union(["appName", "email"]) }

    /// What whoever sends it must tell.
    var needed: Set<String> { self == .invitation ? ["link", "name"] : ["link"] }
}

/// Words with places for values: `{{link}}`, or `{{url:name}}` to be a part of a URL.
struct TemplateText: Sendable {
    /// Where the words stand, and so how values are written into them.
    enum Context: Sendable { case text, html }

    private enum Piece: Sendable {
        case words(String)
        case value(String, isInURL: Bool)
    }
    private let pieces: [Piece]
    private let context: Context

    /// - Throws: `MailFault` where a placeholder is not closed, or is none of `known`: the end of a sentence.
    init(_ source: String, _ context: Context, known: Set<String>) throws(MailFault) {
        self.context = context
        var pieces: [Piece] = []
        var rest = source[...]
        while let open = rest.firstRange(of: "{{") {
            pieces.append(.words(String(rest[..<open.lowerBound])))
            guard let close = rest[open.upperBound...].firstRange(of: "}}") else {
                throw MailFault("has a {{ without its }}")
            }
            let inner = rest[open.upperBound..<close.lowerBound].filter { $0 != " " }
            let name = inner.hasPrefix("url:") ? String(inner.dropFirst(4)) : inner
            guard known.contains(name) else {
                throw MailFault("has {{\(name)}}, where only \(known.sorted().joined(separator: ", ")) can stand")
            }
            pieces.append(.value(name, isInURL: name != inner))
            rest = rest[close.upperBound...]
        }
        pieces.append(.words(String(rest)))
        self.pieces = pieces
    }

    func uses(_ name: String) -> Bool {
        pieces.contains { if case .value(name, false) = $0 { true } else { false } }
    }

    /// A value that is not told stands for nothing.
    func filled(_ values: [String: String]) -> String {
        pieces.map { piece in
            switch piece {
            case .words(let words): return words
            case .value(let name, let isInURL):
                let value = values[name] ?? ""
                // Quotes and parentheses end links in mail readers.
                if isInURL { return value.urlEncoded(keeping: "-._~") }
                return context == .html ? value.htmlEscaped : value
            }
        }.joined()
    }
}

/// One template in one language.
struct TemplateWords: Sendable {
    let language: String
    let subject: TemplateText
    let text: TemplateText
    /// nil: made of the text.
    let html: TemplateText?

    /// - Parameters:
    ///   - text: `Subject: …`, an empty line, and what follows.
    ///   - html: a whole page.
    init(_ template: MailTemplate, language: String, text: String, html: String? = nil) throws(MailFault) {
        self.language = language
        let lines = text.split(maxSplits: 1, omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        guard let first = lines.first, first.lowercased().hasPrefix("subject:") else {
            throw MailFault("must begin with a line \"Subject: …\"")
        }
        subject = try TemplateText(
            HeaderText.oneLine(String(first.dropFirst(8))), .text, known: template.placeholders)
        let body = lines.count > 1 ? String(lines[1].drop { $0.isWhitespace }) : ""
        self.text = try TemplateText(body, .text, known: template.placeholders)
        self.html = try html.map { html throws(MailFault) in
            try TemplateText(html, .html, known: template.placeholders)
        }
        guard self.text.uses("link"), self.html?.uses("link") ?? true else {
            throw MailFault("must hold {{link}}: without it, the mail is of no use")
        }
    }

    func filled(_ values: [String: String]) -> (subject: String, text: String, html: String) {
        let (subject, text) = (subject.filled(values), text.filled(values))
        let page = html?.filled(values) ?? MailPage.html(text, title: subject, language: language)
        return (subject, text, page)
    }
}

/// A text as an HTML page: paragraphs, and links where a line is nothing but a URL.
enum MailPage {
    static func html(_ text: String, title: String, language: String?) -> String {
        let paragraphs = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
            .split { $0.allSatisfy(\.isWhitespace) }
        let body = paragraphs.map { lines in
            "<p>" + lines.map(line).joined(separator: "<br>\n") + "</p>\n"
        }.joined()
        return """
            <!doctype html>
            <html\(language.map { " lang=\"\($0.htmlEscaped)\"" } ?? "")>
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <title>\(title.htmlEscaped)</title>
            </head>
            <body style="margin: 2em auto; padding: 0 1em; max-width: 36em; font: 16px/1.5 sans-serif; color: #222">
            \(body)</body>
            </html>

            """
    }

    private static func line(_ text: String) -> String {
        let escaped = text.htmlEscaped
        guard MailLink.isOne(text) else { return escaped }
        return "<a href=\"\(escaped)\" style=\"color: #0b57d0; overflow-wrap: anywhere\">\(escaped)</a>"
    }
}

/// What may stand in a mail as a link.
enum MailLink {
    /// Whether a text is one http or https URL, in ASCII, without blanks and what ends links in texts.
    static func isOne(_ text: String) -> Bool {
        guard text.hasPrefix("https://") || text.hasPrefix("http://"), text.utf8.count <= 2000 else { return false }
        let never = Set("<>\"\\^`{|}".utf8)
        return text.utf8.allSatisfy { (0x21...0x7e).contains($0) && !never.contains($0) }
    }

    /// A name as others may read it in a mail from us: short, on one line, and no mail program makes a link of it, since
    /// whoever signs up chooses it, and chooses who gets the mail.
    static func name(_ text: String) -> String {
        var out = ""
        let line = Array(HeaderText.oneLine(text).prefix(64))
        for (index, character) in line.enumerated() {
            // What turns the direction of writing, or is not seen at all.
            if character.unicodeScalars.allSatisfy({ $0.properties.generalCategory == .format }) { continue }
            out.append(character)
            if ".:/@".contains(character), index + 1 < line.count, line[index + 1] != " " { out.append(" ") }
        }
        return out
    }
}
