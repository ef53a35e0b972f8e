import Testing

@testable import Wire

@Suite struct Smoke {
    @Test func parsesAndPrints() throws {
        let text = #"{"a":[1,2.5,-3,1e+21,1e-7,123456789012345680000,0.1],"b":{"c":"é\n\"\\😀","d":null,"e":true},"a2":""}"#
        let json = try JSONParser.parse(text)
        #expect(json.description == text)
        #expect(throws: ParseError.self) { try JSONParser.parse(#""\ud800""#) }
        #expect(throws: ParseError.self) { try JSONParser.parse(#""\udc00""#) }
        #expect(throws: ParseError.self) { try JSONParser.parse("1e400") }
        #expect(try JSONParser.parse("[100000000000000000000000000]") == [.number(1e26)])
        #expect(try JSONParser.parse("[18446744073709551616, -9223372036854775809]").description == "[18446744073709552000,-9223372036854776000]")
        let deep = String(repeating: "[", count: 512) + "1" + String(repeating: "]", count: 512)
        _ = try JSONParser.parse(deep)
        #expect(throws: ParseError.self) { try JSONParser.parse("[" + deep + "]") }
    }

    @Test func query() throws {
        let q = try Query.parse(className: "T", parameters: [
            ("where", #"{"a":{"$gt":1,"$lt":{"__type":"Date","iso":"2024-01-01T00:00:00Z"}},"$or":[{"b":1},{"c":{"$inQuery":{"className":"U","where":{"x":{"$regex":"^\\Qa\\E","$options":"i"}}}}}]}"#),
            ("order", "-a,b"), ("include", "p.q,r"), ("keys", "z,autor.nombre"), ("limit", 5)])
        let again = try Query.parse(className: "T", parameters: q.parameters.members)
        #expect(q == again)
    }

    @Test func update() throws {
        let body = try JSONParser.parse(#"{"a":{"__op":"Increment","amount":1},"b.c":{"__op":"Delete"},"d":{"__type":"Pointer","className":"X","objectId":"y"},"ACL":{"*":{"read":true}}}"#)
        let u = try Update.parse(#require(body.object), creating: false)
        #expect(try Update.parse(u.json, creating: false) == u)
        var w = JSONWriter()
        let t = #"{"a": 1, "b": 1000000000000000000000, "c": [1.50, 0.0000001, "x, \" y: 1.0", -0, 5.0], "d": {}}"#
        Array(t.utf8).withUnsafeBytes { w.jsonText($0) }
        #expect(String(decoding: w.bytes, as: UTF8.self) == #"{"a":1,"b":1e+21,"c":[1.5,1e-7,"x, \" y: 1.0",0,5],"d":{}}"#)
        #expect(Timestamp(iso: "2024-03-01T10:20:30.5+02:00")?.description == "2024-03-01T08:20:30.500Z")
    }
}
