import Postgres
import Wire

/// What clients and administrators change of a class.
extension Catalogue {
    /// Makes sure that a class has these fields, making it and them where they are missing; answers the schema then.
    ///
    /// With a transaction, what is made is made in it and undone with it, and the answer is the caller's alone; after
    /// the commit the caller calls `committed(_:)`. What is there already changes nothing and tells nobody. Who may let
    /// a class grow is for the caller to decide, before.
    ///
    /// Throws 111 when a field is there with another type, 105 past `Names.maximumFields`, 503 when others hold the
    /// class's locks for too long.
    public func ensure(
        _ className: String, fields: [String: FieldType], in transaction: Transaction? = nil
    ) async throws -> SchemaSnapshot {
        let isDone = { (schema: ClassSchema) throws -> Bool in
            try fields.allSatisfy { name, type in
                guard let field = schema.fields[name] else { return false }
                guard field.type == type else { throw SchemaMismatch.error(className, name, field.type, type) }
                return true
            }
        }
        return try await change(className, in: transaction, unless: isDone) { existing, _ in
            var all = existing?.fields ?? DefaultFields.of(className).mapValues { ClassSchema.Field($0) }
            var added: [(String, ClassSchema.Field)] = []
            for (name, type) in fields.sorted(by: { $0.key < $1.key }) {
                if let field = all[name] {
                    guard field.type == type else { throw SchemaMismatch.error(className, name, field.type, type) }
                } else {
                    let field = ClassSchema.Field(type)
                    all[name] = field
                    added.append((name, field))
                }
            }
            if existing != nil, added.isEmpty { return .nothing }
            try CatalogueChecks.notTooMany(className, all)
            try CatalogueChecks.oneGeoPoint(className, all, added: added.map(\.0))
            if existing == nil { try CatalogueChecks.isNoJoinTable(className) }
            let schema = ClassSchema(name: className, fields: all, permissions: existing?.permissions ?? .open)
            return .becomes(schema, alters: existing != nil) { ddl in
                if existing == nil {
                    try await ddl.createTable(className, all)
                } else {
                    try await ddl.addColumns(className, added)
                }
            }
        }
    }

    /// `POST /schemas`: makes a class. Throws 103 when it is there.
    public func create(
        _ className: String, _ request: SchemaRequest, in transaction: Transaction? = nil
    ) async throws -> ClassSchema {
        try Names.checkClass(className)
        let changed = try await change(className, in: transaction) { existing, _ in
            guard existing == nil else { throw ParseError(103, "Class \(className) already exists.") }
            try CatalogueChecks.isNoJoinTable(className)
            var fields = DefaultFields.of(className).mapValues { ClassSchema.Field($0) }
            for (name, definition) in request.fields.members {
                try CatalogueChecks.newFieldName(name, of: className)
                fields[name] = try FieldDefinition.parse(definition, name: name, className: className)
            }
            try CatalogueChecks.notTooMany(className, fields)
            try CatalogueChecks.oneGeoPoint(className, fields, added: request.fields.members.map(\.key))
            if let given = request.permissions {
                try PermissionsCheck.check(given, fields: fields, objectIdIsCustom: allowsCustomObjectIds)
            }
            let indexes = try IndexChange(className, fields, existing: [], request.indexes)
            let schema = ClassSchema(
                name: className, fields: fields, permissions: ClassPermissions(given: request.permissions))
            let all = fields
            return .becomes(schema) { ddl in
                try await ddl.createTable(className, all)
                try await indexes.make(className, ddl)
            }
        }
        return try find(className, in: changed)
    }

    /// `PUT /schemas/:class`: adds, changes and deletes fields, permissions, indexes.
    public func update(
        _ className: String, _ request: SchemaRequest, in transaction: Transaction? = nil
    ) async throws -> ClassSchema {
        let changed = try await change(className, in: transaction) { existing, _ in
            guard let existing else { throw ParseError(103, "Class \(className) does not exist.") }
            var fields = existing.fields
            var added: [(String, ClassSchema.Field)] = []
            var deleted: [(String, ClassSchema.Field)] = []
            for (name, definition) in request.fields.members {
                if isDelete(definition) {
                    guard let field = fields[name] else {
                        throw ParseError(255, "Field \(name) does not exist, cannot delete.")
                    }
                    try CatalogueChecks.mayDelete(name, of: className)
                    fields[name] = nil
                    deleted.append((name, field))
                } else if let field = fields[name] {
                    guard case .object(let object) = definition else { throw ParseError(107, "invalid JSON") }
                    let type = try FieldDefinition.read(object).type
                    guard type.name == field.type.name else {
                        throw ParseError(255, "Field \(name) exists, cannot update.")
                    }
                    guard type == field.type else {
                        throw SchemaMismatch.error(className, name, field.type, type)
                    }
                    // No client can declare such a field, but those that read a schema send it back whole.
                    guard type != .acl else { continue }
                    fields[name] = try FieldDefinition.parse(definition, name: name, className: className)
                } else {
                    try CatalogueChecks.newFieldName(name, of: className)
                    let field = try FieldDefinition.parse(definition, name: name, className: className)
                    fields[name] = field
                    added.append((name, field))
                }
            }
            if !added.isEmpty { try CatalogueChecks.notTooMany(className, fields) }
            try CatalogueChecks.oneGeoPoint(className, fields, added: added.map(\.0))
            var permissions = request.dropsPermissions ? .open : existing.permissions
            if let given = request.permissions {
                try PermissionsCheck.check(given, fields: fields, objectIdIsCustom: allowsCustomObjectIds)
                permissions = ClassPermissions(given: given)
            }
            let indexes = try IndexChange(className, fields, existing: existing.indexes, request.indexes)
            let schema = ClassSchema(name: className, fields: fields, permissions: permissions)
            guard !added.isEmpty || !deleted.isEmpty || !request.indexes.isEmpty else { return .becomes(schema) }
            let (columns, gone) = (added, deleted)
            // A further index of a large class need not wait for the one that is being built.
            let alters = !added.isEmpty || !deleted.isEmpty || !indexes.dropped.isEmpty
            return .becomes(schema, alters: alters) { ddl in
                try await ddl.dropColumns(className, gone)
                try await ddl.addColumns(className, columns)
                try await indexes.make(className, ddl)
            }
        }
        return try find(className, in: changed)
    }

    /// `DELETE /schemas/:class`. Throws 255 while it has objects; a class that is not there is no error.
    public func delete(_ className: String, in transaction: Transaction? = nil) async throws {
        // The server's own tables would be answered with a success that deletes nothing.
        guard Names.isClass(className), !DefaultFields.serverTables.contains(className) else {
            throw Names.invalidClass(className)
        }
        _ = try await change(className, in: transaction) { existing, transaction in
            guard let existing else { return .nothing }
            guard DefaultFields.byClass[className] == nil else {
                throw ParseError(103, "Class \(className) belongs to the server and cannot be deleted.")
            }
            // First without a lock that would stop the class: a refusal costs nobody anything.
            try await SchemaTransaction(transaction).checkEmpty(className)
            return .disappears { ddl in try await ddl.dropTable(existing) }
        }
    }

    private func find(_ className: String, in snapshot: SchemaSnapshot) throws -> ClassSchema {
        guard let schema = snapshot[className] else {
            throw ParseError(103, "Class \(className) does not exist.")
        }
        return schema
    }

    private func isDelete(_ json: JSON) -> Bool {
        if case .object(let object) = json, object["__op"] == .string("Delete") { return true }
        return false
    }
}
