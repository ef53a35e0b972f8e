import Wire

/// What somebody typed to see some objects of a class, as a Parse `where`.
///
///     or    = and {"or" and}
///     and   = not {"and" not}
///     not   = ["not"] ("(" or ")" | term)
///     term  = path op value | path "in" "(" value {"," value} ")" | path "is" ("missing"|"set")
///           | path "near" latitude "," longitude "within" N "km" | path "text" value | {JSON where}
///     op    = = != < <= > >= ~ (contains, any case) ^= (begins) has (element, link)
///     value = 9 true word "quoted" 2026-11-01[T08:00] -7d @username Class:id
///
/// A path may lead through pointers and relations (`autor.username`) and into objects (`datos.color`).
public struct Filter: Sendable, Equatable {
    /// `{}` for an empty filter.
    public var condition: JSONObject
    /// What somebody might not expect of it.
    public var notes: [String]

    /// - Parameter now: what `-7d` counts from.
    /// - Throws: `FilterFault` at the first part that cannot be.
    public init(
        _ text: String, on shape: ClassShape, in classes: Classes, now: Timestamp = .now
    ) throws(FilterFault) {
        var parser = FilterParser(try FilterTokens.read(text), shape, classes, now)
        condition = try parser.all()
        notes = parser.notes
    }
}

/// Everything that stands in an `and`, `or` or `not` at most this deep.
private let depthLimit = 50

private struct FilterParser {
    private let tokens: [FilterToken]
    private var index = 0
    private var depth = 0
    private let shape: ClassShape
    private let values: FilterValues
    var notes: [String] = []

    init(_ tokens: [FilterToken], _ shape: ClassShape, _ classes: Classes, _ now: Timestamp) {
        self.tokens = tokens
        self.shape = shape
        values = FilterValues(classes: classes, now: now)
    }

    private var current: FilterToken { tokens[index] }
    private var following: FilterToken { tokens[min(index + 1, tokens.count - 1)] }

    private mutating func take() -> FilterToken {
        defer { if index < tokens.count - 1 { index += 1 } }
        return tokens[index]
    }

    mutating func all() throws(FilterFault) -> JSONObject {
        if current.kind == .end { return JSONObject() }
        let condition = try or()
        guard current.kind == .end else {
            throw FilterFault(
                current.start, current.length,
                current.isSymbol(")")
                    ? "no bracket is open" : "\"and\", \"or\" or the end belongs here; several words need \"quotes\"")
        }
        return condition
    }

    private mutating func or() throws(FilterFault) -> JSONObject {
        depth += 1
        defer { depth -= 1 }
        guard depth <= depthLimit else { throw FilterFault(current.start, current.length, "nested too deep") }
        var parts = [try and()]
        while current.isWord("or") {
            _ = take()
            parts.append(try and())
        }
        return parts.count == 1 ? parts[0] : JSONObject([("$or", .array(parts.map { .object($0) }))])
    }

    private mutating func and() throws(FilterFault) -> JSONObject {
        var parts = [try not()]
        while current.isWord("and") {
            _ = take()
            parts.append(try not())
        }
        return Filter.all(parts)
    }

    private mutating func not() throws(FilterFault) -> JSONObject {
        var isNegated = false
        // A field may be called so.
        if current.isWord("not"), !startsOperator(following) {
            _ = take()
            isNegated = true
        }
        var part: JSONObject
        if current.isSymbol("(") {
            let open = take()
            part = try or()
            guard current.isSymbol(")") else {
                if current.kind == .end { throw FilterFault(open.start, 1, "the bracket is not closed") }
                throw FilterFault(current.start, current.length, "\"and\", \"or\" or ) belongs here")
            }
            _ = take()
        } else {
            part = try term()
        }
        if isNegated { part = JSONObject([("$nor", [.object(part)])]) }
        return part
    }

    private func startsOperator(_ token: FilterToken) -> Bool {
        switch token.kind {
        case .symbol(let symbol): FilterOperator(rawValue: symbol) != nil
        case .word(let word): FilterOperator(rawValue: word) != nil
        default: false
        }
    }

