import Wire

// Options that are lists of objects: each object's members are read by name, and an unknown one is an error.

/// Reads an object's members; complains about those that nobody asked for.
private struct Members {
    let object: JSONObject
    let known: [String]

    init(_ json: JSON, known: [String]) throws(OptionFault) {
        guard case .object(let object) = json else {
            throw OptionFault("must hold objects, not \(OptionText.short(json))")
        }
        for member in object.members where !known.contains(member.key) {
            let nearest = Nearest.name(to: member.key, among: known)
            throw OptionFault(
                "has an unknown member \"\(member.key)\""
                    + (nearest.map { "; did you mean \"\($0)\"?" } ?? " (known: \(known.joined(separator: ", ")))"))
        }
        self.object = object
        self.known = known
    }

    func read<Value: OptionValue>(_ name: String, into value: inout Value) throws(OptionFault) {
        guard let json = object[name], json != .null else { return }
        do throws(OptionFault) { value = try Value(option: json) } catch {
            throw OptionFault("at \"\(name)\" \(error)")
        }
    }
}

extension ServerOptions.RateLimit: OptionValue {
    public static let kind = "object with requestPath, requestTimeWindow and requestCount"
    public static let mayStandAlone = true

    public init(option json: JSON) throws(OptionFault) {
        let members = try Members(
            json,
            known: [
                "requestPath", "requestTimeWindow", "requestCount", "requestMethods", "zone", "includeMasterKey",
                "includeInternalRequests", "errorResponseMessage",
            ])
        self.init()
        try members.read("requestPath", into: &requestPath)
        try members.read("requestTimeWindow", into: &requestTimeWindow)
        try members.read("requestCount", into: &requestCount)
        try members.read("requestMethods", into: &requestMethods)
        try members.read("zone", into: &zone)
        try members.read("includeMasterKey", into: &includeMasterKey)
        try members.read("includeInternalRequests", into: &includeInternalRequests)
        try members.read("errorResponseMessage", into: &errorResponseMessage)
        guard !requestPath.isEmpty else { throw OptionFault("needs a requestPath in each of its objects") }
        guard requestCount != nil, let window = requestTimeWindow, window > 0 else {
            throw OptionFault("needs a requestCount and a requestTimeWindow above 0 in each of its objects")
        }
        // Parse Server takes one text for several methods: "PUT|DELETE".
        requestMethods = requestMethods.flatMap { $0.split(separator: "|").map { $0.uppercased() } }
    }

    public init(flag text: String) throws(OptionFault) { try self.init(option: OptionText.json(text)) }

    public var shown: JSON? {
        .object(
            JSONObject([
                ("requestPath", .string(requestPath)), ("requestTimeWindow", requestTimeWindow.shown ?? .null),
                ("requestCount", requestCount.shown ?? .null), ("zone", .string(zone.rawValue)),
            ]))
    }
}

extension ServerOptions.DeniedKeyword: OptionValue {
    public static let kind = "object with key, value or both"

    public init(option json: JSON) throws(OptionFault) {
        let members = try Members(json, known: ["key", "value"])
        var key: JSON?
        var value: JSON?
        try members.read("key", into: &key)
        try members.read("value", into: &value)
        guard key != nil || value != nil else { throw OptionFault("needs a key or a value in each of its objects") }
        var keyPattern: Pattern?
        if let key { keyPattern = try Pattern(Self.pattern(key, "key")) }
        self.init(key: keyPattern, value: value)
        if let value { _ = try Pattern(Self.pattern(value, "value")) }
    }

    /// Numbers and booleans are patterns by their text, as in Parse Server. There, an object or a list is taken too
    /// and denies nothing.
    private static func pattern(_ json: JSON, _ member: String) throws(OptionFault) -> String {
        switch json {
        case .string(let text): return text
        case .number, .bool: return json.description
        default:
            throw OptionFault("at \"\(member)\" must be a text, a number or a boolean, not \(OptionText.short(json))")
        }
    }

    public init(flag text: String) throws(OptionFault) { try self.init(option: OptionText.json(text)) }

    public var shown: JSON? {
        .object(
            JSONObject([("key", key?.shown), ("value", value)].compactMap { name, json in json.map { (name, $0) } }))
    }
}

extension ServerOptions.DeniedKeyword {
    /// As the request checks take it.
    public var json: JSONObject {
        var object = JSONObject()
        if let key { object["key"] = .string(key.source) }
        if let value { object["value"] = value }
        return object
    }
}
