import Foundation
import Glibc
import Options
import Postgres
import TestSupport
import Testing
import Wire

@testable import Server

/// The pages that mails lead to, as somebody sees them who has a keyboard and lets no script run.
///
/// Pictures go to the folder that `HERMES_SCREENSHOTS` names; without it they are thrown away.
@Suite(
    .enabled(
        if: access("/usr/bin/chromium", X_OK) == 0,
        "these need Chromium: apt-get install chromium fonts-dejavu-core"), .serialized)
struct PagesInChromiumTests {
    private struct Seen {
        let first: JSONObject
        let last: JSONObject
    }

    /// Opens a page, presses keys, and tells what is seen before and after.
    private func visit(_ url: String, as name: String, _ keys: [String] = []) async throws -> Seen {
        let told = ProcessInfo.processInfo.environment["HERMES_SCREENSHOTS"]
        let folder = told ?? HermesProcess.makeFolder("screenshots-\(name)")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { if told == nil { removeFolder(folder) } }
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/../Browser/pages.py"
        let (exit, output) = try await blocking {
            try ChildProcess.run(
                ["/usr/bin/timeout", "240", "/usr/bin/python3", script, folder, name, url] + keys,
                environment: ProcessInfo.processInfo.environment)
        }
        let json = try? JSONParser.parse(Array((output.split(separator: "\n").last ?? "").utf8)).object
        guard exit == 0, let first = json?["first"]?.object, let last = json?["last"]?.object else {
            throw HermesProcess.Failure(description: output)
        }
        let pictures = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix(name + "-") }
        #expect(pictures.count >= (keys.isEmpty ? 2 : 4))
        return Seen(first: first, last: last)
    }

    private func withPages(
        _ configure: @escaping @Sendable (inout ServerOptions) -> Void = { _ in },
        _ body: @escaping @Sendable (TestServer, Postbox) async throws -> Void
    ) async throws {
        try await withMails(
            { options in
                options.appName = "Foro de viajes"
                options.email.language = "es"
                options.pages.localizationFallbackLocale = "es"
                options.verifyUserEmails = true
                configure(&options)
            }, body)
    }

    /// The link of the last of so many mails.
    private func link(_ server: TestServer, _ postbox: Postbox, _ count: Int) async throws -> String {
        let words = try await postbox.text(count, server).split(whereSeparator: \.isWhitespace)
        return String(words.first { $0.hasPrefix("http://") } ?? "")
    }

    @Test func anAddressIsVerifiedAndAPasswordSetByKeyboardWithoutScripts() async throws {
        try await withPages { server, postbox in
            try await server.client.must(
                "POST", "/users", ["username": "ana", "password": "vieja", "email": "ana@example.com"])
            let verify = try await link(server, postbox, 1)
            let verified = try await visit(verify + "&locale=es", as: "verificada")
            #expect(verified.first["title"]?.string?.contains("Foro de viajes") == true)
            let user = try await server.all("_User").first
            #expect(user?["emailVerified"] == true)
            // The link works once; then the page offers another one, by its form.
            let again = try await visit(
                verify + "&locale=es", as: "verificar-otra-vez", ["tab", "type:ana", "tab", "enter"])
            #expect(again.first["url"] != again.last["url"])

            try await server.client.must("POST", "/requestPasswordReset", ["email": "ana@example.com"])
            let reset = try await link(server, postbox, 2)
            let changed = try await visit(
                reset + "&locale=es", as: "contrasena", ["type:nueva contraseña", "tab", "enter"])
            // The field has the focus from the start, and says what it is for.
            #expect(changed.first["focus"] == "Contraseña nueva")
            #expect(changed.last["text"]?.string?.contains("Contraseña cambiada") == true, "\(changed.last)")
            let logIn = try await server.client.send(
                "POST", "/login", ["username": "ana", "password": "nueva contraseña"])
            #expect(logIn.status == 200)
            let used = try await visit(reset + "&locale=en", as: "used-link")
            #expect(used.first["title"]?.string?.contains("Foro de viajes") == true)
        }
    }

    @Test func aRefusedPasswordIsExplainedAndTheFormComesAgain() async throws {
        try await withPages { options in
            options.passwordPolicy.validatorPattern = try? Pattern("^.{10,}$")
            options.passwordPolicy.validationError = "La contraseña necesita 10 letras."
        } _: { server, postbox in
            try await server.client.must(
                "POST", "/users", ["username": "ana", "password": "vieja contraseña", "email": "ana@example.com"])
            _ = try await link(server, postbox, 1)
            try await server.client.must("POST", "/requestPasswordReset", ["email": "ana@example.com"])
            let reset = try await link(server, postbox, 2)
            let seen = try await visit(reset + "&locale=es", as: "rechazada", ["type:corta", "tab", "enter"])
            #expect(seen.last["text"]?.string?.contains("La contraseña necesita 10 letras.") == true)
            #expect(seen.last["focus"] == "Contraseña nueva")
        }
    }
}
