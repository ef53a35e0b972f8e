import Testing

@testable import Wire

@Suite struct KeywordDenylistTests {
    private let own: [JSONObject] = [
        JSONObject([("key", "secreto")]), JSONObject([("value", "prohibido")]),
        JSONObject([("key", "tipo"), ("value", "malo")]), JSONObject([("key", "nivel"), ("value", 7)]),
        JSONObject([("key", "^x_.*")]), JSONObject([("value", "^spam\\d+$")]),
    ]

    @Test(
        arguments: [
            ["secreto": 1], ["m": ["a": ["b": ["secreto": nil]]]], ["l": [[[["secreto": 2]]]]], ["s": "algo prohibido"],
            ["l": ["a", "prohibido"]], ["tipo": "malo"], ["m": ["nivel": 7]], ["x_uno": 1], ["s": "spam42"],
            ["mi_secreto_2": 1], ["l": ["__op": "Add", "objects": [["secreto": 1]]]], ["m.secreto": 1],
        ] as [JSON])
    func whatIsDeniedIsFoundAtAnyDepth(json: JSON) throws {
        let list = try KeywordDenylist(own)
        let error = #expect(throws: ParseError.self) { try list.check(json) }
        #expect(error?.code == 105)
    }

    @Test(
        arguments: [
            ["s": "Prohibido"], ["tipo": "bueno", "otro": "malo"], ["nivel": 8], ["otro": 7], ["ax_b": 1],
            ["s": "no spam42"], ["miSecreto": 1], ["s": "secreto"], ["m": ["constructor": 1]],
        ] as [JSON])
    func theRestPasses(json: JSON) throws {
        try KeywordDenylist(own).check(json)
    }

    @Test func theStandardListKeepsPrototypesOut() throws {
        let list = try KeywordDenylist()
        for json in [["__proto__": 1], ["a": [["constructor": 1]]], ["_bsontype": "Code"]] as [JSON] {
            #expect(throws: ParseError.self) { try list.check(json) }
        }
        try list.check(["_bsontype": "Otro", "s": "constructor"] as JSON)
    }

    @Test func theMessageNamesTheEntry() throws {
        let list = try KeywordDenylist(own)
        let error = #expect(throws: ParseError.self) { try list.check(["tipo": "malo"] as JSON) }
        #expect(error?.message == #"Prohibited keyword in request data: {"key":"tipo","value":"malo"}."#)
    }

    @Test(arguments: [[:], ["key": 5], ["key": "("], ["value": "[z"]] as [JSON])
    func entriesThatCannotBeAreRefused(entry: JSON) throws {
        let entry = try #require(entry.object)
        #expect(throws: ParseError.self) { try KeywordDenylist([entry]) }
    }
}
