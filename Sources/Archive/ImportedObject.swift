import Schema
import Wire

/// Why one object of a file was not imported.
struct Refusal: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
}

/// An object as an export holds it, in either of Parse's forms: what the REST API shows, and what lies in MongoDB.
struct ImportedObject {
    var objectId = ""
    var createdAt: Timestamp?
    var updatedAt: Timestamp?
    /// nil: open to everybody, as without an ACL.
    var readers: [String]?
    var writers: [String]?
    var fields: [(name: String, value: JSON)] = []
    /// Columns that the server keeps to itself.
    var hidden: [(name: String, value: JSON)] = []

    /// - Throws: `Refusal`.
    init(_ json: JSON, className: String) throws(Refusal) {
        guard case .object(let object) = json else { throw Refusal("it is not an object") }
        fields.reserveCapacity(object.count)
        var authData = JSONObject()
        for (key, value) in object.members {
            switch key {
            case "objectId", "_id":
                guard case .string(let id) = ExtendedJSON.plain(value), !id.isEmpty, id.utf8.count <= 255 else {
                    throw Refusal("its objectId is no text")
                }
                objectId = id
            case "createdAt", "_created_at": createdAt = try date(value, key)
            case "updatedAt", "_updated_at": updatedAt = try date(value, key)
            case "ACL":
                guard value != .null else { continue }
                do {
                    let acl = try ACL.parse(value)
                    readers = acl.entries.filter(\.read).map(\.principal)
                    writers = acl.entries.filter(\.write).map(\.principal)
                } catch { throw Refusal(error.message) }
            case "_rperm": readers = try principals(value)
            case "_wperm": writers = try principals(value)
            // What Parse Server derives from them.
            case "_acl", "className", "__type": continue
            default:
                if key.utf8.first == UInt8(ascii: "_") || className == "_User" || className == "_Session" {
                    guard try !takeOwn(key, value, className, &authData) else { continue }
                }
                fields.append((key, value))
            }
        }
        guard !objectId.isEmpty else { throw Refusal("it has no objectId") }
        if !authData.isEmpty { fields.append(("authData", .object(authData))) }
    }

    /// Takes what has a meaning to the server; false for a field like any other.
    private mutating func takeOwn(
        _ key: String, _ value: JSON, _ className: String, _ authData: inout JSONObject
    ) throws(Refusal) -> Bool {
        if key.hasPrefix("_p_") {
            let name = String(key.dropFirst(3))
            guard value != .null else { return true }
            guard let text = value.string, let dollar = text.firstIndex(of: "$") else {
                throw Refusal("\(key) is no pointer")
            }
            let (target, id) = (String(text[..<dollar]), String(text[text.index(after: dollar)...]))
            fields.append((name, Pointer(className: target, objectId: id).json))
            return true
        }
        switch (className, key) {
        case ("_User", "bcryptPassword"), ("_User", "_hashed_password"):
            guard value != .null, value != "" else { return true }
            guard let hash = value.string, ImportedObject.isHash(hash) else {
                throw Refusal("\(key) is no bcrypt hash")
            }
            hidden.append(("_hashed_password", value))
        case ("_User", "password"):
            throw Refusal("it has a password in clear: only bcrypt hashes (bcryptPassword) are imported")
        case ("_User", "_password_changed_at"): hidden.append((key, ExtendedJSON.plain(value)))
        case ("_User", "_password_history"): if value.array != nil { hidden.append((key, value)) }
        // A lock without end; one after wrong passwords is over soon.
        case ("_User", "_account_lockout_expires_at"):
            let end = ExtendedJSON.plain(value)
            if end.object?["iso"] == "9999-12-31T23:59:59.999Z" { hidden.append((key, end)) }
        // A session token of the hosted Parse's users; what is short-lived or derived.
        case ("_User", "sessionToken"), ("_User", "_session_token"), ("_User", "_email_verify_token"),
            ("_User", "_email_verify_token_expires_at"), ("_User", "_perishable_token"),
            ("_User", "_perishable_token_expires_at"), ("_User", "_failed_login_count"), ("_User", "_tombstone"):
            return true
        case ("_User", _) where key.hasPrefix("_auth_data_"):
            if value != .null { authData[String(key.dropFirst(11))] = value }
        case ("_Session", "_session_token"): fields.append(("sessionToken", value))
        case ("_Session", "_token_digest"): hidden.append((key, value))
        default:
            guard key.hasPrefix("_") else { return false }
            throw Refusal("there can be no field \(key)")
        }
        return true
    }

