import Schema
import Wire

/// One find or get on its way past an application's hooks.
public final class Find {
    public let operation: Operation
    public let isGet: Bool
    /// What is asked. A hook before it may change it.
    public var query: Query
    /// The same as the client wrote it: `where`, `limit`, `order`…
    public var parameters: JSONObject
    /// Before: objects to be found instead. Behind it: what was found.
    public var objects: [JSON]?

    init(_ query: Query, _ parameters: JSONObject, isGet: Bool, in operation: Operation) {
        self.query = query
        self.parameters = parameters
        self.isGet = isGet
        self.operation = operation
    }
}

/// Finds and gets, with what applications listen to. A server whose applications listen to none goes straight to the
/// rows.
extension Store {
    /// Finds objects.
    /// - Parameter parameters: the query as the client wrote it, for hooks.
    public func find(
        _ query: Query, parameters: @autoclosure () -> JSONObject = JSONObject(), in operation: Operation
    ) async throws -> Found {
        var query = query
        applyDefaults(to: &query, isGet: false, operation)
        let hooks = operation.hooks
        guard !hooks.ignoreFinds else { return try await findRows(query, in: operation) }
        try access(operation.viewer).checkReachable(query.className)
        let find = Find(query, parameters(), isGet: false, in: operation)
        for hook in hooks.beforeFind(query.className) { try await hook.run(find) }
        let isRedirected = try await redirect(find)
        if find.objects == nil, hooks.listenBeforeFinds {
            find.query.predicate = try await askedWithin(find.query.predicate, operation)
        }
        var found: Found
        if let objects = find.objects {
            found = try await self.found(instead: objects, find, showsClassName: isRedirected)
        } else {
            found = try await findRows(find.query, in: operation, showsClassName: isRedirected)
        }
        // An explanation is of no class; what a hook has answered in its place is.
        guard found.hasObjects, find.objects != nil || !find.query.explain,
            hooks.listenBehind(find.query.className, including: found.includedClassNames)
        else { return found }
        let objects = try await behind(find, try found.json())
        found.objects = isRedirected ? objects.map { Self.named($0, find.query.className) } : objects
        return found
    }

    /// A client that asked another class can tell by the objects alone of which class they are, and a hook may have left
    /// it out.
    private static func named(_ json: JSON, _ className: String) -> JSON {
        guard case .object(var object) = json, object["className"] == nil else { return json }
        object["className"] = .string(className)
        return .object(object)
    }

    /// Where a query leads to the class of a relation's objects (`redirectClassNameForKey`), the hooks of that class are
    /// asked too, here and behind the find: what they keep from others is not to be had by another class's name.
    func redirect(_ find: Find) async throws -> Bool {
        guard find.objects == nil, let key = find.query.redirectClassNameForKey,
            case .relation(let target)? = try await find.operation.schema()[find.query.className]?.fields[key]?.type
        else { return false }
        try access(find.operation.viewer).checkReachable(target)
        find.query.className = target
        find.query.redirectClassNameForKey = nil
        find.parameters["redirectClassNameForKey"] = nil
        for hook in find.operation.hooks.beforeFind(target) { try await hook.run(find) }
        return true
    }

    /// Gets one object. Throws 101 when there is none that the viewer may read.
    /// - Parameter parameters: `keys`, `include` and the like as the client wrote them, for hooks.
    public func get(
        _ query: Query, objectId: String, parameters: @autoclosure () -> JSONObject = JSONObject(),
        in operation: Operation
    ) async throws -> FoundObject {
        var query = query
        applyDefaults(to: &query, isGet: true, operation)
        let hooks = operation.hooks
        guard !hooks.ignoreFinds else { return try await getRow(query, objectId: objectId, in: operation) }
        try access(operation.viewer).checkReachable(query.className)
        var asked = parameters()
        asked["where"] = ["objectId": .string(objectId)]
        let find = Find(query, asked, isGet: true, in: operation)
        for hook in hooks.beforeFind(query.className) { try await hook.run(find) }
        let json: JSON
        if find.query == query, find.objects == nil {
            let found = try await getRow(query, objectId: objectId, in: operation)
            guard hooks.listenBehind(query.className, including: found.includedClassNames) else { return found }
            json = try found.json()
        } else {
            // A hook asks for something else than the one object: the first that is found.
            var found: Found
            if let objects = find.objects {
                found = try await self.found(instead: objects, find)
            } else {
                found = try await findRows(find.query, in: operation)
            }
            guard let first = try found.json().first else { throw ParseError.objectNotFound }
            json = first
        }
        guard case .object(let object)? = try await behind(find, [json]).first else { throw ParseError.objectNotFound }
        return FoundObject(object)
    }

