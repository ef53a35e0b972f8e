import TestSupport
import Testing
import Wire

@testable import Browse

@Suite struct CellsTests {
    @Test(
        arguments: [
            (nil, "-", ""), (JSON.null, "-", ""), ("", "\"\"", "\"\""), ("hola", "hola", "hola"), (31, "31", "31"),
            (true, "true", "true"), ("a,\"b\"", "a,\"b\"", "\"a,\"\"b\"\"\""),
            (["x", 1], "[\"x\",1]", "\"[\"\"x\"\",1]\""),
            (["__type": "Pointer", "className": "Temas", "objectId": "x1"], "Temas:x1", "Temas:x1"),
            (["__type": "Date", "iso": "2026-11-19T08:02:31.123Z"], "2026-11-19 08:02:31", "2026-11-19T08:02:31.123Z"),
            (["__type": "GeoPoint", "latitude": 40.5, "longitude": -3], "40.5,-3", "\"40.5,-3\""),
            (
                ["__type": "Bytes", "base64": "AAEC"], "3 bytes",
                "\"{\"\"__type\"\":\"\"Bytes\"\",\"\"base64\"\":\"\"AAEC\"\"}\""
            ),
            (["a": 1], "{\"a\":1}", "\"{\"\"a\"\":1}\""),
        ] as [(JSON?, String, String)])
    func valuesAreShown(_ value: JSON?, _ text: String, _ csv: String) {
        #expect(Cells.text(value) == text)
        #expect(Cells.csv(value) == csv)
    }

    @Test func includedObjectsAreKnownByAName() {
        let user: JSON = ["__type": "Object", "className": "_User", "objectId": "u1", "username": "lucia"]
        #expect(Cells.text(user, label: "username") == "@lucia")
        #expect(Cells.text(user, label: "email") == "_User:u1")
        #expect(Cells.csv(user) == "_User:u1")
    }

    @Test func accessIsASentence() {
        #expect(
            Cells.access(["*": ["read": true], "role:moderadores": ["read": true, "write": true]])
                == "everybody reads; role moderadores reads and writes")
        #expect(Cells.access([:]) == "master key only")
        #expect(Cells.access(nil) == "everybody reads and writes")
    }

    @Test(arguments: 0..<16 as Range<UInt64>)
    func jsonForTerminalsMeansTheSame(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<50 {
            let json = JSON.string(RandomTexts.make(30, &generator))
            let safe = Cells.safeJSON(json)
            #expect(!safe.unicodeScalars.contains { $0.isHidden && $0.value != 0x7F || $0.value < 0x20 })
            #expect(try JSONParser.parse(safe) == json)
        }
    }

    @Test func columnsAreStraightWhateverIsStored() {
        var table = TextTable(["objectId", "Tema", "n"])
        table.numeric = [2]
        table.rows = [["a", "漢字 e\u{301}", "1"], ["bb", "x\u{1B}[2J", "10"], ["c", "👩\u{200D}🚀", "100"]]
        #expect(
            table.text(width: nil) == """
                objectId  Tema      n
                a         漢字 e\u{301}    1
                bb        x^[[2J   10
                c         👩      100

                """)
        for width in 4...30 {
            let lines = table.text(width: width).split(separator: "\n")
            #expect(lines.allSatisfy { SafeText(String($0)).width <= width }, "\(width)")
        }
    }

    private func field(_ type: FieldType) -> ClassShape.Field {
        ClassShape.Field(name: "f", type: type, isRequired: false)
    }

    @Test func typedValuesFitTheirFields() throws {
        let now = Timestamp(milliseconds: 1_794_614_400_000)
        func value(_ text: String, _ type: FieldType) -> FieldInput? {
            try? FieldInput(text, for: field(type), now: now)
        }
        #expect(value("", .string) == .value(""))
        #expect(value("-1.5", .number) == .value(-1.5))
        #expect(value("3l", .number) == nil && value("nan", .number) == nil && value("", .number) == nil)
        #expect(value("true", .boolean) == .value(true) && value("1", .boolean) == nil)
        #expect(value("-1d", .date) == .value(["__type": "Date", "iso": "2026-11-13T00:00:00.000Z"]))
        #expect(value("2026-02-30", .date) == nil)
        #expect(value("@lucia", .pointer("_User")) == .user("lucia") && value("@lucia", .pointer("Temas")) == nil)
        #expect(value("Temas:x1", .pointer("Temas")) == value("x1", .pointer("Temas")))
        #expect(value("Foros:x1", .pointer("Temas")) == nil)
        #expect(value("40.4, -3.7", .geoPoint) == .value(["__type": "GeoPoint", "latitude": 40.4, "longitude": -3.7]))
        #expect(value("91,0", .geoPoint) == nil)
        #expect(value("[1]", .array) == .value([1]) && value("{}", .array) == nil)
        do {
            _ = try FieldInput("12l", for: field(.number))
            Issue.record("a number with a letter was taken")
        } catch { #expect(error.position == 2) }
    }

    @Test func whatIsTypedComesBack() throws {
        let values: [(FieldType, JSON)] = [
            (.string, "hola"), (.number, 1.5), (.boolean, false), (.array, [1, "x"]), (.object, ["a": 1]),
            (.date, ["__type": "Date", "iso": "2026-11-13T00:00:00.000Z"]),
            (.bytes, ["__type": "Bytes", "base64": "AAEC"]),
            (.pointer("Temas"), ["__type": "Pointer", "className": "Temas", "objectId": "x1"]),
            (.geoPoint, ["__type": "GeoPoint", "latitude": 1, "longitude": 2]),
            (.file, ["__type": "File", "name": "a.png"]),
        ]
        for (type, json) in values {
            let text = FieldInput.typed(json, for: field(type))
            #expect(try FieldInput(text, for: field(type)) == .value(json), "\(type)")
        }
    }
}
