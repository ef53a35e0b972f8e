import Wire

/// Options as texts: for messages, flags and the documentation.
enum OptionText {
    /// A value quoted in a message, cut where it is long.
    static func short(_ json: JSON) -> String {
        let text = json.description
        return text.count <= 60 ? text : text.prefix(57) + "..."
    }

    /// Reads a flag whose option takes a list of objects or an object.
    static func json(_ text: String) throws(OptionFault) -> JSON {
        do { return try JSONParser.parse(text) } catch {
            throw OptionFault("must be JSON: \(JSONFaultPlace.told(text) ?? error.message)")
        }
    }

    /// `requestComplexity.queryDepth` as a flag's name: `request-complexity-query-depth`.
    static func flag(_ name: String) -> String { words(name).joined(separator: "-") }

    /// `requestComplexity.queryDepth` as an environment variable: `HERMES_REQUEST_COMPLEXITY_QUERY_DEPTH`.
    static func variable(_ name: String) -> String { "HERMES_" + words(name).joined(separator: "_").uppercased() }

    /// The words of a name in camel case, in small letters; a row of capitals is one word (`databaseURI`).
    private static func words(_ name: String) -> [String] {
        var words = [""]
        var previous: Character = "."
        for (index, letter) in zip(name.indices, name) {
            let next = name.index(after: index)
            let startsWord =
                letter.isUppercase && previous != "."
                && (!previous.isUppercase || (next < name.endIndex && name[next].isLowercase))
            if letter == "." || startsWord, words.last != "" { words.append("") }
            if letter != "." { words[words.count - 1] += letter.lowercased() }
            previous = letter
        }
        return words
    }
}
