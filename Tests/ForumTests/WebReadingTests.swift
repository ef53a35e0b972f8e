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

    /// A topic with so many comments, "Dicho 1." and so on; their ids.
    private func topic(_ site: Site, of count: Int) async throws -> (id: String, comments: [String]) {
        let topic = try await site.client.asMaster.post(
            "classes/Temas", ["Tema": "Un tema largo", "avisar": false])
        let id = topic["objectId"]?.string ?? ""
        var comments: [String] = []
        for number in 1...count {
            let made = try await site.client.asMaster.post(
                "classes/Comentarios",
                [
                    "Tema": .pointer(AnyPointer("Temas", id)), "comentario": .string("Dicho \(number)."),
                    "avisar": false,
                ])
            #expect(made.status == 201, "\(made.body)")
            comments.append(made["objectId"]?.string ?? "")
        }
        return (id, comments)
    }

    /// Which of "Dicho 1." and so on a page shows, in its order.
    private func said(_ page: TestPage) -> [Int] {
        page.text.matches(of: />Dicho (\d+)\.</).compactMap { Int($0.output.1) }
    }

    @Test func aTopicIsReadInPagesOfTwenty() async throws {
        try await withSite { site in
            let (id, comments) = try await topic(site, of: 41)
            let visitor = site.visitor("en")
            let path = "/tema/\(id)"
            let first = try await visitor.get(path)
            #expect(first.text.contains("<html lang=\"en\">") && first.text.contains("41 comments"))
            #expect(first.text.contains("<title>Un tema largo · Hermes Forum</title>"))
            #expect(first.count("Dicho ") == 21, "twenty, and the description")
            #expect(said(first) == Array(1...20))
            #expect(first.link("canonical")?.hasSuffix(path) == true && first.link("prev") == nil)
            let second = try await visitor.get(try #require(first.link("next")))
            #expect(said(second) == Array(21...40) && second.link("prev") == path)
            #expect(second.link("canonical")?.hasSuffix(try #require(first.link("next"))) == true)
            let third = try await visitor.get(try #require(second.link("next")))
            #expect(said(third) == [41] && third.link("next") == nil)
            #expect(third.link("prev") == first.link("next"))
            #expect(third.text.contains("<a href=\"\(path)\">First page</a>"))
            // The last twenty, whichever they are: nothing that a search engine should keep.
            #expect(first.text.contains("<a href=\"\(path)?desde=final\">Last page</a>"))
            let end = try await visitor.get("\(path)?desde=final")
            #expect(said(end) == Array(22...41) && end.link("canonical") == nil)
            #expect(end.text.contains("<meta name=\"robots\" content=\"noindex\">"))
            #expect(said(try await visitor.get(try #require(end.link("prev")))) == Array(2...21))
            // Where a comment stands, whatever comes before it stands there too.
            for (number, shown) in [(1, 1...20), (20, 1...20), (21, 2...21), (41, 22...41)] {
                let found = try await visitor.get("/comentario/\(comments[number - 1])", 303)
                let parts = try #require(found.header("Location")).split(separator: "#")
                #expect(parts.last == "c\(comments[number - 1])")
                #expect(said(try await visitor.get(String(parts[0]))) == Array(shown), "\(number)")
            }
            // Pages once had numbers.
            for (number, location) in [("1", path), ("2", try #require(first.link("next")))] {
                let moved = try await visitor.get("\(path)?pagina=\(number)", 303)
                #expect(moved.header("Location") == location)
            }
            for wrong in ["0", "4", "-1", "x", "99999999999999999999"] {
                try await visitor.get("\(path)?pagina=\(wrong)", 404)
            }
            for wrong in ["x", "-", "1-", "x-x", "9999999999999-x", "99999999999999999999-x"] {
                try await visitor.get("\(path)?desde=\(wrong)", 404)
            }
            #expect(try await visitor.get("/tema/nadie", 404).text.contains("There is no such topic"))
            #expect(try await visitor.get("/tema/nadie?pagina=2", 404).text.contains("There is no such topic"))
            #expect(try await visitor.get("/comentario/nadie", 404).text.contains("<html lang=\"en\">"))
        }
    }

    @Test func anAddressOfAPageHoldsWhateverGoesBeforeIt() async throws {
        try await withSite { site in
            let (id, comments) = try await topic(site, of: 42)
            let visitor = site.visitor()
            let next = try #require(try await visitor.get("/tema/\(id)").link("next"))
            // One goes on the page before, and the one that the page began with.
            for gone in [4, 20] {
                #expect(try await site.client.asMaster.delete("classes/Comentarios/\(comments[gone])").status == 200)
            }
            let page = try await visitor.get(next)
            #expect(said(page) == Array(22...41) && page.link("prev") == "/tema/\(id)")
            let last = try await visitor.get(try #require(page.link("next")))
            #expect(said(last) == [42])
            #expect(said(try await visitor.get(try #require(last.link("prev")))) == Array(22...41))
        }
    }

    @Test func commentsOfOneMomentAreReadOnce() async throws {
        try await withSite { site in
            let (id, _) = try await topic(site, of: 1)
            for number in 2...50 {
                let made = try await site.client.asMaster.post(
                    "classes/Comentarios",
                    [
                        "Tema": .pointer(AnyPointer("Temas", id)), "comentario": .string("Dicho \(number)."),
                        "avisar": false, "fecha": .date(Date(timeIntervalSince1970: 1_700_000_000.007)),
                    ])
                #expect(made.status == 201, "\(made.body)")
            }
            let visitor = site.visitor()
            var page = try await visitor.get("/tema/\(id)")
            var pages = [said(page)]
            while let next = page.link("next"), pages.count < 5 {
                page = try await visitor.get(next)
                pages.append(said(page))
            }
            #expect(pages.map(\.count) == [20, 20, 10] && Set(pages.joined()) == Set(1...50))
            for before in pages.dropLast().reversed() {
                page = try await visitor.get(try #require(page.link("prev")))
                #expect(said(page) == before)
            }
        }
    }

    @Test func whatIsRefusedComesBelowTheLastComments() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            let (id, _) = try await topic(site, of: 25)
            let refused = try await ana.send(["comentario": "   "], to: "/tema/\(id)", 400)
            #expect(said(refused) == Array(6...25) && refused.text.contains("role=\"alert\""))
            let empty = try await site.client.asMaster.post(
                "classes/Temas", ["Tema": "Un tema sin nada", "avisar": false])
            let path = "/tema/\(empty["objectId"]?.string ?? "")"
            #expect(try await ana.send(["comentario": " "], to: path, 400).text.contains("role=\"alert\""))
            let done = try await ana.send(["comentario": "Dicho 26."], to: "/tema/\(id)")
            let place = try #require(done.header("Location")).split(separator: "#")
            #expect(said(try await ana.get(String(place[0]))) == Array(7...26))
            // Who deletes it stays there.
            let gone = try await ana.send(["accion": "borrar"], to: "/comentario/\(place[1].dropFirst())/editar")
            #expect(gone.header("Location") == "\(place[0])&hecho=borrado")
            #expect(said(try await ana.get("\(place[0])&hecho=borrado")) == Array(7...25))
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

    @Test func whatNobodyHasIsAPageToo() async throws {
        try await withSite { site in
            let html = [("Accept", "text/html,*/*;q=0.8")]
            for (language, words) in [("es", "No hay esa página."), ("en", "There is no such page.")] {
                let browser = site.visitor(language).browser
                for path in ["/nada", "/salir", "/uno/dos/tres", "/*"] {
                    let page = try await browser.get(path, headers: html)
                    #expect(page.status == 404 && page.text.contains(words), "\(path): \(page.text)")
                    #expect(page.text.contains("<html lang=\"\(language)\">"))
                }
                let api = try await browser.get("/parse/nada", headers: html)
                #expect(!api.text.contains("<html"))
                #expect(try await browser.get("/nada").text.contains("The API is at /parse"))
            }
            let bob = try await site.member("bob", "en")
            // Whose session ended before the button was pressed comes back here.
            let answered = try await site.visitor().browser.post("/invitaciones", ["accion": "aceptar"])
            #expect(answered.status == 403 && answered.text.contains("name=\"a\" value=\"/invitaciones\""))
            #expect(try await bob.get("/invitaciones", 303).header("Location") == "/amigos")
            let left = try await site.visitor().browser.post("/salir", [:])
            #expect(left.header("Location") == "/")
        }
    }

    @Test func aPageThatFailsSaysSoInTheBrowsersLanguage() async throws {
        // Nothing is done as quickly.
        try await withSite(["cloudTimeLimit": 0.000_001]) { site in
            for (language, words) in [("es", "Ha tardado demasiado."), ("en", "It took too long.")] {
                let page = try await site.visitor(language).browser.get("/")
                #expect(page.status >= 400 && page.text.contains(words), "\(page.text)")
                #expect(page.text.contains("<html lang=\"\(language)\">"))
                #expect(page.header("Content-Security-Policy") != nil && page.header("X-Frame-Options") == "DENY")
            }
        }
    }

    @Test func fieldsAreNamedInTheReadersLanguage() async throws {
        try await withSite { site in
            let bob = try await site.member("bob", "en")
            let topic = try await bob.open("Night trains")
            for (form, action, words) in [
                (["comentario": " "], topic, "Missing or not valid: comment."),
                (["tema": "Day trains", "comentario": " "], "/nuevo", "Missing or not valid: comment."),
                (["tema": "x", "comentario": "x"], "/nuevo", "name must have between 6 and 200"),
                (["accion": "buscar", "dato": "x"], "/amigos", "Write a whole email address or mobile number."),
                (["accion": "conversar"], "/charlas", "Missing or not valid: user name."),
            ] {
                let page = try await bob.send(form, to: action, from: action == "/charlas" ? "/amigos" : nil, 400)
                #expect(page.text.contains(words), "\(action): \(page.text)")
            }
            // Cursors of no list.
            for path in ["/?desde=x", "/charlas?desde=x", "/avisos?desde=x"] {
                let page = try await bob.get(path, 404)
                #expect(page.text.contains("There is no such page any more."), "\(path): \(page.text)")
            }
            let ana = try await site.member("ana")
            let page = try await ana.send(["tema": "Trenes\u{0} de día", "comentario": "x"], to: "/nuevo", 400)
            #expect(page.text.contains("El texto tiene un carácter que no se puede guardar."), "\(page.text)")
        }
    }

    /// Each of them was looked for to the end of the text once.
    @Test func addressesInALongTextAreFoundAtOnce() async throws {
        try await withSite { site in
            let ana = try await site.member("ana")
            let words = [String(repeating: "http", count: 20_000), String(repeating: "http://. ", count: 20_000)]
            for (number, text) in words.enumerated() {
                let path = try await ana.open("Tema número \(number)", "\(text) https://example.com/a.")
                let topic = try await ana.get(path)
                #expect(topic.count("<a href=\"https://example.com/a\"") == 1 && topic.count("rel=\"nofollow") == 1)
            }
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
            #expect(!said.text.contains("puede haber más"))
            let topic = try #require(try await site.client.get("classes/Temas").results.first?["objectId"]?.string)
            for number in 1...20 {
                let comment: Value = [
                    "Tema": .pointer(AnyPointer("Temas", topic)), "comentario": "Viajar es vivir \(number) veces",
                ]
                let made = try await site.client.asMaster.post("classes/Comentarios", comment)
                #expect(made.status == 201, "\(made.body)")
            }
            #expect(try await visitor.get("/buscar?q=viajar").text.contains("puede haber más"))
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
