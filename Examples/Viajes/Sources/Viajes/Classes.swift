import Hermes

/// A journey that somebody makes, and tells of.
struct Viaje: ParseObject {
    static let className = "Viajes"
    var titulo: String?
    var viajero: Pointer<User>?
    /// How many of its days have been told: kept by the server.
    var etapas: Int?
    /// All its kilometres: kept by the server.
    var kilometros: Double?
    var terminado: Bool?
}

/// A day of a journey.
struct Etapa: ParseObject {
    static let className = "Etapas"
    var viaje: Pointer<Viaje>?
    var lugar: String?
    var punto: GeoPoint?
    var texto: String?
    var kilometros: Double?
}

/// Who follows a journey.
struct Seguidor: ParseObject {
    static let className = "Seguidores"
    var viaje: Pointer<Viaje>?
    var usuario: Pointer<User>?
}