    /// What the application says of finds of the class.
    private func applyDefaults(to query: inout Query, isGet: Bool, _ operation: Operation) {
        guard operation.asksCloudCode, let defaults = options.findDefaults[query.className] else { return }
        let reader = operation.viewer.isAboveAccess ? nil : operation.viewer.userId
        defaults.apply(to: &query, isGet: isGet, reader: reader)
    }

    /// Objects that a hook brings: for whoever the rights bind they are looked up, so that nobody sees more than he may.
    private func found(instead objects: [JSON], _ find: Find, showsClassName: Bool = false) async throws -> Found {
        guard !find.operation.viewer.isAboveAccess else { return Found(objects: objects) }
        let ids = objects.compactMap { $0.object?["objectId"]?.string }
        // Made up by the hook: nobody's rights bind them.
        guard !ids.isEmpty else { return Found(objects: objects) }
        var query = find.query
        query.predicate = .field(FieldPath(field: "objectId"), .isIn(ids.map { .string($0) }))
        query.skip = 0
        return try await findRows(query, in: find.operation, showsClassName: showsClassName)
    }

    // MARK: behind a find

    /// What the hooks around finds leave of objects that were read past them. A class that they refuse shows none.
    public func shown(
        _ objects: [JSONObject], of className: String, in operation: Operation
    ) async throws -> [JSONObject] {
        let hooks = operation.hooks
        guard !objects.isEmpty, !hooks.beforeFind(className).isEmpty || !hooks.afterFind(className).isEmpty else {
            return objects
        }
        let included = objects.map { object in
            var object = object
            object["__type"] = "Object"
            object["className"] = .string(className)
            return JSON.object(object)
        }
        let find = Find(Query(className: className), JSONObject(), isGet: false, in: operation)
        do {
            let narrowed = try await narrowed(in: [.array(included)], at: 1, find)
            let shown = try await self.included(in: narrowed, at: 1, find)
            return (shown.first?.array ?? []).compactMap { json in
                guard var object = json.object else { return nil }
                object["__type"] = nil
                object["className"] = nil
                return object
            }
        } catch is ParseError { return [] }
    }

    private func behind(_ find: Find, _ found: [JSON]) async throws -> [JSON] {
        var objects = found
        var depth = 1
        while find.operation.hooks.listenBeforeFinds, depth <= objects.map(IncludedObjects.depth).max() ?? 0 {
            objects = try await narrowed(in: objects, at: depth, find)
            depth += 1
        }
        for depth in stride(from: objects.map(IncludedObjects.depth).max() ?? 0, to: 0, by: -1) {
            objects = try await included(in: objects, at: depth, find)
        }
        for hook in find.operation.hooks.afterFind(find.query.className) {
            find.objects = objects
            try await hook.run(find)
            objects = find.objects ?? objects
        }
        return objects
    }

    /// Asks the hooks before finds of the classes that are included at one depth, as if these objects were to be found:
    /// what they keep from a find is not to be had by an include either. The outer depths come first, since nobody asks
    /// for what lies within an object that is not shown.
    private func narrowed(in objects: [JSON], at depth: Int, _ find: Find) async throws -> [JSON] {
        try await replaced(in: objects, at: depth) { className, byId in
            let listening = find.operation.hooks.beforeFind(className)
            guard !listening.isEmpty else { return nil }
            let inner = lookup(className, byId.keys.sorted(), find)
            let asked = inner.query
            for hook in listening { try await hook.run(inner) }
            let found: Found
            if let objects = inner.objects {
                found = try await self.found(instead: objects, inner)
            } else {
                guard inner.query != asked else { return nil }
                found = try await findRows(inner.query, in: find.operation)
            }
            return try found.json().compactMap { json in
                guard case .object(let object) = json, let id = object["objectId"]?.string,
                    case .object(let included)? = byId[id]
                else { return nil }
                return IncludedObjects.narrow(included, to: object)
            }
        }
    }

    /// The find that would bring some included objects of one class.
    private func lookup(_ className: String, _ ids: [String], _ find: Find) -> Find {
        let path = FieldPath(field: "objectId")
        if ids.count == 1, let id = ids.first {
            let query = Query(className: className, predicate: .field(path, .equal(.string(id))))
            let asked = JSONObject([("where", ["objectId": .string(id)])])
            return Find(query, asked, isGet: true, in: find.operation)
        }
        var query = Query(className: className, predicate: .field(path, .isIn(ids.map { .string($0) })))
        query.limit = ids.count
        let asked = JSONObject([
            ("where", ["objectId": ["$in": .array(ids.map { .string($0) })]]), ("limit", .number(Double(ids.count))),
        ])
        return Find(query, asked, isGet: false, in: find.operation)
    }

