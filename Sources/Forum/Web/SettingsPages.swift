import Hermes

extension Visit {
    /// What a member says of himself, and what he wants to be told.
    func settings(_ fault: Fault? = nil) async throws -> Page {
        let me = try requireMember()
        let persona = try await database.first(Query(Persona.self).where(\.usuario == me.pointer))
        var leaf = Leaf(say("Ajustes", "Settings"), isPrivate: true)
        leaf.status = fault?.status ?? 200
        leaf.error = fault?.message
        leaf.done = doneText
        func text(_ name: String, _ stored: String?) -> String { fault == nil ? stored ?? "" : field(name) }
        func isOn(_ name: String, _ stored: Bool?) -> Bool { fault == nil ? stored != false : !field(name).isEmpty }
        let choices = [("es", "Español"), ("en", "English")].map { code, name -> HTML in
            let isChosen: HTML = code == text("idioma", persona?.idioma ?? language.rawValue) ? " selected" : ""
            return "<option value=\"\(code)\" lang=\"\(code)\"\(isChosen)>\(name)</option>"
        }
        let fields: [HTML] = [
            input("nombre", say("Nombre", "First name"), value: text("nombre", persona?.Nombre), more: " required"),
            input("apellidos", say("Apellidos", "Last name"), value: text("apellidos", persona?.Apellidos)),
            input(
                "movil", say("Móvil", "Mobile number"), value: text("movil", persona?.Movil), type: "tel",
                hint: say(
                    "De 6 a 15 cifras, con o sin prefijo (+34).", "6 to 15 digits, with or without a prefix (+44)."),
                more: " required"),
            input("ciudad", say("Ciudad", "City"), value: text("ciudad", persona?.ciudad), more: " required"),
            """
            <p class="field"><label for="idioma">\(say("Idioma", "Language"))</label>\
            <select id="idioma" name="idioma">\(choices)</select></p>
            """,
            check(
                "avisos", say("Avisarme de temas y comentarios nuevos", "Tell me of new topics and comments"),
                isOn("avisos", persona?.avisos)),
            check(
                "localizable",
                say(
                    "Quien tenga mi correo o mi móvil puede encontrarme",
                    "Anyone who has my email or number can find me"),
                isOn("localizable", persona?.localizable)),
        ]
        leaf.body = """
            <form class="card" method="post" action="/ajustes">\(formToken)\(fields)\
            <p></p><button>\(say("Guardar", "Save"))</button></form>\
            <p><a href="/ajustes/cuenta">\(say("Correo, contraseña, datos y cierre de la cuenta", "Email, password, data, closing the account"))</a></p>
            """
        return page(leaf)
    }

    private func check(_ name: String, _ label: String, _ isOn: Bool) -> HTML {
        """
        <label class="check" for="\(name)"><input type="checkbox" id="\(name)" name="\(name)" value="1"\
        \(isOn ? " checked" : "" as HTML)><span>\(label)</span></label>
        """
    }

    func changeSettings() async throws -> Page {
        let me = try requireMember()
        return try await attempt {
            // An account that an old client has made may have none yet.
            let known = try await database.first(Query(Persona.self).where(\.usuario == me.pointer).select("objectId"))
            var persona = known ?? Record(Persona.self)
            if known == nil { persona.Correo = try await request.fetchUser(as: Usuario.self)?.email }
            persona.Nombre = field("nombre").trimmed
            persona.Apellidos = field("apellidos").trimmed
            persona.Movil = field("movil")
            persona.ciudad = field("ciudad").trimmed
            persona.idioma = field("idioma")
            persona.avisos = !field("avisos").isEmpty
            persona.localizable = !field("localizable").isEmpty
            try await database.save(persona)
            return .redirect(to: Visit.path("/ajustes", done: "guardado"))
        } otherwise: { fault in
            try await settings(fault)
        }
    }
}
