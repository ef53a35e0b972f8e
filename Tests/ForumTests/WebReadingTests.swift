import Hermes
import Testing

@Suite struct WebReadingTests {
    private static let hostile = "\"><script>alert('1')</script>&amp;<b>"
    private static let escaped = "&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;&lt;b&gt;"

    @Test func topicsComeInPagesThatKnowOneAnother() async throws {
        try await withSite { site in
            for number in 0..<101 {
                let made = try await site.client.asMaster.post(
                    "classes/Temas", ["Tema": .string("Tema número \(number)"), "avisar": false])
                #expect(made.status == 201, "\(made.body)")
            }
            let visitor = site.visitor("es-MX,es;q=0.9")
            let first = try await visitor.get("/")
            #expect(first.text.contains("<html lang=\"es\">") && first.header("Content-Language") == "es")
            #expect(first.count("<li><h2>") == 50)
            #expect(first.text.contains("<title>Hermes Forum</title>"))
            #expect(first.text.contains("<link rel=\"canonical\" href=\"http://127.0.0.1:"))
            #expect(!first.text.contains("rel=\"prev\""))
            let next = try #require(first.link("next"))
            let second = try await visitor.get(next)
            #expect(second.count("<li><h2>") == 50 && second.link("prev") == "/")
            // Its address of its own does not say where one came from.
            #expect(second.link("canonical")?.contains("antes=") == false)
            let third = try await visitor.get(try #require(second.link("next")))
            #expect(third.count("<li><h2>") == 1 && third.link("next") == nil)
            #expect(try await visitor.get(try #require(third.link("prev"))).count("Tema número 50<") == 1)
            try await visitor.get("/?desde=nada", 404)
        }
    }

    @Test func everyPageLeadsBackToTheOneBefore() async throws {
        try await withSite { site in
            for number in 0..<151 {
                let made = try await site.client.asMaster.post(
                    "classes/Temas", ["Tema": .string("Tema número \(number)"), "avisar": false])
                #expect(made.status == 201, "\(made.body)")
            }
            let visitor = site.visitor()
            var page = try await visitor.get("/")
            var newest = ["Tema número 150<"]
            while let next = page.link("next") {
                page = try await visitor.get(next)
                newest.append("Tema número \(150 - 50 * newest.count)<")
                #expect(page.count(try #require(newest.last)) == 1)
            }
            #expect(newest.count == 4 && page.text.contains("Al principio"))
            for expected in newest.reversed().dropFirst() {
                page = try await visitor.get(try #require(page.link("prev")))
                #expect(page.count(expected) == 1)
            }
            #expect(page.link("prev") == nil && !page.text.contains("Al principio"))
            // An address of somebody's says not what was before it, and one that has seen much forgets.
            let second = try #require(page.link("next")).split(separator: "&")[0]
            let found = try await visitor.get(String(second))
            #expect(found.link("prev") == nil && found.text.contains("<a href=\"/\">Al principio</a>"))
            let long = try await visitor.get(
                "\(second)&antes=\(Array(repeating: "x", count: 40).joined(separator: "."))")
            #expect(try #require(long.link("next")).split(separator: ".").count == 10)
        }
    }

    @Test func theFirstPageIsLightAndComesAtOnce() async throws {
        try await withSite { site in
            let name = String(repeating: "Ñandúes y fiordos ", count: 11)
            for number in 0..<50 {
                let made = try await site.client.asMaster.post(
                    "classes/Temas", ["Tema": .string("\(name)\(number)"), "avisar": false])
                #expect(made.status == 201, "\(made.body)")
            }
            let visitor = site.visitor()
            let first = try await visitor.get("/")
            #expect(first.count("<style>") == 1 && first.count("rel=\"stylesheet\"") == 0)
            var size = first.text.utf8.count
            let paths = first.text.matches(of: /"(\/forum-[0-9a-f]{12}\.\w+)"/).map { String($0.output.1) }
            #expect(Set(paths).count == 3)
            for path in Set(paths) {
                let file = try await visitor.get(path)
                size += file.text.utf8.count
                #expect(file.header("Cache-Control") == "public, max-age=31536000, immutable")
                let tag = try #require(file.header("ETag"))
                let again = try await visitor.browser.get(path, headers: [("If-None-Match", tag)])
                #expect(again.status == 304 && again.text.isEmpty)
            }
            #expect(size < 60_000)
            // Who has the style gets a link to it.
            let second = try await visitor.get("/")
            #expect(second.count("<style>") == 0 && second.count("rel=\"stylesheet\"") == 1)
        }
    }

    @Test func aTopicIsReadInPagesOfTwenty() async throws {
        try await withSite { site in
            let topic = try await site.client.asMaster.post(
                "classes/Temas", ["Tema": "Un tema largo", "avisar": false])
            let id = topic["objectId"]?.string ?? ""
            for number in 1...41 {
                let made = try await site.client.asMaster.post(
                    "classes/Comentarios",
                    [
                        "Tema": .pointer(AnyPointer("Temas", id)), "comentario": .string("Dicho \(number)."),
                        "avisar": false,
                    ])
                #expect(made.status == 201, "\(made.body)")
            }
            let visitor = site.visitor("en")
            let first = try await visitor.get("/tema/\(id)")
            #expect(first.text.contains("<html lang=\"en\">") && first.text.contains("41 comments"))
            #expect(first.text.contains("<title>Un tema largo · Hermes Forum</title>"))
            #expect(first.count("Dicho ") == 21, "twenty, and the description")
            #expect(first.link("canonical")?.hasSuffix("/tema/\(id)") == true)
            #expect(first.link("next") == "/tema/\(id)?pagina=2" && first.link("prev") == nil)
            let last = try await visitor.get("/tema/\(id)?pagina=3")
            #expect(last.text.contains(">Dicho 41.<") && last.link("prev") == "/tema/\(id)?pagina=2")
            #expect(last.link("next") == nil && last.link("canonical")?.hasSuffix("?pagina=3") == true)
            for wrong in ["0", "4", "-1", "x", "99999999999999999999"] {
                try await visitor.get("/tema/\(id)?pagina=\(wrong)", 404)
            }
            #expect(try await visitor.get("/tema/nadie", 404).text.contains("There is no such topic"))
            #expect(try await visitor.get("/comentario/nadie", 404).text.contains("<html lang=\"en\">"))
        }
    }

    @Test func whatPeopleWriteIsTextWhateverItHolds() async throws {
        try await withSite { site in
            let hostile = WebReadingTests.hostile
            let ana = try await site.member("ana\(hostile)")
            let path = try await ana.open("Tema \(hostile)", "Digo \(hostile) https://example.com/?a=1&b=\"x y")
            let pages = [
                "/", path, "\(path)?hecho=\(hostile.inPath)", "/buscar?q=\(hostile.inPath)", "/buscar?q=Digo",
                "/entrar?a=\(hostile.inPath)", "/registro?a=/\(hostile.inPath)",
            ]
            for (visitor, all) in [(ana, pages.prefix(5)), (site.visitor(), pages[...])] {
                for page in all {
                    let answer = try await visitor.get(page)
                    #expect(!answer.text.contains("<script>alert") && !answer.text.contains("&amp;<b>"), "\(page)")
                    let policy = try #require(answer.header("Content-Security-Policy"))
                    #expect(policy.contains("script-src 'self';") && !policy.contains("unsafe"))
                }
            }
            let topic = try await ana.get(path)
            #expect(topic.text.contains("Digo \(WebReadingTests.escaped)"))
            #expect(topic.text.contains("<a href=\"https://example.com/?a=1&amp;b=\" rel=\"nofollow ugc noopener\">"))
            // What was refused comes again, as text.
            let refused = try await ana.send(["tema": hostile, "comentario": ""], to: "/nuevo", 400)
            #expect(refused.text.contains("value=\"\(WebReadingTests.escaped)\""))
        }
    }

    @Test func wordsAreFoundInTopicsAndComments() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            _ = try await ana.open("Trenes nocturnos", "Viajamos despiertas toda la noche.")
            let visitor = site.visitor()
            #expect(try await visitor.get("/buscar?q=tren").text.contains(">Trenes nocturnos<"))
            let said = try await visitor.get("/buscar?q=viajar")
            #expect(said.text.contains("Viajamos despiertas"))
            let path = try #require(said.text.firstMatch(of: /"(\/comentario\/\w+)"/).map { String($0.output.1) })
            let there = try await visitor.get(path, 303)
            #expect(there.header("Location")?.contains("#c") == true)
            #expect(try await visitor.get("/buscar?q=nadaquever").text.contains("No se ha encontrado nada"))
            #expect(try await visitor.get("/buscar").text.contains("role=\"search\""))
            #expect(try await visitor.get("/normas").count("<li>") >= 10)
        }
    }
}

extension TestPage {
    /// Where a `<link>` of the head leads.
    func link(_ relation: String) -> String? {
        text.split(separator: "<link rel=\"\(relation)\" href=\"").dropFirst().first.map {
            String($0.prefix { $0 != "\"" }).replacing("&amp;", with: "&")
        }
    }
}

extension String {
    var inPath: String {
        utf8.map { byte in
            (byte < 0x7F && Character(Unicode.Scalar(byte)).isLetter)
                ? String(Unicode.Scalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
