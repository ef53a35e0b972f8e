import Core
import Postgres
import Schema
import TestSupport
import Testing
import Wire

@testable import Store

/// What queries find, each beside the objects of a small shop.
@Suite struct LanguageTests {
    private static func date(_ iso: String) -> JSON { ["__type": "Date", "iso": .string(iso)] }

    private static let world = World(
        classes: [
            World.userClass,
            World.Class(
                name: "Cosas",
                fields: [
                    ("piezas", .array), ("datos", .object), ("dia", .date), ("nombre", .string),
                    ("tienda", .pointer("Tiendas")), ("duena", .pointer("_User")), ("socias", .relation("Tiendas")),
                    // Names that the statements use too.
                    ("e", .string), ("element", .array),
                ]),
            World.Class(
                name: "Tiendas", fields: [("nombre", .string), ("cosa", .pointer("Cosas")), ("lista", .array)]),
        ],
        rows: [
            World.Row(className: "Tiendas", id: "tiendauno1", fields: [("nombre", "a")]),
            World.Row(
                className: "Cosas", id: "cosacosa01",
                fields: [
                    ("piezas", [["color": "rojo", "n": 1], ["color": "azul", "n": [2, 3]]]),
                    ("datos", ["lista": [["k": "x"], ["k": "y"]], "texto": "b", "dia": date("2024-01-31T12:00:00Z")]),
                    ("dia", date("+010000-01-01T00:00:00.000Z")), ("nombre", "a"),
                    ("tienda", World.pointer("Tiendas", "tiendauno1")),
                ]),
            World.Row(
                className: "Cosas", id: "cosacosa02",
                fields: [
                    ("piezas", [["color": "verde"], "rojo"]),
                    ("datos", ["lista": ["k"], "texto": "Z", "dia": date("2024-01-31T12:00:00.500Z")]),
                    ("dia", date("2024-01-31T12:00:00.000Z")), ("nombre", "b"), ("e", "rojo"),
                    ("element", ["rojo", 7]),
                ]),
            World.Row(
                className: "Cosas", id: "cosacosa03",
                fields: [
                    ("datos", ["texto": "ñ", "dia": date("2023-01-31T00:00Z")]),
                    ("element", [World.pointer("Tiendas", "tiendauno1")]),
                ]),
            World.Row(
                className: "Tiendas", id: "tiendados2",
                fields: [
                    ("nombre", "c"), ("cosa", World.pointer("Cosas", "cosacosa02")),
                    ("lista", ["x", World.pointer("Tiendas", "tiendauno1")]),
                ]),
        ])

