internal import Wire

/// What a parameter of a function must be: `.string.required.length(6...200)`.
///
/// A parameter that is missing or null passes unless it is required. What does not pass is 142, with a message that
/// names it.
public struct Parameter: Sendable {
    private enum Kind: String {
        case any, string, number, boolean, array, object, date, pointer, geopoint, file
    }

    private let kind: Kind
    private var className: String?
    private var isRequired = false
    private var isWhole = false
    private var isNotBlank = false
    private var minimum: Double?
    private var maximum: Double?
    private var lengths: (minimum: Int, maximum: Int?)?
    private var options: [Value] = []
    private var initial: Value?

    private init(_ kind: Kind) { self.kind = kind }

    /// Whatever it is.
    public static let any = Parameter(.any)
    /// A text.
    public static let string = Parameter(.string)
    /// A number.
    public static let number = Parameter(.number)
    /// A number without a fraction.
    public static let integer = {
        var parameter = Parameter(.number)
        parameter.isWhole = true
        return parameter
    }()
    /// true or false.
    public static let bool = Parameter(.boolean)
    /// A list.
    public static let array = Parameter(.array)
    /// An object of JSON.
    public static let object = Parameter(.object)
    /// A date, in Parse's form.
    public static let date = Parameter(.date)
    /// A place.
    public static let geoPoint = Parameter(.geopoint)
    /// A file that has been stored.
    public static let file = Parameter(.file)
    /// A pointer to an object of a class, whether there is one or not.
    public static func pointer<Target: ParseObject>(_ type: Target.Type) -> Parameter { pointer(Target.className) }
    /// The same by the name of the class.
    public static func pointer(_ className: String) -> Parameter {
        var parameter = Parameter(.pointer)
        parameter.className = className
        return parameter
    }

    /// It must be there, and not null.
    public var required: Parameter { with { $0.isRequired = true } }
    /// A text must hold more than blanks.
    public var notBlank: Parameter { with { $0.isNotBlank = true } }
    /// A number must lie between these.
    public func range(_ range: ClosedRange<Double>) -> Parameter {
        with { ($0.minimum, $0.maximum) = (range.lowerBound, range.upperBound) }
    }
    /// The same, open on one side.
    public func range(_ range: PartialRangeFrom<Double>) -> Parameter { with { $0.minimum = range.lowerBound } }
    /// The same, open on one side.
    public func range(_ range: PartialRangeThrough<Double>) -> Parameter { with { $0.maximum = range.upperBound } }
    /// A text must have so many characters, as people count them; a list so many elements.
    public func length(_ range: ClosedRange<Int>) -> Parameter {
        with { $0.lengths = (range.lowerBound, range.upperBound) }
    }
    /// The same, open on one side.
    public func length(_ range: PartialRangeFrom<Int>) -> Parameter { with { $0.lengths = (range.lowerBound, nil) } }
    /// The same, open on one side.
    public func length(_ range: PartialRangeThrough<Int>) -> Parameter { with { $0.lengths = (0, range.upperBound) } }
    /// It must be one of these.
    public func oneOf(_ values: [Value]) -> Parameter { with { $0.options = values } }
    /// What it is where it is missing.
    public func byDefault(_ value: Value) -> Parameter { with { $0.initial = value } }

    private func with(_ change: (inout Parameter) -> Void) -> Parameter {
        var parameter = self
        change(&parameter)
        return parameter
    }

    /// - Throws: 142.
    func check(_ name: String, _ given: inout JSONObject) throws(ParseError) {
        var json = given[name] ?? .null
        if json == .null, let initial {
            json = initial.json
            given[name] = json
        }
        guard json != .null else {
            if isRequired { throw .validation("Please specify data for \(name).") }
            return
        }
        let value = Value(json)
        guard fits(value) else { throw .validation("Invalid type for \(name). Expected: \(typeName)") }
        if !options.isEmpty, !options.contains(value) {
            let list = options.map { $0.string ?? String(decoding: $0.json.bytes, as: UTF8.self) }
            throw .validation("Invalid option for \(name). Expected: \(list.joined(separator: ", "))")
        }
        guard isWithin(value) else { throw .validation("Invalid value for \(name).") }
    }

    private func fits(_ value: Value) -> Bool {
        switch (kind, value) {
        case (.any, _), (.string, .string), (.boolean, .bool), (.array, .array), (.object, .object), (.date, .date),
            (.geopoint, .geoPoint), (.file, .file):
            true
        case (.number, .number): !isWhole || value.int != nil
        case (.pointer, .pointer(let pointer)): pointer.className == className
        default: false
        }
    }

    private func isWithin(_ value: Value) -> Bool {
        switch value {
        case .number(let number): return number >= minimum ?? number && number <= maximum ?? number
        case .string(let text):
            if isNotBlank, text.unicodeScalars.allSatisfy(\.properties.isWhitespace) { return false }
            return isLongEnough(text.count)
        case .array(let elements): return isLongEnough(elements.count)
        default: return true
        }
    }

    private func isLongEnough(_ count: Int) -> Bool {
        guard let lengths else { return true }
        return count >= lengths.minimum && count <= lengths.maximum ?? count
    }

    private var typeName: String {
        if let className { return "pointer to \(className)" }
        return isWhole ? "whole number" : kind.rawValue
    }

    /// How a type is called towards clients.
    static func name<V: ParseValue>(of type: V.Type) -> String {
        switch type {
        case is String.Type: "string"
        case is Double.Type: "number"
        case is Int.Type: "whole number"
        case is Bool.Type: "boolean"
        case is Date.Type: "date"
        default: "\(type)"
        }
    }

    var description: JSON {
        var members = JSONObject([("type", .string(kind.rawValue))])
        if let className { members["className"] = .string(className) }
        if isRequired { members["required"] = true }
        if isWhole { members["whole"] = true }
        if isNotBlank { members["notBlank"] = true }
        if let minimum { members["minimum"] = .number(minimum) }
        if let maximum { members["maximum"] = .number(maximum) }
        if let lengths {
            members["minimumLength"] = .number(Double(lengths.minimum))
            if let maximum = lengths.maximum { members["maximumLength"] = .number(Double(maximum)) }
        }
        if !options.isEmpty { members["options"] = .array(options.map(\.json)) }
        if let initial { members["default"] = initial.json }
        return .object(members)
    }
}

/// The parameters of a function, in the order in which they were told.
struct Parameters: Sendable {
    private let all: [(name: String, parameter: Parameter)]

    init(_ fields: KeyValuePairs<String, Parameter>) { all = fields.map { ($0.key, $0.value) } }

    /// Puts in defaults, and throws 142 for the first that is not as it must be.
    func check(_ given: inout JSONObject) throws(ParseError) {
        for (name, parameter) in all { try parameter.check(name, &given) }
    }

    var description: JSONObject { JSONObject(all.map { ($0.name, $0.parameter.description) }) }
}
