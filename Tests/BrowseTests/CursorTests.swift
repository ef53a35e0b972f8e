import TestSupport
import Testing
import Wire

@testable import Browse

@Suite struct CursorTests {
    /// As a server would answer: a table of rows with a number `n`, or without.
    private struct Table {
        var rows: [JSONObject]

        private func number(_ row: JSONObject) -> Double? { row["n"]?.number }
        private func id(_ row: JSONObject) -> String { row["objectId"]?.string ?? "" }

        func find(_ condition: JSONObject, order: String, limit: Int) -> [JSONObject] {
            let found = rows.filter { matches($0, condition) }
            let keys = order.split(separator: ",").map(String.init)
            let sorted = found.sorted { one, other in
                for key in keys {
                    let isDescending = key.hasPrefix("-")
                    if key.hasSuffix("objectId"), id(one) != id(other) { return (id(one) < id(other)) != isDescending }
                    guard key.hasSuffix("n"), number(one) != number(other) else { continue }
                    return ((number(one) ?? .infinity) < (number(other) ?? .infinity)) != isDescending
                }
                return false
            }
            return Array(sorted.prefix(limit))
        }

        private func matches(_ row: JSONObject, _ condition: JSONObject) -> Bool {
            condition.members.allSatisfy { key, value in
                if key == "$or" { return value.array?.contains { matches(row, $0.object ?? JSONObject()) } ?? false }
                guard let constraints = value.object, constraints["__type"] == nil else { return row[key] == value }
                return constraints.members.allSatisfy { name, bound in
                    let there = row[key]
                    switch name {
                    case "$exists": return (there != nil) == bound.bool
                    case "$lt":
                        return compare(there, bound) {
                            $0 < $1
                        } text: {
                            $0 < $1
                        }
                    case "$gt":
                        return compare(there, bound) {
                            $0 > $1
                        } text: {
                            $0 > $1
                        }
                    case "$lte":
                        return compare(there, bound) {
                            $0 <= $1
                        } text: {
                            $0 <= $1
                        }
                    case "$gte":
                        return compare(there, bound) {
                            $0 >= $1
                        } text: {
                            $0 >= $1
                        }
                    default: return false
                    }
                }
            }
        }

        private func compare(
            _ one: JSON?, _ other: JSON, _ numbers: (Double, Double) -> Bool, text: (String, String) -> Bool
        ) -> Bool {
            if let one = one?.number, let other = other.number { return numbers(one, other) }
            if let one = one?.string, let other = other.string { return text(one, other) }
            return false
        }
    }

    private func readAll(_ table: Table, _ cursor: Cursor, _ generator: inout SeededGenerator) -> [JSONObject] {
        var cursor = cursor
        var all: [JSONObject] = []
        var pages = 0
        while let condition = cursor.condition, pages < 1000 {
            pages += 1
            // A server may give fewer than were asked for.
            let limit = Int.random(in: 1...5, using: &generator)
            let page = table.find(condition, order: cursor.order, limit: limit)
            all += page
            _ = cursor.take(page)
        }
        #expect(cursor.isAtEnd)
        return all
    }

    @Test(arguments: 0..<64 as Range<UInt64>)
    func pagesHoldEveryRowOnce(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let isEverywhere = Bool.random(using: &generator)
        let values = Int.random(in: 1...12, using: &generator)
        let table = Table(
            rows: (0..<Int.random(in: 0...40, using: &generator)).map { number in
                var row = JSONObject([("objectId", .string("id\(100 + number)"))])
                if isEverywhere || Int.random(in: 0...2, using: &generator) > 0 {
                    row["n"] = .number(Double(Int.random(in: 0..<values, using: &generator)))
                }
                return row
            })
        for field in ["n", "objectId"] {
            for isDescending in [false, true] {
                let sorting = Sorting(
                    field: field, isDescending: isDescending, isEverywhere: isEverywhere || field == "objectId")
                let expected = table.find(JSONObject(), order: sorting.order, limit: .max)
                #expect(readAll(table, Cursor(sorting), &generator) == expected)
                // From any row on, either way.
                for (index, row) in expected.enumerated() {
                    #expect(
                        readAll(table, Cursor(sorting, after: row), &generator)
                            == Array(expected[(index + 1)...]))
                    #expect(
                        readAll(table, Cursor(sorting.reversed, after: row), &generator)
                            == Array(expected[..<index].reversed()))
                }
            }
        }
    }

    @Test func theWalkIsBounded() {
        let row = JSONObject([("objectId", "Xk39dPq2Lm"), ("createdAt", "2026-11-19T08:02:00.000Z")])
        let date: JSON = ["__type": "Date", "iso": "2026-11-19T08:02:00.000Z"]
        let expected: JSON = [
            "createdAt": ["$lte": date], "$or": [["createdAt": ["$lt": date]], ["objectId": ["$lt": "Xk39dPq2Lm"]]],
        ]
        let cursor = Cursor(.newest, after: row)
        #expect(cursor.condition.map { .object($0) } == expected)
        #expect(cursor.order == "-createdAt,-objectId")
    }

    @Test func anImportOfOneMomentIsReadByItsIds() {
        var cursor = Cursor(.newest)
        let page = ["c", "b"].map {
            JSONObject([("objectId", .string($0)), ("createdAt", "2026-01-01T00:00:00.000Z")])
        }
        let date: JSON = ["__type": "Date", "iso": "2026-01-01T00:00:00.000Z"]
        let again = [cursor.take(page)]
        let among: JSON = ["objectId": ["$lt": "b"], "createdAt": date]
        #expect(cursor.condition.map { .object($0) } == among)
        let isDry = cursor.take([])
        let past: JSON = ["createdAt": ["$lt": date]]
        #expect(cursor.condition.map { .object($0) } == past)
        let isMore = cursor.take([])
        #expect(cursor.condition == nil && cursor.isAtEnd)
        #expect(again == [false] && isDry && !isMore)
    }
}
