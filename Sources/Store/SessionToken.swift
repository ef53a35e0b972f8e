import Postgres
import Schema
import Wire

/// The token of a session as it lies in the database, where the option `hashSessionTokens` says so: its digest, by
/// which it is found, and beside it the token itself, sealed under a key that is not in the database, for lists of
/// sessions. Who reads the database, or a dump of it, can't log in with either.
public enum SessionToken {
    /// What stands before a sealed one. It begins as all tokens do, for queries that ask for that.
    private static let mark = "r:sealed."
    private static let context = "a session's token"

    /// SHA-256 of a token. It has 128 random bits, so it needs no salt.
    public static func digest(_ token: String) -> String { Digest.sha256(token) }

    public static func seal(_ token: String, with seal: Seal) -> String {
        mark + Base64.encode(seal.seal(Array(token.utf8), for: context))
    }

    /// What a client is shown; nil where it cannot be read, as after another master key.
    static func shown(_ stored: String, _ seal: Seal?) -> String? {
        guard stored.hasPrefix(mark) else { return stored }
        guard let seal, let box = Base64.decode(String(stored.dropFirst(mark.count))) else { return nil }
        return seal.open(box, for: context).map { String(decoding: $0, as: UTF8.self) }
    }

    /// A constraint on the field `sessionToken` that names whole tokens: they are found by their digests, those that
    /// lie there in clear as they are. nil for every other constraint.
    static func condition(_ constraint: Constraint, on table: TableReference) -> Condition? {
        switch constraint {
        case .equal(.string(let token)): isAny(of: [token], table)
        case .notEqual(.string(let token)): isAny(of: [token], table).isNotTrue
        case .isIn(let values): isAny(of: tokens(values), table)
        case .notIn(let values): isAny(of: tokens(values), table).isNotTrue
        default: nil
        }
    }

    private static func tokens(_ values: [Value]) -> [String] {
        values.compactMap { if case .string(let token) = $0 { token } else { nil } }
    }

    private static func isAny(of tokens: [String], _ table: TableReference) -> Condition {
        let (clear, digest) = (table.column("sessionToken"), table.column("_token_digest"))
        return .any([
            .when("\(digest) = ANY(\(SQL.texts(tokens.map(SessionToken.digest))))"),
            .all([.when("\(clear) = ANY(\(SQL.texts(tokens)))"), .when("\(digest) IS NULL")]),
        ])
    }

    /// The column as an export holds it: one that is sealed is of use to nobody.
    static let exported = "CASE WHEN \"_token_digest\" IS NULL THEN \"sessionToken\" END"
}
