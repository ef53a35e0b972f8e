import Foundation
import Testing

@testable import Wire

/// Mutates a corpus for a bounded time: whatever comes in, a tree comes out or an error that a client can use.
/// `HERMES_FUZZ_SECONDS` sets the time, 2 seconds by default; `HERMES_FUZZ_SEED` the seed.
@Suite struct FuzzTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let codes: Set<Int> = [102, 103, 105, 107, 108, 111, 121, 123]

    @Test func mutatedRequestsAreReadOrRefused() throws {
        let seconds = Self.environment["HERMES_FUZZ_SECONDS"].flatMap(Double.init) ?? 2
        let seed = Self.environment["HERMES_FUZZ_SEED"].flatMap(Int.init) ?? Int.random(in: 0..<1_000_000)
        let corpus = try ["bodies", "wheres"].flatMap { name in
            let file = try #require(Bundle.module.url(forResource: "Corpus/\(name)", withExtension: "jsonl"))
            return try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")).map { [UInt8]($0) }
        }
        var maker = Maker(seed: seed)
        let denylist = try KeywordDenylist()
        let start = ContinuousClock.now
        var count = 0
        while ContinuousClock.now - start < .seconds(seconds) {
            for _ in 0..<100 {
                let bytes = maker.mutate(maker.pick(corpus), with: maker.pick(corpus))
                if let failure = check(bytes, denylist) {
                    Issue.record("seed \(seed): \(failure) for \(String(decoding: bytes, as: UTF8.self))")
                    return
                }
                count += 1
            }
        }
        #expect(count > 0)
    }

    /// What is wrong with how these bytes were taken; nil where nothing is.
    private func check(_ bytes: [UInt8], _ denylist: KeywordDenylist) -> String? {
        let json: JSON
        do throws(ParseError) {
            json = try JSONParser.parse(bytes)
        } catch {
            return error.code == nil && error.status == 400 && !error.message.isEmpty ? nil : "\(error)"
        }
        if (try? JSONParser.parse(json.bytes)) != json { return "JSON does not come back" }
        var writer = JSONWriter()
        json.bytes.withUnsafeBytes { writer.jsonText($0) }
        if writer.bytes != json.bytes { return "stored JSON does not come back" }
        guard let object = json.object else { return nil }
        for creating in [true, false] {
            if let failure = refusal({ () throws(ParseError) in
                let update = try Update.parse(object, creating: creating)
                return try Update.parse(update.json, creating: creating) == update
            }) {
                return failure
            }
        }
        return refusal { () throws(ParseError) in
            let predicate = try Predicate.parse(object)
            return try Predicate.parse(predicate.json) == predicate
        }
            ?? refusal { () throws(ParseError) in
                try denylist.check(json)
                _ = try Query.parse(className: "T", parameters: object.members)
                return true
            }
    }

    private func refusal(_ holds: () throws(ParseError) -> Bool) -> String? {
        do throws(ParseError) {
            return try holds() ? nil : "the tree does not come back"
        } catch {
            let isUsable = error.code.map(Self.codes.contains) ?? false
            return isUsable && !error.message.isEmpty && error.message.utf8.count < 2000 ? nil : "\(error)"
        }
    }
}

extension Maker {
    /// A few bytes changed, cut out, doubled or taken from another text; or a name or value put in the place of another.
    mutating func mutate(_ text: [UInt8], with other: [UInt8]) -> [UInt8] {
        var text = text
        for _ in 0...below(4) where !text.isEmpty {
            let start = below(text.count)
            let end = min(text.count, start + 1 + below(12))
            switch below(6) {
            case 0: text[start] = UInt8(below(256))
            case 1: text[start] = pick(Array("{}[]\",:\\0123456789.eE-+$_tfn\u{0} ".utf8))
            case 2: text.removeSubrange(start..<end)
            case 3: text.insert(contentsOf: text[start..<end], at: below(text.count))
            case 4:
                let from = below(other.count)
                text.replaceSubrange(start..<end, with: other[from..<min(other.count, from + 1 + below(40))])
            default: swapTokens(&text, other)
            }
        }
        return text
    }

    /// Puts one quoted text of another document in the place of one of this, so that the result is often still JSON.
    private mutating func swapTokens(_ text: inout [UInt8], _ other: [UInt8]) {
        guard let target = token(text), let source = token(other) else { return }
        text.replaceSubrange(
            target,
            with: oneIn(3)
                ? Array(pick(["null", "-1", "[]", "{}", "1e308", "\"\"", "\"$x\""]).utf8) : Array(other[source]))
    }

    private mutating func token(_ text: [UInt8]) -> Range<Int>? {
        let quotes = text.indices.filter { text[$0] == UInt8(ascii: "\"") }
        guard quotes.count >= 2 else { return nil }
        let index = below(quotes.count / 2) * 2
        return quotes[index]..<quotes[index + 1] + 1
    }
}