    /// `$2a$`, `$2b$`, `$2y$`, two digits, and 53 characters; `sha256:` in front, as Hermes writes it for long ones.
    static func isHash(_ text: String) -> Bool {
        let hash = Array((text.hasPrefix("sha256:") ? text.dropFirst(7) : text[...]).utf8)
        return hash.count == 60 && hash[0] == UInt8(ascii: "$") && hash[1] == UInt8(ascii: "2")
            && "aby".utf8.contains(hash[2]) && hash[3] == UInt8(ascii: "$") && hash[6] == UInt8(ascii: "$")
            && hash[4...5].allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
            && hash[7...].allSatisfy {
                ($0 >= 0x2E && $0 <= 0x39) || ($0 | 0x20 >= UInt8(ascii: "a") && $0 | 0x20 <= UInt8(ascii: "z"))
            }
    }

    private func date(_ value: JSON, _ key: String) throws(Refusal) -> Timestamp? {
        switch value {
        case .null: return nil
        case .string(let text): if let date = Timestamp(iso: text) { return date }
        default:
            if case .object(let date) = ExtendedJSON.plain(value),
                let date = date["iso"]?.string.flatMap({ Timestamp(iso: $0) })
            {
                return date
            }
        }
        throw Refusal("\(key) is no date")
    }

    private func principals(_ value: JSON) throws(Refusal) -> [String]? {
        guard value != .null else { return nil }
        guard let list = value.array else { throw Refusal("_rperm and _wperm must be lists") }
        return list.compactMap(\.string)
    }
}

/// The simple forms of MongoDB's Extended JSON (mongoexport), turned into Parse's.
/// https://github.com/mongodb/specifications/blob/master/source/extended-json.rst
enum ExtendedJSON {
    /// The value with `{"$date": …}`, `{"$numberLong": …}`, `{"$oid": …}`, `{"$binary": …}` replaced, at any depth.
    static func plain(_ json: JSON) -> JSON {
        switch json {
        case .object(let object):
            if let first = object.members.first, first.key.utf8.first == UInt8(ascii: "$") {
                return single(first.key, first.value, object) ?? json
            }
            guard object.members.contains(where: { holds($0.value) }) else { return json }
            return .object(JSONObject(object.members.map { ($0.key, plain($0.value)) }))
        case .array(let list): return list.contains(where: holds) ? .array(list.map(plain)) : json
        default: return json
        }
    }

    private static func holds(_ json: JSON) -> Bool {
        switch json {
        case .object, .array: true
        default: false
        }
    }

    private static func single(_ key: String, _ value: JSON, _ object: JSONObject) -> JSON? {
        switch key {
        case "$date":
            var date: Timestamp?
            switch value {
            case .string(let text): date = Timestamp(iso: text)
            case .number(let milliseconds) where abs(milliseconds) <= 8.64e15:
                date = Timestamp(milliseconds: Int64(milliseconds))
            default:
                if case .object(let inner) = value, let text = inner["$numberLong"]?.string, let number = Int64(text),
                    number.magnitude <= 8_640_000_000_000_000
                {
                    date = Timestamp(milliseconds: number)
                }
            }
            return date.map { Value.date($0).json }
        case "$numberLong", "$numberInt", "$numberDouble", "$numberDecimal":
            guard let number = value.string.flatMap({ Double($0) }), number.isFinite else { return nil }
            return .number(number)
        case "$oid": return value
        case "$binary":
            // {"$binary": "base64", "$type": "00"}, or {"$binary": {"base64": …, "subType": …}}
            let text = value.string ?? value.object?["base64"]?.string
            return text.map { ["__type": "Bytes", "base64": .string($0)] }
        default: return nil
        }
    }

    /// What MongoDB keeps without its type: a GeoPoint is `[longitude, latitude]`, a File a name, a Polygon GeoJSON.
    static func typed(_ json: JSON, as type: FieldType) -> JSON {
        switch (type, json) {
        case (.geoPoint, .array(let pair)) where pair.count == 2:
            return ["__type": "GeoPoint", "longitude": pair[0], "latitude": pair[1]]
        case (.file, .string(let name)): return ["__type": "File", "name": .string(name)]
        case (.bytes, .string(let text)): return ["__type": "Bytes", "base64": .string(text)]
        case (.polygon, .object(let object)) where object["type"] == "Polygon":
            guard let ring = object["coordinates"]?.array?.first?.array else { return json }
            return [
                "__type": "Polygon",
                "coordinates": .array(ring.map { corner in .array(corner.array.map { $0.reversed() } ?? []) }),
            ]
        default: return json
        }
    }
}