    /// The last digits of what a `where`, with an order, finds among the things.
    static let found: [(condition: String, order: String, ids: String)] = [
        // Keys of the objects in an array.
        (#"{"piezas.color": "rojo"}"#, "", "1"),
        (#"{"piezas.color": {"$ne": "rojo"}}"#, "", "23"),
        (#"{"piezas.color": {"$in": ["azul", "verde"]}}"#, "", "12"),
        (#"{"piezas.n": 3}"#, "", "1"),
        (#"{"piezas.n": {"$gt": 1}}"#, "", "1"),
        (#"{"piezas.color": {"$exists": false}}"#, "", "3"),
        (#"{"piezas.1.color": "azul"}"#, "", "1"),
        (#"{"piezas.1": "rojo"}"#, "", "2"),
        (#"{"datos.lista.k": "y"}"#, "", "1"),
        (#"{"datos.lista.k": {"$exists": true}}"#, "", "1"),
        (#"{"tienda.objectId": "tiendauno1"}"#, "", "1"),
        // Dates within objects are moments, whatever their text.
        (#"{"datos.dia": {"$lt": {"__type": "Date", "iso": "2024-01-31T12:00:00.250Z"}}}"#, "", "13"),
        (#"{"datos.dia": {"$gte": {"__type": "Date", "iso": "2024-01-31T12:00:00.250Z"}}}"#, "", "2"),
        ("{}", "datos.dia", "312"),
        ("{}", "-datos.dia", "213"),
        // Text by code points.
        ("{}", "datos.texto", "213"),
        ("{}", "-datos.texto", "312"),
        // Years that PostgreSQL writes otherwise.
        (#"{"dia": {"$in": [{"__type": "Date", "iso": "+010000-01-01T00:00:00.000Z"}]}}"#, "", "1"),
        (#"{"dia": {"$nin": [{"__type": "Date", "iso": "+010000-01-01T00:00:00.000Z"}]}}"#, "", "23"),
        // Further constraints beside the value that a field is to be equal to.
        (
            #"{"tienda": {"__type": "Pointer", "className": "Tiendas", "objectId": "tiendauno1", "$exists": true}}"#,
            "",
            "1"
        ),
        (
            #"{"tienda": {"__type": "Pointer", "className": "Tiendas", "objectId": "tiendauno1", "$dontSelect": {"key": "tienda", "query": {"className": "Cosas", "where": {"nombre": "a"}}}}}"#,
            "", ""
        ),
        // Elements, in a class whose fields have the names that the statements give them.
        (#"{"element": {"$gt": 6}}"#, "", "2"),
        (#"{"element": {"$regex": "^r"}}"#, "", "2"),
        (#"{"element": {"$all": [{"$regex": "^\\Qro\\E"}]}}"#, "", "2"),
        (#"{"element": {"$containedBy": ["rojo", 7, 8]}}"#, "", "2"),
        (#"{"piezas": {"$in": [{"color": "verde"}]}}"#, "", "2"),
        (#"{"piezas": {"$nin": [{"color": "verde"}]}}"#, "", "13"),
        (#"{"element": {"$select": {"key": "e", "query": {"className": "Cosas", "where": {}}}}}"#, "", "2"),
        (#"{"element": {"$dontSelect": {"key": "e", "query": {"className": "Cosas", "where": {}}}}}"#, "", "13"),
        // Of a list that is selected, each element counts.
        (#"{"e": {"$select": {"key": "element", "query": {"className": "Cosas", "where": {}}}}}"#, "", "2"),
        (#"{"e": {"$dontSelect": {"key": "element", "query": {"className": "Cosas", "where": {}}}}}"#, "", "13"),
        (#"{"tienda": {"$select": {"key": "lista", "query": {"className": "Tiendas", "where": {}}}}}"#, "", "1"),
        (#"{"tienda": {"$dontSelect": {"key": "lista", "query": {"className": "Tiendas", "where": {}}}}}"#, "", "23"),
        (
            #"{"tienda": {"$select": {"key": "lista", "query": {"className": "Tiendas", "where": {}, "order": "nombre", "limit": 1}}}}"#,
            "", ""
        ),
        (
            #"{"tienda": {"$select": {"key": "lista", "query": {"className": "Tiendas", "where": {}, "order": "-nombre", "limit": 1}}}}"#,
            "", "1"
        ),
        (#"{"element": {"$select": {"key": "tienda", "query": {"className": "Cosas", "where": {}}}}}"#, "", "3"),
        (#"{"nombre": {"$select": {"key": "datos.lista.k", "query": {"className": "Cosas", "where": {}}}}}"#, "", ""),
        (
            #"{"datos.texto": {"$select": {"key": "datos.lista.k", "query": {"className": "Cosas", "where": {}}}}}"#,
            "", ""
        ),
        (#"{"piezas": {"$notInQuery": {"className": "Cosas", "where": {"element": {"$gt": 6}}}}}"#, "", "123"),
        // Keys of what a subquery finds.
        (
            #"{"objectId": {"$select": {"key": "cosa.objectId", "query": {"className": "Tiendas", "where": {}}}}}"#, "",
            "2"
        ),
        (
            #"{"objectId": {"$dontSelect": {"key": "cosa.objectId", "query": {"className": "Tiendas", "where": {}}}}}"#,
            "", "13"
        ),
        (#"{"nombre": {"$dontSelect": {"key": "nombre", "query": {"className": "Tiendas", "where": {}}}}}"#, "", "23"),
        (
            #"{"nombre": {"$dontSelect": {"key": "nombre", "query": {"className": "Tiendas", "where": {}, "order": "-nombre", "limit": 1}}}}"#,
            "", "123"
        ),
        (#"{"tienda": {"$notInQuery": {"className": "Tiendas", "where": {"nombre": "a"}}}}"#, "", "23"),
        (#"{"$nor": [{"tienda": {"$notInQuery": {"className": "Tiendas", "where": {"nombre": "a"}}}}]}"#, "", "1"),
        (#"{"socias": {"$notInQuery": {"className": "Tiendas", "where": {}}}}"#, "", "123"),
        // An SDK that has only the owner of a relation asks for the class of what is in it.
        (
            #"{"tienda": {"$inQuery": {"className": "Cosas", "redirectClassNameForKey": "socias", "where": {"nombre": "a"}}}}"#,
            "", "1"
        ),
        (
            #"{"tienda": {"$notInQuery": {"className": "Cosas", "redirectClassNameForKey": "socias", "where": {"nombre": "a"}}}}"#,
            "", "23"
        ),
        (
            #"{"nombre": {"$select": {"key": "nombre", "query": {"className": "Cosas", "redirectClassNameForKey": "socias", "where": {}}}}}"#,
            "", "1"
        ),
        // A clone has no id yet, and its relation nothing in it.
        (#"{"$relatedTo": {"object": {"__type": "Pointer", "className": "Tiendas"}, "key": "cosas"}}"#, "", ""),
    ]

    @Test func conditionsFindWhatTheySay() async throws {
        let answers = try await TestDatabase.make(template: .migrated).withDatabase { _, database in
            let stage = try Stage(database)
            try await stage.install(LanguageTests.world)
            var answers: [String] = []
            for (condition, order, _) in LanguageTests.found {
                let parameters = JSONObject(
                    [("where", .string(condition))] + (order.isEmpty ? [] : [("order", .string(order))]))
                do {
                    let query = try Query.parse(className: "Cosas", parameters: parameters.members)
                    var out = JSONWriter()
                    try await stage.store.find(query, as: .anonymous).write(to: &out)
                    let results = try JSONParser.parse(out.bytes).object?["results"]?.array ?? []
                    answers.append(
                        results.compactMap { $0.object?["objectId"]?.string?.last }.map(String.init).joined())
                } catch { answers.append("\(error)") }
            }
            return answers
        }
        for (asked, answer) in zip(LanguageTests.found, answers) {
            #expect(answer == asked.ids, "\(asked.condition) \(asked.order)")
        }
    }

    @Test func distinctElementsComeSorted() async throws {
        let values = try await TestDatabase.make(template: .migrated).withDatabase { _, database in
            let stage = try Stage(database)
            try await stage.install(LanguageTests.world)
            var values: [JSON] = []
            for (field, condition) in [("element", #"{"element": {"$gt": 6}}"#), ("nombre", "{}"), ("dia", "{}")] {
                let query = try Query.parse(className: "Cosas", parameters: [("where", .string(condition))])
                let operation = stage.store.operation(as: .anonymous)
                values.append(.array(try await stage.store.distinct(FieldPath(field: field), query, in: operation)))
            }
            return values
        }
        #expect(
            values == [
                ["rojo", 7], ["a", "b"],
                [LanguageTests.date("2024-01-31T12:00:00.000Z"), LanguageTests.date("+010000-01-01T00:00:00.000Z")],
            ])
    }

    @Test func whatIsIncludedNeedsOnlyTheRightToGetIt() async throws {
        var world = LanguageTests.world
        world.classes[1].permissions = JSONObject([("get", ["*": true]), ("find", ["*": true])])
        world.classes[2].permissions = JSONObject([("get", ["*": true])])
        world.rows[2].fields.append(("tienda", World.pointer("Tiendas", "tiendados2")))
        let names = try await TestDatabase.make(template: .migrated).withDatabase { [world] _, database in
            let stage = try Stage(database)
            try await stage.install(world)
            let query = try Query.parse(
                className: "Cosas", parameters: [("include", "tienda"), ("keys", "tienda.nombre")])
            var out = JSONWriter()
            try await stage.store.find(query, as: .anonymous).write(to: &out)
            return try JSONParser.parse(out.bytes).object?["results"]?.array?.compactMap {
                $0.object?["tienda"]?.object?["nombre"]?.string
            }
        }
        #expect(names == ["a", "c"])
    }

    /// The tables change behind the catalogue's back, as another node may change them.
    @Test(arguments: [
        #"ALTER TABLE "Tiendas" DROP COLUMN nombre"#,
        #"ALTER TABLE "Tiendas" ALTER COLUMN nombre TYPE jsonb USING to_jsonb(nombre)"#,
        #"DROP TABLE "Tiendas""#,
    ]) func aReadThatMeetsAnotherSchemaIsTriedOnceMore(_ change: String) async throws {
        let world = LanguageTests.world
        let failure: (any Error)? = try await TestDatabase.make(template: .migrated).withDatabase { _, database in
            let stage = try Stage(database)
            try await stage.install(world)
            let query = try Query.parse(
                className: "Tiendas", parameters: [("where", #"{"nombre": {"$gt": "a"}}"#)])
            // Who listens goes by what it knows until it hears otherwise; of this change it never hears.
            stage.store.catalogue.follow()
            _ = try await eventually(database.loop) { database.isListening }
            _ = try await stage.store.find(query, as: .master)
            _ = try await database.write(Statement(change))
            _ = try await database.write(
                change.hasPrefix("DROP")
                    ? #"DELETE FROM "_SCHEMA" WHERE "className" = 'Tiendas'"#
                    : #"UPDATE "_SCHEMA" SET "schema" = "schema" #- '{fields,nombre}', version = DEFAULT WHERE "className" = 'Tiendas'"#
            )
            return await TestSupport.failure(of: { try await stage.store.find(query, as: .master) })
        }
        #expect(failure == nil)
    }

    @Test func whatAClientCannotReachItCannotReachByDetour() async throws {
        let world = LanguageTests.world
        let codes: [Int?] = try await TestDatabase.make(template: .migrated).withDatabase { _, database in
            let stage = try Stage(database)
            try await stage.install(world)
            var codes: [Int?] = []
            for parameters in [
                #"{"redirectClassNameForKey": "avisos"}"#,
                #"{"where": {"$relatedTo": {"object": {"__type": "Pointer", "className": "_JobStatus", "objectId": "x"}, "key": "cosas"}}}"#,
            ] {
                _ = try await stage.store.catalogue.ensure("Tiendas", fields: ["avisos": .relation("_JobStatus")])
                let query = try Query.parse(
                    className: "Tiendas", parameters: try JSONParser.parse(parameters).object?.members ?? [])
                let error = await TestSupport.failure(of: { try await stage.store.find(query, as: .anonymous) })
                codes.append((error as? ParseError)?.code)
            }
            return codes
        }
        #expect(codes == [119, 119])
    }
}
