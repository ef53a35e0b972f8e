import Schema
import Store
import Wire

/// `/schemas`: classes as administrators see and change them.
extension API {
    func schemas(_ route: Route, _ request: Request) async throws -> Answer {
        let catalogue = store.catalogue
        switch route {
        case .schemas:
            try checkMaster(request.viewer, writes: false)
            let all = try await catalogue.snapshot(in: request.transaction).classes.values.sorted { $0.name < $1.name }
            return Answer(json: ["results": .array(all.map { .object(shown($0)) })])
        case .schema(let name):
            try checkMaster(request.viewer, writes: false)
            guard let schema = try await catalogue.snapshot(in: request.transaction)[name] else { throw noClass(name) }
            return Answer(json: .object(shown(schema)))
        case .createSchema(let pathName):
            try checkMaster(request.viewer, writes: true)
            let name = try className(pathName, request.body)
            let schema = try await catalogue.create(name, try schemaRequest(request.body), in: request.transaction)
            var answer = shown(schema)
            // The primary key's index appears only when the class is read again.
            if case .object(var indexes)? = answer["indexes"] {
                indexes["_id_"] = nil
                answer["indexes"] = .object(indexes)
            }
            return Answer(json: .object(answer))
        case .updateSchema(let name):
            try checkMaster(request.viewer, writes: true)
            if let other = request.body["className"], other != .string(name) { throw mismatch(other, name) }
            let schema = try await catalogue.update(name, try schemaRequest(request.body), in: request.transaction)
            return Answer(json: .object(shown(schema)))
        case .deleteSchema(let name):
            try checkMaster(request.viewer, writes: true)
            try await catalogue.delete(name, in: request.transaction)
            return .empty
        default: throw noClass("")
        }
    }

    private func className(_ pathName: String?, _ body: JSONObject) throws(ParseError) -> String {
        if let pathName {
            if let other = body["className"], other != .string(pathName) { throw mismatch(other, pathName) }
            return pathName
        }
        guard case .string(let name)? = body["className"], !name.isEmpty else {
            throw ParseError(135, "POST /schemas needs a class name.")
        }
        return name
    }

    private func schemaRequest(_ body: JSONObject) throws(ParseError) -> SchemaRequest {
        func object(_ name: String) throws(ParseError) -> JSONObject? {
            switch body[name] {
            case nil, .null: return nil
            case .object(let object): return object
            default: throw ParseError(107, "\(name) must be an object.")
            }
        }
        return SchemaRequest(
            fields: try object("fields") ?? JSONObject(), permissions: try object("classLevelPermissions"),
            indexes: try object("indexes") ?? JSONObject())
    }

    private func shown(_ schema: ClassSchema) -> JSONObject {
        var object = JSONObject([
            ("className", .string(schema.name)), ("fields", .object(schema.fieldsShown)),
            ("classLevelPermissions", .object(schema.permissions.shown)),
        ])
        if !schema.indexes.isEmpty { object["indexes"] = .object(schema.indexes) }
        return object
    }

    private func noClass(_ name: String) -> ParseError { ParseError(103, "Class \(name) does not exist.") }

    private func mismatch(_ other: JSON, _ name: String) -> ParseError {
        ParseError(103, "Class name mismatch between \(other.string ?? other.description) and \(name).")
    }
}
