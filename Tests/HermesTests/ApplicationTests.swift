import Hermes
import TestSupport
import Testing

/// What an application defines and does beyond hooks.
@Suite struct ApplicationTests {
    struct Libro: ParseObject {
        static let className = "Libros"
        var titulo: String?
        var clave: String?
        var autor: Pointer<Usuario>?
        var paginas: Int?
        var fecha: Date?
        var estado: Estado?
        var temas: [String]?
    }

    struct Marca: ParseObject {
        static let className = "Marcas"
        var lector: Pointer<Usuario>?
        var libro: Pointer<Libro>?
        var leidas: Int?
    }

    private func library() -> Hermes {
        let app = Hermes()
        app.define(Libro.self) {
            $0.permit([.find, .get, .count], to: .everybody)
            $0.permit([.create], to: .users)
            $0.permit([.delete], to: .role("bibliotecarios"))
            $0.require(\.titulo)
            $0.hide(\.clave)
            $0.unique("clave", \.clave)
            $0.index("orden", \.fecha, \.objectId)
            $0.text("palabras", \.titulo, languages: ["es", "en"])
            $0.finds(limit: 2, order: [.descending(\.paginas)], include: ["autor.username"])
            $0.number("quedan", of: Marca.self, \.leidas, by: \.lector, at: \.libro, from: \.paginas, for: ["lectores"])
        }
        app.define(Marca.self) { $0.unique("una", \.lector, \.libro) }
        app.atStart { request in
            for name in ["lectores", "bibliotecarios"] {
                guard try await request.asMaster.first(Query(Role.self).where(\.name == name)) == nil else { continue }
                var role = Record(Role.self)
                role.name = name
                role.acl = ACL()
                try await request.asMaster.save(role)
            }
        }
        return app
    }

    @Test func classesAreAsTheyAreDefined() async throws {
        let app = library()
        app.function("ordenar") { request in
            let user = try request.requireUser(as: Usuario.self)
            try await request.asMaster.add(user, toRole: "lectores")
            let books = try await request.asMaster.find(Query(Libro.self).where(\.titulo == "Uno"))
            try await request.asMaster.save(Marca(lector: user, libro: try books[0].pointer, leidas: 30))
        }
        try await withApp(app, ["allowClientClassCreation": false, "enforcePrivateUsers": false]) { client in
            let schema = try await client.asMaster.get("schemas/Libros")
            let fields = schema["fields"]
            #expect(fields?["estado"]?["type"] == "String" && fields?["fecha"]?["type"] == "Date")
            #expect(fields?["autor"]?["targetClass"] == "_User" && fields?["temas"]?["type"] == "Array")
            #expect(fields?["titulo"]?["required"] == true)
            let ana = try await client.signUp("ana")
            let me = try await ana.get("users/me")["objectId"]?.string ?? ""
            for (title, pages) in [("Uno", 100), ("Dos", 200), ("Tres", 300)] {
                let made = try await ana.post(
                    "classes/Libros",
                    ["titulo": .string(title), "paginas": Value(pages), "autor": .pointer(AnyPointer("_User", me))])
                #expect(made.status == 201, "\(made.body)")
            }
            #expect(try await ana.post("classes/Libros", ["paginas": 1]).code == 142)
            #expect(try await ana.post("classes/Libros", ["titulo": "X", "color": "azul"]).code == 119)
            #expect(try await client.post("classes/Libros", ["titulo": "X"]).code == 101)
            let list = try await client.get("classes/Libros")
            let found = list["results"]?.array ?? []
            #expect(found.map { $0["titulo"] } == ["Tres", "Dos"])
            #expect(found.allSatisfy { $0["quedan"] == nil })
            let author = found.first?["autor"]?.pointer?.object
            #expect(author?["username"] == "ana" && author?["email"] == nil)
            let bare = try await client.get("classes/Libros?keys=titulo&limit=3&order=titulo")
            #expect(bare["results"]?.array?.map { $0["titulo"] } == ["Dos", "Tres", "Uno"])
            #expect(bare["results"]?[0]?["autor"] == nil)
            let id = found.first?["objectId"]?.string ?? ""
            #expect(try await ana.delete("classes/Libros/\(id)").code == 119)
            #expect(try await client.get("classes/Libros?where=%7B%22clave%22%3A%22x%22%7D").code == 119)
            _ = try await ana.post("functions/ordenar")
            let read = try await ana.get("classes/Libros?limit=3")
            #expect(read["results"]?.array?.map { $0["quedan"] } == [300, 200, 70])
        }
    }

