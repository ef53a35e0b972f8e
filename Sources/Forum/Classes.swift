import Hermes

struct Usuario: ParseObject {
    static let className = "_User"
    var username: String?
    var email: String?
    var emailVerified: Bool?
    var favoritos: Relation<Tema>?
    /// The name in small letters, by which members are named.
    var clave: String?
}

struct Persona: ParseObject {
    static let className = "Persona"
    var Nombre: String?
    var Apellidos: String?
    var Correo: String?
    var Movil: String?
    var ciudad: String?
    var usuario: Pointer<Usuario>?
    var idioma: String?
    var avisos: Bool?
    var localizable: Bool?
    var foto: File?
}

struct Tema: ParseObject {
    static let className = "Temas"
    var Tema: String?
    /// The name without case and accents: no two topics have the same.
    var clave: String?
    var autor: Pointer<Usuario>?
    var comentarios: Int?
    var ultimo: Date?
    var ultimoAutor: Pointer<Usuario>?
    var cerrado: Bool?
    var fijado: Bool?
    /// The master key has made it: it counts for nobody's limits.
    var importado: Bool?
}

struct Comentario: ParseObject {
    static let className = "Comentarios"
    var Tema: Pointer<Tema>?
    var usuario: Pointer<Usuario>?
    var comentario: String?
    var fecha: Date?
    var editado: Date?
    var oculto: Bool?
    /// As of topics.
    var importado: Bool?
}

struct Denuncia: ParseObject {
    static let className = "Denuncias"
    var comentario: Pointer<Comentario>?
    var de: Pointer<Usuario>?
    var motivo: String?
}

struct Aviso: ParseObject {
    static let className = "Avisos"
    var para: Pointer<Usuario>?
    var de: Pointer<Usuario>?
    var tipo: String?
    var objeto: String?
    var tema: Pointer<Tema>?
    var leido: Bool?
}

struct Invitacion: ParseObject {
    static let className = "Invitaciones"
    var de: Pointer<Usuario>?
    /// Only where the sender named the member, and the address only where he gave that.
    var para: Pointer<Usuario>?
    var correo: String?
    var mensaje: String?
    var tema: Pointer<Tema>?
    var estado: String?
    var caduca: Date?
    /// The digest of the link's token.
    var token: String?
    /// Who is invited, and under which address, whatever the sender gave. Nobody sees them.
    var destino: Pointer<Usuario>?
    var direccion: String?
}

struct Amistad: ParseObject {
    static let className = "Amistades"
    var de: Pointer<Usuario>?
    var con: Pointer<Usuario>?
}

struct Conversacion: ParseObject {
    static let className = "Conversaciones"
    var miembros: [Pointer<Usuario>]?
    var esGrupo: Bool?
    var creador: Pointer<Usuario>?
    var nombre: String?
    var foto: File?
    var ultimoMensaje: String?
    var ultimoTipo: String?
    var ultimoAutor: Pointer<Usuario>?
    var ultimaFecha: Date?
    /// Of two: who they are, so that they have one conversation.
    var pareja: String?
    /// Messages that were ever written in it.
    var numero: Int?
}

struct Mensaje: ParseObject {
    static let className = "Mensajes"
    var conversacion: Pointer<Conversacion>?
    var autor: Pointer<Usuario>?
    var tipo: String?
    var cuerpo: String?
    var archivo: File?
    var segundos: Double?
    var lugar: GeoPoint?
    var contacto: [String: Value]?
    /// Which one of its conversation it is.
    var numero: Int?
}

struct Norma: ParseObject {
    static let className = "Normas"
    var orden: Int?
    var texto_es: String?
    var texto_en: String?
}

/// How far a member has read a topic or a conversation. For the rules alone.
struct Lectura: ParseObject {
    static let className = "Lecturas"
    var usuario: Pointer<Usuario>?
    var tema: Pointer<Tema>?
    var conversacion: Pointer<Conversacion>?
    /// Of a topic: how many comments it had.
    var vistos: Int?
    /// Of a conversation: how many messages are new, and the number of the last one that is not.
    var noLeidos: Int?
    var hasta: Int?
}

/// A topic or a comment of the last day that is gone: it counts for its author's limits still. For the rules alone.
struct Borrado: ParseObject {
    static let className = "Borrados"
    var usuario: Pointer<Usuario>?
    /// The class of what is gone.
    var clase: String?
    /// Since when it was there.
    var fecha: Date?
}

/// How often a member has looked for friends lately. For the rules alone.
struct Intento: ParseObject {
    static let className = "Intentos"
    var usuario: Pointer<Usuario>?
    var desde: Date?
    var cuenta: Int?
}