    private mutating func term() throws(FilterFault) -> JSONObject {
        let token = take()
        switch token.kind {
        case .json(let condition): return condition
        case .word(let path):
            let place = try values.place(path, at: token.start, of: shape)
            let operation = take()
            let text =
                switch operation.kind {
                case .symbol(let symbol): symbol
                case .word(let word): word
                default: ""
                }
            guard let sign = FilterOperator(rawValue: text) else { throw values.noOperator(operation, text, place) }
            try values.check(sign, place, operation)
            return try condition(sign, place, path)
        case .end: throw FilterFault(token.start, 0, "a field is missing")
        default: throw FilterFault(token.start, token.length, "a field belongs here")
        }
    }

    private mutating func condition(
        _ sign: FilterOperator, _ place: FilterPlace, _ path: String
    ) throws(FilterFault) -> JSONObject {
        switch sign {
        case .isState:
            let token = take()
            guard token.isWord("missing") || token.isWord("set") else {
                throw FilterFault(
                    token.start, token.length, "\"missing\" or \"set\" belongs here",
                    suggestion: Nearest.name(
                        to: token.word ?? "", among: ["missing", "set"], beginnings: true))
            }
            return place.wrap(["$exists": .bool(token.isWord("set"))])
        case .near: return place.wrap(.object(try near()))
        case .isIn:
            let open = take()
            guard open.isSymbol("(") else { throw FilterFault(open.start, open.length, "( belongs here") }
            var list = [try values.value(take(), place)]
            while current.isSymbol(",") {
                _ = take()
                list.append(try values.value(take(), place))
            }
            guard current.isSymbol(")") else {
                throw FilterFault(current.start, current.length, "a comma or ) belongs here")
            }
            _ = take()
            return values.isIn(list, place)
        default:
            if sign == .notEqual { notes.append("\(path) != finds also where it is missing") }
            return try values.comparison(sign, try values.value(take(), place), place)
        }
    }

    private mutating func near() throws(FilterFault) -> JSONObject {
        let latitude = try number("a latitude from -90 to 90", -90...90)
        guard current.isSymbol(",") else { throw FilterFault(current.start, current.length, "a comma belongs here") }
        _ = take()
        let longitude = try number("a longitude from -180 to 180", -180...180)
        guard current.isWord("within") else {
            throw FilterFault(current.start, current.length, "\"within N km\" belongs here")
        }
        _ = take()
        var kilometres: Double
        if let word = current.word, word.hasSuffix("km"), let number = Double(word.dropLast(2)), number > 0 {
            _ = take()
            kilometres = number
        } else {
            kilometres = try number("a number of kilometres", 0...20_100)
            guard current.isWord("km") else { throw FilterFault(current.start, current.length, "\"km\" belongs here") }
            _ = take()
        }
        kilometres = min(kilometres, 20_100)
        return JSONObject([
            ("$nearSphere", ["__type": "GeoPoint", "latitude": .number(latitude), "longitude": .number(longitude)]),
            ("$maxDistanceInKilometers", .number(kilometres)),
        ])
    }

    private mutating func number(_ what: String, _ range: ClosedRange<Double>) throws(FilterFault) -> Double {
        let token = take()
        guard let word = token.word, let number = Double(word), range.contains(number) else {
            throw FilterFault(token.start, token.length, "\(what) belongs here")
        }
        return number
    }
}

extension Filter {
    /// What holds where all parts do. Conditions on different fields stand side by side, else in an `$and`.
    public static func all(_ parts: [JSONObject]) -> JSONObject {
        let parts = parts.filter { !$0.isEmpty }
        guard parts.count != 1 else { return parts[0] }
        var joined = JSONObject()
        for (key, value) in parts.flatMap(\.members) {
            guard joined[key] == nil else { return JSONObject([("$and", .array(parts.map { .object($0) }))]) }
            joined[key] = value
        }
        return joined
    }
}
