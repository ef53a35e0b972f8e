import Hermes

/// Somebody asks for a page of the forum.
struct Visit: Sendable {
    static let sessionCookie = "sesion"
    /// Tells one browser's forms from another's where there is no session.
    private static let visitCookie = "visita"

    let request: PageRequest
    let language: Language
    /// Who is logged in, with the account's name. An anonymous user counts as nobody.
    let member: (pointer: Pointer<Usuario>, name: String)?
    /// Notices that were not read.
    private(set) var notices: Int
    /// Forms are bound to it.
    private let key: String
    private let isNewKey: Bool

    init(_ request: PageRequest) async throws {
        self.request = request
        language = await request.language()
        if let user = try await request.fetchUser(as: Usuario.self), !(user.email ?? "").isEmpty {
            member = (try user.pointer, user.username ?? "")
            notices = try await request.asCaller.count(
                Query(Aviso.self).where(\.para == (try user.pointer) && \.leido == false))
        } else {
            member = nil
            notices = 0
        }
        let cookie = Visit.sessionCookie
        let standing = request.user == nil ? request.cookies[Visit.visitCookie] : request.cookies[cookie]
        key = standing ?? Secrets.token()
        isNewKey = standing == nil
    }

    /// One of the two, in the reader's language.
    func say(_ spanish: String, _ english: String) -> String { language.choose(spanish, english) }

    /// The rights of whoever asks.
    var database: Database { request.asCaller }
    var isModerator: Bool { request.isModerator }

    /// A field of the form; "" where it was not sent.
    func field(_ name: String) -> String { request.form[name] ?? "" }
    func query(_ name: String) -> String? { request.query[name].flatMap { $0.isEmpty ? nil : $0 } }
    func argument(_ name: String) -> String { request.arguments[name] ?? "" }

    /// Notices that this page shows the thing of need not be read any more.
    func noticed(_ told: Condition<Aviso>) async throws -> Visit {
        guard let member, notices > 0 else { return self }
        var visit = self
        visit.notices -= try await request.rules.updateAll(
            Query(Aviso.self).where(\.para == member.pointer && \.leido == false && told)
        ) { $0.leido = true }
        return visit
    }

    // MARK: forms

    /// Goes with each form. Salted, so that it is another one each time and no compressed page betrays it.
    var formToken: HTML {
        let salt = String(Secrets.token().prefix(16))
        return "<input type=\"hidden\" name=\"prueba\" value=\"\(salt + Visit.seal(salt, key))\">"
    }

    private static func seal(_ salt: String, _ key: String) -> String {
        String(Secrets.digest("formulario \(salt) \(key)").prefix(40))
    }

    /// The browser says that another site has sent it here.
    private var isForeign: Bool {
        request.headers["sec-fetch-site"].map { !["same-origin", "none"].contains($0) } ?? false
    }

    /// - Throws: a ``Fault`` (403) for a form that this browser was not given.
    func checkForm() throws {
        let proof = field("prueba")
        guard !isNewKey, !isForeign, proof.count == 56,
            Visit.seal(String(proof.prefix(16)), key) == proof.suffix(40)
        else {
            throw Fault(
                403,
                say(
                    "El formulario era de otra visita. Aquí está de nuevo: vuelve a mandarlo.",
                    "The form was from another visit. Here it is again: please send it once more."))
        }
    }

    /// Does what a form asks for. Where it is refused, the form comes again and says why.
    func attempt(
        _ action: () async throws -> Page, otherwise form: (Fault) async throws -> Page
    ) async throws -> Page {
        do {
            try checkForm()
            return try await action()
        } catch let fault as Fault {
            return try await form(fault)
        } catch let error as ParseError {
            return try await form(Fault(error, self))
        }
    }

    // MARK: cookies

    /// Sets what the browser keeps of this visit.
    func marked(_ page: Page, session: String? = nil, hasForms: Bool = false) -> Page {
        var page = page
        if let session {
            page.headers.append(cookie(Visit.sessionCookie, session, seconds: 31_536_000))
            page.headers.append(cookie(Visit.visitCookie, "", seconds: 0))
        } else if isNewKey, hasForms {
            page.headers.append(cookie(Visit.visitCookie, key, seconds: nil))
        }
        return page
    }

    func withoutSession(_ page: Page) -> Page {
        var page = page
        page.headers.append(cookie(Visit.sessionCookie, "", seconds: 0))
        return page
    }

    func cookie(_ name: String, _ value: String, seconds: Int?) -> (name: String, value: String) {
        let age = seconds.map { "; Max-Age=\($0)" } ?? ""
        let secure = request.siteURL.hasPrefix("https:") ? "; Secure" : ""
        return ("Set-Cookie", "\(name)=\(value); Path=/\(age); HttpOnly; SameSite=Lax\(secure)")
    }

    // MARK: ways

