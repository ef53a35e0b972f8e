import Core
import Postgres
import TestSupport
import Testing

/// Values go to PostgreSQL and come back as they were.
@Suite struct TypeTests {
    @Test func doublesKeepEveryBit() async throws {
        try await TestDatabase.make().withDatabase { _, database in
            var values: [Double] = [
                0, -0.0, 0.1, 1e21, -1e-7, .greatestFiniteMagnitude, .leastNormalMagnitude, .leastNonzeroMagnitude,
                .infinity, -.infinity, 9_007_199_254_740_992,
            ]
            var generator = SystemRandomNumberGenerator()
            while values.count < 2000 {
                let value = Double(bitPattern: generator.next())
                if !value.isNaN { values.append(value) }
            }
            let single = try await database.read("SELECT $1::float8, $2::float8", [.double(-0.0), .double(.nan)])
            #expect(single.double(0, 0).sign == .minus)
            #expect(single.double(0, 1).isNaN)
            let rows = try await database.read("SELECT $1::float8[]", [.doubleArray(values)])
            #expect(rows.doubleArray(0, 0).map { $0?.bitPattern } == values.map { $0.bitPattern })
        }
    }

    @Test func integersBooleansAndNull() async throws {
        try await TestDatabase.make().withDatabase { _, database in
            let rows = try await database.read(
                "SELECT $1::int8, $2::int8, $3::int4, $4::int2, $5::bool, $6::bool, $7::text, $8::int8[], $9::oid",
                [
                    .int(.max), .int(.min), .int(-7), .int(-1), .bool(true), .bool(false), .null,
                    .intArray([1, -2, .max]), .int(4_000_000_000),
                ])
            #expect((0..<4).map { rows.int(0, $0) } == [.max, .min, -7, -1])
            #expect(rows.bool(0, 4))
            #expect(!rows.bool(0, 5))
            #expect(rows.isNull(0, 6))
            #expect(rows.optionalString(0, 6) == nil)
            #expect(rows.intArray(0, 7) == [1, -2, .max])
        }
    }

    @Test func textAndItsArraysKeepEveryCharacter() async throws {
        try await TestDatabase.make().withDatabase { _, database in
            let texts = [
                "", "plain", "with \"quotes\" and \\ and , and { }", "NULL", "null", " spaces ", "line\nbreak\ttab",
                "ñandú 你好 🏔️", "\u{1}\u{7f}",
            ]
            for text in texts {
                let rows = try await database.read("SELECT $1::text, $2::text", [.text(text), .utf8(Array(text.utf8))])
                #expect(rows.string(0, 0) == text)
                #expect(rows.string(0, 1) == text)
            }
            let elements: [String?] = texts + [nil]
            let rows = try await database.read("SELECT $1::text[], $2::text[]", [.textArray(elements), .textArray([])])
            #expect(rows.textArray(0, 0) == elements)
            #expect(rows.textArray(0, 1) == [])
        }
    }

    @Test func timestampsKeepTheirMilliseconds() async throws {
        try await TestDatabase.make().withDatabase { _, database in
            var moments: [Int64] = [
                0, -1, 1, 946_684_799_999, 951_782_400_000, 253_402_300_799_999, -62_135_596_800_001,
                -62_135_596_800_000, -200_000_000_000_000, 8_000_000_000_000_000,
            ]
            for _ in 0..<300 { moments.append(Int64.random(in: -62_135_596_800_000...253_402_300_799_999)) }
            for moment in moments {
                let rows = try await database.read("SELECT $1::timestamptz", [.timestamp(milliseconds: moment)])
                #expect(rows.timestampMilliseconds(0, 0) == moment)
            }
            let infinite = try await database.read("SELECT 'infinity'::timestamptz, '-infinity'::timestamptz")
            #expect(infinite.timestampMilliseconds(0, 0) == .max)
            #expect(infinite.timestampMilliseconds(0, 1) == .min)
        }
    }

    @Test func bytesJsonPointsAndOthers() async throws {
        try await TestDatabase.make().withDatabase { _, database in
            let bytes = (0...255).map { UInt8($0) }
            let polygon = [Point(x: 0, y: 0), Point(x: 1.5, y: 0), Point(x: 1, y: -1e-9)]
            let rows = try await database.read(
                "SELECT $1::bytea, $2::jsonb, $3::point, $4::polygon, $5::uuid, $2::json",
                [
                    .bytes(bytes), .text("{\"a\": [1, \"ü\"]}"), .point(x: -70.5, y: 1e-300), .polygon(polygon),
                    .text("01234567-89AB-cdef-0123-456789abcdef"),
                ])
            #expect(Array(rows.bytes(0, 0)) == bytes)
            #expect(String(decoding: rows.json(0, 1), as: UTF8.self) == "{\"a\": [1, \"ü\"]}")
            #expect(String(decoding: rows.json(0, 5), as: UTF8.self) == "{\"a\": [1, \"ü\"]}")
            #expect(rows.point(0, 2) == Point(x: -70.5, y: 1e-300))
            #expect(rows.polygon(0, 3) == polygon)
            #expect(rows.uuid(0, 4) == "01234567-89ab-cdef-0123-456789abcdef")
        }
    }

    @Test func textIsOrderedByCodePoint() async throws {
        try await TestDatabase.make().withDatabase { _, database in
            let rows = try await database.read(
                "SELECT array_agg(word ORDER BY word), upper('ñ') FROM unnest($1::text[]) AS word",
                [.textArray(["b", "a", "B", "Z", "é", "z", "_"])])
            #expect(rows.textArray(0, 0) == ["B", "Z", "_", "a", "b", "z", "é"])
            #expect(rows.string(0, 1) == "Ñ")
        }
    }

    @Test func aColumnOfAnotherTypeIsToldBeforeItIsRead() async throws {
        try await TestDatabase.make().withDatabase { _, database in
            let rows = try await database.read("SELECT 1::float8, now(), NULL::int8")
            try rows.require([.float8, .timestamptz, .int8])
            try rows.require([.timestamptz], from: 1)
            // Of the same length, so that nothing else would show it.
            let error = await failure(of: { try rows.require([.int8]) })
            #expect((error as? PostgresError)?.kind == .resultType)
            #expect((error as? PostgresError)?.meansSchemaChanged == true)
            expect(await failure(of: { try rows.require([.int8], from: 3) }), is: PostgresError.self)
            #expect(rows.int(0, 2) == 0)
        }
    }

    @Test func aValueReadAsAnotherTypeEndsADebugBuild() async {
        await #expect(processExitsWith: .failure) {
            let database = try await TestDatabase.make()
            try await database.withDatabase { _, database in
                _ = try await database.read("SELECT 'words'").int(0, 0)
            }
        }
    }

    @Test func anErrorThatIsPrintedTellsNothingOfARow() async throws {
        let shared = try await TestDatabase.make()
        try await shared.execute("CREATE TABLE person (email text UNIQUE)")
        try await shared.withDatabase { _, database in
            _ = try await database.write("INSERT INTO person VALUES ('ana@example.org')")
            let error = await failure(of: { try await database.write("INSERT INTO person VALUES ('ana@example.org')") })
            let refused = try #require(error as? PostgresError)
            #expect(refused.detail?.contains("ana@example.org") == true)
            for text in ["\(refused)", String(reflecting: refused), refused.localizedDescription] {
                #expect(!text.contains("ana@example.org"))
            }
            var dumped = ""
            dump(refused, to: &dumped)
            #expect(!dumped.contains("ana@example.org"))
        }
    }
}