    @Test func oneIsMadeForEachThatAQueryFinds() async throws {
        let app = library()
        app.function("copiar") { request in
            let rules = request.asMaster.pastHooks
            let books = (0..<10).map { index in
                Record(Libro(titulo: "Libro \(index)", clave: index == 3 ? nil : "c\(index)", paginas: index))
            }
            try await rules.createAll(books)
            var copy = Record(Libro(paginas: 100))
            copy.acl = ACL(publicRead: true)
            // The book without a key brings none.
            let found = try await rules.createAll(
                copy, forEach: Query(Libro.self).where(\.paginas < 100).order(.descending(\.paginas)).limit(8),
                setting: \.titulo, to: \.clave)
            let refused = Record(Libro(titulo: "Otro", paginas: 200))
            let few = Query(Libro.self).where(\.paginas < 5)
            let none = try await rules.createAll(
                refused, forEach: few, setting: \.clave, to: \.clave, skippingDuplicates: true)
            var code = 0
            do {
                try await rules.createAll(refused, forEach: few, setting: \.clave, to: \.clave)
            } catch let error as ParseError { code = error.code ?? 0 }
            return [
                "found": Value(found.found), "made": Value(found.made), "none": Value(none.made), "code": Value(code),
            ]
        }
        try await withApp(app) { client in
            let answer = try await client.post("functions/copiar")
            #expect(answer["result"] == ["found": 8, "made": 8, "none": 0, "code": 137], "\(answer.body)")
            let copies = try await client.get("classes/Libros?where=%7B%22paginas%22%3A100%7D&order=titulo&limit=99")
            let titles = copies["results"]?.array?.compactMap { $0["titulo"]?.string } ?? []
            #expect(titles == [1, 2, 4, 5, 6, 7, 8, 9].map { "c\($0)" })
            #expect(Set(copies["results"]?.array?.compactMap { $0["objectId"]?.string } ?? []).count == 8)
        }
    }

    @Test func manyAreWrittenByOneStatementPastTheHooks() async throws {
        let app = library()
        app.beforeSave(Libro.self) { _ in throw ParseError(4801, "No hay sitio.") }
        app.function("muchos") { request in
            let rules = request.asMaster.pastHooks
            let books = (0..<500).map { index in
                Record(Libro(titulo: "Libro \(index)", clave: "c\(index % 400)", paginas: index, estado: .abierto))
            }
            let made = try await rules.createAll(books, skippingDuplicates: true)
            let changed = try await rules.updateAll(Query(Libro.self).where(\.paginas >= 300), readable: [.role("x")]) {
                $0.increment(\.paginas, by: 1000)
                $0.estado = nil
            }
            let gone = try await rules.deleteAll(Query(Libro.self).where(\.paginas < 100))
            return ["made": Value(made), "changed": Value(changed), "gone": Value(gone)]
        }
        app.function("mal") { request in
            let rules = request.asMaster.pastHooks
            var codes: [Int] = []
            for bad in [["titulo": 7], ["color": "azul"], ["paginas": 7]] as [[String: Value]] {
                do {
                    try await rules.createAll([Object("Libros", bad)])
                } catch let error as ParseError { codes.append(error.code ?? 0) }
            }
            do {
                try await rules.createAll(
                    [Libro(titulo: "A", clave: "c"), Libro(titulo: "B", clave: "c")].map { Record($0) })
            } catch let error as ParseError { codes.append(error.code ?? 0) }
            do { try await request.asCaller.deleteAll(Query(Libro.self)) } catch let error as ParseError {
                codes.append(error.code ?? 0)
            }
            return codes
        }
        try await withApp(app) { client in
            let plain = try await client.asMaster.post("classes/Libros", ["titulo": "Uno"])
            #expect(plain.code == 4801)
            let many = try await client.post("functions/muchos")
            #expect(many["result"] == ["made": 400, "changed": 100, "gone": 100], "\(many.body)")
            let most = try await client.get("classes/Libros?limit=1&order=-paginas")
            #expect(most["results"]?[0]?["paginas"] == 1399 && most["results"]?[0]?["estado"] == nil)
            let bad = try await client.post("functions/mal")
            #expect(bad["result"] == [111, 105, 142, 137, 119], "\(bad.body)")
        }
    }

