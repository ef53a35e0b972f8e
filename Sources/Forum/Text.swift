/// Texts as people mean them.
extension String {
    /// Nothing but blanks of any kind.
    var isBlank: Bool { unicodeScalars.allSatisfy(\.properties.isWhitespace) }

    /// Without blanks around it.
    var trimmed: String {
        var scalars = unicodeScalars[...]
        while scalars.first?.properties.isWhitespace == true { scalars.removeFirst() }
        while scalars.last?.properties.isWhitespace == true { scalars.removeLast() }
        return String(scalars)
    }

    /// Without blanks around it, and runs of blanks made one.
    var tidy: String { words.joined(separator: " ") }

    /// Whether the server sends mail to it: letters are ASCII, and nothing in it needs quotes.
    var isMailAddress: Bool {
        let parts = split(separator: "@", omittingEmptySubsequences: false)
        guard utf8.count <= 254, parts.count == 2, parts[0].utf8.count <= 64 else { return false }
        return parts[0].wholeMatch(of: /[A-Za-z0-9!#$%&'*+\/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+\/=?^_`{|}~-]+)*/) != nil
            && parts[1].wholeMatch(
                of: /[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*/)
                != nil
    }

    /// What lies between blanks.
    var words: [String] {
        unicodeScalars.split(whereSeparator: \.properties.isWhitespace).map(String.init)
    }

    /// As it is compared whatever case and accents; ñ is a letter of its own.
    var folded: String {
        var folded = ""
        for character in lowercased() {
            guard character != "ñ" else {
                folded.append("ñ")
                continue
            }
            for scalar in character.unicodeScalars where scalar.properties.generalCategory != .nonspacingMark {
                folded.unicodeScalars.append(Letters.plain[scalar] ?? scalar)
            }
        }
        return folded
    }
}

private enum Letters {
    /// Letters with marks and the letters that they are without: Unicode's names say it, `E WITH ACUTE`.
    static let plain: [Unicode.Scalar: Unicode.Scalar] = {
        var byName: [String: Unicode.Scalar] = [:]
        var marked: [(Unicode.Scalar, String)] = []
        // Latin, Greek and Cyrillic, as far as they have such letters.
        for range in [0x61...0x7A, 0xC0...0x24F, 0x370...0x3FF, 0x400...0x52F, 0x1E00...0x1FFF] {
            for value in range {
                guard let scalar = Unicode.Scalar(UInt32(value)), let name = scalar.properties.name else { continue }
                if let with = name.firstRange(of: " WITH ") {
                    marked.append((scalar, String(name[..<with.lowerBound])))
                } else {
                    byName[name] = scalar
                }
            }
        }
        var plain: [Unicode.Scalar: Unicode.Scalar] = [:]
        for (scalar, name) in marked where scalar != "ñ" { plain[scalar] = byName[name] }
        return plain
    }()
}
