import Testing

@testable import Wire

@Suite struct ValueTests {
    private func parse(_ text: String) throws -> Value { try Value.parse(JSONParser.parse(text)) }

    @Test func parseTypesAreRead() throws {
        #expect(
            try parse(#"{"__type":"Date","iso":"2024-01-01T00:00:00Z"}"#)
                == .date(Timestamp(milliseconds: 1_704_067_200_000)))
        #expect(try parse(#"{"__type":"Bytes","base64":"SG9sYSwgbXVuZG8h"}"#) == .bytes(Array("Hola, mundo!".utf8)))
        #expect(try parse(#"{"__type":"Bytes","base64":"_-8="}"#) == .bytes([0xFF, 0xEF]))
        #expect(try parse(#"{"__type":"Bytes","base64":""}"#) == .bytes([]))
        #expect(
            try parse(#"{"__type":"GeoPoint","latitude":90,"longitude":-180}"#)
                == .geoPoint(GeoPoint(latitude: 90, longitude: -180)))
        #expect(
            try parse(#"{"__type":"File","name":"a.png"}"#) == .file(File(name: "a.png")))
        #expect(
            try parse(#"{"__type":"Pointer","className":"_User","objectId":"x","extra":1}"#)
                == .pointer(Pointer(className: "_User", objectId: "x")))
        #expect(try parse(#"{"__type":"Relation","className":"Temas"}"#) == .relation(className: "Temas"))
        #expect(try parse(#"{"__type":null,"latitude":1}"#).fieldType == .object)
    }

    @Test func anOpenPolygonIsClosed() throws {
        let value = try parse(#"{"__type":"Polygon","coordinates":[[0,0],[0,10],[10,10],[10,0]]}"#)
        #expect(value.json.object?["coordinates"]?.description == "[[0,0],[0,10],[10,10],[10,0],[0,0]]")
    }

    @Test(arguments: [
        (#"{"__type":"Date"}"#, 111), (#"{"__type":"Date","iso":""}"#, 111), (#"{"__type":"Date","iso":5}"#, 111),
        (#"{"__type":"Date","iso":"ayer"}"#, 111), (#"{"__type":"Bytes"}"#, 111),
        (#"{"__type":"Bytes","base64":"a"}"#, 111), (#"{"__type":"Bytes","base64":"ab=c"}"#, 111),
        (#"{"__type":"Bytes","base64":"a b="}"#, 111), (#"{"__type":"GeoPoint","latitude":1}"#, 111),
        (#"{"__type":"GeoPoint","latitude":"1","longitude":2}"#, 111),
        (#"{"__type":"GeoPoint","latitude":90.1,"longitude":2}"#, 111),
        (#"{"__type":"GeoPoint","latitude":1,"longitude":-181}"#, 111), (#"{"__type":"Polygon"}"#, 111),
        (#"{"__type":"Polygon","coordinates":"x"}"#, 111), (#"{"__type":"Polygon","coordinates":[]}"#, 107),
        (#"{"__type":"Polygon","coordinates":[[0,0],[1,1]]}"#, 107),
        (#"{"__type":"Polygon","coordinates":[[0,0],[1,1],[0,0]]}"#, 107),
        (#"{"__type":"Polygon","coordinates":[[0,0],[1,1],[0,"1"]]}"#, 107),
        (#"{"__type":"Polygon","coordinates":[[0,0],[91,1],[0,1]]}"#, 107), (#"{"__type":"File"}"#, 111),
        (#"{"__type":"File","url":"http://x"}"#, 111), (#"{"__type":"Pointer","objectId":"x"}"#, 111),
        (#"{"__type":"Pointer","className":"","objectId":"x"}"#, 111), (#"{"__type":"Pointer","className":"A"}"#, 111),
        (#"{"__type":"Pointer","className":"a b","objectId":"x"}"#, 111), (#"{"__type":"Relation"}"#, 111),
        (#"{"__type":"Marciano"}"#, 111), (#"{"__type":"Object","className":"A"}"#, 111), (#"{"__type":7}"#, 111),
        (#""a\u0000b""#, 111), (#"["a",["\u0000"]]"#, 111), (#"{"a":{"b\u0000":1}}"#, 111), (#"{"a.b":1}"#, 121),
        (#"{"$ne":1}"#, 121), (#"[{"a":[{"b$":1}]}]"#, 121), (#"{"a":{"__op":"Delete"}}"#, 121),
        (#"[{"__type":"Date","iso":"x"}]"#, 111), (#"{"a":{"__type":"Pointer"}}"#, 111),
    ])
    func whatIsNoValueIsRefused(text: String, code: Int) {
        #expect(throws: ParseError.self) { try parse(text) }
        do { _ = try parse(text) } catch { #expect((error as? ParseError)?.code == code) }
    }

    @Test func unknownTypesWithinObjectsAreData() throws {
        #expect(try parse(#"[{"__type":"Object","className":"A","x":1}]"#).fieldType == .array)
        #expect(try parse(#"{"a":{"__type":"Marciano"}}"#).fieldType == .object)
    }

    @Test func comparedObjectsMayHoldAnyName() throws {
        #expect(try Value.parse(["a": ["$b.c": 1]], for: .compared) == .object(JSONObject([("a", ["$b.c": 1])])))
        #expect(throws: ParseError.self) { try Value.parse(["a": "\0"], for: .compared) }
    }

    @Test func fieldTypesAreReadAsTheyArePrinted() throws {
        let types: [FieldType] = [
            .string, .number, .boolean, .date, .object, .array, .geoPoint, .polygon, .file, .bytes, .acl,
            .pointer("_User"), .relation("Temas"),
        ]
        for type in types { #expect(try FieldType(json: type.json) == type) }
        #expect(FieldType.pointer("A").description == "Pointer<A>")
    }

    @Test(arguments: [
        (#"{"type":"Texto"}"#, 111), (#"{"type":5}"#, 107), (#"{}"#, 107), (#"{"type":"Pointer"}"#, 135),
        (#"{"type":"Relation","targetClass":""}"#, 135), (#"{"type":"Pointer","targetClass":7}"#, 107),
        (#"{"type":"Pointer","targetClass":"a b"}"#, 103),
    ])
    func impossibleFieldTypesAreRefused(text: String, code: Int) throws {
        let json = try #require(JSONParser.parse(text).object)
        let error = #expect(throws: ParseError.self) { try FieldType(json: json) }
        #expect(error?.code == code)
    }

    @Test(arguments: ["Temas", "a", "_User", "_Role", "_Join:users:_Role", "A_1"])
    func classNames(name: String) { #expect(Names.isClass(name)) }

    @Test(arguments: ["", "1a", "_x", "a b", "año", "a-b", "_SCHEMA", "_Join:x", "_Join:1:A", "a\"", "_user"])
    func impossibleClassNames(name: String) { #expect(!Names.isClass(name)) }

    @Test func anErrorIsShownAsCodeAndSentence() {
        #expect("\(ParseError(101, "Object not found."))" == "101: Object not found.")
        #expect("\(ParseError(nil, "unauthorized", status: 403))" == "unauthorized")
    }
}
