import Schema
import Wire

/// `$text`: full-text search by PostgreSQL's own dictionaries; all words must be there.
///
/// Without `$language` it is English; where the field has an index of two languages (`text:es+en`), both at once, and
/// with it the one of them, accents ignored.
struct TextSearchSQL {
    let search: TextSearch
    /// The languages of the field's index, where it is of two.
    private let both: [SQL]
    private static let languages: [String: SQL] = [
        "es": "'spanish'", "spanish": "'spanish'", "en": "'english'", "english": "'english'", "fr": "'french'",
        "french": "'french'", "de": "'german'", "german": "'german'", "it": "'italian'", "italian": "'italian'",
        "pt": "'portuguese'", "portuguese": "'portuguese'", "none": "'simple'", "simple": "'simple'",
    ]

    init(_ search: TextSearch, of field: String, _ schema: ClassSchema) {
        self.search = search
        both =
            schema.indexes.lazy.compactMap { index -> [SQL]? in
                guard let kind = index.definition.object?[field]?.string, kind.hasPrefix("text:"),
                    let pair = TextDictionary.pair(String(kind.dropFirst(5))), pair.count == 2
                else { return nil }
                return pair.compactMap { TextSearchSQL.languages[$0.rawValue] }
            }.first ?? []
    }

    private func configuration() throws(ParseError) -> SQL? {
        guard let language = search.language else { return nil }
        guard let known = TextSearchSQL.languages[language.lowercased()] else {
            throw ParseError(102, "bad $text: $language \(language) is not known")
        }
        return known
    }

    func condition(_ operand: Operand) throws(ParseError) -> Condition {
        guard case .column(let column, .string) = operand else { return .never }
        let (words, query) = try sides(column)
        return .when("\(words) @@ \(query)")
    }

    /// The relevance of a row, for `$score`.
    func score(_ column: SQL) throws(ParseError) -> SQL {
        let (words, query) = try sides(column)
        return "ts_rank(\(words), \(query))"
    }

    private func sides(_ column: SQL) throws(ParseError) -> (words: SQL, query: SQL) {
        let asked = try configuration()
        let term = SQL.text(search.term)
        guard both.count == 2 else {
            let configuration = asked ?? "'english'"
            return ("to_tsvector(\(configuration), \(column))", "plainto_tsquery(\(configuration), \(term))")
        }
        let queries = (asked.map { [$0] } ?? both).map { "plainto_tsquery(\($0), hermes_fold(\(term)))" as SQL }
        return (
            "hermes_words(\(column), \(both[0]), \(both[1]))",
            queries.count == 2 ? "(\(queries[0]) || \(queries[1]))" : queries[0]
        )
    }
}
