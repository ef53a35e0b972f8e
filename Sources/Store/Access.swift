import Schema
import Wire

/// What a viewer may do with one class, decided before any SQL; what depends on the row becomes a predicate.
struct Access {
    let viewer: Viewer
    /// How refusals read (`enableSanitizedErrorResponse`).
    let sanitizesErrors: Bool

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
    /// `creating`: an `addField` that comes with a create, which no pointer can grant.
    func decide(
        _ operation: ClassPermissions.Operation, on schema: ClassSchema, creating: Bool = false
    ) throws(ParseError) -> Rows {
        guard !viewer.isAboveAccess else { return .acl }
        if schema.name == "_Installation", operation == .find || operation == .count || operation == .delete {
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

    /// A class within a statement, under its alias.
    func table(_ schema: ClassSchema, _ alias: String) -> TableReference {
        TableReference(schema: schema, alias: alias, hidesCredentials: !viewer.isAboveAccess)
    }

    // MARK: rows

    enum RowAccess { case read, write }

    /// The condition on a row of `table`; nil where there is none.
    func condition(
        _ access: RowAccess, _ rows: Rows, on table: TableReference, _ sql: SQLContext
    ) -> String? {
        guard !viewer.isAboveAccess else { return nil }
        if case .none = rows { return "false" }
        var conditions: [String] = []
        if table.schema.name == "_Session" {
            // Sessions carry no ACL: each user has its own.
            guard let userId = viewer.userId else { return "false" }
            conditions.append("\(table.column("user")) = \(sql.text(userId))")
        } else {
            let column = table.column(access == .read ? "_rperm" : "_wperm")
            conditions.append("(\(column) IS NULL OR \(column) && \(sql.texts(viewer.principals)))")
        }
        if case .pointers(let fields) = rows {
            guard let userId = viewer.userId else { return "false" }
            conditions.append(
                "(" + fields.map { names(userId, field: $0, of: table, sql) }.joined(separator: " OR ") + ")")
        }
        return conditions.joined(separator: " AND ")
    }

    /// Whether `field` names the user: as a pointer, or within an array.
    private func names(_ userId: String, field: String, of table: TableReference, _ sql: SQLContext) -> String {
        switch table.schema.fields[field]?.type {
        case .pointer: "\(table.column(field)) IS NOT DISTINCT FROM \(sql.text(userId))"
        case .array:
            "coalesce(\(table.column(field)) @> jsonb_build_array(jsonb_build_object("
                + "'__type', 'Pointer', 'className', '_User', 'objectId', \(sql.text(userId)))), false)"
        default: "false"
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
                if viewer.userId != nil { byPointer.append((String(key.dropFirst("userField:".count)), fields)) }
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
        _ field: String, _ protected: ProtectedFields, of table: TableReference, ownRowsShowAll: Bool, _ sql: SQLContext
    ) -> String? {
        let column = table.column(field)
        guard !viewer.isAboveAccess else { return column }
        var hidden = protected.base?.contains(field) ?? false
        let isOwn: () -> String? = {
            guard table.schema.name == "_User", let userId = viewer.userId else { return nil }
            return "\(table.column("objectId")) = \(sql.text(userId))"
        }
        if table.schema.name == "_User", field == "authData" {
            return isOwn().map { "CASE WHEN \($0) THEN \(column) END" }
        }
        var showing: [String] = []
        if let userId = viewer.userId {
            let matching = { (entry: (field: String, fields: Set<String>)) in
                names(userId, field: entry.field, of: table, sql)
            }
            if hidden {
                showing += protected.byPointer.filter { !$0.fields.contains(field) }.map(matching)
            } else if protected.base == nil {
                let hiding = protected.byPointer.filter { $0.fields.contains(field) }
                if !hiding.isEmpty {
                    hidden = true
                    let anyHides = hiding.map(matching).joined(separator: " OR ")
                    showing.append("NOT (\(anyHides))")
                    showing += protected.byPointer.filter { !$0.fields.contains(field) }.map(matching)
                }
            }
        }
        guard hidden else { return column }
        if ownRowsShowAll, let own = isOwn() { showing.append(own) }
        guard !showing.isEmpty else { return nil }
        return "CASE WHEN \(showing.joined(separator: " OR ")) THEN \(column) END"
    }
}
