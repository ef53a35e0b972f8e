import CForumFiles
import Hermes

/// What the program carries for browsers, and under which paths.
struct WebFiles: Sendable {
    let style: String
    let stylePath: String
    let scriptPath: String
    let iconPath: String
    /// Browsers that have this one in their cookie need not get the style within the page.
    let styleMark: String

    /// As they are served: the same for all that asks, and set once.
    static let paths = WebFiles(Hermes())

    init(_ app: Hermes) {
        style = String(cString: hermes_forum_style())
        stylePath = app.file("forum.css", style, type: "text/css; charset=utf-8")
        scriptPath = app.file(
            "forum.js", String(cString: hermes_forum_script()), type: "text/javascript; charset=utf-8")
        iconPath = app.file("forum.svg", String(cString: hermes_forum_icon()), type: "image/svg+xml")
        styleMark = String(Secrets.digest(style).prefix(12))
    }
}

/// One page before its frame is put around it.
struct Leaf: Sendable {
    var title: String
    var status = 200
    /// Search engines shall leave it out.
    var isPrivate: Bool
    /// Below the site: `/tema/x`; nil for what has no address of its own.
    var canonical: String?
    var previous: String?
    var next: String?
    /// The first page, where that is not the one before.
    var first: String?
    var description: String?
    /// Said above all: what was done.
    var done: String?
    /// Said above all: what was refused.
    var error: String?
    /// Behind it: where that is which is in the way.
    var errorLink: HTML?
    /// Beside the title.
    var aside = HTML.none
    var body = HTML.none
    /// Which link of the head leads here.
    var place = ""

    init(_ title: String, isPrivate: Bool = false) {
        self.title = title
        self.isPrivate = isPrivate
    }
}

extension Visit {
    private static let styleCookie = "estilo"

    /// A whole page. The first one brings its style along, so that it is shown after one round trip; the browser's cookie
    /// says that it has got it since.
    func page(_ leaf: Leaf) -> Page {
        let files = WebFiles.paths
        let isKnown = request.cookies[Visit.styleCookie] == files.styleMark
        let inner = isKnown ? "" : files.style
        var page = Page.html(
            html(leaf, isStyleKnown: isKnown).source, style: inner, ownFiles: true, status: leaf.status)
        page.headers.append(("Content-Language", language.rawValue))
        page.headers.append(("Vary", "Accept-Language, Cookie"))
        if !isKnown { page.headers.append(cookie(Visit.styleCookie, files.styleMark, seconds: 31_536_000)) }
        if request.cookies[Visit.sessionCookie] != nil, request.user == nil { page = withoutSession(page) }
        return marked(page, hasForms: leaf.isPrivate)
    }

    private func html(_ leaf: Leaf, isStyleKnown: Bool) -> HTML {
        let files = WebFiles.paths
        // The title is what is read aloud first: who does not see the page hears at once that it was refused.
        let mark = leaf.error == nil ? "" : "Error: "
        let whole = mark + (leaf.title == Visit.siteName ? leaf.title : "\(leaf.title) · \(Visit.siteName)")
        let style: HTML
        if isStyleKnown {
            style = "<link rel=\"stylesheet\" href=\"\(files.stylePath)\">"
        } else {
            // Nothing of a person's is in it.
            style =
                "<style>\(HTML(stringLiteral: files.style))</style><link rel=\"prefetch\" href=\"\(files.stylePath)\" as=\"style\">"
        }
        var head: HTML = ""
        if leaf.isPrivate { head += "<meta name=\"robots\" content=\"noindex\">" }
        if let path = leaf.canonical { head += "<link rel=\"canonical\" href=\"\(request.siteURL)\(path)\">" }
        if let path = leaf.previous { head += "<link rel=\"prev\" href=\"\(path)\">" }
        if let path = leaf.next { head += "<link rel=\"next\" href=\"\(path)\">" }
        if let text = leaf.description { head += "<meta name=\"description\" content=\"\(text)\">" }
        let api = String(request.serverURL.dropFirst(request.siteURL.count))
        return """
            <!doctype html>
            <html lang="\(language.rawValue)"><head><meta charset="utf-8"><title>\(whole)</title>\
            <meta name="viewport" content="width=device-width, initial-scale=1">\
            <meta name="color-scheme" content="light dark">\
            \(style)\(head)<link rel="icon" href="\(files.iconPath)" type="image/svg+xml">\
            <script src="\(files.scriptPath)" defer></script></head>
            <body data-api="\(api)" data-app="\(request.applicationId)">\
            <a class="skip" href="#contenido">\(say("Ir al contenido", "Skip to content"))</a>
            \(top(leaf))
            <main id="contenido" tabindex="-1"><div class="title"><h1>\(HTML.name(leaf.title))</h1>\(leaf.aside)</div>
            \(leaf.done.map { "<p class=\"done\" role=\"status\">\($0)</p>" as HTML })\
            \(leaf.error.map { "<p class=\"error\" role=\"alert\" id=\"error\">\($0)\(leaf.errorLink)</p>" as HTML })\
            \(leaf.body)</main>
            <footer><a href="/normas">\(say("Normas", "Netiquette"))</a> <a href="/">Hermes Forum</a></footer></body></html>

            """
    }

    static let siteName = "Hermes Forum"

