import Foundation
import Testing

@testable import Mail

@Suite struct TemplateTests {
    private let values = ["link": "https://foro.example.com/i?a=1&b=2", "name": "Ana"]

    private func filled(
        _ templates: MailTemplates, _ template: MailTemplate, _ languages: [String?], _ values: [String: String]? = nil
    ) throws -> (subject: String, text: String, html: String) {
        try templates.filled(
            template, values ?? self.values, to: try #require(MailAddress("eva@example.com")), languages: languages,
            appName: "Foro <de> viajes")
    }

    /// A folder with these files, as templates.
    private func templates(_ files: [String: String]) throws -> MailTemplates {
        let folder = NSTemporaryDirectory() + "hermes-templates-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (name, text) in files { try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8) }
        return try MailTemplates(folder: folder)
    }

    @Test(arguments: MailTemplate.allCases, ["en", "es"])
    func eachHasItsWordsInBothLanguages(template: MailTemplate, language: String) throws {
        let (subject, text, html) = try filled(try MailTemplates(), template, [language])
        #expect(subject.contains("Foro <de> viajes"))
        #expect(text.split(whereSeparator: \.isWhitespace).contains("https://foro.example.com/i?a=1&b=2"))
        #expect(html.contains("href=\"https://foro.example.com/i?a=1&amp;b=2\""))
        #expect(html.contains("<html lang=\"\(language)\">"))
        #expect(!html.contains("Foro <de> viajes"))
        #expect(!(subject + text + html).contains("{{"))
    }

    @Test func theReadersLanguageThenTheServersThenEnglish() throws {
        let templates = try MailTemplates()
        let subject = { (languages: [String?]) in try filled(templates, .logInLink, languages).subject }
        let (spanish, english) = (
            "Tu enlace para entrar en Foro <de> viajes", "Your link to log in to Foro <de> viajes"
        )
        #expect(try subject(["es"]) == spanish)
        #expect(try subject(["es-MX", "en"]) == spanish)
        #expect(try subject(["ES_ar", "en"]) == spanish)
        #expect(try subject([nil, "es"]) == spanish)
        #expect(try subject(["ca", "es"]) == spanish)
        #expect(try subject(["ca", "fr"]) == english)
        #expect(try subject([]) == english)
        #expect(try subject(["en;q=0.5, es-ES, fr;q=0.9", "en"]) == spanish)
        #expect(try subject(["fr, en ; q=0.8 ,es;q=0.7", "es"]) == english)
        #expect(try subject(["*, en;q=0", "es"]) == spanish)
        #expect(try subject([",;,;q=x,q", "es"]) == spanish)
        #expect(MailTemplates.preferred("a;q=0.1,b,c;q=0.5,d") == ["b", "d", "c", "a"])
    }

    @Test func anOperatorsWordsStandOverTheServers() throws {
        let templates = try templates([
            "invitation.es.txt":
                "Subject: ¡Ven, {{name}} te espera!\n\n{{ name }} te invita a {{appName}}:\n{{link}}\n",
            "invitation.es.html":
                "<a href=\"{{link}}\" title='{{name}}'>{{appName}}</a> <a href=\"https://a.example/?n={{url:name}}\">",
            "verifyEmail.ca.txt": "subject:Confirma\r\n\r\n{{link}}\r\n", "README": "nada", ".oculto.txt": "nada",
        ])
        let invitation = try filled(
            templates, .invitation, ["es"], ["link": "https://a.example/", "name": "Ana & \"Eva\""])
        #expect(invitation.subject == "¡Ven, Ana & \"Eva\" te espera!")
        #expect(invitation.text == "Ana & \"Eva\" te invita a Foro <de> viajes:\nhttps://a.example/\n")
        #expect(
            invitation.html
                == "<a href=\"https://a.example/\" title='Ana &amp; &quot;Eva&quot;'>Foro &lt;de&gt; viajes</a> "
                + "<a href=\"https://a.example/?n=Ana%20%26%20%22Eva%22\">")
        #expect(try filled(templates, .invitation, ["en"]).subject == "Ana invites you to Foro <de> viajes")
        #expect(try filled(templates, .verifyEmail, ["ca-ES"]).subject == "Confirma")
    }

    @Test(arguments: [
        ["verifyEmail.es.txt": "Hola\n\n{{link}}"], ["verifyEmail.es.txt": "Subject: Hola\n\nsin enlace"],
        ["verifyEmail.es.txt": "Subject: Hola\n\n{{link}} {{enlace}}"],
        ["verifyEmail.es.txt": "Subject: Hola\n\n{{link"],
        ["verifyEmail.es.txt": "Subject: {{name}}\n\n{{link}}"], ["verifyEmail.txt": "Subject: Hola\n\n{{link}}"],
        ["verificar.es.txt": "Subject: Hola\n\n{{link}}"], ["verifyEmail.es.html": "{{link}}"],
        ["verifyEmail.es.txt": "Subject: Hola\n\n{{link}}", "verifyEmail.es.html": "<p>"],
    ])
    func aFaultInAFileIsNamedWithIt(files: [String: String]) {
        let error = #expect(throws: MailFault.self) { try templates(files) }
        #expect(error?.description.contains(files.keys.sorted().last ?? "-") == true || files.count == 1)
        #expect(files.keys.contains { error?.description.contains($0) == true })
    }

    @Test func aFolderThatIsNotThereIsAFault() {
        #expect(throws: MailFault.self) { try MailTemplates(folder: "/no/hay") }
    }

    /// Whoever invites chooses a name, and who reads it.
    @Test func aNameIsNoPlaceForAdvertising() throws {
        let name = "Gana en www.viaje.example/premio\r\nhttps://mal.example " + String(repeating: "x", count: 1000)
        let (subject, text, html) = try filled(
            try MailTemplates(), .invitation, ["es"], ["link": "https://a.example/", "name": name])
        for words in [subject, text, html] {
            #expect(!words.contains("www.viaje") && !words.contains("https://mal") && !words.contains("mal.example"))
            #expect(!words.contains(String(repeating: "x", count: 65)))
        }
        #expect(!subject.contains { $0.isNewline })
        #expect(MailLink.name("Ana de la O.") == "Ana de la O.")
        #expect(MailLink.name("\u{202e}Ana\u{200b}") == "Ana")
        let tags = try filled(
            try MailTemplates(), .invitation, ["en"],
            ["link": "https://a.example/", "name": "<img src=x onerror=alert(1)>"])
        #expect(!tags.html.contains("<img"))
    }
}
