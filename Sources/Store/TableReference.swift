import Schema

/// A class within a statement, under its alias. `Access` makes them, since who asks decides what may be looked at.
struct TableReference {
    let schema: ClassSchema
    let alias: SQL
    /// A query may not ask for what lets users in: their authData is as if it were not there.
    let hidesCredentials: Bool

    fileprivate init(schema: ClassSchema, alias: SQL, hidesCredentials: Bool) {
        self.schema = schema
        self.alias = alias
        self.hidesCredentials = hidesCredentials
    }

    func column(_ name: String) -> SQL { "\(alias).\(name: name)" }

    /// `"Temas" t0`, as it stands behind FROM.
    var source: SQL { "\(name: schema.name) \(alias)" }
}

/// Gives out the table aliases of one statement: `t0`, `t1`…
final class Aliases {
    private var count = 0

    func next() -> SQL {
        defer { count += 1 }
        return "t\(number: count)"
    }
}

extension Access {
    /// A class within a statement, under its alias.
    func table(_ schema: ClassSchema, _ alias: SQL) -> TableReference {
        TableReference(schema: schema, alias: alias, hidesCredentials: !viewer.isAboveAccess)
    }
}
