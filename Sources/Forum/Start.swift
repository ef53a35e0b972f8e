import Hermes

extension StartRequest {
    /// Administrators are moderators too.
    func makeRoles() async throws {
        for name in [Roles.administrator, Roles.new, Roles.member, Roles.moderator] {
            guard try await rules.first(Query(Role.self).where(\.name == name)) == nil else { continue }
            var role = Record(Role.self)
            role.name = name
            role.acl = ACL()
            if name == Roles.moderator { role.add(try await rules.role(Roles.administrator).pointer, to: \.roles) }
            // Another server of the forum may have been faster.
            do { try await rules.save(role) } catch let error as ParseError where error.code == 137 {}
        }
    }

    /// The ten rules of netiquette.
    func seedRules() async throws {
        guard try await rules.count(Query(Norma.self)) == 0 else { return }
        let all = zip(Netiquette.spanish, Netiquette.english).enumerated().map { index, texts in
            var rule = Record(Norma(orden: index + 1, texto_es: texts.0, texto_en: texts.1))
            rule.acl = ACL(publicRead: true)
            return rule
        }
        try await rules.createAll(all, skippingDuplicates: true)
    }
}

enum Netiquette {
    static let spanish = [
        "Trata a los demás como quieres que te traten: detrás de cada nombre hay una persona.",
        "Escribe con claridad y con calma; relee antes de enviar.",
        "Pon al tema un nombre que diga de qué trata.",
        "Busca antes de preguntar: quizá ya se ha respondido.",
        "No te salgas del tema; para otra cosa, abre otro.",
        "No escribas todo en mayúsculas: parece que gritas.",
        "Nada de publicidad, de mensajes repetidos ni de cadenas.",
        "No publiques datos privados, ni tuyos ni de otros.",
        "Cuenta lo que sabes de primera mano y di de dónde viene lo demás.",
        "Si algo no está bien, denúncialo en vez de discutir.",
    ]
    static let english = [
        "Treat others as you want to be treated: behind every name there is a person.",
        "Write clearly and calmly; read it again before you send it.",
        "Give a topic a name that says what it is about.",
        "Search before you ask: it may have been answered already.",
        "Keep to the topic; for anything else open another one.",
        "Do not write in capitals: it reads as shouting.",
        "No advertising, no repeated messages, no chain letters.",
        "Publish no private data, neither yours nor anybody else's.",
        "Tell what you know at first hand, and say where the rest comes from.",
        "If something is wrong, flag it instead of arguing.",
    ]
}
