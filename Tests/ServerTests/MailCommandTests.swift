import Foundation
import Glibc
import Options
import Postgres
import TestSupport
import Testing
import Wire

@testable import Server

/// `hermes mail`, as an operator types it.
@Suite struct MailCommandTests {
    private func hermes(_ arguments: [String]) async throws -> (exit: Int32?, output: String) {
        let (exit, output) = try await blocking {
            try ChildProcess.run(
                [HermesProcess.program, "mail"] + arguments, environment: ProcessInfo.processInfo.environment)
        }
        return (exit, output)
    }

    @Test func theMailsOfTheQueueAreListedAndChanged() async throws {
        let database = try await TestDatabase.make(template: .migrated)
        let place = ["--database-url", database.conninfo]
        let none = try await hermes(place)
        #expect(none.exit == 0 && none.output == "No mails.\n")
        try await database.execute(
            """
            INSERT INTO "_Job" ("kind", "payload", "state", "runAt", "reason", "finishedAt") VALUES
                ('mail', '{"mail": "verifyEmail", "to": "ana@example.com", "sealed": "c2VsbGFkbw=="}', 'dead', now(),
                    '550 nobody', now()),
                ('mail', '{"mail": "invitation", "to": "eva@example.com", "sealed": "c2VsbGFkbw=="}', 'waiting',
                    now() + interval '1 h', NULL, NULL),
                ('parse', '{}', 'waiting', now() + interval '1 h', NULL, NULL)
            """)
        let table = try await hermes(["list"] + place)
        let lines = table.output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("ID  MAIL                         STATE"))
        #expect(lines[1].hasPrefix("2   invitation eva@example.com   waiting"))
        #expect(lines[2].hasPrefix("1   verifyEmail ana@example.com  dead"))
        #expect(lines[2].hasSuffix("550 nobody"))
        let shown = try await hermes(["show", "1", "--json"] + place)
        #expect(shown.exit == 0 && !shown.output.contains("sealed"))
        let again = try await hermes(["retry", "1"] + place)
        #expect(again.exit == 0 && again.output.contains("state       waiting"))
        let ended = try await hermes(["give-up", "2"] + place)
        #expect(ended.exit == 0)
        for wrong in [
            ["show", "3"], ["retry", "3"], ["give-up", "3"], ["give-up"], ["cancel", "1"], ["list", "x"],
        ] {
            let refused = try await hermes(wrong + place)
            #expect(refused.exit == 2, "\(wrong)")
        }
    }

    /// Scripts tell by it a wrong command from a server that they cannot ask.
    @Test func withoutAKeyACommandThatAsksAServerEndsAsWithoutTheServer() async throws {
        let folder = HermesProcess.makeFolder("no-keys")
        defer { removeFolder(folder) }
        let environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("HERMES_") }
        let (exit, output) = try await blocking {
            try ChildProcess.run(
                [HermesProcess.program, "classes", "--data", folder], environment: environment)
        }
        #expect(exit == 4 && output.contains("keys.json is not there"))
    }

    @Test func aTemplateIsShownAsItsReaderGetsIt() async throws {
        let folder = HermesProcess.makeFolder("mail-preview")
        defer { removeFolder(folder) }
        let spanish = try await hermes(
            ["preview", "passwordReset", "--language", "es", "--app-name", "Foro de viajes"])
        #expect(spanish.exit == 0)
        #expect(spanish.output.hasPrefix("Subject: Una contraseña nueva para Foro de viajes\n\n¡Hola!\n"))
        let english = try await hermes(["preview", "passwordReset"])
        #expect(english.output.hasPrefix("Subject: A new password for Hermes\n"))
        let page = try await hermes(["preview", "passwordReset", "--html", "--email-language", "es"])
        #expect(page.output.hasPrefix("<!doctype html>\n<html lang=\"es\">"))
        try "Subject: ¡Ven!\n\n{{name}}: {{link}}".write(
            toFile: "\(folder)/invitation.es.txt", atomically: true, encoding: .utf8)
        let own = try await hermes(
            ["preview", "invitation", "--language", "es", "--json", "--mail-templates", folder])
        let json = try JSONParser.parse(Array(own.output.utf8)).object
        #expect(json?["subject"] == "¡Ven!")
        try "Subject: ¡Ven!\n\n{{enlace}}".write(
            toFile: "\(folder)/invitation.es.txt", atomically: true, encoding: .utf8)
        for wrong in [["preview"], ["preview", "nada"], ["preview", "invitation", "--mail-templates", folder]] {
            let refused = try await hermes(wrong)
            #expect(refused.exit == 2, "\(wrong)")
        }
    }

    private static var options: ServerOptions {
        var options = ServerOptions()
        options.masterKey = TestServer.masterKey
        options.email.smtp = "smtp://localhost"
        options.email.from = "foro@example.com"
        return options
    }

    @Test func aSetUpThatCannotSendIsRefusedAtTheStart() async throws {
        for (name, value) in [("smtp", "http://x"), ("from", "nadie"), ("from", "")] {
            var options = MailCommandTests.options
            if name == "smtp" { options.email.smtp = value } else { options.email.from = value }
            #expect(throws: (any Error).self) { try options.makeMailer() }
        }
        for file in ["/nowhere/authorities.pem", #filePath] {
            var options = MailCommandTests.options
            options.email.certificateAuthorities = file
            let fault = #expect(throws: OptionFault.self) { try options.makeMailer() }
            #expect(fault?.description.contains("email.certificateAuthorities") == true)
            #expect(fault?.description.contains(file) == true)
        }
        var options = MailCommandTests.options
        for (language, isKnown) in [("es-ES", true), ("EN", true), ("english", false), ("", false)] {
            options.email.language = language
            if isKnown {
                _ = try options.makeMailer()
            } else {
                let fault = #expect(throws: OptionFault.self) { try options.makeMailer() }
                #expect(fault?.description.contains("there are mails in en, es, not in \(language)") == true)
            }
        }
        options.email.language = "en"
        let mailer = try options.makeMailer()
        #expect(mailer != nil)
        options.email.from = nil
        #expect(throws: (any Error).self) { try options.makeMailer() }
        options.email.smtp = nil
        let none = try options.makeMailer()
        #expect(none == nil)
    }
}