    private func top(_ leaf: Leaf) -> HTML {
        func link(_ path: String, _ text: String, _ count: Int = 0) -> HTML {
            let here: HTML = leaf.place == path ? " aria-current=\"page\"" : ""
            let badge: HTML =
                count > 0
                ? " <b class=\"count\">\(count > 99 ? "99+" : String(count))<span class=\"unseen\"> \(say("sin leer", "unread"))</span></b>"
                : ""
            return "<li><a href=\"\(path)\"\(here)>\(text)\(badge)</a></li>"
        }
        var links: HTML = link("/", say("Temas", "Topics"))
        links += link("/buscar", say("Buscar", "Search"))
        if let member {
            links += link("/charlas", say("Charlas", "Chats"))
            links += link("/amigos", say("Amigos", "Friends"))
            links += link("/avisos", say("Avisos", "Notices"), notices)
            if isModerator { links += link("/moderar", say("Moderar", "Moderate")) }
            links += """
                <li class="me"><form method="post" action="/salir">\(formToken)<a href="/ajustes" title="\(say("Ajustes", "Settings"))">\(HTML.name(member.name))</a> \
                <button class="plain">\(say("Salir", "Log out"))</button></form></li>
                """
        } else {
            links += link("/entrar", say("Entrar", "Log in"))
            links += link("/registro", say("Registrarse", "Sign up"))
        }
        return """
            <header><a class="brand" href="/">Hermes <span>Forum</span></a>\
            <nav aria-label="\(say("Principal", "Main"))"><ul>\(links)</ul></nav></header>
            """
    }

    // MARK: pieces

    /// Links to the pages before and after.
    func pager(_ leaf: Leaf, _ words: (previous: String, next: String), middle: HTML = .none) -> HTML {
        guard leaf.previous != nil || leaf.next != nil || leaf.first != nil else { return .none }
        let start: HTML? = leaf.first.map { "<a href=\"\($0)\">\(say("Al principio", "First page"))</a>" }
        let before: HTML? = leaf.previous.map { "<a rel=\"prev\" href=\"\($0)\">\(words.previous)</a>" }
        let after: HTML? = leaf.next.map { "<a rel=\"next\" href=\"\($0)\">\(words.next)</a>" }
        return """
            <nav class="pager" aria-label="\(say("Páginas", "Pages"))">\(start)\(before)\(middle)\(after)</nav>
            """
    }

    /// A labelled field.
    func input(
        _ name: String, _ label: String, value: String = "", type: String = "text", hint: String? = nil,
        more: HTML = .none
    ) -> HTML {
        // Right to left where it is written so.
        let direction: HTML = type == "text" ? " dir=\"auto\"" : ""
        let explained: HTML? = hint.map { "<span class=\"hint\" id=\"\(name)-pista\">\($0)</span>" }
        let described: HTML = hint == nil ? "" : " aria-describedby=\"\(name)-pista\""
        return """
            <p class="field"><label for="\(name)">\(label)</label>\(explained)\
            <input id="\(name)" name="\(name)" type="\(type)" value="\(value)"\(direction)\(described)\(more)></p>
            """
    }

    func textarea(_ name: String, _ label: String, value: String = "", rows: Int = 6, more: HTML = .none) -> HTML {
        // A line break right behind the tag belongs to the tag.
        """
        <p class="field"><label for="\(name)">\(label)</label>\
        <textarea id="\(name)" name="\(name)" rows="\(rows)" dir="auto"\(more)>
        \(value)</textarea></p>
        """
    }

    /// How long ago, in words; the exact time beside it.
    func ago(_ date: Date?) -> HTML {
        guard let date else { return .none }
        return "<time datetime=\"\(date.ISO8601Format())\">\(words(since: date, now: Date()))</time>"
    }

    private func words(since date: Date, now: Date) -> String {
        let seconds = now.timeIntervalSince(date)
        switch seconds {
        case ..<60: return say("ahora mismo", "just now")
        case ..<3600: return span(Int(seconds / 60), ("minuto", "minutos"), ("minute", "minutes"))
        case ..<86_400: return span(Int(seconds / 3600), ("hora", "horas"), ("hour", "hours"))
        case ..<2_592_000: return span(Int(seconds / 86_400), ("día", "días"), ("day", "days"))
        default:
            let parts = date.ISO8601Format().prefix(10).split(separator: "-").compactMap { Int($0) }
            guard parts.count == 3 else { return "" }
            let months = language.choose(
                "ene feb mar abr may jun jul ago sep oct nov dic", "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
            ).words
            return "\(parts[2]) \(months[parts[1] - 1]) \(parts[0])"
        }
    }

    private func span(_ count: Int, _ spanish: (String, String), _ english: (String, String)) -> String {
        say("hace \(count) \(count == 1 ? spanish.0 : spanish.1)", "\(count) \(count == 1 ? english.0 : english.1) ago")
    }

    func comments(_ count: Int) -> String {
        say(count == 1 ? "1 comentario" : "\(count) comentarios", count == 1 ? "1 comment" : "\(count) comments")
    }

    /// Who wrote something; the account may be gone.
    ///
    /// - Parameter topic: where he was met, which an invitation tells.
    func author(_ user: Record<Usuario>?, in topic: Record<Tema>? = nil) -> HTML {
        guard let name = user?.username else { return "<i>\(say("alguien que se fue", "somebody who left"))</i>" }
        guard let member, member.name != name else { return "<b>\(HTML.name(name))</b>" }
        let met: HTML? = topic?.objectId.map { "?tema=\($0)" }
        return "<a class=\"person\" href=\"/miembro/\(name.inURL)\(met)\">\(HTML.name(name))</a>"
    }
}
