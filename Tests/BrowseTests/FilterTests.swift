import TestSupport
import Testing
import Wire

@testable import Browse

@Suite struct FilterTests {
    static let now = Timestamp(milliseconds: 1_794_614_400_000)  // 2026-11-14T00:00:00Z

    static let classes = Classes([
        ClassShape(
            name: "Temas",
            fields: [
                field("Tema", .string, isRequired: true), field("cerrado", .boolean), field("comentarios", .number),
                field("autor", .pointer("_User")), field("foro", .pointer("Foros")), field("etiquetas", .array),
                field("datos", .object), field("lugar", .geoPoint), field("foto", .file), field("cierre", .date),
                field("lectores", .relation("_User")), field("not", .string), field("objectId", .string),
                field("createdAt", .date), field("ACL", .acl),
            ]),
        ClassShape(name: "Foros", fields: [field("nombre", .string), field("creador", .pointer("_User"))]),
        ClassShape(name: "_User", fields: [field("username", .string), field("edad", .number)]),
    ])

    private static func field(_ name: String, _ type: FieldType, isRequired: Bool = false) -> ClassShape.Field {
        ClassShape.Field(name: name, type: type, isRequired: isRequired)
    }

    private func parse(_ text: String) throws(FilterFault) -> Filter {
        guard let shape = Self.classes["Temas"] else { throw FilterFault(0, 0, "no class") }
        return try Filter(text, on: shape, in: Self.classes, now: Self.now)
    }

