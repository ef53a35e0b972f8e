import Foundation
import Testing
import Wire

@testable import Archive

/// Objects are found in files of any size, whatever is in them.
@Suite struct ObjectFileTests {
    private func read(_ text: String) throws -> (objects: [String], lines: [Int]) {
        let path = NSTemporaryDirectory() + "hermes-objects-\(UUID().uuidString)"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try ObjectFile(path)
        var found: (objects: [String], lines: [Int]) = ([], [])
        while let (bytes, place) = try file.next() {
            found.objects.append(String(decoding: bytes, as: UTF8.self))
            found.lines.append(place.line)
        }
        return found
    }

    @Test(arguments: [
        "{\"results\":[{\"a\":1},{\"b\":[{}]}]}",
        "\u{FEFF}{ \"results\" : [\n{\"a\":1}\n,{\"b\":[{}]}\n] , \"count\":2}",
        "[{\"a\":1},\n{\"b\":[{}]}]", "{\"a\":1}\n{\"b\":[{}]}\n", "\n\n{\"a\":1}{\"b\":[{}]}",
    ])
    func allFormsAreRead(_ text: String) throws {
        #expect(try read(text).objects == ["{\"a\":1}", "{\"b\":[{}]}"])
    }

    @Test(arguments: ["", " \n", "[]", "{\"results\":[]}", "{\"results\":[\n]}\n"])
    func anEmptyFileHasNone(_ text: String) throws { #expect(try read(text).objects.isEmpty) }

    @Test func linesAreCounted() throws {
        let found = try read("{\"results\":[\n{\n\"a\":1\n},\n\n{\"b\":2}, {\"c\":3}\n]}")
        #expect(found.lines == [2, 6, 6])
    }

    @Test func aLineThatIsNoObjectIsHandedOutToBeRefused() throws {
        let found = try read("{\"a\":1}\nnonsense {\n{\"b\":2}\n")
        #expect(found.objects == ["{\"a\":1}", "nonsense {", "{\"b\":2}"])
        #expect(found.lines == [1, 2, 3])
    }

    @Test(arguments: ["{\"results\":[{\"a\":", "[{\"a\":\"", "{\"a\":\"\\", "hola", "[1,2]", "{\"results\":[5]}"])
    func whatIsCutOffOrSomethingElseIsTold(_ text: String) {
        #expect(throws: ArchiveFailure.self) { try read(text) }
    }

    @Test func textsMayHoldAnythingAcrossPieces() throws {
        // Quotes, braces and backslashes fall on every border of what is read at a time.
        var random = SystemRandomNumberGenerator()
        let parts = ["{", "}", "[", "]", "\\\"", "\\\\", "\\n", "ñ", "🚲", "a", ",", ":"]
        var objects: [String] = []
        for number in 0..<3000 {
            let length = number % 500 == 0 ? 300_000 : Int.random(in: 0...1500, using: &random)
            var text = ""
            for _ in 0..<length { text += parts[Int.random(in: 0..<parts.count, using: &random)] }
            objects.append("{\"n\":\(number),\"t\":\"\(text)\",\"l\":[{\"x\":{}}]}")
        }
        let found = try read("{\"results\":[\n" + objects.joined(separator: ",\n") + "\n]}")
        #expect(found.objects.count == objects.count)
        let isSame = found.objects == objects
        #expect(isSame)
        #expect(found.lines == Array(2...objects.count + 1))
    }

    @Test func readingGoesOnAtAnyObject() throws {
        let path = NSTemporaryDirectory() + "hermes-objects-\(UUID().uuidString)"
        let objects = (0..<100).map { "{\"n\":\($0)}" }
        try "[\(objects.joined(separator: ",\n"))]".write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try ObjectFile(path)
        for _ in 0..<40 { _ = try file.next() }
        let place = file.place
        let other = try ObjectFile(path)
        try other.go(to: place)
        let next = try #require(try other.next())
        #expect(String(decoding: next.bytes, as: UTF8.self) == "{\"n\":40}")
        #expect(next.place.line == 41)
        #expect(try file.fingerprint() == other.fingerprint())
    }
}

@Suite struct ImportedObjectTests {
    private func object(_ text: String, _ className: String = "Temas") throws -> ImportedObject {
        try ImportedObject(JSONParser.parse(text), className: className)
    }

