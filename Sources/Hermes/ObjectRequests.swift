internal import Cloud
internal import Synchronization
internal import Wire

/// Before or after a save.
public final class SaveRequest<Fields: ParseObject>: Request {
    /// What it was called with.
    public let details: RequestDetails
    private let className: String
    /// Made when somebody asks for it.
    private let held: Mutex<Record<Fields>?>

    /// The object as it is to be, or has become. Before a save what is changed of it is written. After it, it shows in
    /// the client's answer and is not stored.
    public var object: Record<Fields> {
        get {
            held.withLock { held in
                let record = held ?? read()
                held = record
                return record
            }
        }
        set { held.withLock { $0 = newValue } }
    }

    /// The object as it was; nil where it is new.
    public let original: Record<Fields>?

    /// The object's id. A new object is going to have it already before it is made.
    public var objectId: String {
        object.objectId ?? details.call.objectId ?? ""
    }

    /// Of a user: a new password goes with it, which hooks never meet.
    public var setsPassword: Bool { details.call.hasPassword }

    /// It was not there before.
    public var isNew: Bool { original == nil }

    /// Whether a field becomes (or became) another than it was; of a new object, whether it has a value.
    public func changed<V: ParseValue>(_ key: KeyPath<Fields, V?>) -> Bool { changed(Fields.name(key)) }

    /// The same by the field's name.
    public func changed(_ name: String) -> Bool { object.json(name) != original?.json(name) }

    init(_ call: CloudCall, name: String, className: String) {
        details = RequestDetails(call, name: name)
        self.className = className
        original = call.object("original", className)
        held = Mutex(nil)
    }

    /// As the hook was called with it.
    private func read() -> Record<Fields> {
        let call = details.call
        if let result = call.resultObject { return Record(className: className, known: result) }
        return Record(
            className: className, known: original?.known ?? JSONObject(), changes: call.changes ?? JSONObject())
    }

    var beforeAnswer: CloudAnswer {
        guard let object = held.withLock({ $0 }), object.isTouched else { return details.answer() }
        return details.answer(["object": .object(object.changes)])
    }

    var afterAnswer: CloudAnswer {
        guard let object = held.withLock({ $0 }), object.isTouched else { return details.answer() }
        return details.answer([
            "fields": .object(JSONObject(object.changedFields.map { ($0, object.json($0) ?? .null) }))
        ])
    }
}

/// Before or after a delete.
public final class DeleteRequest<Fields: ParseObject>: Request {
    /// What it was called with.
    public let details: RequestDetails
    /// The object that goes, or has gone.
    public let object: Record<Fields>

    init(_ call: CloudCall, name: String, className: String) {
        details = RequestDetails(call, name: name)
        object = call.object("object", className) ?? Record(className: className, known: JSONObject())
    }
}

/// Before a find, a get or a count.
public final class FindRequest<Fields: ParseObject>: Request {
    /// What it was called with.
    public let details: RequestDetails
    /// The object is asked for by its id.
    public let isGet: Bool
    /// It is asked how many there are.
    public let isCount: Bool
    private let held: Mutex<(query: Query<Fields>, objects: [Record<Fields>]?, isTouched: Bool)>

    /// What is asked. What a hook sets is asked in its place: narrow it with ``Query/where(_:)``.
    public var query: Query<Fields> {
        get { held.withLock(\.query) }
        set { held.withLock { ($0.query, $0.isTouched) = (newValue, true) } }
    }

    /// Found instead, where it is set. For whoever is not the master they are read again by the caller's rights, so that
    /// nobody sees more than he may.
    public var objects: [Record<Fields>]? {
        get { held.withLock(\.objects) }
        set { held.withLock { $0.objects = newValue } }
    }

    init(_ call: CloudCall, name: String, className: String) {
        details = RequestDetails(call, name: name)
        isGet = call.payload["isGet"]?.bool == true
        isCount = call.payload["count"]?.bool == true
        let query = Query<Fields>(className: className, json: call.payload["query"]?.object ?? JSONObject())
        held = Mutex((query, nil, false))
    }

