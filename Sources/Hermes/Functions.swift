internal import Cloud
internal import Synchronization
internal import Wire

/// Who may call a function. The master key always may.
public struct Needs: Sendable {
    enum Kind: Sendable {
        case nothing, user, master
        case anyRole([String])
        case allRoles([String])
    }

    let kind: Kind

    /// Anybody.
    public static let nothing = Needs(kind: .nothing)
    /// Whoever has a session.
    public static let user = Needs(kind: .user)
    /// The master key alone.
    public static let master = Needs(kind: .master)
    /// Whoever has one of these roles.
    public static func roles(_ names: [String]) -> Needs { Needs(kind: .anyRole(names)) }
    /// Whoever has all of these roles.
    public static func allRoles(_ names: [String]) -> Needs { Needs(kind: .allRoles(names)) }

    /// - Throws: 142 for whoever may not.
    func check(_ call: CloudCall) throws(ParseError) {
        switch kind {
        case .nothing: return
        case .user: try checkUser(call)
        case .master: throw .validation("Master key is required to complete this request.")
        case .anyRole(let names):
            try checkUser(call)
            guard names.contains(where: call.roles.contains) else {
                throw .validation("User does not match the required roles.")
            }
        case .allRoles(let names):
            try checkUser(call)
            guard names.allSatisfy(call.roles.contains) else {
                throw .validation("User does not match all the required roles.")
            }
        }
    }

    private func checkUser(_ call: CloudCall) throws(ParseError) {
        guard call.userId != nil else { throw .validation("Please login to continue.") }
    }

    var description: JSON {
        switch kind {
        case .nothing: "nothing"
        case .user: "user"
        case .master: "master"
        case .anyRole(let names): ["roles": .array(names.map { .string($0) })]
        case .allRoles(let names): ["allRoles": .array(names.map { .string($0) })]
        }
    }
}

extension ParseError {
    /// As the reference's validators say it.
    static func validation(_ message: String) -> ParseError { ParseError(142, "Validation failed. " + message) }
}

/// A call of a function.
public final class FunctionRequest: Request {
    /// What it was called with.
    public let details: RequestDetails
    /// What it was called with, after what its fields ask for was checked, and defaults were put in.
    public let params: [String: Value]

    private struct Answered {
        var status: Int?
        var headers: [(name: String, value: String)] = []
    }
    private let answered = Mutex(Answered())

    init(_ call: CloudCall, name: String, params: [String: Value]) {
        details = RequestDetails(call, name: name)
        self.params = params
    }

    /// A parameter of a type that is known: `let titulo: String = try request.value("titulo")`.
    ///
    /// - Throws: 142 where it is missing or of another type.
    public func value<V: ParseValue>(_ name: String, as type: V.Type = V.self) throws -> V {
        guard let given = params[name], !given.isNull else {
            throw ParseError.validation("Please specify data for \(name).")
        }
        guard let value = V(parseValue: given) else {
            throw ParseError.validation("Invalid type for \(name). Expected: \(Parameter.name(of: type))")
        }
        return value
    }

    /// The same of one that may be missing: nil then.
    ///
    /// - Throws: 142 where it is of another type.
    public func optional<V: ParseValue>(_ name: String, as type: V.Type = V.self) throws -> V? {
        guard let given = params[name], !given.isNull else { return nil }
        return try value(name)
    }

    /// The HTTP status of a good answer; 200 unless it is set.
    public var status: Int {
        get { answered.withLock { $0.status ?? 200 } }
        set { answered.withLock { $0.status = newValue } }
    }

    /// Sends a header with the answer.
    public func setHeader(_ name: String, _ value: String) {
        answered.withLock { $0.headers.append((name, value)) }
    }

    func answer(_ result: Value?) -> CloudAnswer {
        var answer = details.answer(result?.json)
        let answered = answered.withLock { $0 }
        answer.status = answered.status
        answer.headers = answered.headers
        return answer
    }
}

extension Hermes {
    /// A function that clients call: `POST /functions/NAME`.
    ///
    /// The rate limit, what it needs and what its fields ask for are checked in this order, before `body` runs: 100 (HTTP
    /// status 429) says that it was called too often, 142 what is wrong. The master key is not bound by any of it (so
    /// do not take for granted that what is required is there: ``FunctionRequest/value(_:as:)`` throws).
    /// `GET /functions`, with the master key, lists all functions with what they ask for.
    ///
    ///     app.function("abrirTema", needs: .user, fields: ["tema": .string.required.length(6...200)]) { request in
    ///         let nombre: String = try request.value("tema")
    ///         let tema = try await request.asCaller.save(Tema(Tema: nombre))
    ///         return ["id": Value(try tema.pointer)]
    ///     }
    ///
    /// - Parameters:
    ///   - name: letters, digits and dots.
    ///   - needs: who may call it.
    ///   - fields: what its parameters must be; others pass as they come.
    ///   - rateLimit: how often a user (or, without one, an address) may call it, on all nodes together.
    ///   - timeLimit: how long it may take; nil: as the option `cloudTimeLimit` says, 10 s.
    ///   - body: answers the result: any ``ParseValue``, an optional one, or nothing; of a type that is none of these,
    ///     the program ends here with a message that says so.
    public func function<Result: Sendable>(
        _ name: String, needs: Needs = .nothing, fields: KeyValuePairs<String, Parameter> = [:],
        rateLimit: RateLimit? = nil, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (FunctionRequest) async throws -> Result
    ) {
        // To Swift's overloading a closure that answers nothing fits every result, so this is no second function.
        precondition(
            Result.self == Void.self || Result.self is any ParseValue.Type || Result.self is any OptionalField.Type,
            "function \(name) cannot answer a \(Result.self), which is no ParseValue")
        define(name, needs, fields, rateLimit, timeLimit) { request in
            switch try await body(request) {
            case let value as any ParseValue: value.parseValue
            case let value as any OptionalField: value.parseValue
            default: nil
            }
        }
    }

    /// The same where the result is a literal: `["id": Value(id), "nueva": true]`.
    @_disfavoredOverload
    public func function(
        _ name: String, needs: Needs = .nothing, fields: KeyValuePairs<String, Parameter> = [:],
        rateLimit: RateLimit? = nil, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (FunctionRequest) async throws -> Value
    ) {
        define(name, needs, fields, rateLimit, timeLimit) { request in try await body(request) }
    }

    private func define(
        _ name: String, _ needs: Needs, _ fields: KeyValuePairs<String, Parameter>, _ rateLimit: RateLimit?,
        _ timeLimit: Duration?, _ body: @escaping @Sendable (FunctionRequest) async throws -> Value?
    ) {
        let hook = "function \(name)"
        let parameters = Parameters(fields)
        var handler = CloudHandler(hook, timeLimit: timeLimit) { call in
            var given = call.payload["params"]?.object ?? JSONObject()
            if call.payload["master"]?.bool != true {
                try needs.check(call)
                try parameters.check(&given)
            }
            let request = FunctionRequest(call, name: hook, params: given.values)
            return request.answer(try await body(request))
        }
        handler.description = JSONObject([("needs", needs.description), ("fields", .object(parameters.description))])
        if let rateLimit { handler.description["rateLimit"] = rateLimit.description }
        let made = handler
        register {
            $0.functions[name] = made
            if let rateLimit { $0.rateLimits.append(rateLimit.option(function: name)) }
        }
    }
}

extension JSONObject {
    /// The members, whatever `__type` among them says.
    var values: [String: Value] {
        Dictionary(members.map { ($0.key, Value($0.value)) }, uniquingKeysWith: { _, last in last })
    }
}
