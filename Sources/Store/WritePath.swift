import Core
import Postgres
import Schema
import Wire

/// The one path of every write. An object of any class, a part of a batch, a sign-up, a save within a hook: all come
/// by here, in these stages.
extension Store {
    /// Makes an object. `body` is what a client sends; `authData` stays beside the fields.
    public func create(_ className: String, _ body: JSONObject, in operation: Operation) async throws -> Written {
        try await write(.create, className, nil, body, in: operation)
    }

    /// Changes an object. Throws 101 where the viewer may not write it, as if it were not there.
    public func update(
        _ className: String, objectId: String, _ body: JSONObject, in operation: Operation
    ) async throws -> Written {
        try await write(.update, className, objectId, body, in: operation)
    }

    /// Deletes an object, and its rows in the tables of its relations.
    @discardableResult
    public func delete(_ className: String, objectId: String, in operation: Operation) async throws -> Written {
        try await write(.delete, className, objectId, JSONObject(), in: operation)
    }

    private func write(
        _ kind: Write.Kind, _ className: String, _ objectId: String?, _ body: JSONObject, in operation: Operation
    ) async throws -> Written {
        let intent = try await intent(kind, className, objectId, body, in: operation)
        guard operation.hooks[className]?.needs(kind).contains(.transaction) == true else {
            return try await stages(intent.write(in: operation))
        }
        return try await operation.inTransaction { try await stages(intent.write(in: $0)) }
    }

    /// Whether a hook asks that each write of a class, or its deletion, be a transaction.
    public func needsTransaction(_ className: String, _ kind: Write.Kind) -> Bool {
        hooks[className]?.needs(kind).contains(.transaction) == true
    }

    /// What a rule of the server writes in the course of another write: by no one's rights, and no hook is asked.
    func writeByRule(_ write: Write) async throws -> Written {
        try await finish(write, try await authorise(write), hooks: nil)
    }

    // MARK: the stages

    private func stages(_ write: Write) async throws -> Written {
        var rights = try await authorise(write)
        guard let hooks = write.operation.hooks[write.className] else {
            return try await finish(write, rights, hooks: nil)
        }
        write.needsResult = hooks.needs(write.kind).contains(.result)
        if write.kind != .create, hooks.needs(write.kind).contains(.original) { _ = try await write.readOriginal() }
        let asked = write.kind
        for hook in hooks[write.kind == .delete ? .beforeDelete : .beforeSave] { try await hook.run(write) }
        if write.kind != asked { rights = try await authorise(write) }
        if write.kind != .delete { for hook in hooks[.completeSave] { try await hook.run(write) } }
        return try await finish(write, rights, hooks: hooks)
    }

    private func finish(_ write: Write, _ rights: Rights, hooks: Hooks.OfClass?) async throws -> Written {
        let written: Written
        do {
            written = try await run(plan(write, try await complete(write, rights)), write)
        } catch let error as PostgresError where error.meansSchemaChanged && !write.operation.isInTransaction {
            // Another node has changed the class between the look and the statement.
            try await catalogue.reload()
            written = try await run(plan(write, try await complete(write, try await authorise(write))), write)
        }
        for (name, value) in write.extras.members { written.answered[name] = value }
        if let hooks { await effectsAfter(write, written, hooks) }
        return written
    }

    /// Which rows of the class the viewer may write, decided before anything of the object is looked at.
    func authorise(_ write: Write) async throws -> Rights {
        let access = access(write.viewer)
        guard write.viewer.key != .readOnlyMaster else {
            throw ParseError(119, access.refusal("The read-only master key cannot change anything."))
        }
        try access.checkReachable(write.className)
        let schema = try await write.operation.schema(having: write.className)
        guard let table = schema[write.className] else {
            if write.kind != .create, mayCreateClasses(write.viewer) { throw ParseError.objectNotFound }
            if !mayCreateClasses(write.viewer) { throw noSuchClass(write.className, access) }
            return Rights(access: access, schema: schema, table: nil, rows: [])
        }
        switch write.kind {
        case .create:
            if case .none = try access.decide(.create, on: table) { throw ParseError.objectNotFound }
            return Rights(access: access, schema: schema, table: table, rows: [])
        case .update:
            return Rights(access: access, schema: schema, table: table, rows: [try access.decide(.update, on: table)])
        case .delete:
            return Rights(access: access, schema: schema, table: table, rows: [try access.decide(.delete, on: table)])
        }
    }

    /// What authorisation found.
    struct Rights {
        let access: Access
        let schema: SchemaSnapshot
        /// nil: a create that makes its class.
        let table: ClassSchema?
        /// The conditions under which the object may be written.
        var rows: [Access.Rows]
    }

    /// Reads the object as it is, if the viewer may write it; in a transaction it stays locked until its end.
    func readOriginal(_ write: Write) async throws -> JSONObject {
        let rights = try await authorise(write)
        guard let table = rights.table else { throw write.missing }
        return try await original(of: write, rights, table)
    }

    /// Sends the plan, and what belongs to the same transaction.
    private func run(_ plan: WritePlan, _ write: Write) async throws -> Written {
        do {
            guard write.effects.isEmpty && plan.accessChanges.isEmpty else {
                return try await write.operation.inTransaction { operation in
                    let written = try plan.written(try await operation.write(plan.statement, plan.parameters))
                    for effect in write.effects { try await effect(operation) }
                    for change in plan.accessChanges { try await operation.notify(change) }
                    return written
                }
            }
            return try plan.written(
                try await write.operation.writeObject(
                    plan.statement, plan.parameters, write.className, write.objectId))
        } catch let error as PostgresError where error.isUniqueViolation {
            throw UniqueViolation.error(error, of: plan.table)
        }
    }

    /// Hooks that follow: when the write stands, and in its transaction's case after the commit.
    private func effectsAfter(_ write: Write, _ written: Written, _ hooks: Hooks.OfClass) async {
        let after = hooks[write.kind == .delete ? .afterDelete : .afterSave]
        guard !after.isEmpty else { return }
        await write.operation.afterCommit {
            // What belongs to a write that stands is done to its end, though the client may have gone: in a task that is
            // not cancelled with the request's.
            let running = write.operation.store.database.loop.spawnImmediately {
                for hook in after {
                    do { try await hook.run(write) } catch {
                        Log.shared.error(
                            "a hook failed behind a write that stands",
                            ["hook": .text(hook.name), "class": .text(write.className), "error": "\(error)"])
                        // A delete's client is told, as the reference does; a save's is not.
                        if write.kind == .delete { written.failure = error }
                    }
                }
            }
            await running.value
            written.replacement = write.replacement
            for (name, value) in write.shownByHooks.members where !written.hidden.contains(name) {
                written.answered[name] = value
            }
        }
    }
}
