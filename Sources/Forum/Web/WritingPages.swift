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

    fileprivate func openTopic() async throws -> Page {
        _ = try requireMember()
        return try await attempt {
            let result = try await database.call(
                "abrirTema",
                ["tema": .string(field("tema")), "comentario": .string(field("comentario").withPlainLines)])
            return .redirect(to: "/tema/\(result?["tema"]?.string ?? "")")
        } otherwise: { fault in
            try topicForm(fault)
        }
    }

    /// What the page before has done, as its redirect says.
    var doneText: String? {
        switch query("hecho") {
        case "comentario": say("El comentario está cambiado.", "The comment was changed.")
        case "borrado": say("El comentario está borrado.", "The comment was deleted.")
        case "oculto": say("El comentario está oculto.", "The comment is hidden.")
        case "visible": say("El comentario se ve de nuevo.", "The comment is shown again.")
        case "denuncia": say("Gracias: los moderadores lo mirarán.", "Thank you: the moderators will look at it.")
        case "tema": say("El tema está cambiado.", "The topic was changed.")
        case "temaborrado": say("El tema está borrado.", "The topic was deleted.")
        case "invitacion": say("La invitación está en camino.", "The invitation is on its way.")
        case "amigos": say("Ya sois amigos.", "You are friends now.")
        case "rechazada": say("Invitación rechazada.", "Invitation declined.")
        case "dejada": say("Ya no sois amigos.", "You are no longer friends.")
        case "guardado": say("Guardado.", "Saved.")
        case "leidos": say("Todo leído.", "All read.")
        case "salido": say("Has dejado el grupo.", "You have left the group.")
        case "borrada": say("La charla está borrada.", "The chat was deleted.")
        default: nil
        }
    }
}
