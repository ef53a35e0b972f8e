import Postgres
import Schema
import Wire

/// The objects of one class as an export holds them: all that they have, passwords' hashes included.
public struct ObjectExport {
    /// Asks for all of them, in the order of their creation.
    public let sql: String
    private let schema: ClassSchema
    private let columns: [ResultSet.Column]
    private let hidden: [(name: String, column: String, type: FieldType)]

    private static let hiddenFields: [String: [(name: String, column: String, type: FieldType)]] = [
        "_User": [
            ("bcryptPassword", "_hashed_password", .string), ("_password_changed_at", "_password_changed_at", .date),
            ("_password_history", "_password_history", .array),
            ("_account_lockout_expires_at", "_account_lockout_expires_at", .date),
        ],
        "_Session": [("_token_digest", "_token_digest", .string)],
    ]

    public init(_ schema: ClassSchema) {
        self.schema = schema
        hidden = ObjectExport.hiddenFields[schema.name] ?? []
        columns = schema.columns.enumerated().map { ResultSet.Column($1, index: ResultSet.firstColumn + $0) }
        let isToken = { name in schema.name == "_Session" && name == "sessionToken" }
        let names =
            ["objectId", "createdAt", "updatedAt", "_rperm", "_wperm"] + schema.columns.map(\.name)
            + hidden.map(\.column)
        sql =
            "SELECT \(names.map { isToken($0) ? SessionToken.exported : quoted($0) }.joined(separator: ", ")) "
            + "FROM \(quoted(schema.name)) "
            + "ORDER BY \"createdAt\", \"objectId\""
    }

    /// Writes the objects of some rows, each with `before` in front of it.
    public func write(_ rows: Rows, before: (inout JSONWriter) -> Void, to out: inout JSONWriter) {
        let set = ResultSet(
            className: schema.name, columns: columns, relations: schema.relations.map { ($0.label, $0.target) },
            rows: rows)
        let first = ResultSet.firstColumn + columns.count
        for row in 0..<rows.count {
            before(&out)
            ObjectWriter.write(
                set, row, "",
                extra: { out in
                    for (index, field) in hidden.enumerated() where !rows.isNull(row, first + index) {
                        out.raw(",")
                        out.string(field.name)
                        out.raw(":")
                        ObjectWriter.scalar(rows, row, first + index, field.type, "", to: &out)
                    }
                }, to: &out)
        }
    }
}
