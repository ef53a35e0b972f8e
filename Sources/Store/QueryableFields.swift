import Schema
import Wire

/// Refuses queries that would tell of protected fields.
struct QueryableFields {
    let access: Access
    let schema: SchemaSnapshot

    /// Throws 119 for a protected field in the conditions, at any depth, or in the order.
    func check(_ predicate: Predicate, _ order: [Order], on table: ClassSchema) throws(ParseError) {
        guard !access.viewer.isAboveAccess else { return }
        let protected = access.protectedFields(of: table).any
        guard !protected.isEmpty else { return }
        try check(predicate, protected, table)
        for key in order where protected.contains(key.path.field) { throw refusal(key.path.field, table) }
    }

    private func check(_ predicate: Predicate, _ protected: Set<String>, _ table: ClassSchema) throws(ParseError) {
        switch predicate {
        case .and(let parts), .or(let parts), .nor(let parts):
            for part in parts { try check(part, protected, table) }
        case .field(let path, _):
            if protected.contains(path.field) { throw refusal(path.field, table) }
        case .relatedTo: break
        }
    }

    private func refusal(_ field: String, _ table: ClassSchema) -> ParseError {
        ParseError(119, access.refusal("This user is not allowed to query \(field) on class \(table.name)"))
    }
}
