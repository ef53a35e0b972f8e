import Testing

@testable import Wire

@Suite struct JSONTests {
    @Test(arguments: [
        // As Node 20 prints them.
        ("0", "0"), ("-0", "0"), ("-0.0", "0"), ("1", "1"), ("5.0", "5"), ("1.50", "1.5"), ("0.1", "0.1"),
        ("123456789012345680000", "123456789012345680000"), ("1e20", "100000000000000000000"), ("1e21", "1e+21"),
        ("-1e21", "-1e+21"), ("1e100", "1e+100"), ("0.000001", "0.000001"), ("0.0000001", "1e-7"),
        ("2.5e-8", "2.5e-8"), ("-1.5e-7", "-1.5e-7"), ("9007199254740991", "9007199254740991"),
        ("9007199254740993", "9007199254740992"), ("-9007199254740991", "-9007199254740991"),
        ("18446744073709551615", "18446744073709552000"), ("18446744073709551616", "18446744073709552000"),
        ("100000000000000000000000000", "1e+26"), ("-9223372036854775809", "-9223372036854776000"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"), ("5e-324", "5e-324"), ("1e-400", "0"),
        ("2.2250738585072014e-308", "2.2250738585072014e-308"), ("0.30000000000000004", "0.30000000000000004"),
        ("4.35", "4.35"), ("1234567.891", "1234567.891"), ("1E3", "1000"),
        ("12345678901234567890", "12345678901234567000"),
        ("1e23", "1e+23"), ("3.14159", "3.14159"), ("1000000000000000128", "1000000000000000100"),
    ])
    func numbersArePrintedAsJavaScriptDoes(sent: String, printed: String) throws {
        #expect(try JSONParser.parse("[\(sent)]").description == "[\(printed)]")
        var writer = JSONWriter()
        Array(sent.utf8).withUnsafeBytes { writer.jsonText($0) }
        #expect(String(decoding: writer.bytes, as: UTF8.self) == printed)
    }

    @Test func whatIsNotFiniteIsPrintedAsNull() {
        #expect(JSON.number(.infinity).description == "null")
        #expect(JSON.number(.nan).description == "null")
    }

    @Test(arguments: [
        ("\u{0}\u{1}\u{8}\u{9}\u{A}\u{B}\u{C}\u{D}\u{1F}", #""\u0000\u0001\b\t\n\u000b\f\r\u001f""#),
        ("\" \\ / \u{7F}", "\"\\\" \\\\ / \u{7F}\""), ("é😀\u{2028}", "\"é😀\u{2028}\""), ("", "\"\""),
        ("ocho<8>\"y más", #""ocho<8>\"y más""#),
    ])
    func textsAreEscapedAsJavaScriptDoes(text: String, printed: String) throws {
        #expect(JSON.string(text).description == printed)
        #expect(try JSONParser.parse(printed) == .string(text))
    }

    @Test(arguments: [
        "", "  ", "{", "[1,]", "{\"a\":}", "{'a':1}", "titulo=hola", "{\"n\":1}{\"n\":2}", "NaN", "[Infinity]", "01",
        "1e400", "-1e400", #""\ud800""#, #""\udc00""#, #""\ud800\ud800""#, #"{"\ud83d": 1}"#, "\"\u{1}\"", #""\x""#,
        "[1", "tru", #"{"a" 1}"#, "1.", "+1", "123456789012345678901234567890x", "[12345678901234567890e0e0]",
    ])
    func malformedJSONIsRefusedWithoutACode(text: String) {
        let error = #expect(throws: ParseError.self) { try JSONParser.parse(text) }
        #expect(error?.code == nil)
        #expect(error?.status == 400)
    }

    @Test(
        arguments: [[0xFF], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xC0, 0x80, 0x22]] as [[UInt8]])
    func bytesThatAreNotUTF8AreRefused(bytes: [UInt8]) {
        #expect(throws: ParseError.self) { try JSONParser.parse(bytes) }
    }

    @Test func aByteOrderMarkIsPassedOver() throws {
        #expect(try JSONParser.parse("\u{FEFF}{\"a\":1}") == ["a": 1])
        #expect(try JSONParser.parse("\u{FEFF}1") == 1)
        // Only one, only in front; and in a text it is a character like others.
        for text in ["\u{FEFF}", "\u{FEFF}\u{FEFF}1", "1\u{FEFF}", "[\u{FEFF}1]"] {
            #expect(throws: ParseError.self, "\(text)") { try JSONParser.parse(text) }
        }
        #expect(try JSONParser.parse("\"\u{FEFF}\"") == .string("\u{FEFF}"))
    }

    @Test func depthIsBounded() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)
        }
        #expect(throws: Never.self) { try JSONParser.parse(nested(512)) }
        #expect(throws: ParseError.self) { try JSONParser.parse(nested(513)) }
        #expect(throws: Never.self) { try JSONParser.parse(nested(3), maxDepth: 3) }
        #expect(throws: ParseError.self) { try JSONParser.parse(nested(4), maxDepth: 3) }
        #expect(throws: ParseError.self) { try JSONParser.parse(nested(1_000_000)) }
        #expect(throws: ParseError.self) { try JSONParser.parse(String(repeating: "{\"a\":", count: 100_000)) }
    }

    @Test func ofTwoMembersWithOneNameTheLastWins() throws {
        let small = try JSONParser.parse(#"{"a":1,"b":2,"a":3}"#)
        #expect(small.description == #"{"a":3,"b":2}"#)
        let many = (0..<50).map { #""k\#($0)":0"# }.joined(separator: ",")
        let large = try #require(JSONParser.parse("{\(many),\"k7\":1,\"k7\":2}").object)
        #expect(large.count == 50)
        #expect(large["k7"] == 2)
        #expect(large.members[7].key == "k7")
    }

    @Test func namesAreComparedByteForByte() throws {
        // é as one scalar and as two: the same text to Swift, two names in JSON.
        let object = try #require(JSONParser.parse("{\"\u{E9}\":1,\"e\u{301}\":2}").object)
        #expect(object.count == 2)
        #expect(object["e\u{301}"] == 2)
        #expect(JSON.string("\u{E9}") != JSON.string("e\u{301}"))
        // The Kelvin sign, which normalises to K.
        #expect(JSONObject([("\u{212A}", 1)])["K"] == nil)
    }

    @Test func objectsAreEqualInAnyOrder() {
        let one = JSONObject((0..<40).map { ("k\($0)", .number(Double($0))) })
        let other = JSONObject(one.members.reversed())
        #expect(one == other)
        var third = other
        third["k3"] = "tres"
        #expect(one != third)
        third["k3"] = nil
        #expect(one != third)
    }

    @Test(.timeLimit(.minutes(1))) func hugeObjectsTakeLinearTime() throws {
        let names = (0..<100_000).map { "k\($0)" }
        let text = "{" + names.map { "\"\($0)\":{\"\($0)\":1},\"\($0)\":2" }.joined(separator: ",") + "}"
        let object = try #require(JSONParser.parse(text).object)
        #expect(object.count == names.count)
        #expect(object == JSONObject(object.members.reversed()))
    }

    @Test(.timeLimit(.minutes(1))) func wideRequestsTakeLinearTime() throws {
        let names = (0..<30_000).map { "k\($0)" }
        let object = JSONObject(names.map { ($0, [$0: "x"]) })
        #expect(try Update.parse(object, creating: true).changes.count == names.count)
        #expect(try Predicate.parse(object).json.count == 1)
        let dotted = JSONObject(names.map { ("a." + $0 + ".b", 1) })
        #expect(try Update.parse(dotted, creating: false).changes.count == names.count)
        let value = try Value.parse(["a": .object(object), "b": .array(Array(repeating: "x", count: 30_000))])
        #expect(value.fieldType == .object)
        try KeywordDenylist().check(object)
        #expect(Complexity(where: object).queryDepth == 0)
        let include = JSON.string(names.joined(separator: ","))
        #expect(throws: ParseError.self) {
            try Query.parse(className: "T", parameters: [("include", include)])
        }
        #expect(try Query.parse(className: "T", parameters: [("keys", include)]).keys?.count == names.count)
    }

    @Test func largeDocumentsLeaveNothingBehind() throws {
        let large = "[" + String(repeating: "\"0123456789\",", count: 100_000) + "1]"
        #expect(try JSONParser.parse(large).array?.count == 100_001)
        #expect(try JSONParser.parse("[1]") == [1])
    }
}