    /// Shows the objects that are included at one depth to the hooks of their classes.
    private func included(in objects: [JSON], at depth: Int, _ find: Find) async throws -> [JSON] {
        try await replaced(in: objects, at: depth) { className, byId in
            let listening = find.operation.hooks.afterFind(className)
            guard !listening.isEmpty else { return nil }
            let ids = byId.keys.sorted()
            let inner = Find(
                Query(
                    className: className,
                    predicate: .field(FieldPath(field: "objectId"), .isIn(ids.map { .string($0) }))),
                JSONObject([("where", ["objectId": ["$in": .array(ids.map { .string($0) })]])]), isGet: false,
                in: find.operation)
            inner.objects = ids.compactMap { byId[$0] }
            for hook in listening { try await hook.run(inner) }
            return (inner.objects ?? []).compactMap { json in
                guard case .object(var object) = json else { return nil }
                object["__type"] = "Object"
                object["className"] = .string(className)
                return object
            }
        }
    }

    /// Puts others in the place of the objects that are included at one depth, class by class: those that have no other
    /// are left out. nil leaves a class as it is.
    private func replaced(
        in objects: [JSON], at depth: Int,
        by others: (_ className: String, _ byId: [String: JSON]) async throws -> [JSONObject]?
    ) async throws -> [JSON] {
        var collected: [String: [String: JSON]] = [:]
        for object in objects { IncludedObjects.collect(object, at: depth, into: &collected) }
        var shown: [String: [String: JSON]] = [:]
        for (className, byId) in collected.sorted(by: { $0.key < $1.key }) {
            guard let others = try await others(className, byId) else { continue }
            shown[className] = [:]
            for other in others {
                if let id = other["objectId"]?.string { shown[className]?[id] = .object(other) }
            }
        }
        guard !shown.isEmpty else { return objects }
        return objects.map { IncludedObjects.replace($0, at: depth, by: shown) ?? .null }
    }
}

/// Objects within objects, as an answer carries what was included: `{"__type": "Object", "className": …}`.
private enum IncludedObjects {
    /// How many objects lie within one another at most, below the outermost one.
    static func depth(_ json: JSON) -> Int {
        switch json {
        case .array(let elements): elements.map(inner).max() ?? 0
        case .object(let object): object.members.map { inner($0.value) }.max() ?? 0
        default: 0
        }
    }

    private static func inner(_ json: JSON) -> Int { depth(json) + (name(json) == nil ? 0 : 1) }

    static func name(_ json: JSON) -> (className: String, objectId: String)? {
        guard case .object(let object) = json, object["__type"] == "Object",
            let className = object["className"]?.string, let id = object["objectId"]?.string
        else { return nil }
        return (className, id)
    }

    static func collect(_ json: JSON, at depth: Int, into collected: inout [String: [String: JSON]]) {
        let parts: [JSON]
        switch json {
        case .array(let elements): parts = elements
        case .object(let object): parts = object.members.map(\.value)
        default: return
        }
        for part in parts {
            guard let name = name(part) else {
                collect(part, at: depth, into: &collected)
                continue
            }
            if depth == 1 {
                collected[name.className, default: [:]][name.objectId] = part
            } else {
                collect(part, at: depth - 1, into: &collected)
            }
        }
    }

    /// What of an included object another reading of it shows; what lies within it stays.
    static func narrow(_ included: JSONObject, to found: JSONObject) -> JSONObject {
        JSONObject(
            included.members.compactMap { name, value in
                if name == "__type" || name == "className" { return (name, value) }
                guard let other = found[name] else { return nil }
                return (name, inner(value) > 0 ? value : other)
            })
    }

    /// nil: a hook has dropped it.
    static func replace(_ json: JSON, at depth: Int, by shown: [String: [String: JSON]]) -> JSON? {
        func part(_ part: JSON) -> JSON? {
            guard let name = name(part) else { return replace(part, at: depth, by: shown) }
            guard depth == 1 else { return replace(part, at: depth - 1, by: shown) }
            guard let byId = shown[name.className] else { return part }
            return byId[name.objectId]
        }
        switch json {
        case .array(let elements): return .array(elements.compactMap(part))
        case .object(let object):
            return .object(
                JSONObject(object.members.compactMap { member in part(member.value).map { (member.key, $0) } }))
        default: return json
        }
    }
}
