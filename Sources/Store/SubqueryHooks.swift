import Wire

/// Queries within queries, shown to the hooks before finds of their classes: what these keep from a find no condition
/// tells either. The innermost come first; what a hook has put in place of one is asked about no further.
extension Store {
    func askHooks(within predicate: Predicate, _ operation: Operation) async throws -> Predicate {
        switch predicate {
        case .and(let parts): return .and(try await askHooks(within: parts, operation))
        case .or(let parts): return .or(try await askHooks(within: parts, operation))
        case .nor(let parts): return .nor(try await askHooks(within: parts, operation))
        case .field(let path, let constraint):
            return .field(path, try await askHooks(within: constraint, operation))
        case .relatedTo: return predicate
        }
    }

    private func askHooks(within parts: [Predicate], _ operation: Operation) async throws -> [Predicate] {
        var asked: [Predicate] = []
        for part in parts { asked.append(try await askHooks(within: part, operation)) }
        return asked
    }

    private func askHooks(within constraint: Constraint, _ operation: Operation) async throws -> Constraint {
        switch constraint {
        case .inQuery(let subquery): return .inQuery(try await asked(subquery, operation))
        case .notInQuery(let subquery): return .notInQuery(try await asked(subquery, operation))
        case .select(let subquery, let key): return .select(try await asked(subquery, operation), key: key)
        case .notSelect(let subquery, let key): return .notSelect(try await asked(subquery, operation), key: key)
        default: return constraint
        }
    }

    private func asked(_ subquery: Subquery, _ operation: Operation) async throws -> Subquery {
        var subquery = subquery
        subquery.predicate = try await askHooks(within: subquery.predicate, operation)
        guard subquery.redirectClassNameForKey != nil || !operation.hooks.beforeFind(subquery.className).isEmpty else {
            return subquery
        }
        try access(operation.viewer).checkReachable(subquery.className)
        var query = Query(className: subquery.className, predicate: subquery.predicate)
        query.order = subquery.order
        query.skip = subquery.skip
        query.limit = subquery.limit
        query.redirectClassNameForKey = subquery.redirectClassNameForKey
        query.relativeTimeFields = subquery.relativeTimeFields
        var parameters = subquery.json
        parameters["className"] = nil
        let find = Find(query, parameters, isGet: false, in: operation)
        for hook in operation.hooks.beforeFind(query.className) { try await hook.run(find) }
        _ = try await redirect(find)
        if let objects = find.objects {
            let ids = objects.compactMap { $0.object?["objectId"] }.compactMap(\.string)
            find.query = Query(
                className: find.query.className,
                predicate: .field(FieldPath(field: "objectId"), .isIn(ids.map { .string($0) })))
        }
        subquery.className = find.query.className
        subquery.predicate = find.query.predicate
        subquery.order = find.query.order
        subquery.skip = find.query.skip
        subquery.limit = find.query.limit
        subquery.redirectClassNameForKey = find.query.redirectClassNameForKey
        subquery.relativeTimeFields = find.query.relativeTimeFields
        return subquery
    }
}
