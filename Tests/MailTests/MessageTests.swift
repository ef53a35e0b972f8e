import Core
import Foundation
import Postgres
import TestSupport
import Testing
import Wire

@testable import Mail

/// What a mail looks like on the way, read back by Python's email package.
@Suite struct MessageTests {
    /// What Python makes of mails, in their order.
    private func parsed(_ messages: [MailMessage]) async throws -> [JSONObject] {
        try await MessageTests.parsed(messages.map { Data($0.bytes) })
    }

    static func parsed(_ messages: [Data]) async throws -> [JSONObject] {
        let script = try #require(Bundle.module.path(forResource: "parse_mails", ofType: "py", inDirectory: "Python"))
        let file = NSTemporaryDirectory() + "hermes-mails-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: file) }
        let lines = messages.map { $0.base64EncodedString() }.joined(separator: "\n")
        try lines.write(toFile: file, atomically: true, encoding: .utf8)
        let (exit, output) = try await blocking {
            try ChildProcess.run(
                ["/usr/bin/python3", script, file], environment: ProcessInfo.processInfo.environment)
        }
        try #require(exit == 0, "\(output)")
        return try output.split(separator: "\n").map { try #require(JSONParser.parse(Array($0.utf8)).object) }
    }

    private func message(
        subject: String = "Hola", text: String = "Hola", html: String? = nil, name: String? = nil,
        unsubscribe: String? = nil
    ) throws -> MailMessage {
        var from = try MailSender("foro@example.com")
        if let name { from = MailSender(address: from.address, name: name) }
        return MailMessage(
            from: from, to: try #require(MailAddress("ana@example.com")), subject: subject, text: text, html: html,
            id: "7.abcdefghijklmnopqrst", date: Wire.Timestamp(milliseconds: 1_795_338_300_000),
            unsubscribe: unsubscribe)
    }

    private static let plainNames = [
        "Date", "From", "To", "Subject", "Message-ID", "MIME-Version", "Auto-Submitted", "Content-Type",
    ]

    @Test func whatGoesInComesOut() async throws {
        let text =
            "¡Hola, Ana! 👋🏽\n\n.punto\n.\nFrom aquí, línea " + String(repeating: "muy ", count: 500)
            + "larga \n\tfin=3D\n"
        let html = "<p title=\"ñ\">¿Qué tal?</p>\n" + String(repeating: "x", count: 3000) + "\n"
        let made = try message(
            subject: "¿Vienes al Camino? 🥾", text: text, html: html, name: "Ñandú, el \"Viajero\"",
            unsubscribe: "https://foro.example.com/baja?t=1&u=2")
        let read = try #require(try await parsed([made]).first)
        #expect(read["subject"] == "¿Vienes al Camino? 🥾")
        #expect(read["name"] == "Ñandú, el \"Viajero\"")
        #expect(read["address"] == "foro@example.com")
        #expect(read["text"] == .string(text))
        #expect(read["html"] == .string(html))
        #expect(read["defects"] == [])
        #expect(read["unsubscribe"] == "<https://foro.example.com/baja?t=1&u=2>")
        #expect(read["oneClick"] == "List-Unsubscribe=One-Click")
        #expect(read["date"] == 1_795_338_300)
        #expect(read["id"] == "<7.abcdefghijklmnopqrst@example.com>")
        #expect((read["longest"]?.number ?? 999) <= 78)
        #expect(read["ascii"] == true)
    }

    @Test func datesAreThoseOfTheCalendar() {
        #expect(HeaderText.date(Wire.Timestamp(milliseconds: 0)) == "Thu, 1 Jan 1970 00:00:00 +0000")
        #expect(
            HeaderText.date(Wire.Timestamp(milliseconds: 1_709_251_199_999)) == "Thu, 29 Feb 2024 23:59:59 +0000")
    }

