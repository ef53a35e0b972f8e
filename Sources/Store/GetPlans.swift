import Postgres
import Schema
import Wire

/// The statements of gets that depend on their class alone, worked out once: most gets of most applications.
///
/// Whatever of the viewer could shape a statement keeps it out of here: rights beyond the ACL, pointer permissions,
/// protected fields, the server's own classes, fields of the reader's own, objects that are joined. One for each
/// worker's store.
final class GetPlans {
    private struct Entry {
        let table: ClassSchema
        let plan: ReadSQL.Plan
    }
    private var entries: [String: Entry] = [:]

    func plan(
        _ sql: ReadSQL, _ table: ClassSchema, _ objectId: String, selection: FieldSelection, rows: Access.Rows,
        joins: [ReadSQL.Join]
    ) -> ReadSQL.Plan {
        let viewer = sql.access.viewer
        guard case .acl = rows, joins.isEmpty, !viewer.isAboveAccess, selection.isEverything, !table.isSystem,
            table.permissions.protectedFields.isEmpty, sql.options.readerFields[table.name] == nil
        else { return sql.get(table, id: objectId, selection: selection, rows: rows, joins: joins) }
        let parameters: [Parameter] = [.text(objectId), .textArray(viewer.principals)]
        // A class that was changed is another value.
        if let entry = entries[table.name], entry.table === table { return entry.plan.with(parameters) }
        let plan = sql.get(table, id: objectId, selection: selection, rows: rows)
        if plan.parameters == parameters { entries[table.name] = Entry(table: table, plan: plan) }
        return plan
    }
}
