import Wire

/// What a request does to the indexes of a class.
struct IndexChange {
    private(set) var dropped: [ClassIndex] = []
    private(set) var added: [IndexPlan] = []
    /// Those that the class has then.
    private(set) var all: [ClassIndex]

    /// - Parameter fields: the class's fields as they are after the request.
    /// Throws 102 for what can't be an index, one that is there already, or that is not there to be deleted.
    init(
        _ className: String, _ fields: [String: ClassSchema.Field], existing: [ClassIndex], _ request: JSONObject
    ) throws(ParseError) {
        // Those of a field that goes, go with it.
        all = existing.filter { $0.fields.allSatisfy { fields[$0] != nil } }
        // First what goes, which makes room for what comes.
        for (name, definition) in request.members {
            if case .object(let object) = definition, object["__op"] == .string("Delete") {
                guard let index = existing.first(where: { $0.name == name }) else {
                    throw ParseError(102, "Index \(name) does not exist, cannot delete.")
                }
                dropped.append(index)
                all.removeAll { $0.name == name }
            }
        }
        for (name, definition) in request.members {
            if case .object(let object) = definition, object["__op"] == .string("Delete") { continue }
            // Clients that read a class send its indexes back; MongoDB's own entry among them is nothing to make.
            if name == "_id_" { continue }
            guard !all.contains(where: { $0.name == name }) else {
                throw ParseError(102, "Index \(name) exists, cannot update.")
            }
            let plan = try IndexPlan(name: name, definition, of: className, fields)
            added.append(plan)
            if let index = plan.index { all.append(index) }
        }
        guard added.isEmpty || all.count <= IndexPlan.maximum else {
            throw ParseError(102, "A class can have at most \(IndexPlan.maximum) indexes.")
        }
    }

    func make(_ className: String, _ transaction: SchemaTransaction) async throws {
        for index in dropped { try await transaction.dropIndex(index) }
        for plan in added { try await transaction.addIndex(plan, className) }
    }
}
