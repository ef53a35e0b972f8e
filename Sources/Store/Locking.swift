import Postgres
import Schema
import Wire

extension Store {
    /// One object that a transaction is going to change.
    public struct Target: Hashable, Sendable {
        public let className: String
        public let objectId: String

        public init(className: String, objectId: String) {
            self.className = className
            self.objectId = objectId
        }
    }

    /// Locks the objects that a transaction is going to change, in one order for all transactions: two that change the
    /// same objects in different orders would wait for each other, and PostgreSQL finds that out after a second only.
    ///
    /// One statement for each class. Objects that are not there, or that the viewer may not write, are passed over.
    public func lock(_ targets: Set<Target>, in operation: Operation) async throws {
        // A single object cannot be taken in a wrong order.
        guard targets.count > 1 else { return }
        let schema = try await operation.schema()
        let access = access(operation.viewer)
        for (className, targets) in Dictionary(grouping: targets, by: \.className).sorted(by: { $0.key < $1.key }) {
            guard let table = schema[className] else { continue }
            let target = access.table(table, "t")
            let ids = SQL.texts(targets.map(\.objectId).sorted())
            let conditions: [Condition] = [
                .when("\(target.column("objectId")) = ANY (\(ids))"), access.condition(.write, .acl, on: target),
            ]
            let sql: SQL =
                """
                SELECT FROM \(target.source)\(Condition.clause(conditions)) \
                ORDER BY \(target.column("objectId")) FOR UPDATE
                """
            let (statement, parameters) = sql.rendered()
            _ = try await operation.write(statement, parameters)
        }
    }
}
