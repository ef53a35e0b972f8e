import TestSupport
import Testing

@testable import Browse

@Suite struct SafeTextTests {
    @Test(arguments: [
        ("El Camino", "El Camino", 9),
        ("Mate\u{1B}]52;c;x\u{7}", "Mate^[]52;c;x^G", 15),
        ("a\nb\tc\rd\u{7F}\0", "a\\nb\\tc\\rd^?^@", 14),
        ("\u{9B}31m", "<9B>31m", 7),
        ("abc\u{202E}fdp.exe", "abc<202E>fdp.exe", 16),
        ("漢字", "漢字", 4),
        ("👩\u{200D}🚀 y", "👩 y", 4),
        ("👍🏽", "👍", 2),
        ("🇪🇸", "ES", 2),
        ("❤\u{FE0F}", "❤", 1),
        ("e\u{301}", "e\u{301}", 1),
        ("\u{301}x", "<301>x", 6),
        ("a\u{200D}b", "a<200D>b", 8),
        ("👩\u{200D}", "👩<200D>", 8),
        ("x\u{3000}y\u{A0}z", "x  y z", 6),
        ("שלום", "ש\u{200E}ל\u{200E}ו\u{200E}ם\u{200E}", 4),
        ("", "", 0),
    ])
    func storedTextsAreShown(_ stored: String, _ shown: String, _ width: Int) {
        let text = SafeText(stored)
        #expect(Array(text.text.unicodeScalars) == Array(shown.unicodeScalars))
        #expect(text.width == width)
        #expect(!text.isClipped)
    }

    @Test func noMoreThanTwoMarksStayOnACharacter() {
        let text = SafeText("Z" + String(repeating: "\u{301}", count: 10_000) + "!")
        #expect(text.text.unicodeScalars.count == 4)
        #expect(text.width == 2)
    }

    @Test func longTextsAreClippedAtWholeCharacters() {
        #expect(SafeText("abcdef", width: 6).text == "abcdef")
        #expect(SafeText("abcdefg", width: 6).text == "abcde…")
        #expect(SafeText("漢漢漢", width: 5).text == "漢漢…")
        #expect(SafeText("漢漢漢", width: 4).text == "漢…")
        #expect(SafeText("\u{1B}\u{1B}", width: 3).text == "^[…")
        #expect(SafeText("漢", width: 1).text == "…")
        let marks = SafeText("e" + String(repeating: "\u{301}", count: 1 << 20), width: 10)
        #expect(marks.isClipped && marks.text.hasSuffix("…"))
    }

    @Test(arguments: 0..<64 as Range<UInt64>)
    func nothingStoredReachesTheTerminal(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<40 {
            let stored = RandomTexts.make(Int.random(in: 0...60, using: &generator), &generator)
            let limit = Int.random(in: 1...50, using: &generator)
            let text = SafeText(stored, width: limit)
            #expect(text.width <= limit && text.width == text.pieces.reduce(0) { $0 + $1.width })
            #expect(text.pieces.allSatisfy { $0.width >= 1 && $0.text.unicodeScalars.count <= 9 })
            let isHarmless = text.pieces.allSatisfy { piece in
                var scalars = Array(piece.text.unicodeScalars)
                // The one format character that we put in ourselves.
                if scalars.last == "\u{200E}" { scalars.removeLast() }
                return !scalars.contains { $0.isHidden }
            }
            #expect(isHarmless, "\(stored.unicodeScalars.map(\.value))")
            #expect(SafeText(stored).pieces.prefix(max(0, text.pieces.count - 1)) == text.pieces.dropLast())
        }
    }

    @Test func everyCharacterIsShownOrNamed() {
        // Where a run of one kind begins or ends is where a table is wrong.
        let edges = CharacterKind.table.flatMap { [$0 >> 3, ($0 >> 3) + 1, max(1, $0 >> 3) - 1] }
        for value in edges + Array(stride(from: 0, through: 0x10FFFF, by: 257)) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = SafeText(String(Character(scalar)))
            guard CharacterKind(scalar) != .selector else { continue }
            #expect(text.width >= 1)
            if text.pieces.contains(where: \.isCode) { continue }
            let category = scalar.properties.generalCategory
            #expect(category != .control && category != .format && category != .surrogate)
        }
    }
}
