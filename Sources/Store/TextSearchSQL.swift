import Wire

/// `$text`: full-text search by PostgreSQL's own dictionaries; all words must be there.
struct TextSearchSQL {
    let search: TextSearch
    private static let languages: [String: StaticString] = [
        "es": "'spanish'", "spanish": "'spanish'", "en": "'english'", "english": "'english'", "fr": "'french'",
        "french": "'french'", "de": "'german'", "german": "'german'", "it": "'italian'", "italian": "'italian'",
        "pt": "'portuguese'", "portuguese": "'portuguese'", "none": "'simple'", "simple": "'simple'",
    ]

    init(_ search: TextSearch) { self.search = search }

    private func configuration() throws(ParseError) -> StaticString {
        guard let language = search.language else { return "'english'" }
        guard let known = TextSearchSQL.languages[language.lowercased()] else {
            throw ParseError(102, "bad $text: $language \(language) is not known")
        }
        return known
    }

    func condition(_ operand: Operand, _ sql: SQLContext) throws(ParseError) -> String {
        guard case .column(let column, .string) = operand else { return "false" }
        let configuration = try configuration()
        return "to_tsvector(\(configuration), \(column)) @@ plainto_tsquery(\(configuration), \(sql.text(search.term)))"
    }

    /// The relevance of a row, for `$score`.
    func score(_ operand: Operand, _ sql: SQLContext) throws(ParseError) -> String {
        guard case .column(let column, .string) = operand else { return "0" }
        let configuration = try configuration()
        return
            "ts_rank(to_tsvector(\(configuration), \(column)), plainto_tsquery(\(configuration), \(sql.text(search.term))))"
    }
}
