import Hermes

enum Roles {
    static let new = "nuevos"
    static let member = "miembros"
    static let moderator = "moderadores"
    static let administrator = "administradores"
    /// Whoever is a member has one of them.
    static let ofMembers = [new, member]
}

extension Hermes {
    /// The forum's classes: fields as their descriptions have them, indexes, and what everybody may do. What depends on
    /// the object is the rules' part, and the ACLs that they write.
    func defineClasses() {
        defineMembers()
        defineTopics()
        defineInvitations()
        defineChats()
        // Roles are given by hand, and made at the start.
        define(Role.self) { $0.permit([.find, .get, .count], to: .everybody) }
        define(Norma.self) {
            $0.unique("orden", \.orden)
            $0.permit([.find, .get, .count], to: .everybody)
            $0.finds(order: [.ascending(\.orden)])
        }
    }

    private func defineMembers() {
        define(Usuario.self) {
            $0.permit([.find, .get, .count, .create, .update, .delete], to: .everybody)
            $0.hide(\.email, \.emailVerified, \.favoritos, \.clave)
            $0.index("clave", \.clave)
        }
        define(Persona.self) {
            $0.permit([.find, .get, .count, .create, .update], to: .users)
            $0.hide(\.Correo, \.Movil)
            $0.show(\.Correo, \.Movil, toOwner: \.usuario)
            $0.unique("usuario", \.usuario)
            $0.index("Movil", \.Movil)
            $0.index("Correo", \.Correo)
            // Pages of the job that tells everybody.
            $0.index("avisos", \.avisos, \.objectId)
        }
        define(Aviso.self) {
            $0.permit([.find, .get, .count, .update, .delete], to: .users)
            // A job that is begun anew tells nobody twice.
            $0.unique("una_vez", \.para, \.objeto, \.tipo)
            $0.finds(limit: 50, order: [.descending(\.createdAt)], own: \.para)
        }
        define(Intento.self) { $0.unique("usuario", \.usuario) }
        define(Borrado.self) { _ in }
    }

    private func defineTopics() {
        define(Tema.self) {
            $0.permit([.find, .get, .count], to: .everybody)
            $0.permit([.create, .update, .delete], to: .users)
            $0.hide(\.clave, \.importado)
            $0.unique("clave", \.clave)
            $0.index("orden", \.fijado, \.ultimo, \.objectId)
            $0.text("palabras", \.Tema, languages: ["es", "en"])
            $0.finds(limit: 50, order: [.descending(\.fijado), .descending(\.ultimo)])
            $0.number(
                "noLeidos", of: Lectura.self, \.vistos, by: \.usuario, at: \.tema, from: \.comentarios,
                for: Roles.ofMembers)
        }
        define(Comentario.self) {
            $0.permit([.find, .get, .count], to: .everybody)
            $0.permit([.create, .update, .delete], to: .users)
            $0.hide(\.importado)
            $0.require(\.fecha)
            $0.index("orden", \.Tema, \.fecha, \.objectId)
            $0.text("palabras", \.comentario, languages: ["es", "en"])
            $0.finds(limit: 20, order: [.ascending(\.fecha)], include: ["usuario.username"])
        }
        define(Denuncia.self) {
            $0.permit([.find, .get, .count], to: .role(Roles.moderator))
            $0.unique("una_vez", \.comentario, \.de)
        }
        define(Lectura.self) {
            $0.unique("tema", \.usuario, \.tema)
            $0.unique("conversacion", \.usuario, \.conversacion)
        }
    }

    private func defineInvitations() {
        define(Invitacion.self) {
            // Who is invited may not be told from an ACL either.
            $0.permit([.find, .get, .count], toThoseIn: \.de, \.destino)
            $0.hide(\.token, \.destino, \.direccion)
            $0.unique("token", \.token)
            $0.index("caduca", \.estado, \.caduca)
            $0.finds(order: [.descending(\.createdAt)])
        }
        define(Amistad.self) {
            $0.permit([.find, .get, .count], to: .users)
            $0.unique("una_vez", \.de, \.con)
            $0.finds(own: \.de)
        }
    }

    private func defineChats() {
        define(Conversacion.self) {
            $0.permit([.find, .get, .count, .update], to: .users)
            $0.hide(\.pareja, \.numero)
            $0.unique("pareja", \.pareja)
            $0.elements("miembros", \.miembros)
            $0.finds(limit: 50, order: [.descending(\.ultimaFecha)], own: \.miembros)
            $0.number(
                "noLeidos", of: Lectura.self, \.noLeidos, by: \.usuario, at: \.conversacion, for: Roles.ofMembers)
        }
        define(Mensaje.self) {
            $0.permit([.find, .get, .count, .create, .delete], to: .users)
            $0.hide(\.numero)
            $0.finds(limit: 50, order: [.descending(\.createdAt)])
        }
    }
}
