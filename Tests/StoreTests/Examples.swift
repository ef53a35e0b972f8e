import Postgres
import Schema
import Testing
import Wire

@testable import Store

/// A forum's classes, made by hand: the builder needs no database.
enum Forum {
    static let fields: [String: FieldType] = [
        "titulo": .string, "votos": .number, "cerrado": .boolean, "cierre": .date, "datos": .object,
        "etiquetas": .array, "lugar": .geoPoint, "zona": .polygon, "foto": .file, "firma": .bytes,
        "autor": .pointer("_User"), "foro": .pointer("Foros"), "lectores": .relation("_User"),
    ]

    static func schema(_ permissions: String? = nil) throws -> SchemaSnapshot {
        let temas = try table("Temas", fields, permissions)
        let foros = try table("Foros", ["nombre": .string, "abierto": .boolean])
        let users = try table("_User", ["username": .string, "ciudad": .string])
        return SchemaSnapshot(classes: ["Temas": temas, "Foros": foros, "_User": users])
    }

    static func table(_ name: String, _ fields: [String: FieldType], _ permissions: String? = nil) throws -> ClassSchema
    {
        var all = DefaultFields.of(name).mapValues { ClassSchema.Field($0) }
        for (field, type) in fields { all[field] = ClassSchema.Field(type) }
        let given = try permissions.map(object)
        return ClassSchema(name: name, fields: all, permissions: ClassPermissions(given: given))
    }

    static func object(_ text: String) throws -> JSONObject { try JSONParser.parse(text).object ?? JSONObject() }
}

/// SQL text and parameters, as the builder makes them.
struct Built: Equatable {
    let text: String
    let parameters: [Parameter]

    /// The condition of a `where` on Temas, as the master key asks it.
    static func condition(_ condition: String) throws -> Built {
        let schema = try Forum.schema()
        let access = Access(viewer: .master, sanitizesErrors: true)
        let aliases = Aliases()
        let table = access.table(try #require(schema["Temas"]), aliases.next())
        let condition = try PredicateSQL(aliases: aliases, access: access, schema: schema).condition(
            try Predicate.parse(try Forum.object(condition), now: Timestamp(milliseconds: 1_704_067_200_000)), on: table
        )
        let (statement, parameters) = condition.sql.rendered()
        return Built(text: statement.text, parameters: parameters)
    }

    /// The statement of a find on Temas.
    static func find(
        _ parameters: String, as viewer: Viewer = .master, permissions: String? = nil, on className: String = "Temas"
    ) throws -> Built {
        let schema = try Forum.schema(permissions)
        let members = try Forum.object(parameters).members
        let query = try Query.parse(className: className, parameters: members)
        let table = try #require(schema[className])
        let access = Access(viewer: viewer, sanitizesErrors: true)
        let selection = FieldSelection(
            keys: query.keys.map { $0.map { [$0.field] + $0.rest } },
            excluded: query.excludeKeys.map { [$0.field] + $0.rest })
        let joins = Inclusion(schema: schema, access: access, options: StoreOptions())
            .joins(IncludeTree(query.include), selection, of: table)
        let plan = try ReadSQL(schema: schema, access: access, options: StoreOptions()).find(
            table, query, selection: selection, rows: try access.decide(.find, on: table), limit: query.limit ?? 100,
            joins: joins)
        return Built(text: plan.statement.text, parameters: plan.parameters)
    }

    static func create(_ body: String) throws -> Built {
        let (update, table, access) = try write(body, creating: true, as: .master)
        let made = try WriteSQL(table: table, access: access).insert(
            "aaaaaaaaaa", completed(update, table, access, []), RelationChange.all(in: update.changes), server: [])
        return built(made.sql)
    }

    static func update(_ body: String, as viewer: Viewer = .master) throws -> Built {
        let (update, table, access) = try write(body, creating: false, as: viewer)
        let rows = [try access.decide(.update, on: table)]
        let made = try WriteSQL(table: table, access: access).update(
            "aaaaaaaaaa", completed(update, table, access, rows), RelationChange.all(in: update.changes), server: [])
        return built(made.sql)
    }

    static func delete(as viewer: Viewer) throws -> Built {
        let (_, table, access) = try write("{}", creating: false, as: viewer)
        return built(
            WriteSQL(table: table, access: access).delete(
                "aaaaaaaaaa", rows: [try access.decide(.delete, on: table)]
            ).sql)
    }

    private static func write(
        _ body: String, creating: Bool, as viewer: Viewer
    ) throws -> (Update, ClassSchema, Access) {
        (
            try Update.parse(try Forum.object(body), creating: creating), try #require(try Forum.schema()["Temas"]),
            Access(viewer: viewer, sanitizesErrors: true)
        )
    }

    private static func completed(
        _ update: Update, _ table: ClassSchema, _ access: Access, _ rows: [Access.Rows]
    ) -> CompletedWrite {
        CompletedWrite(table: table, changes: update.changes, acl: update.acl, rows: rows, access: access)
    }

    private static func built(_ sql: SQL) -> Built {
        let (statement, parameters) = sql.rendered()
        return Built(text: statement.text, parameters: parameters)
    }
}
