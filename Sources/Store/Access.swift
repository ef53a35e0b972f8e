import Schema
import Wire

/// What a viewer may do with one class, decided before any SQL; what depends on the row becomes a predicate.
struct Access {
    let viewer: Viewer
    /// How refusals read (`enableSanitizedErrorResponse`).
    let sanitizesErrors: Bool
    /// Who asks, as ACLs name it: one parameter, wherever a statement looks at an ACL.
    private let principals: SQL

    init(viewer: Viewer, sanitizesErrors: Bool) {
        self.viewer = viewer
        self.sanitizesErrors = sanitizesErrors
        principals = SQL.texts(viewer.principals)
    }

    enum Rows {
        /// No condition but the ACL.
        case acl
        /// The ACL, and one of these fields names the viewer.
        case pointers([String])
        /// Nothing at all.
        case none
    }

    /// Throws 119 (or 101 where the class asks for a user) when the class is closed to the viewer.
    ///
    /// `creating`: an `addField` that comes with a create, which no pointer can grant. `byRule`: a rule of the server
    /// asks, not a client.
    func decide(
        _ operation: ClassPermissions.Operation, on schema: ClassSchema, creating: Bool = false, byRule: Bool = false
    ) throws(ParseError) -> Rows {
        guard !viewer.isAboveAccess else { return .acl }
        if !byRule, schema.name == "_Installation", operation == .find || operation == .count || operation == .delete {
            throw ParseError(
                119,
                refusal(
                    "Clients aren't allowed to perform the \(operation.rawValue) operation on the installation collection."
                ))
        }
        let grant = schema.permissions.grant(operation)
        if grant.everybody
            || (!grant.principals.isEmpty && viewer.principals.contains(where: grant.principals.contains))
        {
            return .acl
        }
        let pointers = schema.permissions.pointerFields(operation)
        if grant.requiresAuthentication {
            guard viewer.userId != nil else {
                throw ParseError(101, refusal("Permission denied, user needs to be authenticated."))
            }
            return pointers.isEmpty ? .acl : .pointers(pointers)
        }
        let grouped = operation.isRead ? schema.permissions.readUserFields : schema.permissions.writeUserFields
        let mayBePointer =
            operation != .create
            && (!grouped.isEmpty || !grant.pointerFields.isEmpty && !(operation == .addField && creating))
        guard mayBePointer else {
            throw ParseError(
                119, refusal("Permission denied for action \(operation.rawValue) on class \(schema.name)."))
        }
        return viewer.userId == nil ? .none : .pointers(pointers)
    }

    func refusal(_ message: String) -> String { sanitizesErrors ? "Permission denied" : message }

    /// Throws 103 for a name that no class can have, 119 for the server's own classes.
    func checkReachable(_ className: String) throws(ParseError) {
        try Names.checkClass(className)
        guard !viewer.isAboveAccess else { return }
        if DefaultFields.closedSystemClasses.contains(className) || Names.isJoinClass(className) {
            throw ParseError(119, refusal("Clients aren't allowed to perform that operation on \(className)."))
        }
    }

    // MARK: rows

    enum RowAccess { case read, write }

    /// The condition on a row of `table`.
    func condition(_ access: RowAccess, _ rows: Rows, on table: TableReference) -> Condition {
        guard !viewer.isAboveAccess else { return .always }
        if case .none = rows { return .never }
        var conditions: [Condition] = []
        if table.schema.name == "_Session" {
            // Sessions carry no ACL: each user has its own.
            guard let userId = viewer.userId else { return .never }
            conditions.append(.when("\(table.column("user")) = \(SQL.text(userId))"))
        } else {
            let column = table.column(access == .read ? "_rperm" : "_wperm")
            conditions.append(.when("(\(column) IS NULL OR \(column) &&~ \(principals))"))
        }
        if case .pointers(let fields) = rows {
            guard let userId = viewer.userId else { return .never }
            conditions.append(.any(fields.map { names(userId, field: $0, of: table) }))
        }
        return .all(conditions)
    }