    /// Leads who has to log in first there, and back afterwards, with what he had written.
    fileprivate func logInFirst() -> Page {
        guard request.method == "POST", !isForeign else { return .redirect(to: "/entrar?a=\(request.path.inURL)") }
        return logInForm(
            Fault(
                403,
                say(
                    "Tu sesión ha terminado. Entra otra vez: lo que has escrito te espera.",
                    "Your session has ended. Log in again: what you have written is waiting for you.")),
            goingOnWith: request.form)
    }

    /// A path of this site that a link or a form names; `/` for any other text.
    static func local(_ path: String?) -> String {
        guard let path, path.hasPrefix("/"), !path.hasPrefix("//"),
            path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
        else { return "/" }
        return path
    }

    /// Who is logged in.
    ///
    /// - Throws: a ``LogInFirst`` for anybody else.
    func requireMember() throws -> (pointer: Pointer<Usuario>, name: String) {
        guard let member else { throw LogInFirst() }
        return member
    }
}

/// What a page cannot do, as a person reads it.
struct Fault: Error {
    let status: Int
    let message: String
    /// The topic that has the name already.
    private(set) var standing: String?
    /// It was said a moment ago.
    private(set) var isRepeated = false

    init(_ status: Int, _ message: String) {
        self.status = status
        self.message = message
    }

    init(_ error: ParseError, _ visit: Visit) {
        let said = ServerWords.of(error, in: visit.language) ?? error.message
        switch error.code {
        case 100: (status, message) = (429, said)
        case 101: (status, message) = (404, said)
        // Nothing but cursors is asked wrong by a page.
        case 102:
            (status, message) = (404, visit.say("Esa página ya no existe.", "There is no such page any more."))
        // Who has an account is not to sign up: it was taken from him to write.
        case 119 where visit.member != nil && said == Refusal.noMember.said(visit.language):
            (status, message) = (403, Refusal.banned.said(visit.language))
        case 119, 209: (status, message) = (403, said)
        case 142: (status, message) = (400, visit.labelled(said))
        case 137 where said == Refusal.repeated.said(visit.language):
            (status, message) = (400, said)
            isRepeated = true
        case 137 where Tema.isTaken(said):
            // It ends with the topic's objectId.
            let parts = said.split(separator: ":")
            (status, message) = (400, parts.dropLast().joined(separator: ":") + ":")
            standing = parts.last.map { String($0).trimmed }
        default: (status, message) = (400, said)
        }
    }
}

struct LogInFirst: Error {}

extension Refusal {
    func said(_ language: Language) -> String { language.choose(spanish, english) }
}

extension Hermes {
    /// A page of the forum. What goes wrong is told on a page too.
    func view(_ method: String, _ path: String, _ body: @escaping @Sendable (Visit) async throws -> Page) {
        page(method, path) { request in
            let visit = try await Visit(request)
            do { return try await body(visit) } catch is LogInFirst {
                return visit.logInFirst()
            } catch let fault as Fault {
                return visit.fault(fault)
            } catch let refusal as Refusal {
                return visit.fault(Fault(ParseError(refusal.code, refusal.said(visit.language)), visit))
            } catch let error as ParseError {
                return visit.fault(Fault(error, visit))
            }
        }
    }
}

extension Hermes {
    /// For the moment at which not even the reader's language can be looked up.
    func failedPages() {
        failedPage { failure in
            let language = failure.language(among: ["es", "en"]).flatMap(Language.init) ?? .english
            let words = ServerWords.of(ParseError(nil, failure.message), in: language) ?? failure.message
            let title = language.choose("Eso no puede ser", "That cannot be done")
            let html: HTML = """
                <!doctype html>
                <html lang="\(language.rawValue)"><head><meta charset="utf-8"><title>\(title) · \(Visit.siteName)</title>\
                <meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">\
                <link rel="stylesheet" href="\(WebFiles.paths.stylePath)"></head>
                <body><main id="contenido"><h1>\(title)</h1><p>\(words)</p>\
                <p><a class="button" href="/">\(language.choose("Ver los temas", "See the topics"))</a></p></main></body></html>

                """
            var page = Page.html(html.source, ownFiles: true, status: failure.status)
            page.headers.append(("Content-Language", language.rawValue))
            return page
        }
    }
}

extension Visit {
    func fault(_ fault: Fault) -> Page {
        let title =
            fault.status == 404
            ? say("Aquí no hay nada", "There is nothing here") : say("Eso no puede ser", "That cannot be done")
        var leaf = Leaf(title, isPrivate: true)
        leaf.status = fault.status
        leaf.body = """
            <p>\(fault.message)</p>\(written)<p><a class="button" href="/">\(say("Ver los temas", "See the topics"))</a></p>
            """
        return page(leaf)
    }

    /// What was sent to where there is no form for it any more, to be taken elsewhere.
    var written: HTML {
        let texts = ["comentario", "cuerpo", "mensaje", "motivo"].map(field)
        guard let text = texts.first(where: { !$0.isBlank })?.withPlainLines else { return .none }
        return textarea("escrito", say("Lo que habías escrito", "What you had written"), value: text, more: " readonly")
    }
}
