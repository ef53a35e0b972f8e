import Wire

/// Queries within queries, shown to the hooks before finds of their classes: what these keep from a find no condition
/// tells either. The innermost come first; what a hook has put in place of one is asked about no further.
extension Store {
    func askedWithin(_ predicate: Predicate, _ operation: Operation) async throws -> Predicate {
        var asking = SubqueryHooks(store: self, operation: operation)
        return try await asking.asked(predicate)
    }
}

private struct SubqueryHooks {
    let store: Store
    let operation: Operation
    /// A hook may be a webhook: one request is not to make any number of others.
    private var left = SubqueryHooks.limit
    private static let limit = 100

    init(store: Store, operation: Operation) {
        self.store = store
        self.operation = operation
    }

    mutating func asked(_ predicate: Predicate) async throws -> Predicate {
        switch predicate {
        case .and(let parts): return .and(try await asked(parts))
        case .or(let parts): return .or(try await asked(parts))
        case .nor(let parts): return .nor(try await asked(parts))
        case .field(let path, let constraint): return .field(path, try await asked(constraint))
        case .relatedTo: return predicate
        }
    }

    private mutating func asked(_ parts: [Predicate]) async throws -> [Predicate] {
        var all: [Predicate] = []
        for part in parts { all.append(try await asked(part)) }
        return all
    }

    private mutating func asked(_ constraint: Constraint) async throws -> Constraint {
        switch constraint {
        case .inQuery(let subquery): return .inQuery(try await asked(subquery))
        case .notInQuery(let subquery): return .notInQuery(try await asked(subquery))
        case .select(let subquery, let key): return .select(try await asked(subquery), key: key)
        case .notSelect(let subquery, let key): return .notSelect(try await asked(subquery), key: key)
        default: return constraint
        }
    }

    private mutating func asked(_ asked: Subquery) async throws -> Subquery {
        var subquery = asked
        subquery.predicate = try await self.asked(subquery.predicate)
        let listening = operation.hooks.beforeFind(subquery.className)
        guard subquery.redirectClassNameForKey != nil || !listening.isEmpty else { return subquery }
        left -= 1
        guard left >= 0 else {
            throw ParseError(
                102,
                "A query may have \(SubqueryHooks.limit) subqueries that hooks are asked about. Ask for less at once.")
        }
        try store.access(operation.viewer).checkReachable(subquery.className)
        var query = Query(className: subquery.className, predicate: subquery.predicate)
        query.order = subquery.order
        query.skip = subquery.skip
        query.limit = subquery.limit
        query.redirectClassNameForKey = subquery.redirectClassNameForKey
        query.relativeTimeFields = subquery.relativeTimeFields
        var parameters = subquery.json
        parameters["className"] = nil
        let find = Find(query, parameters, isGet: false, in: operation)
        for hook in listening { try await hook.run(find) }
        _ = try await store.redirect(find)
        if let objects = find.objects {
            let ids = objects.compactMap { $0.object?["objectId"]?.string }
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
