import Postgres
import Wire

@testable import Store

/// docs/queries.md: the query language and the updates, each beside its SQL.
enum QueriesPage {
    static func text() throws -> String {
        var page = """
            # Queries and updates in SQL

            Each operator beside the SQL that it becomes and the parameters that travel with it. The text depends only
            on the shape of what is asked, never on its values, so that PostgreSQL prepares it once. A test makes this
            page from the builder itself (`HERMES_WRITE_DOCS=1 swift test --filter QueriesPageTests`).

            The class is `Temas`: titulo String, votos Number, cerrado Boolean, cierre Date, datos Object, etiquetas
            Array, lugar GeoPoint, zona Polygon, foto File, firma Bytes, autor Pointer to `_User`, foro Pointer to
            `Foros`, lectores Relation to `_User`. Conditions are what the master key gets: nothing is added to them.

            """
        for section in conditions {
            page += "\n## \(section.title)\n"
            for condition in section.conditions { page += try entry(condition, Built.condition(condition)) }
        }
        page += "\n## Whole finds\n"
        for find in finds {
            page += "\n\(find.about)\n"
            page += try entry(
                find.parameters, Built.find(find.parameters, as: find.viewer, permissions: find.permissions))
        }
        page += "\n## Creates\n"
        for body in creates { page += try entry(body, Built.create(body)) }
        page += "\n## Updates\n"
        for body in updates { page += try entry(body, Built.update(body)) }
        page += "\nAs a user, the ACL is part of the statement; so it is in a delete.\n"
        page += try entry(#"{"titulo": "Hola"}"#, Built.update(#"{"titulo": "Hola"}"#, as: ana))
        page += try entry(nil, Built.delete(as: ana))
        page += """

            AddRelation and RemoveRelation change the join table `"_Join:lectores:Temas"` in the same transaction, one
            statement for all the objects that are added and one for all that are removed.

            """
        return page
    }

    static let ana = Viewer(userId: "anaanaanaa", roles: ["mods"])

    private static func entry(_ json: String?, _ built: Built) throws -> String {
        var entry = "\n"
        if let json { entry += "```json\n\(json)\n```\n" }
        entry += "```sql\n\(built.text)\n```\n"
        if !built.parameters.isEmpty {
            entry +=
                built.parameters.enumerated().map { "`$\($0 + 1)` = `\(shown($1))`" }.joined(separator: ", ") + "\n"
        }
        return entry
    }

    private static func shown(_ parameter: Parameter) -> String {
        switch parameter {
        case .null: "null"
        case .text(let text): JSON.string(text).description
        case .utf8(let bytes): String(decoding: bytes, as: UTF8.self)
        case .bytes(let bytes): bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        case .int(let int): "\(int)"
        case .double(let double): JSON.number(double).description
        case .bool(let bool): "\(bool)"
        case .timestamp(let milliseconds): Timestamp(milliseconds: milliseconds).description
        case .textArray(let texts): JSON.array(texts.map { $0.map { .string($0) } ?? .null }).description
        case .intArray(let ints): "\(ints)"
        case .doubleArray(let doubles): "\(doubles)"
        case .point(let x, let y): "(\(x),\(y))"
        case .polygon(let points): points.map { "(\($0.x),\($0.y))" }.joined(separator: ",")
        }
    }

    static let conditions: [(title: String, conditions: [String])] = [
        (
            "Comparison",
            [
                #"{"titulo": "Hola"}"#, #"{"votos": {"$eq": 3}}"#, #"{"cerrado": {"$ne": true}}"#,
                #"{"votos": {"$gte": 1, "$lt": 10}}"#, #"{"titulo": {"$gt": "a", "$lte": "m"}}"#,
                #"{"cierre": {"$gt": {"__type": "Date", "iso": "2024-01-31T12:00:00.000Z"}}}"#,
                #"{"cierre": {"$lt": {"$relativeTime": "1 day ago"}}}"#,
                #"{"autor": {"__type": "Pointer", "className": "_User", "objectId": "anaanaanaa"}}"#,
                #"{"foto": {"__type": "File", "name": "gato.png"}}"#,
                #"{"firma": {"__type": "Bytes", "base64": "AAEC"}}"#, #"{"datos": {"color": "rojo"}}"#,
            ]
        ),
        (
            "Missing fields",
            [
                #"{"titulo": null}"#, #"{"titulo": {"$ne": null}}"#, #"{"titulo": {"$exists": true}}"#,
                #"{"titulo": {"$exists": false}}"#, #"{"inventado": "x"}"#, #"{"inventado": {"$ne": "x"}}"#,
            ]
        ),
        (
            "Lists of values",
            [
                #"{"votos": {"$in": [1, 2, 3]}}"#, #"{"titulo": {"$in": ["Hola", null]}}"#, #"{"votos": {"$in": []}}"#,
                #"{"votos": {"$in": [[1, 2], 3]}}"#, #"{"titulo": {"$nin": ["Hola", "Adiós"]}}"#,
                #"{"autor": {"$in": [{"__type": "Pointer", "className": "_User", "objectId": "anaanaanaa"}]}}"#,
            ]
        ),
        (
            "Array fields",
            [
                #"{"etiquetas": "swift"}"#, #"{"etiquetas": {"$ne": "swift"}}"#, #"{"etiquetas": ["swift", 3]}"#,
                #"{"etiquetas": {"a": 1}}"#, #"{"etiquetas": {"$in": ["swift", 3]}}"#, #"{"etiquetas": {"$gt": 3}}"#,
                #"{"etiquetas": {"$all": ["swift", 3]}}"#,
                #"{"etiquetas": {"$all": [{"$regex": "^\\Qswi\\E"}]}}"#,
                #"{"etiquetas": {"$containedBy": ["swift", "c", 3]}}"#, #"{"etiquetas": {"$regex": "^sw"}}"#,
            ]
        ),
        (
            "Within Object fields",
            [
                #"{"datos.color": "rojo"}"#, #"{"datos.a.b": {"$gt": 3}}"#, #"{"datos.color": {"$in": ["rojo", 3]}}"#,
                #"{"datos.color": {"$exists": false}}"#, #"{"datos.color": {"$regex": "^r"}}"#,
            ]
        ),
        (
            "Logic",
            [
                #"{"titulo": "Hola", "votos": 3}"#, #"{"$or": [{"titulo": "Hola"}, {"votos": {"$gt": 3}}]}"#,
                #"{"$nor": [{"titulo": "Hola"}, {"cerrado": true}]}"#,
                #"{"$and": [{"votos": {"$gt": 0}}, {"$or": [{"cerrado": true}, {"cerrado": null}]}]}"#,
            ]
        ),
        (
            "Text",
            [
                #"{"titulo": {"$regex": "^ho", "$options": "i"}}"#, #"{"titulo": {"$regex": "^\\QHo.la\\E"}}"#,
                #"{"titulo": {"$text": {"$search": {"$term": "gato negro", "$language": "es"}}}}"#,
            ]
        ),
        (
            "Relations and subqueries",
            [
                #"{"$relatedTo": {"object": {"__type": "Pointer", "className": "Temas", "objectId": "aaaaaaaaaa"}, "key": "lectores"}}"#,
                #"{"lectores": {"__type": "Pointer", "className": "_User", "objectId": "anaanaanaa"}}"#,
                #"{"foro": {"$inQuery": {"className": "Foros", "where": {"abierto": true}}}}"#,
                #"{"foro": {"$notInQuery": {"className": "Foros", "where": {"abierto": true}, "order": "-nombre", "limit": 5}}}"#,
                #"{"lectores": {"$inQuery": {"className": "_User", "where": {"ciudad": "Lugo"}}}}"#,
                #"{"titulo": {"$select": {"query": {"className": "Foros", "where": {"abierto": true}}, "key": "nombre"}}}"#,
                #"{"titulo": {"$dontSelect": {"query": {"className": "Foros", "where": {}}, "key": "nombre"}}}"#,
            ]
        ),
        (
            "Geography",
            [
                #"{"lugar": {"$nearSphere": {"__type": "GeoPoint", "latitude": 43, "longitude": -7.5}, "$maxDistanceInKilometers": 10}}"#,
                #"{"lugar": {"$within": {"$box": [{"__type": "GeoPoint", "latitude": 40, "longitude": -8}, {"__type": "GeoPoint", "latitude": 44, "longitude": -7}]}}}"#,
                #"{"lugar": {"$geoWithin": {"$polygon": [[-8, 40], [-7, 40], [-7, 44]]}}}"#,
                #"{"lugar": {"$geoWithin": {"$centerSphere": [[-7.5, 43], 0.01]}}}"#,
                #"{"zona": {"$geoIntersects": {"$point": {"__type": "GeoPoint", "latitude": 43, "longitude": -7.5}}}}"#,
            ]
        ),
    ]

    static let finds: [(about: String, parameters: String, viewer: Viewer, permissions: String?)] = [
        (
            "The columns that are asked for, a page of them. What is not asked for is not read.",
            #"{"where": {"cerrado": false}, "keys": "titulo,votos", "order": "-votos,titulo", "limit": 20, "skip": 40}"#,
            .master, nil
        ),
        ("A user: the ACL.", #"{"keys": "titulo"}"#, ana, nil),
        (
            """
            What the pointers of a page lead to comes in its own rows: of at most four fields, and of pages of at most 50
            objects (otherwise a statement for each class that is included reads its objects once).
            """,
            #"{"keys": "titulo,foro.nombre", "order": "-createdAt", "limit": 20}"#, ana, nil
        ),
        (
            "Pointer permissions: `\"find\": {\"pointerFields\": [\"autor\"]}`.", #"{"keys": "titulo"}"#, ana,
            #"{"find": {"pointerFields": ["autor"]}}"#
        ),
        (
            "Protected fields: `{\"*\": [\"votos\"], \"userField:autor\": []}`. Authors see the votes of their own topics.",
            #"{"keys": "titulo,votos"}"#, ana,
            #"{"find": {"*": true}, "protectedFields": {"*": ["votos"], "userField:autor": []}}"#
        ),
        (
            "A subquery sees what its viewer sees.",
            #"{"keys": "titulo", "where": {"foro": {"$inQuery": {"className": "Foros", "where": {"abierto": true}}}}}"#,
            .anonymous, nil
        ),
    ]

    static let creates = [
        #"{"titulo": "Hola", "votos": 0, "etiquetas": ["swift"], "ACL": {"*": {"read": true}}}"#,
        #"{"datos.color": "rojo", "votos": {"__op": "Increment", "amount": 2}}"#,
    ]

    static let updates = [
        #"{"titulo": "Hola", "cerrado": true, "cierre": {"__type": "Date", "iso": "2024-01-31T12:00:00.000Z"}}"#,
        #"{"titulo": {"__op": "Delete"}, "votos": null}"#, #"{"votos": {"__op": "Increment", "amount": 1}}"#,
        #"{"etiquetas": {"__op": "Add", "objects": ["a", "b"]}}"#,
        #"{"etiquetas": {"__op": "AddUnique", "objects": ["a", "b"]}}"#,
        #"{"etiquetas": {"__op": "Remove", "objects": ["a"]}}"#, #"{"datos.a.b": 3}"#,
        #"{"datos.a": {"__op": "Delete"}}"#, #"{"datos.n": {"__op": "Increment", "amount": 1}}"#,
        #"{"datos.lista": {"__op": "AddUnique", "objects": [1]}}"#,
        #"{"lugar": {"__type": "GeoPoint", "latitude": 43, "longitude": -7.5}}"#,
        #"{"ACL": {"role:mods": {"read": true, "write": true}}}"#,
        #"{"ACL": {"__op": "Delete"}}"#,
    ]
}
