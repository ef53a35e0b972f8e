import Postgres
import Schema
import Wire

/// What a caller asks to be written, read once: where a transaction runs again, each run begins from here.
struct Intent {
    let kind: Write.Kind
    let className: String
    let objectId: String
    let update: Update
    let authData: JSON?

    func write(in operation: Operation) -> Write {
        let write = Write(kind, className, objectId, update, in: operation)
        write.authData = authData
        return write
    }
}

extension Store {
    func intent(
        _ kind: Write.Kind, _ className: String, _ objectId: String?, _ body: JSONObject, in operation: Operation
    ) async throws -> Intent {
        try Names.checkClass(className)
        try denylist.check(.object(body))
        var body = body
        var authData: JSON?
        if className == "_User", kind != .delete {
            authData = body["authData"]
            body["authData"] = nil
        }
        let fields = try await operation.schema()[className]?.fields
        let update = try Update.parse(body, creating: kind == .create) { fields?[$0]?.type }
        return Intent(
            kind: kind, className: className, objectId: try objectId ?? newObjectId(className, update, operation),
            update: update,
            authData: authData)
    }

    /// The id of an object that is about to be made: the one it brings, where that is allowed, else a new one.
    private func newObjectId(
        _ className: String, _ update: Update, _ operation: Operation
    ) throws(ParseError) -> String {
        guard let given = update.objectId else { return ObjectIdentifiers.make(options.objectIdSize) }
        // In an ACL a user of that id would be taken for a role.
        if className == "_User", case .string(let id) = given, id.hasPrefix("role:") {
            throw ParseError(119, access(operation.viewer).refusal("Invalid object ID."))
        }
        guard options.allowsCustomObjectIds else {
            // Who writes objects whole has a place in them for the id that is yet to come.
            if given == .null || given == .string("") { return ObjectIdentifiers.make(options.objectIdSize) }
            throw ParseError(105, "objectId is an invalid field name.")
        }
        guard given != .null, given != .string("") else {
            throw ParseError(104, "objectId must not be empty, null or undefined")
        }
        guard case .string(let id) = given else {
            throw ParseError(111, "schema mismatch for objectId; expected String")
        }
        guard id.utf8.count <= 255, !id.utf8.contains(0) else {
            throw ParseError(111, "An objectId can have at most 255 bytes, and none of them 0.")
        }
        return id
    }
}