    @Test func anObjectIsHeldUntilTheTransactionEnds() async throws {
        let app = library()
        app.function("sumar") { request in
            let id: String = try request.value("id")
            try await request.asMaster.transaction { t in
                let book = try await t.lock(Pointer<Libro>(id))
                var change = Record(Pointer<Libro>(id))
                change.paginas = (book.paginas ?? 0) + 1
                try await t.save(change)
            }
        }
        app.function("fuera") { request in
            _ = try await request.asMaster.lock(Pointer<Libro>(try request.value("id")))
        }
        try await withApp(app) { client in
            let book = try await client.asMaster.post("classes/Libros", ["titulo": "Uno", "paginas": 0])
            let id = book["objectId"] ?? .null
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 { group.addTask { try await client.post("functions/sumar", ["id": id]).status } }
                for try await status in group { #expect(status == 200) }
            }
            let read = try await client.get("classes/Libros")
            #expect(read["results"]?[0]?["paginas"] == 20)
            #expect(try await client.post("functions/sumar", ["id": "inventado1"]).code == 101)
            #expect(try await client.post("functions/fuera", ["id": id]).code == 141)
        }
    }

    @Test func pagesAreServedBesideTheAPI() async throws {
        let app = Hermes()
        app.page("GET", "/hola/:nombre") { request in
            let name = request.arguments["nombre"] ?? ""
            let more = request.query["más"] ?? ""
            return .html(
                "<!doctype html><style>p{}</style><p>\(name.escapedForHTML) \(more) \(request.cookies["c"] ?? "")</p>",
                style: "p{}")
        }
        app.page("POST", "/hola/:nombre") { request in .redirect(to: "/hola/\(request.form["quien"] ?? "")") }
        app.page("GET", "/mal") { _ in throw ParseError(101, "No hay nada.") }
        try await withApp(app) { client in
            let page = try await client.with(header: "Cookie", "b=1; c=2").get("../hola/%3CAna%3E?m%C3%A1s=s%C3%AD")
            #expect(page.status == 200)
            let header = { (name: String) in page.headers.first { $0.name.lowercased() == name }?.value }
            #expect(header("content-type") == "text/html; charset=utf-8")
            #expect(header("content-security-policy")?.contains("'sha256-") == true)
            #expect(header("x-content-type-options") == "nosniff")
            #expect(try await client.get("../mal").status == 404)
            #expect(try await client.get("../hola").status == 404)
        }
    }

    @Test func whoIsThereAndWhatIsPreferred() async throws {
        let app = Hermes()
        app.notesPresence()
        app.prefers(["caseInsensitiveLogIn": true])
        app.function("hay") { request in
            let users = try await request.asMaster.find(Query(Usuario.self)).map { try $0.pointer }
            return try await request.asMaster.present(users, within: .seconds(60)).count
        }
        app.function("idioma") { request in request.language(among: ["es", "en"]) ?? "ninguno" }
        try await withApp(app) { client in
            let ana = try await client.signUp("Ana")
            _ = try await client.signUp("berta")
            _ = try await ana.get("users/me")
            #expect(try await client.post("functions/hay")["result"] == 1)
            _ = try await ana.post("logout")
            #expect(try await client.post("functions/hay")["result"] == 0)
            let login = try await client.post("login", ["username": "aNA", "password": "contraseña"])
            #expect(login.status == 200, "\(login.body)")
            for (asked, language) in [("es-ES,en;q=0.5", "es"), ("en;q=0.2, es;q=0.9", "es"), ("fr", "ninguno")] {
                let answer = try await client.with(header: "Accept-Language", asked).post("functions/idioma")
                #expect(answer["result"]?.string == language)
            }
        }
    }
}