    var answer: CloudAnswer {
        held.withLock { held in
            if let objects = held.objects {
                return details.answer(["objects": .array(objects.map { $0.found })])
            }
            return details.answer(held.isTouched ? ["query": .object(held.query.json)] : nil)
        }
    }
}

/// After a find or a get, of its own class or of another one that included these objects.
public final class FoundRequest<Fields: ParseObject>: Request {
    /// What it was called with.
    public let details: RequestDetails
    /// What was asked.
    public let query: Query<Fields>
    private let held: Mutex<(objects: [Record<Fields>], isTouched: Bool)>

    /// What was found. What a hook sets is the client's answer: fields may be changed or taken away for it, and objects
    /// left out. Nothing of it is stored.
    public var objects: [Record<Fields>] {
        get { held.withLock(\.objects) }
        set { held.withLock { $0 = (newValue, true) } }
    }

    init(_ call: CloudCall, name: String, className: String) {
        details = RequestDetails(call, name: name)
        query = Query(className: className, json: call.payload["query"]?.object ?? JSONObject())
        let objects = (call.payload["objects"]?.array ?? []).compactMap { json in
            json.object.map { Record<Fields>(className: className, known: $0) }
        }
        held = Mutex((objects, false))
    }

    var answer: CloudAnswer {
        held.withLock { held in
            details.answer(held.isTouched ? ["objects": .array(held.objects.map { $0.found })] : nil)
        }
    }
}

/// A change of an object on its way to somebody who listens.
public final class EventRequest<Fields: ParseObject>: Request {
    /// What it was called with.
    public let details: RequestDetails
    /// `create`, `enter`, `update`, `leave` or `delete`.
    public let event: String
    /// The object as it was; nil where it is new.
    public let original: Record<Fields>?
    private let held: Mutex<Record<Fields>>

    /// What is sent. Nothing of it is stored.
    public var object: Record<Fields> {
        get { held.withLock { $0 } }
        set { held.withLock { $0 = newValue } }
    }

    init(_ call: CloudCall, name: String, className: String) {
        details = RequestDetails(call, name: name)
        event = call.payload["event"]?.string ?? ""
        original = call.object("original", className)
        held = Mutex(call.object("object", className) ?? Record(className: className, known: JSONObject()))
    }

    var answer: CloudAnswer {
        let object = object
        return details.answer(object.isTouched ? ["object": object.found] : nil)
    }
}

/// Somebody logs in, asks to have a password set anew, or has his account exported.
public final class LoginRequest<Fields: ParseObject>: Request {
    /// What it was called with.
    public let details: RequestDetails
    /// Who does. ``Request/user`` is who sent the request: nobody, mostly.
    public let object: Record<Fields>

    init(_ call: CloudCall, name: String) {
        details = RequestDetails(call, name: name)
        object =
            call.object("object", Fields.className) ?? Record(className: Fields.className, known: JSONObject())
    }
}

/// Somebody has logged out.
public final class LogoutRequest: Request {
    /// What it was called with.
    public let details: RequestDetails
    /// The session that has ended.
    public let session: Record<Session>

    init(_ call: CloudCall, name: String) {
        details = RequestDetails(call, name: name)
        session = call.object("object", Session.className) ?? Record(className: Session.className, known: JSONObject())
    }
}

/// Somebody connects to LiveQuery.
public final class ConnectRequest: Request {
    /// What it was called with.
    public let details: RequestDetails
    init(_ call: CloudCall, name: String) { details = RequestDetails(call, name: name) }
}

extension CloudCall {
    fileprivate func object<Fields>(_ name: String, _ className: String) -> Record<Fields>? {
        payload[name]?.object.map { Record(className: className, known: $0) }
    }
}

extension Record {
    /// As a find answers it.
    fileprivate var found: JSON {
        var object = merged
        object["className"] = .string(className)
        return .object(object)
    }
}
