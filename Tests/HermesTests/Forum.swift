import Core
import HTTP
import Hermes
import Synchronization
import TestSupport

struct Tema: ParseObject {
    static let className = "Temas"
    var Tema: String?
    var comentarios: Int?
    var cerrado: Bool?
    var autor: Pointer<Usuario>?
    var etiquetas: [String]?
    var lugar: GeoPoint?
    var cierre: Date?
    var estado: Estado?
    var lectores: Relation<Usuario>?
    var datos: [String: Value]?
    var nota: Double?
}

enum Estado: String, ParseValue { case abierto, archivado }

struct Usuario: ParseObject {
    static let className = "_User"
    var username: String?
    var password: String?
    var email: String?
    var ciudad: String?
}

struct Nota: ParseObject {
    static let className = "Notas"
    var texto: String?
    var tema: Pointer<Tema>?
    var n: Int?
}

/// A database as a server that has just begun leaves it.
private let template = TestDatabase.Template("hermes") { conninfo in
    let server = try await Hermes().start(
        ["port": 0, "appId": "test", "masterKey": "master", "databaseURI": .string(conninfo), "logLevel": "error"])
    await server.stop()
}

/// Starts the application on a database of its own.
func withApp(
    _ app: Hermes, _ options: [String: Value] = [:], _ body: @Sendable (TestClient) async throws -> Void
) async throws {
    let database = try await TestDatabase.make(template: template)
    var settled: [String: Value] = ["databaseURI": .string(database.conninfo), "workers": 1]
    settled.merge(options) { _, given in given }
    try await app.test(settled, body)
    withExtendedLifetime(database) {}
}

/// What hooks saw, in order.
final class Seen: Sendable {
    private let all = Mutex<[String]>([])
    var list: [String] { all.withLock { $0 } }
    var last: String? { list.last }
    func add(_ text: String) { all.withLock { $0.append(text) } }
}
