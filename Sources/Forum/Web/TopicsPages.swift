import Hermes

extension Hermes {
    func topicViews() {
        view("GET", "/") { visit in try await visit.topics() }
        view("GET", "/buscar") { visit in try await visit.search() }
        view("GET", "/normas") { visit in try await visit.netiquette() }
        view("GET", "/*") { visit in throw Fault(404, visit.say("No hay esa página.", "There is no such page.")) }
        page("GET", "/robots.txt") { _ in
            Page("User-agent: *\nDisallow: /buscar\nDisallow: /entrar\nDisallow: /registro\n", type: "text/plain")
        }
    }
}

extension Query<Tema> {
    /// With the names that a list shows.
    var listed: Query {
        select(
            "Tema", "comentarios", "ultimo", "cerrado", "fijado", "noLeidos", "autor.username", "ultimoAutor.username"
        )
        .include("autor", "ultimoAutor")
    }
}

extension Visit {
    /// Fifty topics: pinned ones, then the latest.
    fileprivate func topics() async throws -> Page {
        let cursor = query("desde")
        var leaf = Leaf(cursor == nil ? Visit.siteName : say("Más temas", "More topics"))
        leaf.place = "/"
        let found = try await database.page(Query(Tema.self).listed.limit(50), from: cursor)
        leaf.canonical = cursor.map { "/?desde=\($0.inURL)" } ?? "/"
        turn(&leaf, at: "/", next: found.cursor)
        leaf.description = say(
            "Un foro para gente que prepara viajes: pregunta, cuenta y haz amigos.",
            "A forum for people who plan journeys: ask, share, and make friends.")
        leaf.aside = openButton
        leaf.done = doneText
        if member == nil, cursor == nil {
            leaf.body += """
                <p class="lead">\(leaf.description ?? "") \
                \(say("Leer es libre; para escribir,", "Anyone reads; to write,")) \
                <a href="/registro">\(say("regístrate", "sign up"))</a> \(say("o", "or")) \
                <a href="/entrar">\(say("entra", "log in"))</a>.</p>
                """
        }
        leaf.body += list(found.objects)
        if found.objects.isEmpty {
            leaf.body +=
                "<p class=\"empty\">\(say("Todavía no hay temas. ¡Abre el primero!", "There are no topics yet. Open the first one!"))</p>"
        }
        leaf.body += pager(leaf, (say("← Más nuevos", "← Newer"), say("Más antiguos →", "Older →")))
        return page(leaf)
    }

    fileprivate var openButton: HTML {
        "<a class=\"button\" href=\"/nuevo\">\(say("Abrir un tema", "Open a topic"))</a>"
    }

    func list(_ topics: [Record<Tema>]) -> HTML {
        guard !topics.isEmpty else { return .none }
        return "<ol class=\"topics\" data-more>\(topics.map(row))</ol>"
    }

    private func row(_ topic: Record<Tema>) -> HTML {
        var marks = HTML.none
        if topic.fijado == true { marks += "<b class=\"mark\">\(say("Fijado", "Pinned"))</b> " }
        if topic.cerrado == true { marks += "<b class=\"mark quiet\">\(say("Cerrado", "Closed"))</b> " }
        if let unread = topic["noLeidos"]?.int, unread > 0, member != nil {
            marks += "<b class=\"mark new\">\(unread) \(say(unread == 1 ? "nuevo" : "nuevos", "new"))</b> "
        }
        let count = topic.comentarios ?? 0
        // Without comments the last word is the author's own.
        var last: HTML = ago(topic.ultimo)
        if count > 0, let name = topic.ultimoAutor?.object?.username {
            last = "\(say("último", "latest")) \(ago(topic.ultimo)), \(HTML.name(name))"
        }
        let author = topic.autor?.object?.username.map { HTML.name($0) }
        return """
            <li><h2>\(marks)<a href="/tema/\(topic.objectId ?? "")">\(HTML.name(topic.Tema ?? ""))</a></h2>\
            <p class="meta">\(author)\(author == nil ? "" : " · " as HTML)\(comments(count)) · \(last)</p></li>

            """
    }

    // MARK: search

    /// All words, in any form that they have in either language.
    fileprivate func search() async throws -> Page {
        let words = (query("q") ?? "").trimmed
        var leaf = Leaf(
            words.isEmpty ? say("Buscar", "Search") : say("Buscar: \(words)", "Search: \(words)"), isPrivate: true)
        leaf.place = "/buscar"
        let label = say("Palabras", "Words")
        leaf.body = """
            <form class="search" role="search" action="/buscar"><label for="q">\(label)</label>\
            <input id="q" name="q" type="search" value="\(words)" dir="auto" required maxlength="200">\
            <button>\(say("Buscar", "Search"))</button></form>
            """
        guard !words.isEmpty else { return page(leaf) }
        let short = String(words.prefix(200))
        let topics = try await database.find(
            Query(Tema.self).where(.text(\.Tema, short)).order(.ascending("$score")).listed.limit(Visit.foundTopics))
        let said = try await database.find(
            Query(Comentario.self).where(.text(\.comentario, short)).order(.ascending("$score"))
                .include("usuario", "Tema").select("comentario", "fecha", "oculto", "usuario.username", "Tema.Tema")
                .limit(Visit.foundComments))
        if topics.isEmpty, said.isEmpty {
            leaf.body +=
                "<p class=\"empty\" role=\"status\">\(say("No se ha encontrado nada. Prueba con menos palabras.", "Nothing was found. Try fewer words."))</p>"
        }
        if !topics.isEmpty { leaf.body += "<h2 class=\"part\">\(say("Temas", "Topics"))</h2>\(list(topics))" }
        if !said.isEmpty {
            leaf.body +=
                "<h2 class=\"part\">\(say("Comentarios", "Comments"))</h2><ol class=\"found\">\(said.map(quote))</ol>"
        }
        if topics.count == Visit.foundTopics || said.count == Visit.foundComments {
            let words = say(
                "Esto es lo que mejor encaja; puede haber más. Añade palabras para afinar.",
                "These fit best; there may be more. Add words to narrow it down.")
            leaf.body += "<p class=\"meta\">\(words)</p>"
        }
        return page(leaf)
    }

    private static let foundTopics = 50
    private static let foundComments = 20

    private func quote(_ comment: Record<Comentario>) -> HTML {
        let text = (comment.comentario ?? "").tidy
        let short = text.count > 240 ? String(text.prefix(240)) + "…" : text
        let name: HTML? = comment.usuario?.object?.username.map { "\(HTML.name($0)) · " }
        return """
            <li><a href="/comentario/\(comment.objectId ?? "")">\(HTML.name(comment.Tema?.object?.Tema ?? ""))</a>\
            <p dir="auto">\(short)</p><p class="meta">\(name)\(ago(comment.fecha))</p></li>

            """
    }

    // MARK: netiquette

    fileprivate func netiquette() async throws -> Page {
        let rules = try await database.find(Query(Norma.self).limit(100))
        var leaf = Leaf(say("Normas del foro", "Netiquette"))
        leaf.canonical = "/normas"
        let items = rules.map { rule -> HTML in
            "<li>\(language.choose(rule.texto_es ?? "", rule.texto_en ?? ""))</li>"
        }
        leaf.body = "<ol class=\"rules\">\(items)</ol>"
        return page(leaf)
    }
}
