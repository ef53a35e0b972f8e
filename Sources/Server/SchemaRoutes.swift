import Schema
import Store
import Wire

/// `/schemas`: classes as administrators see and change them.
extension API {
    func schemas(_ request: Request) async throws -> Answer {
        let all = try await request.operation.schema().classes.values.sorted { $0.name < $1.name }
        let progress = try await store.catalogue.indexProgress { try await request.operation.read($0, $1) }
        return Answer(json: ["results": .array(all.map { .object(shown($0, progress[$0.name])) })])
    }

    func schema(_ name: String, _ request: Request) async throws -> Answer {
        guard let schema = try await request.operation.schema()[name] else { throw noClass(name) }
        return Answer(json: .object(try await shown(schema, request)))
    }

    func createSchema(_ pathName: String?, _ request: Request) async throws -> Answer {
        try checkUnlocked()
        let name = try className(pathName, request.body)
        let schema = try await store.changeSchema(in: request.operation) {
            try await $0.create(name, try schemaRequest(request.body), in: $1)
        }
        var answer = try await shown(schema, request)
        // The primary key's index appears only when the class is read again.
        if case .object(var indexes)? = answer["indexes"] {
            indexes["_id_"] = nil
            answer["indexes"] = .object(indexes)
        }
        return Answer(json: .object(answer))
    }

    func updateSchema(_ name: String, _ request: Request) async throws -> Answer {
        try checkUnlocked()
        if let other = request.body["className"], other != .string(name) { throw mismatch(other, name) }
        let schema = try await store.changeSchema(in: request.operation) {
            try await $0.update(name, try schemaRequest(request.body), in: $1)
        }
        var answer = try await shown(schema, request)
        // SDKs look into what is left after the last index was deleted.
        if request.body["indexes"]?.object?.isEmpty == false { answer["indexes"] = .object(schema.indexesShown) }
        return Answer(json: .object(answer))
    }

    func deleteSchema(_ name: String, _ request: Request) async throws -> Answer {
        try checkUnlocked()
        try await store.changeSchema(in: request.operation) { try await $0.delete(name, in: $1) }
        return .empty
    }

    /// Where the configuration has the last word, it has the only one.
    private func checkUnlocked() throws(ParseError) {
        guard options.schema.lockSchemas else { return }
        throw ParseError(119, "Cannot perform this operation when schemas options is used.")
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
            case let json?:
                guard let object = json.objectOrEmptyList else { throw ParseError(107, "\(name) must be an object.") }
                return object
            }
        }
        var permissions = try object("classLevelPermissions")
        for (name, value) in permissions?.members ?? [] where name != "readUserFields" && name != "writeUserFields" {
            if let entries = value.objectOrEmptyList { permissions?[name] = .object(entries) }
        }
        return SchemaRequest(
            fields: try object("fields") ?? JSONObject(), permissions: permissions,
            dropsPermissions: body["classLevelPermissions"] == .null,
            indexes: try object("indexes") ?? JSONObject())
    }

    private func shown(_ schema: ClassSchema, _ request: Request) async throws -> JSONObject {
        guard !schema.indexes.isEmpty else { return shown(schema, nil) }
        let progress = try await store.catalogue.indexProgress(of: schema.name) {
            try await request.operation.read($0, $1)
        }
        return shown(schema, progress[schema.name])
    }

    /// As the reference shows a class; beside its indexes, while some are not there yet, how far those are:
    /// `"indexStates": {"por_votos": {"state": "building", "phase": "…", "done": 0.4}}`, or `"failed"` and a `reason`.
    private func shown(_ schema: ClassSchema, _ progress: [IndexProgress]?) -> JSONObject {
        var object = JSONObject([
            ("className", .string(schema.name)), ("fields", .object(schema.fieldsShown)),
            ("classLevelPermissions", .object(schema.permissions.shown)),
        ])
        if !schema.indexes.isEmpty { object["indexes"] = .object(schema.indexesShown) }
        if let progress {
            object["indexStates"] = .object(
                JSONObject(
                    progress.map { index in
                        var state = JSONObject([("state", .string(index.state))])
                        if let reason = index.reason { state["reason"] = .string(reason) }
                        if let phase = index.phase { state["phase"] = .string(phase) }
                        if let done = index.done { state["done"] = .number(done) }
                        return (index.name, .object(state))
                    }))
        }
        return object
    }

    private func noClass(_ name: String) -> ParseError { ParseError(103, "Class \(name) does not exist.") }

    private func mismatch(_ other: JSON, _ name: String) -> ParseError {
        ParseError(103, "Class name mismatch between \(other.string ?? other.description) and \(name).")
    }
}
