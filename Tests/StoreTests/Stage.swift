import Core
import Postgres
import Schema
import TestSupport
import Wire

@testable import Accounts
@testable import Store

/// A store that worlds are written to, one after another.
final class Stage {
    let store: Store
    let accounts: Accounts

    init(_ database: Database, _ options: StoreOptions = StoreOptions()) throws {
        let catalogue = Catalogue(
            database: database, cache: SchemaCache(), serverProtectedFields: ["_User": JSONObject([("*", ["email"])])])
        let viewers = ViewerCache()
        store = Store(
            catalogue: catalogue, database: database, options: options, denylist: try KeywordDenylist(),
            hooks: Hooks(AccountOptions().rules)
        ) { _, payload in viewers.forget(payload) }
        accounts = Accounts(store: store, options: AccountOptions(), cache: viewers)
    }

    // MARK: writing

    /// Writes a world in place of what is there.
    func install(_ world: World) async throws {
        // Writes may have made classes of their own.
        for name in try await store.catalogue.reload().classes.keys where !name.hasPrefix("_") {
            try await store.purge(name, in: store.operation(as: .master))
            try await store.catalogue.delete(name)
        }
        for name in ["_User", "_Role", "_Session"] { try await store.purge(name, in: store.operation(as: .master)) }
        for table in world.plain {
            _ = try await store.catalogue.create(
                table.name, SchemaRequest(fields: Stage.fields(table), permissions: table.permissions))
        }
        for row in world.rows { try await write(row, world) }
    }

    /// Gives the classes their permissions.
    func permit(_ world: World) async throws {
        for table in world.classes where table.permissions != nil {
            _ = try await store.catalogue.update(table.name, SchemaRequest(permissions: table.permissions))
        }
    }

    private static func fields(_ table: World.Class) -> JSONObject {
        JSONObject(
            table.fields.map { name, type in
                var definition = JSONObject([("type", .string(type.name))])
                if let target = type.targetClass { definition["targetClass"] = .string(target) }
                for (name, value) in table.options[name]?.members ?? [] { definition[name] = value }
                return (name, .object(definition))
            })
    }

    private func write(_ row: World.Row, _ world: World) async throws {
        guard let table = world[row.className] else { return }
        var body = JSONObject(row.fields.map { ($0.name, $0.value) })
        for (field, ids) in row.related {
            guard case .relation(let target)? = table.type(field) else { continue }
            body[field] = ["__op": "AddRelation", "objects": .array(ids.map { World.pointer(target, $0) })]
        }
        if let acl = row.acl { body["ACL"] = .object(acl) }
        try await write(.create, row, body)
        // What the class gives to objects that come without, and this one had lost.
        var lost = JSONObject()
        for (name, options) in table.options where options["defaultValue"] != nil && row.value(name) == nil {
            lost[name] = ["__op": "Delete"]
        }
        if row.acl == nil, table.permissions?["ACL"] != nil { lost["ACL"] = ["__op": "Delete"] }
        if !lost.isEmpty { try await write(.update, row, lost) }
    }

    private func write(_ kind: Write.Kind, _ row: World.Row, _ body: JSONObject) async throws {
        let update = try Update.parse(body, creating: kind == .create)
        _ = try await store.writeByRule(
            Write(kind, row.className, row.id, update, in: store.operation(as: .master)))
    }

    // MARK: asking

    func viewer(_ asker: Asker) async throws -> Viewer {
        switch asker {
        case .anonymous: .anonymous
        case .master: .master
        case .user(let id): try await accounts.viewer(userId: id, session: nil, installationId: nil)
        }
    }

    /// What the store answers. Errors that are no refusals are thrown on.
    func answer(_ question: Question, in operation: Operation) async throws -> JSON {
        var out = JSONWriter()
        switch question.kind {
        case .find:
            let query = try Query.parse(className: question.className, parameters: question.parameters.members)
            try await store.find(query, in: operation).write(to: &out)
        case .get(let id):
            let query = try Query.parseGet(
                className: question.className, objectId: id, parameters: question.parameters.members)
            try await store.get(query, objectId: id, in: operation).write(to: &out)
        case .distinct(let field):
            let query = try Query.parse(className: question.className, parameters: question.parameters.members)
            return .array(try await store.distinct(FieldPath(field: field), query, in: operation))
        }
        return try JSONParser.parse(out.bytes)
    }

    // MARK: comparing

    /// How an answer differs from the model's; nil where it does not.
    static func difference(_ expected: Model.Answer, _ got: Model.Answer, isOrdered: Bool) -> String? {
        switch (expected, got) {
        case (.refused(let codes), .refused(let code)) where code.isSubset(of: codes): return nil
        case (.value(let one), .value(let other)):
            let (one, other) = (comparable(one, isOrdered), comparable(other, isOrdered))
            if one == other { return nil }
            return "the model says \(one)\nthe store says \(other)"
        default: return "the model says \(expected)\nthe store says \(got)"
        }
    }

    /// Without the dates, which the database gives; in one order where none was asked for.
    private static func comparable(_ json: JSON, _ isOrdered: Bool) -> JSON {
        switch json {
        case .object(let object):
            guard let results = object["results"]?.array else { return undated(json) }
            var answer = object
            let rows = results.map(undated)
            answer["results"] = .array(isOrdered ? rows : sorted(rows))
            return .object(answer)
        case .array(let values): return .array(sorted(values))
        default: return json
        }
    }

    private static func sorted(_ values: [JSON]) -> [JSON] {
        values.map { (key: $0.object?["objectId"]?.string ?? canonical($0), value: $0) }
            .sorted { Array($0.key.utf8).lexicographicallyPrecedes(Array($1.key.utf8)) }.map(\.value)
    }

    private static func canonical(_ json: JSON) -> String {
        guard let object = json.object else { return json.description }
        return object.members.map { "\($0.key):\(canonical($0.value))" }.sorted().joined(separator: ",")
    }

    private static func undated(_ json: JSON) -> JSON {
        switch json {
        case .array(let elements): return .array(elements.map(undated))
        case .object(let object):
            return .object(
                JSONObject(
                    object.members.filter { $0.key != "createdAt" && $0.key != "updatedAt" }.map {
                        ($0.key, undated($0.value))
                    }))
        default: return json
        }
    }
}

extension Store {
    func find(_ query: Query, as viewer: Viewer) async throws -> Found {
        try await find(query, in: operation(as: viewer))
    }

    func get(_ query: Query, objectId: String, as viewer: Viewer) async throws -> FoundObject {
        try await get(query, objectId: objectId, in: operation(as: viewer))
    }
}