    @Test func mongoDBsFormIsUnderstood() throws {
        let read = try object(
            """
            {"_id":"m1","_created_at":{"$date":"2016-01-02T03:04:05.678Z"},"_updated_at":{"$date":{"$numberLong":"1451703845679"}},
            "_p_autor":"_User$u1","_rperm":["*"],"_wperm":["u1","role:mods"],"_acl":{"u1":{"w":true}}}
            """)
        #expect(read.objectId == "m1")
        #expect(read.createdAt?.milliseconds == 1_451_703_845_678)
        #expect(read.updatedAt?.milliseconds == 1_451_703_845_679)
        #expect(read.readers == ["*"] && read.writers == ["u1", "role:mods"])
        #expect(read.fields.map(\.name) == ["autor"])
        #expect(Pointer(json: read.fields[0].value) == Pointer(className: "_User", objectId: "u1"))
    }

    private static let values: [(String, JSON)] = [
        (#"{"$numberLong":"9007199254740991"}"#, JSON.number(9_007_199_254_740_991)), (#"{"$numberInt":"-5"}"#, -5),
        (#"{"$numberDouble":"1.5"}"#, 1.5), (#"{"$oid":"abc"}"#, "abc"), (#"{"$ref":"x"}"#, ["$ref": "x"]),
        (#"{"$binary":{"base64":"AAEC","subType":"00"}}"#, ["__type": "Bytes", "base64": "AAEC"]),
        (#"[{"a":{"$date":0}}]"#, [["a": ["__type": "Date", "iso": "1970-01-01T00:00:00.000Z"]]]),
    ]

    @Test func aDateThatNoCalendarKnowsIsNone() throws {
        for text in [#"{"$numberLong":"9223372036854775807"}"#, #"{"$numberLong":"-8640000000000001"}"#, "1e300"] {
            let read = try? object(#"{"_id":"m1","_created_at":{"$date":\#(text)}}"#)
            #expect(read?.createdAt == nil)
            let value = try? ExtendedJSON.plain(JSONParser.parse(#"{"$date":\#(text)}"#))
            #expect(value?.object?["__type"] == nil)
        }
    }

    @Test(arguments: values)
    func extendedJSONBecomesPlain(_ text: String, _ plain: JSON) throws {
        #expect(try ExtendedJSON.plain(JSONParser.parse(text)) == plain)
    }

    @Test func hashesAreTakenAndPasswordsAreNot() throws {
        let hash = "10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"
        for (key, value) in [
            ("bcryptPassword", "$2b$"), ("_hashed_password", "$2y$"), ("_hashed_password", "$2a$"),
            ("bcryptPassword", "sha256:$2b$"),
        ] {
            let user = try object("{\"objectId\":\"u\",\"\(key)\":\"\(value)\(hash)\"}", "_User")
            #expect(user.hidden.first?.value == .string(value + hash))
            #expect(user.fields.isEmpty)
        }
        for wrong in [
            "{\"objectId\":\"u\",\"bcryptPassword\":\"geheim\"}", "{\"objectId\":\"u\",\"password\":\"geheim\"}",
        ] {
            #expect(throws: Refusal.self) { try object(wrong, "_User") }
        }
    }

    @Test(arguments: [
        "[]", "{}", "{\"objectId\":\"\"}", "{\"objectId\":5}", "{\"objectId\":\"a\",\"createdAt\":\"ayer\"}",
        "{\"objectId\":\"a\",\"ACL\":{\"*\":5}}", "{\"objectId\":\"a\",\"_rperm\":\"*\"}",
        "{\"objectId\":\"a\",\"_raro\":1}",
        "{\"objectId\":\"a\",\"_p_autor\":\"u1\"}",
    ])
    func whatCannotBeIsRefused(_ text: String) { #expect(throws: Refusal.self) { try object(text) } }
}
