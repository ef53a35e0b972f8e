import Postgres
import Schema
import Wire

/// What the server's own rules write in the course of another write: it takes the same path, but nobody's rights are
/// looked at and no hook is asked.
extension Operation {
    /// Makes an object of the server's own.
    @discardableResult
    public func insertByRule(_ className: String, columns: [ServerColumn]) async throws -> Written {
        let operation = try nested(as: .master)
        let id = ObjectIdentifiers.make(store.options.objectIdSize)
        let write = Write(.create, className, id, Update(), in: operation)
        write.columns = columns
        return try await store.writeByRule(write)
    }

    /// Empties a field of one object. `viewer`: only where that one may write the object.
    public func clearByRule(
        _ className: String, _ objectId: String, field: String, as viewer: Viewer? = nil
    ) async throws {
        try await changeByRule(className, objectId, field: field, .delete, as: viewer)
    }

    /// Sets a field of one object, if it is there.
    public func setByRule(_ className: String, _ objectId: String, field: String, to value: Value) async throws {
        try await changeByRule(className, objectId, field: field, .set(value))
    }

    private func changeByRule(
        _ className: String, _ objectId: String, field: String, _ change: Update.Operation, as viewer: Viewer? = nil
    ) async throws {
        let update = Update(changes: [Update.Change(FieldPath(field: field), change)])
        let write = Write(.update, className, objectId, update, in: try nested(as: viewer ?? .master))
        do { _ = try await store.writeByRule(write) } catch let error as ParseError where error.code == 101 {}
    }

    /// Deletes the objects whose fields have these texts. `viewer`: only those that it may write.
    ///
    /// - Returns: their ids.
    @discardableResult
    public func deleteByRule(
        _ className: String, matching: [(field: String, value: String)], as viewer: Viewer? = nil
    ) async throws -> [String] {
        guard let table = try await schema()[className] else { return [] }
        let access = store.access(viewer ?? .master)
        guard let rows = try? access.decide(.delete, on: table, byRule: true) else { return [] }
        let plan = WriteSQL(table: table, access: access).delete(matching: matching, rows: rows)
        let deleted = try await write(plan.statement, plan.parameters)
        return (0..<deleted.count).map { deleted.string($0, 0) }
    }

    /// Takes an object out of a relation of all objects of a class.
    public func unrelateByRule(_ relatedId: String, from field: String, of className: String) async throws {
        let join = ClassSchema.joinTable(field: field, of: className)
        let sql: SQL = "DELETE FROM \(name: join) WHERE \"relatedId\" = \(SQL.text(relatedId))"
        let (statement, parameters) = sql.rendered()
        _ = try await write(statement, parameters)
    }

    /// Tells all nodes of a change of access once this operation stands.
    public func notify(_ change: AccessChange) async throws {
        try await notify(channel: AccessChange.channel, payload: change.payload)
    }
}

extension Store {
    /// Objects that a purge deletes with one statement.
    private static let purgeStep = 5_000

    /// Deletes the objects of a class whose date lies before `end`: a rule of the server's own, which asks no hook. In
    /// steps, like a purge.
    ///
    /// - Returns: how many there were.
    public func deleteByRule(_ className: String, where field: String, before end: Timestamp) async throws -> Int {
        let operation = operation(as: .master)
        guard let table = try await operation.schema()[className] else { return 0 }
        let plan = WriteSQL(table: table, access: access(.master)).purge(Store.purgeStep, past: (field, end))
        var count = 0
        while true {
            let deleted = try await operation.write(plan.statement, plan.parameters).count
            count += deleted
            guard deleted == Store.purgeStep else { return count }
            try Task.checkCancellation()
        }
    }

    /// `DELETE /purge/:class`: all objects of a class; the class stays. In steps, each committed by itself: a large
    /// class takes longer than one statement may.
    public func purge(_ className: String, in operation: Operation) async throws {
        try Names.checkClass(className)
        guard operation.viewer.key == .master else {
            throw ParseError(119, access(operation.viewer).refusal("Only the master key may purge a class."))
        }
        guard let table = try await operation.schema()[className] else { return }
        let plan = WriteSQL(table: table, access: access(.master)).purge(Store.purgeStep)
        while try await operation.write(plan.statement, plan.parameters).count == Store.purgeStep {
            try Task.checkCancellation()
        }
        if ["_User", "_Session", "_Role"].contains(className) { try await operation.notify(.everything) }
    }
}
