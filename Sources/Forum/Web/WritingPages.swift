import Hermes

extension Hermes {
    func writingViews() {
        view("GET", "/nuevo") { visit in try visit.topicForm() }
        view("POST", "/nuevo") { visit in try await visit.openTopic() }
    }
}

extension Visit {
    fileprivate func topicForm(_ fault: Fault? = nil) throws -> Page {
        _ = try requireMember()
        var leaf = Leaf(say("Abrir un tema", "Open a topic"), isPrivate: true)
        leaf.status = fault?.status ?? 200
        leaf.error = fault?.message
        leaf.errorLink = link(toStanding: fault)
        guard request.isMember else {
            leaf.error = Refusal.banned.said(language)
            leaf.body = written
            return page(leaf)
        }
        let name = input(
            "tema", say("Nombre del tema", "Name of the topic"), value: field("tema"),
            hint: say("De 6 a 200 letras. Di de qué trata.", "6 to 200 letters. Say what it is about."),
            more:
                " required minlength=\"6\" maxlength=\"200\" data-similar=\"\(say("Temas parecidos", "Similar topics"))\""
        )
        let words = textarea(
            "comentario", say("Primer comentario", "First comment"), value: field("comentario").withPlainLines, rows: 8,
            more: " required")
        leaf.body = """
            <form class="card" method="post" action="/nuevo" data-draft>\(formToken)\(name)\(words)\
            <button>\(say("Abrir el tema", "Open the topic"))</button></form>
            """
        return page(leaf)
    }

    /// To the topic that has the name already.
    func link(toStanding fault: Fault?) -> HTML? {
        fault?.standing.map { " <a href=\"/tema/\($0)\">\(say("ver ese tema", "see that topic"))</a>" }
    }

    fileprivate func openTopic() async throws -> Page {
        _ = try requireMember()
        return try await attempt {
            let result = try await database.call(
                "abrirTema",
                ["tema": .string(field("tema")), "comentario": .string(field("comentario").withPlainLines)])
            return .redirect(to: "/tema/\(result?["tema"]?.string ?? "")")
        } otherwise: { fault in
            if let id = fault.standing, try await isOwn(id, saying: field("comentario").withPlainLines) {
                return .redirect(to: "/tema/\(id)")
            }
            return try topicForm(fault)
        }
    }

    /// The same form has come twice: the reader opened the topic a moment ago.
    private func isOwn(_ id: String, saying words: String) async throws -> Bool {
        let topic = try await topic(named: id)
        guard let member, topic.autor?.objectId == member.pointer.objectId, isFresh(topic.createdAt) else {
            return false
        }
        return try await database.first(Query.of(id).from(nil))?.comentario == words
    }

    /// From the time in which nobody says the same twice.
    func isFresh(_ date: Date?) -> Bool { date.map { Date().timeIntervalSince($0) < Limits.repetition } ?? false }

    /// What the page before has done, as its redirect says.
    var doneText: String? {
        switch query("hecho") {
        case "dicho": say("Eso ya lo habías publicado: aquí está.", "You have posted that already: here it is.")
        case "comentario": say("El comentario está cambiado.", "The comment was changed.")
        case "borrado": say("El comentario está borrado.", "The comment was deleted.")
        case "oculto": say("El comentario está oculto.", "The comment is hidden.")
        case "visible": say("El comentario se ve de nuevo.", "The comment is shown again.")
        case "denuncia": say("Gracias: los moderadores lo mirarán.", "Thank you: the moderators will look at it.")
        case "denuncias": say("Las denuncias están descartadas.", "The reports were dismissed.")
        case "tema": say("El tema está cambiado.", "The topic was changed.")
        case "temaborrado": say("El tema está borrado.", "The topic was deleted.")
        case "invitacion": say("La invitación está en camino.", "The invitation is on its way.")
        case "amigos": say("Ya sois amigos.", "You are friends now.")
        case "rechazada": say("Invitación rechazada.", "Invitation declined.")
        case "dejada": say("Ya no sois amigos.", "You are no longer friends.")
        case "guardado": say("Guardado.", "Saved.")
        case "leidos": say("Todo leído.", "All read.")
        case "confirma":
            say(
                "Ya tienes cuenta. Para entrar, abre antes el enlace del correo que te hemos mandado.",
                "You have an account. To log in, first open the link in the mail that we have sent you.")
        case "correo": say("Tu correo está cambiado.", "Your email was changed.")
        case "clave": say("Tu contraseña está cambiada.", "Your password was changed.")
        case "cuenta": say("Tu cuenta está cerrada. ¡Buen viaje!", "Your account is closed. Have a good journey!")
        case "salido": say("Has dejado el grupo.", "You have left the group.")
        case "borrada": say("La charla está borrada.", "The chat was deleted.")
        default: nil
        }
    }
}