    @Test(arguments: [
        ("", "{}"),
        ("  ", "{}"),
        ("cerrado = false", #"{"cerrado":false}"#),
        (
            "cerrado = false and autor = @lucia",
            #"{"cerrado":false,"autor":{"$inQuery":{"className":"_User","where":{"username":"lucia"}}}}"#
        ),
        (
            "autor.username ^= lu",
            #"{"autor":{"$inQuery":{"className":"_User","where":{"username":{"$regex":"^\\Qlu\\E"}}}}}"#
        ),
        (
            "foro.creador.edad >= 18",
            #"{"foro":{"$inQuery":{"className":"Foros","where":{"creador":{"$inQuery":{"className":"_User","where":{"edad":{"$gte":18}}}}}}}}"#
        ),
        ("Tema = 9", #"{"Tema":"9"}"#),
        ("Tema=true", #"{"Tema":"true"}"#),
        (#"Tema = "El \"Camino\" \\ en bici""#, #"{"Tema":"El \"Camino\" \\ en bici"}"#),
        (#"Tema ~ "50% \E""#, #"{"Tema":{"$regex":"\\Q50% \\E\\\\E\\Q\\E","$options":"i"}}"#),
        ("comentarios > 9 and comentarios <= 20", #"{"$and":[{"comentarios":{"$gt":9}},{"comentarios":{"$lte":20}}]}"#),
        ("comentarios != -1.5", #"{"comentarios":{"$ne":-1.5}}"#),
        ("Tema in (a, \"b c\",3)", #"{"Tema":{"$in":["a","b c","3"]}}"#),
        ("cierre is missing", #"{"cierre":{"$exists":false}}"#),
        ("autor is set", #"{"autor":{"$exists":true}}"#),
        ("cierre > -7d", #"{"cierre":{"$gt":{"__type":"Date","iso":"2026-11-07T00:00:00.000Z"}}}"#),
        ("cierre < +2h", #"{"cierre":{"$lt":{"__type":"Date","iso":"2026-11-14T02:00:00.000Z"}}}"#),
        (
            "createdAt >= 2026-11-01T08:00",
            #"{"createdAt":{"$gte":{"__type":"Date","iso":"2026-11-01T08:00:00.000Z"}}}"#
        ),
        (
            "createdAt = 2026-11-01",
            #"{"createdAt":{"$gte":{"__type":"Date","iso":"2026-11-01T00:00:00.000Z"},"$lt":{"__type":"Date","iso":"2026-11-02T00:00:00.000Z"}}}"#
        ),
        ("autor = _User:8sLm2kQp1z", #"{"autor":{"__type":"Pointer","className":"_User","objectId":"8sLm2kQp1z"}}"#),
        ("autor = 8sLm2kQp1z", #"{"autor":{"__type":"Pointer","className":"_User","objectId":"8sLm2kQp1z"}}"#),
        ("autor != @lucia", #"{"autor":{"$notInQuery":{"className":"_User","where":{"username":"lucia"}}}}"#),
        (
            "autor in (@a, @b, x)",
            #"{"$or":[{"autor":{"$in":[{"__type":"Pointer","className":"_User","objectId":"x"}]}},{"autor":{"$inQuery":{"className":"_User","where":{"username":{"$in":["a","b"]}}}}}]}"#
        ),
        ("etiquetas has 9", #"{"etiquetas":9}"#),
        ("etiquetas has \"9\"", #"{"etiquetas":"9"}"#),
        ("etiquetas has Foros:x1", #"{"etiquetas":{"__type":"Pointer","className":"Foros","objectId":"x1"}}"#),
        ("lectores has @lucia", #"{"lectores":{"$inQuery":{"className":"_User","where":{"username":"lucia"}}}}"#),
        ("lectores has u1", #"{"lectores":{"__type":"Pointer","className":"_User","objectId":"u1"}}"#),
        ("datos.color = rojo", #"{"datos.color":"rojo"}"#),
        ("datos.a.b >= 3", #"{"datos.a.b":{"$gte":3}}"#),
        (
            "lugar near 40.4,-3.7 within 5 km",
            #"{"lugar":{"$nearSphere":{"__type":"GeoPoint","latitude":40.4,"longitude":-3.7},"$maxDistanceInKilometers":5}}"#
        ),
        (
            "lugar near 0 , 0 within 12.5km",
            #"{"lugar":{"$nearSphere":{"__type":"GeoPoint","latitude":0,"longitude":0},"$maxDistanceInKilometers":12.5}}"#
        ),
        ("Tema text camino", #"{"Tema":{"$text":{"$search":{"$term":"camino"}}}}"#),
        ("foto = gato.png", #"{"foto":{"__type":"File","name":"gato.png"}}"#),
        ("not = x", #"{"not":"x"}"#),
        ("not not = x", #"{"$nor":[{"not":"x"}]}"#),
        (
            "not (cerrado = true or comentarios < 1)",
            #"{"$nor":[{"$or":[{"cerrado":true},{"comentarios":{"$lt":1}}]}]}"#
        ),
        (
            "cerrado = true or cerrado = false and comentarios = 1",
            #"{"$or":[{"cerrado":true},{"cerrado":false,"comentarios":1}]}"#
        ),
        (#"{"Tema":{"$gt":"}"}} and cerrado = true"#, #"{"Tema":{"$gt":"}"},"cerrado":true}"#),
    ])
    func filtersAreParseConditions(_ text: String, _ condition: String) throws {
        let expected = try JSONParser.parse(condition)
        let filter = try parse(text)
        #expect(JSON.object(filter.condition) == expected, "\(JSON.object(filter.condition))")
        // The server takes it.
        _ = try Predicate.parse(filter.condition, now: Self.now)
    }

    @Test(arguments: [
        ("cerado = 1", 0, 6, "no field cerado in Temas", "cerrado"),
        ("autor.usename = x", 6, 7, "no field usename in _User", "username"),
        ("cerrado = 1", 10, 1, "true or false belongs here", nil),
        ("cerrado = flase", 10, 5, "true or false belongs here", "false"),
        ("comentarios = 3l", 14, 2, "comentarios is a Number, as 9 or -1.5", nil),
        ("Tema", 4, 0, "Tema is a String: = != < <= > >= ~ ^= in is text", nil),
        ("Tema =", 6, 0, "a value is missing", nil),
        ("Tema = El Camino", 10, 6, "\"and\", \"or\" or the end belongs here; several words need \"quotes\"", nil),
        ("Tema ! x", 5, 1, "! alone means nothing", "!="),
        ("Tema = \"x", 7, 2, "the quote is not closed", nil),
        ("(Tema = x", 0, 1, "the bracket is not closed", nil),
        ("Tema = x)", 8, 1, "no bracket is open", nil),
        ("etiquetas = x", 10, 1, "etiquetas is a Array: has in is", "has"),
        ("datos = x", 6, 1, "datos is a Object: datos.NAME, or is", nil),
        ("ACL = x", 4, 1, "the server does not search by ACL", nil),
        ("Tema.x = 1", 4, 2, "Tema is a String, and nothing lies in it", nil),
        ("foro = @lucia", 7, 6, "@ names a user; foro leads to Foros", nil),
        ("foro = Temas:x", 7, 7, "foro leads to Foros", "Foros:x"),
        ("cierre > 7 days", 9, 1, "cierre is a Date, as 2026-11-01, 2026-11-01T08:00, -7d or now", nil),
        ("cierre is mising", 10, 6, "\"missing\" or \"set\" belongs here", "missing"),
        ("lugar near 91,0 within 1 km", 11, 2, "a latitude from -90 to 90 belongs here", nil),
        ("cerrado = true and", 18, 0, "a field is missing", nil),
        (#"{"a":{"$foo":1}}"#, 0, 16, "bad constraint: $foo", nil),
        (#"{"a":1"#, 0, 6, "the brace is not closed", nil),
    ])
    func whatIsWrongIsShown(_ text: String, _ position: Int, _ length: Int, _ reason: String, _ suggestion: String?) {
        do {
            let filter = try parse(text)
            Issue.record("\(filter)")
        } catch {
            #expect(error == FilterFault(position, length, reason, suggestion: suggestion))
        }
    }

    @Test func mendingPutsTheNearestNameIn() throws {
        do { _ = try parse("Tema = x and cerado = true") } catch {
            #expect(error.mended("Tema = x and cerado = true") == "Tema = x and cerrado = true")
            #expect(
                error.shown(under: "Tema = x and cerado = true")
                    == "Tema = x and cerado = true\n             ^ no field cerado in Temas; perhaps cerrado")
        }
    }

    @Test func nestingEnds() throws {
        let deep = String(repeating: "(", count: 10_000) + "cerrado = true"
        #expect(throws: FilterFault.self) { try parse(deep) }
    }

    /// Filters made at random beside what they mean.
    @Test(arguments: 0..<32 as Range<UInt64>)
    func generatedFiltersMeanWhatTheySay(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let (text, expected) = Self.filter(&generator, depth: 3)
            #expect(JSON.object(try parse(text).condition) == .object(expected), "\(text)")
        }
    }

    private static func filter(_ generator: inout SeededGenerator, depth: Int) -> (String, JSONObject) {
        let choice = depth == 0 ? 0 : Int.random(in: 0...3, using: &generator)
        switch choice {
        case 1:
            let (text, condition) = filter(&generator, depth: depth - 1)
            return ("not (\(text))", JSONObject([("$nor", [.object(condition)])]))
        case 2, 3:
            let parts = (0..<Int.random(in: 2...3, using: &generator)).map { _ in
                filter(&generator, depth: depth - 1)
            }
            let text = parts.map { "( \($0.0))" }.joined(separator: choice == 2 ? " or " : " and ")
            let conditions = parts.map(\.1)
            if choice == 2 { return (text, JSONObject([("$or", .array(conditions.map { .object($0) }))])) }
            return (text, Filter.all(conditions))
        default:
            let signs = [("=", nil), ("!=", "$ne"), ("<", "$lt"), (">=", "$gte")] as [(String, String?)]
            let (sign, name) = signs[Int.random(in: 0..<signs.count, using: &generator)]
            if Bool.random(using: &generator) {
                let number = Int.random(in: -99...99, using: &generator)
                let value = JSON.number(Double(number))
                return (
                    "comentarios\(sign)\(number)",
                    JSONObject([("comentarios", name.map { .object(JSONObject([($0, value)])) } ?? value)])
                )
            }
            let stored = RandomTexts.make(6, &generator).filter { !$0.unicodeScalars.contains("\0") }
            let quoted = stored.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined()
            // A mark at the end would join the quote, and a quote with a mark on it is none.
            guard Array("\"\(quoted)\"").count == quoted.count + 2, Array(quoted).count == quoted.count,
                !stored.contains(where: { $0.unicodeScalars.count > 1 })
            else { return filter(&generator, depth: 0) }
            let value = JSON.string(stored)
            return (
                "Tema \(sign) \"\(quoted)\"",
                JSONObject([("Tema", name.map { .object(JSONObject([($0, value)])) } ?? value)])
            )
        }
    }

    @Test(arguments: 0..<32 as Range<UInt64>)
    func anyTextIsTakenOrRefusedInItsPlace(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let words = [
            "Tema", "cerrado", "autor", "autor.username", "=", "!=", "~", "in", "(", ")", ",", "and", "or", "not", "is",
            "missing", "@lucia", "9", "-7d", "\"x\"", "near", "within", "km", "datos.", "{", "}", "has", "text", "true",
        ]
        for round in 0..<300 {
            let text =
                round % 2 == 0
                ? RandomTexts.make(Int.random(in: 0...30, using: &generator), &generator)
                : (0..<Int.random(in: 0...9, using: &generator)).map { _ in
                    words[Int.random(in: 0..<words.count, using: &generator)]
                }.joined(separator: " ")
            do {
                let condition = try parse(text).condition
                #expect(throws: Never.self) { try Predicate.parse(condition, now: Self.now) }
            } catch {
                #expect(error.position >= 0 && error.position + error.length <= text.count, "\(text): \(error)")
                #expect(!error.reason.isEmpty)
            }
        }
    }
}
