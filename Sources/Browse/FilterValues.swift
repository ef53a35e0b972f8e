import Wire

enum FilterOperator: String, CaseIterable {
    case equal = "="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case contains = "~"
    case begins = "^="
    case has
    case isIn = "in"
    case isState = "is"
    case near
    case text

    /// Parse's name of a plain comparison.
    var constraint: String? {
        switch self {
        case .notEqual: "$ne"
        case .less: "$lt"
        case .lessOrEqual: "$lte"
        case .greater: "$gt"
        case .greaterOrEqual: "$gte"
        default: nil
        }
    }
}

/// What a path leads to.
struct FilterPlace {
    /// The pointers and relations on the way, and the class that each leads to.
    var steps: [(field: String, className: String)]
    /// The field there; with dots, what lies within an object.
    var leaf: String
    /// nil: within an object, where anything may be.
    var type: FieldType?

    /// The condition on the class that the path starts from.
    func wrap(_ constraint: JSON) -> JSONObject {
        steps.reversed().reduce(JSONObject([(leaf, constraint)])) { inner, step in
            JSONObject([
                (step.field, ["$inQuery": ["className": .string(step.className), "where": .object(inner)]])
            ])
        }
    }
}

/// A value as it was typed, made what the field takes.
enum FilterValue {
    case plain(JSON)
    /// `@lucia`: the user of that name.
    case user(String)
    /// A day: from its first millisecond to before the next day's.
    case day(Timestamp)
}

/// Which fields there are, which operators each takes, and which values.
struct FilterValues {
    let classes: Classes
    let now: Timestamp

    // MARK: paths

    func place(_ path: String, at start: Int, of shape: ClassShape) throws(FilterFault) -> FilterPlace {
        let parts = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        var shape = shape
        var steps: [(field: String, className: String)] = []
        var position = start
        for (index, part) in parts.enumerated() {
            guard let field = shape[part] else {
                throw FilterFault(
                    position, part.count,
                    part.isEmpty
                        ? "a field of \(shape.name) belongs here"
                        : "no field \(part) in \(shape.name)",
                    suggestion: Nearest.name(to: part, among: shape.fields.map(\.name), beginnings: true))
            }
            if index == parts.count - 1 { return FilterPlace(steps: steps, leaf: part, type: field.type) }
            position += part.count + 1
            switch field.type {
            case .pointer(let target), .relation(let target):
                guard let next = classes[target] else {
                    throw FilterFault(position, parts[index + 1].count, "the class \(target) is not there")
                }
                steps.append((part, target))
                shape = next
            case .object, .array:
                let rest = parts[(index + 1)...]
                guard rest.allSatisfy({ !$0.isEmpty && !$0.hasPrefix("$") }) else {
                    throw FilterFault(position, 0, "a name within \(part) belongs here")
                }
                return FilterPlace(steps: steps, leaf: parts[index...].joined(separator: "."), type: nil)
            default:
                throw FilterFault(
                    position - 1, path.count - (position - 1 - start),
                    "\(part) is a \(field.type.name), and nothing lies in it")
            }
        }
        throw FilterFault(start, path.count, "a field belongs here")
    }

    // MARK: operators

    private func operators(_ type: FieldType?) -> [FilterOperator] {
        let order: [FilterOperator] = [.less, .lessOrEqual, .greater, .greaterOrEqual]
        return switch type {
        case .string: [.equal, .notEqual] + order + [.contains, .begins, .isIn, .isState, .text]
        case .number, .date: [.equal, .notEqual] + order + [.isIn, .isState]
        case .boolean, .pointer, .file: [.equal, .notEqual, .isIn, .isState]
        case .array: [.has, .isIn, .isState]
        case .relation: [.has]
        case .geoPoint: [.near, .isState]
        case .object, .polygon, .bytes: [.isState]
        case .acl: []
        case nil: [.equal, .notEqual] + order + [.contains, .begins, .has, .isIn, .isState]
        }
    }

    func check(_ sign: FilterOperator, _ place: FilterPlace, _ token: FilterToken) throws(FilterFault) {
        let possible = operators(place.type)
        guard !possible.contains(sign) else { return }
        throw FilterFault(
            token.start, token.length, refusal(place, possible),
            suggestion: possible.contains(.has) && sign == .equal ? "has" : nil)
    }

    func noOperator(_ token: FilterToken, _ text: String, _ place: FilterPlace) -> FilterFault {
        let possible = operators(place.type)
        let words = possible.map(\.rawValue).filter { $0.first?.isLetter == true }
        return FilterFault(
            token.start, token.length, refusal(place, possible),
            suggestion: text.count < 2 ? nil : Nearest.name(to: text, among: words))
    }

    private func refusal(_ place: FilterPlace, _ possible: [FilterOperator]) -> String {
        if possible.isEmpty { return "the server does not search by \(place.leaf)" }
        let names = possible.map(\.rawValue).joined(separator: " ")
        let type = place.type.map { "\(place.leaf) is a \($0.name)" } ?? place.leaf
        return place.type == .object ? "\(type): \(place.leaf).NAME, or \(names)" : "\(type): \(names)"
    }

    // MARK: values

