import Testing

@testable import Wire

@Suite struct TimestampTests {
    @Test(arguments: [
        ("2024-02-29T23:59:59.999Z", "2024-02-29T23:59:59.999Z"),
        ("1969-07-20T20:17:40.000Z", "1969-07-20T20:17:40.000Z"),
        ("2024-03-01T10:20:30Z", "2024-03-01T10:20:30.000Z"), ("2024-03-01T10:20:30.5Z", "2024-03-01T10:20:30.500Z"),
        ("2024-03-01T10:20:30.000+02:00", "2024-03-01T08:20:30.000Z"),
        ("2024-03-01T10:20-0530", "2024-03-01T15:50:00.000Z"),
        ("2024-03-01T10:20:30.123456Z", "2024-03-01T10:20:30.123Z"), ("2024", "2024-01-01T00:00:00.000Z"),
        ("2024-07", "2024-07-01T00:00:00.000Z"), ("2024-07-09", "2024-07-09T00:00:00.000Z"),
        ("2024-07-09 01:02", "2024-07-09T01:02:00.000Z"), ("2024-12-31T24:00:00Z", "2025-01-01T00:00:00.000Z"),
        ("0000-01-01", "0000-01-01T00:00:00.000Z"), ("-000001-01-01T00:00:00Z", "-000001-01-01T00:00:00.000Z"),
        ("+010000-01-01T00:00:00Z", "+010000-01-01T00:00:00.000Z"),
        ("+275760-09-13T00:00:00.000Z", "+275760-09-13T00:00:00.000Z"),
    ])
    func isoDatesAreRead(text: String, printed: String) {
        #expect(Timestamp(iso: text)?.description == printed)
    }

    @Test(arguments: [
        "", "x", "20240301", "2024-1-1", "2024-13-01", "2024-02-30", "2023-02-29", "2024-03-01T", "2024-03-01T10",
        "2024-03-01T25:00", "2024-03-01T24:00:00.001Z", "2024-03-01T10:60", "2024-03-01T10:20:60Z",
        "2024-03-01T10:20:30.Z", "2024-03-01T10:20:30ZZ", "2024-03-01T10:20:30+2", "-000000-01-01", "+275760-09-14",
        "2024-03-01T10:20:30Z ", "28-2-1990", "١٩٩٠", "2024-03-01T10:20:30+24:00",
    ])
    func otherTextIsNoDate(text: String) {
        #expect(Timestamp(iso: text) == nil)
    }

    @Test func fixedPoints() {
        #expect(Timestamp(milliseconds: 0).description == "1970-01-01T00:00:00.000Z")
        #expect(Timestamp(milliseconds: -1).description == "1969-12-31T23:59:59.999Z")
        #expect(Timestamp(milliseconds: 1_704_067_200_000).description == "2024-01-01T00:00:00.000Z")
        #expect(Timestamp(milliseconds: -Timestamp.limit).description == "-271821-04-20T00:00:00.000Z")
        #expect(!Timestamp(milliseconds: .min).description.isEmpty)
        #expect(!Timestamp(milliseconds: .max).description.isEmpty)
    }
}