    /// Whether `field` names the user: as a pointer, or within an array.
    private func names(_ userId: String, field: String, of table: TableReference) -> Condition {
        switch table.schema.fields[field]?.type {
        case .pointer: .when("\(table.column(field)) IS NOT DISTINCT FROM \(SQL.text(userId))")
        case .array:
            .when(
                """
                coalesce(\(table.column(field)) @> jsonb_build_array(jsonb_build_object(\
                '__type', 'Pointer', 'className', '_User', 'objectId', \(SQL.text(userId)))), false)
                """)
        default: .never
        }
    }

    // MARK: protected fields

    /// Which fields of a class are hidden from the viewer.
    struct ProtectedFields {
        /// The sets that apply whatever the row: their intersection is hidden. nil: none applies.
        let base: Set<String>?
        /// `userField:f`: applies to the rows whose field f names the viewer.
        let byPointer: [(field: String, fields: Set<String>)]

        /// Hidden from the viewer in every row, or in some.
        var any: Set<String> {
            byPointer.reduce(into: base ?? []) { all, entry in if base == nil { all.formUnion(entry.fields) } }
        }

        var isEmpty: Bool { base?.isEmpty ?? true && byPointer.isEmpty }

        static let none = ProtectedFields(base: nil, byPointer: [])
    }

    func protectedFields(of schema: ClassSchema) -> ProtectedFields {
        guard !viewer.isAboveAccess, !schema.permissions.protectedFields.isEmpty else { return .none }
        var base: Set<String>?
        var byPointer: [(field: String, fields: Set<String>)] = []
        for (key, fields) in schema.permissions.protectedFields {
            let applies: Bool
            if key == "*" {
                applies = true
            } else if key.hasPrefix("userField:") {
                let field = String(key.dropFirst("userField:".count))
                // A field that the class lacks names nobody.
                if viewer.userId != nil, schema.fields[field] != nil { byPointer.append((field, fields)) }
                applies = false
            } else if key == "authenticated" {
                applies = viewer.userId != nil
            } else {
                applies = viewer.userId != nil && viewer.principals.contains(key)
            }
            if applies { base = base.map { $0.intersection(fields) } ?? fields }
        }
        return ProtectedFields(base: base, byPointer: byPointer)
    }

    /// The expression that reads a column: the column itself, the column in some rows, or nil where it never shows.
    ///
    /// `ownRowsShowAll`: a user sees all of its own row.
    func readable(
        _ field: String, _ protected: ProtectedFields, of table: TableReference, ownRowsShowAll: Bool
    ) -> SQL? {
        let column = table.column(field)
        guard !viewer.isAboveAccess else { return column }
        var isOwn = Condition.never
        if table.schema.name == "_User", let userId = viewer.userId {
            isOwn = .when("\(table.column("objectId")) = \(SQL.text(userId))")
        }
        if table.schema.name == "_User", field == "authData" { return shown(column, isOwn) }
        var hidden = protected.base?.contains(field) ?? false
        var showing: [Condition] = []
        if let userId = viewer.userId {
            let matching = { (entry: (field: String, fields: Set<String>)) in
                names(userId, field: entry.field, of: table)
            }
            if hidden {
                showing += protected.byPointer.filter { !$0.fields.contains(field) }.map(matching)
            } else if protected.base == nil {
                let hiding = protected.byPointer.filter { $0.fields.contains(field) }
                if !hiding.isEmpty {
                    hidden = true
                    showing.append(Condition.any(hiding.map(matching)).isNotTrue)
                    showing += protected.byPointer.filter { !$0.fields.contains(field) }.map(matching)
                }
            }
        }
        guard hidden else { return column }
        if ownRowsShowAll { showing.append(isOwn) }
        return shown(column, .any(showing))
    }

    private func shown(_ column: SQL, _ condition: Condition) -> SQL? {
        switch condition {
        case .always: column
        case .never: nil
        case .when(let sql, _): "CASE WHEN \(sql) THEN \(column) END"
        }
    }
}
