/// Which names classes and fields may bear.
public enum Names {
    /// A letter, then letters, digits and `_`, all of them ASCII; `className` and `length` are taken.
    public static func isField(_ name: String) -> Bool {
        isIdentifier(name) && name != "className" && name != "length"
    }

    /// As a field's, or one of the protocol's own (`_User`, `_Role`, …, `_Join:field:Class`).
    public static func isClass(_ name: String) -> Bool {
        if name.utf8.first == UInt8(ascii: "_") {
            return system.contains(name) || isJoin(name)
        }
        return isField(name)
    }

    public static let system: Set<String> = [
        "_User", "_Installation", "_Role", "_Session", "_Product", "_PushStatus", "_JobStatus", "_JobSchedule",
        "_Audience", "_Idempotency", "_Hooks", "_GlobalConfig", "_GraphQLConfig",
    ]

    public static func invalidClass(_ name: String) -> ParseError {
        ParseError(
            ParseError.Code.invalidClassName,
            "Invalid classname: \(ParseError.clipped(name)), classnames can only have alphanumeric characters and _, and must start "
                + "with an alpha character ")
    }

    static func isIdentifier(_ name: String) -> Bool {
        var utf8 = name.utf8.makeIterator()
        guard let first = utf8.next(), isLetter(first) else { return false }
        while let byte = utf8.next() {
            guard isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "_") else { return false }
        }
        return true
    }

    private static func isJoin(_ name: String) -> Bool {
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 3 && parts[0] == "_Join" && isIdentifier(String(parts[1])) && isClass(String(parts[2]))
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        let lower = byte | 0x20
        return lower >= UInt8(ascii: "a") && lower <= UInt8(ascii: "z")
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
}

extension FieldPath {
    /// Splits at the dots; says nothing of whether the names can be.
    public init(text: String) {
        guard text.utf8.contains(UInt8(ascii: ".")) else {
            self.init(field: text)
            return
        }
        var parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        self.init(field: parts.removeFirst(), rest: parts)
    }
}
