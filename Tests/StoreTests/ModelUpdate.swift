import Wire

/// The language of updates over values in memory.
extension Model {
    /// What is done to one path.
    struct Deed {
        enum Kind: Equatable {
            case set(JSON)
            case setOnInsert(JSON)
            case delete
            case increment(Double)
            case add([JSON])
            case addUnique([JSON])
            case remove([JSON])
            case relate(add: [String], remove: [String], to: String)
        }

        var field: String
        /// Names within the field.
        var path: [String]
        var kind: Kind

        /// Operators whose result the answer tells.
        var isTold: Bool {
            switch kind {
            case .increment, .add, .addUnique, .remove: true
            default: false
            }
        }

        /// Leaves a whole field without a value.
        var empties: Bool { path.isEmpty && [.delete, .set(.null), .setOnInsert(.null)].contains(kind) }

        /// The type that a field must have for it, or gets from it; nil: any.
        var type: FieldType? {
            guard path.isEmpty else { return .object }
            switch kind {
            case .set(let value), .setOnInsert(let value): return Model.type(of: value)
            case .delete: return nil
            case .increment: return .number
            case .add, .addUnique, .remove: return .array
            case .relate(_, _, let target): return .relation(target)
            }
        }
    }

    // MARK: reading a body

    /// The deeds of a body, in their order; what cannot be read is noted.
    func deeds(of change: Change) -> [Deed] {
        var deeds: [Deed] = []
        for (key, value) in change.body.members where !["ACL", "objectId", "createdAt", "updatedAt"].contains(key) {
            var path = key.split(separator: ".").map(String.init)
            let field = path.removeFirst()
            if field.first?.isNumber == true { refusals.codes.insert(105) }
            if let kind = deed(value, isDotted: !path.isEmpty) {
                deeds.append(Deed(field: field, path: path, kind: kind))
            }
        }
        for deed in deeds where !deed.path.isEmpty {
            // A field, or a part of it, and what lies within it.
            let isAmbiguous = deeds.contains { other in
                other.field == deed.field && other.path.count < deed.path.count && deed.path.starts(with: other.path)
            }
            if isAmbiguous { refusals.codes.insert(105) }
        }
        return deeds
    }

    private func deed(_ json: JSON, isDotted: Bool) -> Deed.Kind? {
        guard let object = json.object, let name = object["__op"]?.string else {
            check(json)
            return .set(Model.canonical(json))
        }
        let refuse = { (code: Int) -> Deed.Kind? in
            refusals.codes.insert(code)
            return nil
        }
        switch name {
        case "Delete": return .delete
        case "Increment": return object["amount"]?.number.map { .increment($0) } ?? refuse(107)
        case "SetOnInsert":
            guard let value = object["amount"] else { return refuse(107) }
            check(value)
            return .setOnInsert(Model.canonical(value))
        case "Add", "AddUnique", "Remove":
            guard let elements = object["objects"]?.array else { return refuse(107) }
            return name == "Add" ? .add(elements) : name == "AddUnique" ? .addUnique(elements) : .remove(elements)
        case "AddRelation", "RemoveRelation", "Batch":
            guard !isDotted else { return refuse(107) }
            let parts = name == "Batch" ? object["ops"]?.array ?? [] : [json]
            let pointers = { (name: String) in
                parts.filter { $0.object?["__op"]?.string == name }.flatMap { $0.object?["objects"]?.array ?? [] }
            }
            let (add, remove) = (pointers("AddRelation"), pointers("RemoveRelation"))
            let classes = Set((add + remove).map { $0.object?["className"]?.string ?? "" })
            guard let target = classes.first else { return refuse(107) }
            guard classes.count == 1, !target.isEmpty else { return refuse(111) }
            let ids = { (pointers: [JSON]) in pointers.compactMap { $0.object?["objectId"]?.string } }
            return .relate(add: ids(add), remove: ids(remove), to: target)
        default: return refuse(108)
        }
    }

