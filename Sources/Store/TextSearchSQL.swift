import Wire

/// `$text`: full-text search by PostgreSQL's own dictionaries; all words must be there.
struct TextSearchSQL {
    let search: TextSearch
    private static let languages: [String: SQL] = [
        "es": "'spanish'", "spanish": "'spanish'", "en": "'english'", "english": "'english'", "fr": "'french'",
        "french": "'french'", "de": "'german'", "german": "'german'", "it": "'italian'", "italian": "'italian'",
        "pt": "'portuguese'", "portuguese": "'portuguese'", "none": "'simple'", "simple": "'simple'",
    ]

    init(_ search: TextSearch) { self.search = search }

    private func configuration() throws(ParseError) -> SQL {
        guard let language = search.language else { return "'english'" }
        guard let known = TextSearchSQL.languages[language.lowercased()] else {
            throw ParseError(102, "bad $text: $language \(language) is not known")
        }
        return known
    }

    func condition(_ operand: Operand) throws(ParseError) -> Condition {
        guard case .column(let column, .string) = operand else { return .never }
        let configuration = try configuration()
        return .when("to_tsvector(\(configuration), \(column)) @@ \(query(configuration))")
    }

    /// The relevance of a row, for `$score`.
    func score(_ column: SQL) throws(ParseError) -> SQL {
        let configuration = try configuration()
        return "ts_rank(to_tsvector(\(configuration), \(column)), \(query(configuration)))"
    }

    private func query(_ configuration: SQL) -> SQL {
        "plainto_tsquery(\(configuration), \(SQL.text(search.term)))"
    }
}
