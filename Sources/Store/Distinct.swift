import Postgres
import Schema
import Wire

extension Store {
    /// The values that a field has among the objects that a query finds, each once and in order; of an Array
    /// field its elements.
    public func distinct(_ path: FieldPath, _ query: Query, in operation: Operation) async throws -> [JSON] {
        try await withSchema(of: query.className, operation) { schema in
            try await distinct(path, query, in: operation, schema)
        }
    }

    private func distinct(
        _ path: FieldPath, _ query: Query, in operation: Operation, _ schema: SchemaSnapshot
    ) async throws -> [JSON] {
        let access = access(operation.viewer)
        try access.checkReachable(query.className)
        guard let table = schema[query.className] else { return [] }
        let rows = try access.decide(.find, on: table)
        try QueryableFields(access: access, schema: schema).check(query.predicate, query.order, on: table)
        if access.protectedFields(of: table).any.contains(path.field) {
            throw ParseError(119, access.refusal("This user is not allowed to query \(path.field)"))
        }
        guard
            let plan = try ReadSQL(schema: schema, access: access, options: options).distinct(
                table, path, query.predicate, rows: rows)
        else { return [] }
        let found = try await operation.read(plan.statement, plan.parameters)
        var values: [JSON] = []
        for row in 0..<found.count {
            guard let column = plan.columns.first else { continue }
            var out = JSONWriter()
            ObjectWriter.scalar(found, row, 0, column.type, options.fileURLPrefix, to: &out)
            values.append(try JSONParser.parse(out.bytes))
        }
        return values
    }
}
