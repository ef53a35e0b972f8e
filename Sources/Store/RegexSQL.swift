import Wire

/// A client's regular expression in PostgreSQL's dialect (advanced regular expressions).
///
/// Parse clients write PCRE as MongoDB takes it. What differs and can be said in both is translated: `\Q…\E`, `\b`,
/// the meaning of `.`, `^` and `$` without the options m and s.
struct Regex {
    let pattern: String
    let options: RegexOptions

    func condition(_ operand: Operand) -> Condition {
        let (options, body) = translation
        var pattern = SQL.text(body)
        // The columns' own collation knows the case of ASCII letters only.
        if options.contains(.ignoreCase) { pattern += " COLLATE \"und-x-icu\"" }
        switch operand {
        case .column(let column, .string), .column(let column, .file), .column(let column, .pointer):
            return .when("\(column) ~ \(pattern)")
        case .column(let column, .array): return .when(element(of: column, pattern))
        case .json(let expression):
            return .when(
                """
                CASE jsonb_typeof(\(expression)) WHEN 'string' THEN (\(expression) #>> '{}') ~ \(pattern) \
                WHEN 'array' THEN \(element(of: expression, pattern)) END
                """)
        default: return .never
        }
    }

    private func element(of list: SQL, _ pattern: SQL) -> SQL {
        """
        EXISTS (SELECT FROM jsonb_array_elements(\(list)) e (e) \
        WHERE jsonb_typeof(e) = 'string' AND (e #>> '{}') ~ \(pattern))
        """
    }

    /// The pattern, and the options with those that it sets itself.
    private var translation: (RegexOptions, String) {
        var options = self.options
        var rest = Substring(pattern)
        // `(?i)` at the very start is the same as the option.
        if rest.hasPrefix("(?"), let end = rest.firstIndex(of: ")"), rest.index(rest.startIndex, offsetBy: 2) < end {
            let letters = rest[rest.index(rest.startIndex, offsetBy: 2)..<end]
            if letters.allSatisfy({ "imsx".contains($0) }) {
                if letters.contains("i") { options.insert(.ignoreCase) }
                if letters.contains("m") { options.insert(.multiline) }
                if letters.contains("s") { options.insert(.dotMatchesNewline) }
                if letters.contains("x") { options.insert(.extended) }
                rest = rest[rest.index(after: end)...]
            }
        }
        var letters = options.contains(.ignoreCase) ? "i" : "c"
        switch (options.contains(.multiline), options.contains(.dotMatchesNewline)) {
        case (false, false): letters += "p"
        case (false, true): letters += "s"
        case (true, false): letters += "n"
        case (true, true): letters += "w"
        }
        if options.contains(.extended) { letters += "x" }
        // `***:` says that what follows is an advanced regular expression, whatever it looks like.
        return (options, "***:(?\(letters))" + body(rest))
    }

    private func body(_ pattern: Substring) -> String {
        var out = ""
        var characters = pattern.unicodeScalars.makeIterator()
        var quoting = false
        var inBrackets = false
        while let scalar = characters.next() {
            if scalar == "\\" {
                guard let next = characters.next() else {
                    out += "\\\\"
                    break
                }
                if quoting {
                    if next == "E" {
                        quoting = false
                    } else {
                        out += "\\\\"
                        append(quoted: next, to: &out)
                    }
                } else {
                    switch next {
                    case "Q": quoting = true
                    case "E": break
                    case "b" where !inBrackets: out += "\\y"
                    case "B" where !inBrackets: out += "\\Y"
                    case "z", "Z": out += "\\Z"
                    case "h": out += "[ \\t]"
                    default:
                        out += "\\"
                        out.unicodeScalars.append(next)
                    }
                }
            } else if quoting {
                append(quoted: scalar, to: &out)
            } else {
                if scalar == "[" { inBrackets = true }
                if scalar == "]" { inBrackets = false }
                out.unicodeScalars.append(scalar)
            }
        }
        return out
    }

    private func append(quoted scalar: Unicode.Scalar, to out: inout String) {
        if scalar.isASCII, !scalar.properties.isAlphabetic, !("0"..."9").contains(Character(scalar)), scalar != "_" {
            out += "\\"
        }
        out.unicodeScalars.append(scalar)
    }
}