    /// Names, subjects and texts of the worst kind, thousands of them: the headers are always the same ones, and what
    /// is not blank or a control character comes out again.
    @Test func nothingInjectsAHeader() async throws {
        let pieces = [
            "\r\n", "\n", "\r", "\0", "\u{85}", "\u{2028}", "\u{2029}", "\u{b}", "\u{c}", "\t", " ", "  ",
            "Bcc: eva@example.com",
            "\r\nBcc: eva@example.com", "\r\n\r\n<h1>x</h1>", "=?UTF-8?Q?=0D=0ABcc:_eva@example.com?=", "=?", "?=", "=",
            "\"", "\\", "<", ">", "@", ",", ";", ":", "(", ")", ".", "\r\n.\r\n", "From ", "é", "ñandú", "🇪🇸", "👩‍👩‍👧‍👦",
            "e\u{301}", "漢字",
            "\u{202e}", "\u{200b}", "viaje", String(repeating: "a", count: 100), String(repeating: "ñ", count: 1000),
            String(repeating: "🥾", count: 1000), String(repeating: " ", count: 200), "--=_7.abcdefghijklmnopqrst",
        ]
        var generator = SystemRandomNumberGenerator()
        let any = { (generator: inout SystemRandomNumberGenerator) in
            (0..<Int.random(in: 0...6, using: &generator)).map { _ in pieces.randomElement(using: &generator) ?? "" }
                .joined()
        }
        var given: [(subject: String, text: String, html: String?, name: String)] = pieces.map { ($0, $0, $0, $0) }
        for _ in 0..<1500 {
            given.append((any(&generator), any(&generator), Bool.random() ? any(&generator) : nil, any(&generator)))
        }
        let messages = try given.map { try message(subject: $0.subject, text: $0.text, html: $0.html, name: $0.name) }
        let read = try await parsed(messages)
        #expect(read.count == given.count)
        for (mail, words) in zip(read, given) {
            var names = MessageTests.plainNames
            if words.html == nil { names.append("Content-Transfer-Encoding") }
            #expect(mail["names"] == .array(names.map { .string($0) }), "\(words)")
            #expect(mail["defects"] == [], "\(words)")
            #expect((mail["longest"]?.number ?? 999) <= 78, "\(words)")
            #expect(mail["bare"] == 0 && mail["ascii"] == true, "\(words)")
            #expect(mail["leadingDots"] == 0, "\(words)")
            #expect(
                MessageTests.letters(mail["subject"])
                    == MessageTests.letters(.string(HeaderText.oneLine(words.subject))))
            #expect(MessageTests.letters(mail["name"]) == MessageTests.letters(.string(HeaderText.oneLine(words.name))))
            #expect(mail["text"] == .string(MessageTests.expected(words.text)), "\(words)")
            #expect(mail["html"] == words.html.map { .string(MessageTests.expected($0)) } ?? .null, "\(words)")
            #expect(mail["recipients"] == ["ana@example.com"])
        }
    }

    /// Without blanks: parsers may join them.
    private static func letters(_ json: JSON?) -> String { (json?.string ?? "").filter { !$0.isWhitespace } }

    /// A text as its reader gets it: lines end in LF, and the last one has an end too.
    private static func expected(_ text: String) -> String {
        var out = String.UnicodeScalarView()
        var last: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            if scalar == "\n", last == "\r" {
            } else if scalar == "\n" || scalar == "\r" {
                out.append("\n")
            } else if scalar.value >= 0x20 && scalar.value != 0x7f || scalar == "\t" {
                out.append(scalar)
            }
            last = scalar
        }
        if let end = out.last, end != "\n" { out.append("\n") }
        return String(out)
    }

    @Test(arguments: [
        "", "ana", "@example.com", "ana@", "ana@@example.com", "ana@example.com\r\nBcc: eva@example.com",
        "ana@example.com\n",
        "ana\0@example.com", "a b@example.com", "\"a b\"@example.com", "<ana@example.com>", "ana@example.com>",
        "ana@exa mple.com",
        "ana@-example.com", "ana@example..com", ".ana@example.com", "ana.@example.com", "ana,eva@example.com",
        "añá@example.com",
        "ana@ejemplo.es, eva@example.com", "ana@[127.0.0.1]", "👋@example.com",
        String(repeating: "a", count: 65) + "@example.com", "ana@" + String(repeating: "a", count: 64) + ".com",
        "ana@" + String(repeating: "abcdefg.", count: 40) + "com",
    ])
    func whatIsNoAddressIsRefused(text: String) {
        #expect(MailAddress(text) == nil)
        // Brackets are how a sender's address may be written.
        if text.first != "<" { #expect(throws: MailFault.self) { try MailSender(text) } }
    }

    @Test func addressesAndSenders() throws {
        #expect(MailAddress("o'hara+viajes=1@mail.example.co.uk") != nil)
        #expect(MailAddress("ana@localhost") != nil)
        let sender = try MailSender(" \"El Foro, S. L.\" <foro@example.com>")
        #expect(sender.name == "El Foro, S. L.")
        #expect(sender.address.domain == "example.com")
        #expect(throws: MailFault.self) { try MailSender("Foro\r\nBcc: eva@example.com <foro@example.com>") }
    }
}