    func value(_ token: FilterToken, _ place: FilterPlace) throws(FilterFault) -> FilterValue {
        let text: String
        var isQuoted = false
        switch token.kind {
        case .word(let word): text = word
        case .quoted(let quoted):
            text = quoted
            isQuoted = true
        case .end: throw FilterFault(token.start, 0, "a value is missing")
        default: throw FilterFault(token.start, token.length, "a value belongs here")
        }
        func fault(_ reason: String, _ suggestion: String? = nil) -> FilterFault {
            FilterFault(token.start, token.length, reason, suggestion: suggestion)
        }
        guard !text.unicodeScalars.contains("\0") else { throw fault("a text cannot hold the character U+0000") }
        switch place.type {
        case .string: return .plain(.string(text))
        case .number:
            guard let number = Double(text), number.isFinite else {
                throw fault("\(place.leaf) is a Number, as 9 or -1.5")
            }
            return .plain(.number(number))
        case .boolean:
            guard text == "true" || text == "false" else {
                throw fault(
                    "true or false belongs here", Nearest.name(to: text, among: ["true", "false"], beginnings: true))
            }
            return .plain(.bool(text == "true"))
        case .date:
            guard let date = Timestamp(typed: text, now: now) else {
                throw fault("\(place.leaf) is a Date, as 2026-11-01, 2026-11-01T08:00, -7d or now")
            }
            if text.count == 10, text.contains("-") { return .day(date) }
            return .plain(FilterValues.json(date))
        case .file: return .plain(["__type": "File", "name": .string(text)])
        case .pointer(let target), .relation(let target):
            if !isQuoted, text.hasPrefix("@") {
                guard target == "_User" else { throw fault("@ names a user; \(place.leaf) leads to \(target)") }
                guard text.count > 1 else { throw fault("a username belongs behind the @") }
                return .user(String(text.dropFirst()))
            }
            var id = text[...]
            if let colon = text.firstIndex(of: ":"), !isQuoted {
                let className = String(text[..<colon])
                guard className == target else {
                    throw fault("\(place.leaf) leads to \(target)", target + text[colon...])
                }
                id = text[text.index(after: colon)...]
            }
            guard !id.isEmpty else { throw fault("an objectId of \(target) belongs here") }
            return .plain(FilterValues.pointer(target, String(id)))
        case .array, nil: return anything(text, isQuoted)
        case .object, .polygon, .bytes, .geoPoint, .acl: throw fault("no value belongs here")
        }
    }

    /// Where the schema does not say what a value is, its looks do.
    private func anything(_ text: String, _ isQuoted: Bool) -> FilterValue {
        if isQuoted { return .plain(.string(text)) }
        if text == "true" || text == "false" { return .plain(.bool(text == "true")) }
        if let number = Double(text), number.isFinite, text.first.map({ $0.isNumber || $0 == "-" }) == true {
            return .plain(.number(number))
        }
        if text.hasPrefix("@"), text.count > 1 { return .user(String(text.dropFirst())) }
        if let colon = text.firstIndex(of: ":"), classes[String(text[..<colon])] != nil {
            return .plain(FilterValues.pointer(String(text[..<colon]), String(text[text.index(after: colon)...])))
        }
        return .plain(.string(text))
    }

    static func json(_ date: Timestamp) -> JSON { ["__type": "Date", "iso": .string("\(date)")] }

    static func pointer(_ className: String, _ id: String) -> JSON {
        ["__type": "Pointer", "className": .string(className), "objectId": .string(id)]
    }

    // MARK: conditions

    private static func users(_ sign: String, _ condition: JSON) -> JSON {
        [sign: ["className": "_User", "where": ["username": condition]]]
    }

    func comparison(
        _ sign: FilterOperator, _ value: FilterValue, _ place: FilterPlace
    ) throws(FilterFault) -> JSONObject {
        switch value {
        case .user(let name):
            return place.wrap(FilterValues.users(sign == .notEqual ? "$notInQuery" : "$inQuery", .string(name)))
        case .day(let day) where sign == .equal || sign == .notEqual:
            let within = place.wrap(FilterValues.within(day))
            return sign == .equal ? within : JSONObject([("$nor", [.object(within)])])
        case .day(let day): return place.wrap([sign.constraint ?? "$eq": FilterValues.json(day)])
        case .plain(let json):
            switch sign {
            case .equal, .has: return place.wrap(json)
            case .contains: return place.wrap(["$regex": .string(FilterValues.literal(json)), "$options": "i"])
            case .begins: return place.wrap(["$regex": .string("^" + FilterValues.literal(json))])
            case .text: return place.wrap(["$text": ["$search": ["$term": json]]])
            default: return place.wrap([sign.constraint ?? "$eq": json])
            }
        }
    }

    private static func within(_ day: Timestamp) -> JSON {
        let next = Timestamp(milliseconds: day.milliseconds + 86_400_000)
        return ["$gte": json(day), "$lt": json(next)]
    }

    /// A text within a regular expression.
    private static func literal(_ json: JSON) -> String {
        let text = json.string ?? json.description
        var quoted = "\\Q"
        var rest = text[...]
        // A quoted run cannot hold its own end.
        while let end = rest.unicodeScalars.firstRange(of: "\\E".unicodeScalars) {
            quoted += rest[..<end.lowerBound] + "\\E\\\\E\\Q"
            rest = rest[end.upperBound...]
        }
        return quoted + rest + "\\E"
    }

    func isIn(_ list: [FilterValue], _ place: FilterPlace) -> JSONObject {
        var plain: [JSON] = []
        var names: [JSON] = []
        var parts: [JSONObject] = []
        for value in list {
            switch value {
            case .plain(let json): plain.append(json)
            case .user(let name): names.append(.string(name))
            case .day(let day): parts.append(place.wrap(FilterValues.within(day)))
            }
        }
        if !names.isEmpty {
            parts.insert(place.wrap(FilterValues.users("$inQuery", ["$in": .array(names)])), at: 0)
        }
        if !plain.isEmpty { parts.insert(place.wrap(["$in": .array(plain)]), at: 0) }
        return parts.count == 1 ? parts[0] : JSONObject([("$or", .array(parts.map { .object($0) }))])
    }
}
