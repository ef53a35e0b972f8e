import TestSupport

/// Texts as people store them, and as nobody should.
enum RandomTexts {
    private static let alphabets: [[Unicode.Scalar]] = [
        Array("abc XYZ 019 .,:;-_@\"\\'(){}[]=<>!~^".unicodeScalars),
        Array("\u{1B}[]0;\u{7}\u{8}\r\n\t\0\u{7F}\u{9B}\u{90}\u{85}".unicodeScalars),
        Array("\u{301}\u{300}\u{302}\u{20DD}\u{FE0F}\u{200D}\u{1F3FD}\u{E0067}\u{E007F}".unicodeScalars),
        Array("👩🚀❤🏴🇪🇸🫠漢字かな한글ﬁ\u{3000}".unicodeScalars),
        Array("שלום مرحبا ١٢٣\u{202E}\u{202D}\u{2066}\u{2069}\u{200F}\u{200B}\u{FEFF}\u{AD}\u{2028}".unicodeScalars),
        Array("áéñçßłж№€\u{10FFFF}\u{E000}\u{378}\u{1160}\u{11A8}".unicodeScalars),
    ]

    static func make(_ length: Int, _ generator: inout SeededGenerator) -> String {
        var text = String.UnicodeScalarView()
        while text.count < length {
            if Int.random(in: 0..<12, using: &generator) == 0,
                let any = Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &generator))
            {
                text.append(any)
                continue
            }
            let alphabet = alphabets[Int.random(in: 0..<alphabets.count, using: &generator)]
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                text.append(alphabet[Int.random(in: 0..<alphabet.count, using: &generator)])
            }
        }
        return String(text)
    }
}
