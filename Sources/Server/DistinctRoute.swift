import Schema
import Store
import Wire

/// `/aggregate`: so far only `distinct`, with an optional `where`.
extension API {
    func distinct(_ className: String, _ request: Request) async throws -> Answer {
        if request.viewer.key == .readOnlyMaster, !options.allowAggregationForReadOnlyMasterKey {
            throw ParseError(119, "Cannot run an aggregation pipeline when using the readOnlyMasterKey")
        }
        var parameters = request.parameters
        guard let index = parameters.firstIndex(where: { $0.key == "distinct" }),
            case .string(let field) = parameters[index].value
        else { throw ParseError(108, "Aggregation pipelines cannot be used with this version of Hermes yet.") }
        parameters.remove(at: index)
        try Names.checkClass(className)
        let path = try FieldPath(queried: field)
        let query = try Query.parse(className: className, parameters: parameters)
        let values = try await store.distinct(path, query, in: request.operation)
        return Answer(json: ["results": .array(values)])
    }
}
