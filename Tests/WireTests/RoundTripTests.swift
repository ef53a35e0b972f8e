import Testing

@testable import Wire

/// What is printed and read again is what it was.
@Suite struct RoundTripTests {
    static let seeds = 0..<40

    @Test(arguments: seeds) func jsonComesBack(seed: Int) throws {
        var maker = Maker(seed: seed)
        for _ in 0..<50 {
            let json = maker.json(5)
            #expect(try JSONParser.parse(json.bytes) == json)
        }
    }

    @Test(arguments: seeds) func everyDoubleComesBack(seed: Int) throws {
        var maker = Maker(seed: seed)
        for _ in 0..<300 {
            let number = maker.number()
            #expect(try JSONParser.parse(JSON.number(number).bytes) == .number(number))
        }
    }

    @Test(arguments: seeds) func valuesComeBack(seed: Int) throws {
        var maker = Maker(seed: seed)
        for _ in 0..<50 {
            let value = maker.value()
            #expect(try Value.parse(JSONParser.parse(value.json.bytes)) == value)
            var writer = JSONWriter()
            writer.value(value)
            #expect(writer.bytes == value.json.bytes)
        }
    }

    @Test(arguments: seeds) func predicatesComeBack(seed: Int) throws {
        var maker = Maker(seed: seed)
        for _ in 0..<50 {
            let predicate = maker.predicate()
            let condition = try #require(JSONParser.parse(predicate.description).object)
            #expect(try Predicate.parse(condition) == predicate)
        }
    }

    @Test(arguments: seeds) func queriesComeBack(seed: Int) throws {
        var maker = Maker(seed: seed)
        for _ in 0..<30 {
            let query = maker.query()
            #expect(try Query.parse(className: query.className, parameters: query.parameters.members) == query)
        }
    }

    @Test(arguments: seeds) func updatesComeBack(seed: Int) throws {
        var maker = Maker(seed: seed)
        for _ in 0..<50 {
            let update = maker.update()
            let body = try #require(JSONParser.parse(update.description).object)
            #expect(try Update.parse(body, creating: false) == update)
        }
    }

    @Test(arguments: seeds) func datesComeBack(seed: Int) {
        var maker = Maker(seed: seed)
        for _ in 0..<100 {
            let timestamp = maker.timestamp()
            #expect(Timestamp(iso: timestamp.description) == timestamp)
        }
    }

    /// jsonb puts a blank behind each comma and colon and prints numbers without exponents.
    @Test(arguments: seeds) func storedJSONIsPrintedAsItCame(seed: Int) {
        var maker = Maker(seed: seed)
        for _ in 0..<50 {
            let json = maker.json(4)
            var writer = JSONWriter()
            Array(spaced(json).utf8).withUnsafeBytes { writer.jsonText($0) }
            #expect(String(decoding: writer.bytes, as: UTF8.self) == json.description)
        }
    }

    private func spaced(_ json: JSON) -> String {
        switch json {
        case .array(let elements): "[" + elements.map(spaced).joined(separator: ", ") + "]"
        case .object(let object):
            "{" + object.members.map { "\(JSON.string($0.key)): \(spaced($0.value))" }.joined(separator: ", ") + "}"
        default: json.description
        }
    }
}