    /// Notes what no value may be.
    private func check(_ json: JSON) {
        guard let object = json.object else { return }
        switch object["__type"]?.string {
        case nil:
            // Where the field is of another type than Object, that may be said instead.
            if Model.hasOperatorName(json) { refusals.codes.formUnion([121, 111]) }
        case "Date": if object["iso"]?.string?.hasSuffix("Z") != true { refusals.codes.insert(111) }
        case "GeoPoint": if !(-90...90).contains(object["latitude"]?.number ?? 100) { refusals.codes.insert(111) }
        default: break
        }
    }

    private static func hasOperatorName(_ json: JSON) -> Bool {
        json.object?.members.contains { $0.key.hasPrefix("$") || hasOperatorName($0.value) } ?? false
    }

    /// As it is read again: a polygon comes back closed.
    private static func canonical(_ json: JSON) -> JSON {
        guard var object = json.object, object["__type"] == "Polygon", var corners = object["coordinates"]?.array,
            let first = corners.first, first != corners.last
        else { return json }
        corners.append(first)
        object["coordinates"] = .array(corners)
        return .object(object)
    }

    static func type(of json: JSON) -> FieldType? {
        switch json {
        case .null: return nil
        case .bool: return .boolean
        case .number: return .number
        case .string: return .string
        case .array: return .array
        case .object(let object):
            let target = object["className"]?.string ?? ""
            switch object["__type"]?.string {
            case "Date": return .date
            case "GeoPoint": return .geoPoint
            case "Polygon": return .polygon
            case "Bytes": return .bytes
            case "Pointer": return .pointer(target)
            case "Relation": return .relation(target)
            default: return .object
            }
        }
    }

    // MARK: applying deeds

    /// The value behind a deed; nil: none.
    func value(of deed: Deed, on old: JSON?, isNew: Bool) -> JSON? {
        guard deed.path.isEmpty else {
            if deed.kind == .delete { return .object(without(deed.path[...], in: old?.object ?? JSONObject())) }
            if case .setOnInsert = deed.kind, !isNew { return old }
            return put(deed.path[...], in: old) { result(of: deed.kind, on: $0) }
        }
        if case .setOnInsert = deed.kind, !isNew { return old }
        let value = result(of: deed.kind, on: old)
        return value == .null ? Optional.none : value
    }

    private func result(of kind: Deed.Kind, on old: JSON?) -> JSON {
        let old = old ?? .null
        switch kind {
        case .set(let value), .setOnInsert(let value): return value
        case .delete, .relate: return .null
        case .increment(let amount):
            if old != .null, old.number == nil { refusals.codes.insert(111) }
            return .number((old.number ?? 0) + amount)
        case .add(let elements): return .array(list(old) + elements)
        case .addUnique(let elements):
            var all = list(old)
            let before = all
            var new: [JSON] = []
            for element in elements where !before.contains(element) && !new.contains(element) { new.append(element) }
            all += new
            return .array(all)
        case .remove(let elements): return .array(list(old).filter { !elements.contains($0) })
        }
    }

    private func list(_ json: JSON) -> [JSON] {
        if json != .null, json.array == nil { refusals.codes.insert(111) }
        return json.array ?? []
    }

    /// Objects on the way are made; what is there and is no object is in the way.
    private func put(_ path: ArraySlice<String>, in document: JSON?, _ change: (JSON?) -> JSON) -> JSON {
        guard let name = path.first else { return change(document) }
        if let document, document != .null, document.object == nil {
            refusals.codes.insert(111)
            return document
        }
        var object = document?.object ?? JSONObject()
        object[name] = put(path.dropFirst(), in: object[name], change)
        return .object(object)
    }

    /// What is not there needs no deleting; places in arrays have no names.
    private func without(_ path: ArraySlice<String>, in document: JSONObject) -> JSONObject {
        guard let name = path.first else { return document }
        var object = document
        guard path.count > 1 else {
            object[name] = nil
            return object
        }
        switch object[name] {
        case .object(let inner)?: object[name] = .object(without(path.dropFirst(), in: inner))
        case .array?: refusals.codes.insert(111)
        default: break
        }
        return object
    }
}
