import Postgres
import Schema
import Wire

/// Looking at the object of a write before it is written.
extension Store {
    /// Throws as if the object were not there unless the viewer may write it.
    func checkWritable(
        _ write: Write, _ rights: Rights, _ table: ClassSchema, locking: Bool = false
    ) async throws {
        let plan = WriteSQL(table: table, access: rights.access).look(
            objectId: write.objectId, rows: rights.rows, locking: locking)
        let rows = try await write.operation.read(plan.statement, plan.parameters)
        guard rows.count > 0 else { throw write.missing }
    }

    /// The object as it is, whole, if the viewer may write it.
    func original(of write: Write, _ rights: Rights, _ table: ClassSchema) async throws -> JSONObject {
        try await checkWritable(write, rights, table, locking: write.operation.isInTransaction)
        let found = try await getRow(
            Query(className: table.name), objectId: write.objectId, in: write.operation.nested(as: .master))
        return try found.json().object ?? JSONObject()
    }
}
