import Foundation
import TestSupport
import Testing
import Wire

@testable import Mail

/// A conversation with the server that most mail on Debian goes through.
@Suite(.enabled(if: Postfix.isThere, "these need Postfix, and to be root: apt-get install postfix"))
struct PostfixTests {
    @Test func mailsOfBothLanguagesAndOddHeadersComeToAMailboxAsTheyWereSent() async throws {
        try await withMail { bench in
            let postfix = try await Postfix.open(bench.loop)
            do {
                try await converse(bench, postfix)
                await postfix.close()
            } catch {
                await postfix.close()
                throw error
            }
        }
    }

    private func converse(_ bench: MailBench, _ postfix: Postfix) async throws {
        // Of a name of two encoded words the reader, Python 3.11, makes two with a blank between them.
        let name = "Ñandú, \"el\" 🥾\r\nBcc: eva@x.es"
        let mailer = try bench.mailer(postfix.url) { options in
            options.from = MailSender(address: options.from.address, name: name)
            options.appName = name
        }
        try bench.node(mailer)
        let text = "¡Hola! 👋🏽\n.\n.punto\nFrom aquí\n" + String(repeating: "muy ", count: 400) + "larga\n"
        let subject = "=?UTF-8?Q?=0D=0ABcc:_eva@example.com?= " + String(repeating: "año ", count: 100)
        let mails: [Mail] = [
            .verification(to: "luz@example.com", language: "es"), .verification(to: "bob@example.com", language: "en"),
            Mail(to: "o'neil+foro@example.com", subject: subject, text: text),
        ]
        for mail in mails {
            let job = try await bench.ended(try await bench.send(mail, by: mailer))
            #expect(
                job.state == "done" && job.message?.hasPrefix("250 ") == true, "\(job.reason ?? "")\n\(postfix.log)")
        }
        try await until(bench.loop) { postfix.letters.count == mails.count }
        let letters = try await MessageTests.parsed(postfix.letters)
        let byAddressee = Dictionary(grouping: letters) { $0["recipients"]?.array?.first?.string ?? "" }
        #expect(Set(byAddressee.keys) == Set(mails.map(\.to)))
        for letter in letters {
            let names = letter["names"]?.array?.compactMap(\.string) ?? []
            #expect(names.contains("Delivered-To") && names.contains("Received"), "Postfix has had it")
            #expect(!names.contains("Bcc") && letter["recipients"]?.array?.count == 1)
            #expect(letter["name"] == "Ñandú, \"el\" 🥾 Bcc: eva@x.es", "\(letter)")
            #expect(letter["address"] == "foro@example.com" && letter["defects"] == [])
        }
        for (address, words) in [
            ("luz@example.com", "Confirma tu dirección"), ("bob@example.com", "Confirm your address"),
        ] {
            let letter = byAddressee[address]?.first
            #expect(letter?["subject"]?.string?.hasPrefix(words) == true, "\(letter?["subject"] ?? .null)")
            #expect(letter?["text"]?.string?.split(whereSeparator: \.isWhitespace).contains { $0 == Mail.link } == true)
            #expect(letter?["html"]?.string?.contains("href=\"\(Mail.link)\"") == true)
        }
        let odd = byAddressee["o'neil+foro@example.com"]?.first
        #expect(odd?["subject"] == .string(subject.trimmingCharacters(in: .whitespaces)))
        #expect(odd?["text"] == .string(text))
    }
}
