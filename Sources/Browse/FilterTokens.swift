import Wire

/// A part of a filter.
struct FilterToken: Equatable {
    enum Kind: Equatable {
        case word(String)
        case quoted(String)
        case symbol(String)
        case json(JSONObject)
        case end
    }
    var kind: Kind
    /// In characters.
    var start: Int
    var length: Int

    var word: String? { if case .word(let word) = kind { word } else { nil } }
    func isWord(_ word: String) -> Bool { kind == .word(word) }
    func isSymbol(_ symbol: String) -> Bool { kind == .symbol(symbol) }
}

enum FilterTokens {
    private static let symbols: [Character] = ["=", "!", "<", ">", "~", "(", ")", ","]

    /// The parts of a filter; the last one is always `.end`.
    static func read(_ text: String) throws(FilterFault) -> [FilterToken] {
        let characters = Array(text)
        var tokens: [FilterToken] = []
        var index = 0
        while index < characters.count {
            let start = index
            let character = characters[index]
            let next = index + 1 < characters.count ? characters[index + 1] : nil
            switch character {
            case _ where character.isWhitespace:
                index += 1
                continue
            case "\"": tokens.append(try quoted(characters, &index))
            case "{": tokens.append(try json(characters, &index))
            case "(", ")", ",", "~", "=":
                index += 1
                tokens.append(FilterToken(kind: .symbol(String(character)), start: start, length: 1))
            case "<", ">", "!", "^":
                let isPair = next == "="
                if !isPair, character == "!" || character == "^" {
                    throw FilterFault(
                        start, 1, "\(character) alone means nothing", suggestion: String(character) + "=")
                }
                index += isPair ? 2 : 1
                let symbol = String(characters[start..<index])
                tokens.append(FilterToken(kind: .symbol(symbol), start: start, length: index - start))
            default:
                while index < characters.count, !endsWord(characters, index) { index += 1 }
                let word = String(characters[start..<index])
                tokens.append(FilterToken(kind: .word(word), start: start, length: index - start))
            }
        }
        tokens.append(FilterToken(kind: .end, start: characters.count, length: 0))
        return tokens
    }

    private static func endsWord(_ characters: [Character], _ index: Int) -> Bool {
        let character = characters[index]
        if character == "^" { return index + 1 < characters.count && characters[index + 1] == "=" }
        return character.isWhitespace || character == "\"" || symbols.contains(character)
    }

    /// `\"` and `\\` stand for themselves.
    private static func quoted(_ characters: [Character], _ index: inout Int) throws(FilterFault) -> FilterToken {
        let start = index
        var text = ""
        index += 1
        while index < characters.count {
            let character = characters[index]
            index += 1
            if character == "\"" {
                return FilterToken(kind: .quoted(text), start: start, length: index - start)
            }
            if character == "\\", index < characters.count, "\"\\".contains(characters[index]) {
                text.append(characters[index])
                index += 1
            } else {
                text.append(character)
            }
        }
        throw FilterFault(start, index - start, "the quote is not closed")
    }

    /// Up to the brace that closes it.
    private static func json(_ characters: [Character], _ index: inout Int) throws(FilterFault) -> FilterToken {
        let start = index
        var depth = 0
        var isQuoted = false
        while index < characters.count {
            let character = characters[index]
            index += 1
            switch character {
            case "\\" where isQuoted: index += 1
            case "\"": isQuoted.toggle()
            case "{" where !isQuoted: depth += 1
            case "}" where !isQuoted:
                depth -= 1
                guard depth == 0 else { continue }
                let text = String(characters[start..<index])
                do {
                    let condition = try JSONParser.parse(text).object ?? JSONObject()
                    _ = try Predicate.parse(condition, internalKeys: true)
                    return FilterToken(kind: .json(condition), start: start, length: index - start)
                } catch { throw FilterFault(start, index - start, error.message) }
            default: break
            }
        }
        throw FilterFault(start, characters.count - start, "the brace is not closed")
    }
}
