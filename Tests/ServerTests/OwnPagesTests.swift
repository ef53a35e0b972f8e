import Foundation
import Options
import TestSupport
import Testing
import Wire

@testable import Server

/// An operator's own pages in the place of the server's.
@Suite struct OwnPagesTests {
    private func write(_ text: String, _ path: String) throws {
        try text.write(toFile: path, atomically: true, encoding: .utf8)
    }

    @Test func ownPagesComeInTheReadersLanguageWithTheirPlaceholders() async throws {
        let folder = HermesProcess.makeFolder("own-pages")
        defer { removeFolder(folder) }
        for name in ["es", "de-AT"] {
            try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
        }
        let page = "<p>{{club}} {{{appName}}} {{ locale }} {{saludo}} {{nada}} {{error}}</p>"
        try write("root " + page, "\(folder)/password_reset_link_invalid.html")
        try write("es " + page, "\(folder)/es/password_reset_link_invalid.html")
        try write("at " + page, "\(folder)/de-AT/password_reset_link_invalid.html")
        try write(
            #"{"es": {"translation": {"saludo": "¡Hola!"}}, "en": {"translation": {"saludo": "Hello!"}}}"#,
            "\(folder)/words.json")
        for isLocalized in [true, false] {
            try await withServer { options in
                options.appName = "Foro <1>"
                options.pages.pagesPath = folder
                options.pages.enableLocalization = isLocalized
                options.pages.localizationJsonPath = "\(folder)/words.json"
                options.pages.placeholders = ["club": "Los & Cía", "año": 2026]
            } _: { server in
                func text(_ locale: String?, _ headers: [(String, String)] = []) async throws -> Reply {
                    try await server.client.send(
                        "GET", "/apps/test/request_password_reset" + (locale.map { "?locale=\($0)" } ?? ""),
                        headers: headers)
                }
                let spanish = try await text("es-MX")
                let plain = "<p>Los &amp; Cía Foro &lt;1&gt; "
                #expect(spanish.text == (isLocalized ? "es \(plain)es ¡Hola!  </p>" : "root \(plain)es   </p>"))
                #expect(spanish.header("Content-Security-Policy")?.contains("default-src 'none'") == true)
                #expect(spanish.header("Content-Security-Policy")?.contains("script-src") == false)
                guard isLocalized else { return }
                let austrian = try await text("de-at")
                #expect(austrian.text.hasPrefix("at "))
                let english = try await text(nil, [("Accept-Language", "en-GB,en;q=0.8")])
                #expect(english.text == "root \(plain)en Hello!  </p>")
                let browser = try await text(nil, [("Accept-Language", "es")])
                #expect(browser.text.hasPrefix("es "))
                // What he has not written stays the server's own.
                let other = try await server.client.send("GET", "/apps/password_reset_success.html")
                #expect(other.text.hasPrefix("<!doctype html>") && !other.text.contains("href="), "none to lead on to")
            }
        }
    }

    @Test func whatUsersChoseIsEscaped() throws {
        let folder = HermesProcess.makeFolder("own-pages-escaped")
        defer { removeFolder(folder) }
        try write("{{{username}}}|{{&username}}|{{username", "\(folder)/password_reset.html")
        var options = ServerOptions.Pages()
        options.pagesPath = folder
        let html = try OwnPages(options).html(
            .passwordReset, locale: nil, values: [("username", "<script>{{token}}"), ("token", "geheim")])
        #expect(html == "&lt;script&gt;{{token}}|&lt;script&gt;{{token}}|{{username")
    }

    @Test func whatCannotBePagesIsRefusedAtTheStart() throws {
        let folder = HermesProcess.makeFolder("own-pages-wrong")
        defer { removeFolder(folder) }
        try write("[]", "\(folder)/words.json")
        for change in [
            { $0.pagesPath = folder }, { $0.pagesPath = folder + "/nada" }, { $0.placeholders = ["a": ["b"]] },
            { $0.localizationJsonPath = folder + "/words.json" },
        ] as [(inout ServerOptions.Pages) -> Void] {
            var options = ServerOptions.Pages()
            change(&options)
            let settled = options
            #expect(throws: OptionFault.self) { try OwnPages(settled) }
        }
    }
}
