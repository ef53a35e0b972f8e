import Hermes

/// The forum's languages.
enum Language: String {
    case spanish = "es"
    case english = "en"

    func choose(_ spanish: String, _ english: String) -> String { self == .spanish ? spanish : english }
}

/// What somebody is refused, in both languages: he is told in his own.
struct Refusal: Error {
    let code: Int
    let spanish: String
    let english: String

    init(_ code: Int, _ spanish: String, _ english: String) {
        self.code = code
        self.spanish = spanish
        self.english = english
    }

    static let notFound = Refusal(101, "No existe, o no puedes verlo.", "There is no such object.")
    static let noSession = Refusal(142, "Hace falta una sesión: entra primero.", "This needs a session: log in first.")
    static let noMember = Refusal(
        119, "Solo los miembros pueden hacerlo: regístrate primero.", "Only members can do this: sign up first.")
    static let banned = Refusal(
        119, "Tu cuenta ya no puede escribir en el foro: habla con quien lo lleva.",
        "Your account can no longer write in the forum: talk to who runs it.")
    static let noAddress = Refusal(
        125, "La dirección de correo no es válida.", "The email address is not valid.")
    static let kept = Refusal(119, "No se permite cambiar eso.", "This cannot be changed.")
    static func unknownMember(_ name: String) -> Refusal {
        Refusal(101, "No hay ningún miembro \(name).", "There is no member \(name).")
    }
    static let repeated = Refusal(137, "Acabas de escribir lo mismo.", "You have just written the same.")
    static let forModerators = Refusal(119, "Esto es solo para moderadores.", "This is for moderators only.")
    static let noLongerFriends = Refusal(119, "Ya no sois amigos.", "You are no longer friends.")
    static func noFriend(_ name: String) -> Refusal {
        Refusal(119, "\(name) no está entre tus amigos.", "\(name) is not one of your friends.")
    }

    /// Names what is missing, blank or wrong.
    static func wrong(_ names: [String]) -> Refusal {
        let list = names.joined(separator: ", ")
        guard names.count > 1 else {
            return Refusal(
                142, "Falta o no es válido: \(list). Es obligatorio.", "Missing or not valid: \(list). It is required.")
        }
        return Refusal(
            142, "Faltan o no son válidos: \(list). Son obligatorios.",
            "Missing or not valid: \(list). They are required.")
    }
}

extension Request {
    /// The language of whoever sent the request: his own, what his client asks for, English.
    func language() async -> Language {
        if let user = user(as: Usuario.self) {
            let persona = try? await asMaster.pastHooks.first(
                Query(Persona.self).where(\.usuario == user).select(\.idioma))
            if let own = persona?.idioma.flatMap(Language.init) { return own }
        }
        return language(among: ["es", "en"]).flatMap(Language.init) ?? .english
    }

    /// Runs a rule, and says its refusals in the member's language, and the server's own.
    func spoken<Result>(_ body: () async throws -> Result) async throws -> Result {
        do { return try await body() } catch let refusal as Refusal {
            throw ParseError(refusal.code, refusal.said(await language()))
        } catch let error as ParseError where ServerWords.known(error.message, in: .spanish) != nil {
            throw ParseError(error.code, ServerWords.known(error.message, in: await language()) ?? error.message)
        }
    }
}

extension Hermes {
    /// A function for members, which are told who calls.
    ///
    /// - Throws: 142 without a session, 119 for whoever is no member.
    func memberFunction<Result: ParseValue>(
        _ name: String, _ body: @escaping @Sendable (FunctionRequest, Pointer<Usuario>) async throws -> Result
    ) {
        function(name) { request in
            try await request.spoken { try await body(request, try request.member()) }
        }
    }
}
