import Wire

/// Refuses class-level permissions of the wrong shape with 107, in the order and words that dashboards know.
enum PermissionsCheck {
    static func check(
        _ permissions: JSONObject, fields: [String: ClassSchema.Field], objectIdIsCustom: Bool
    ) throws(ParseError) {
        for (key, value) in permissions.members {
            switch key {
            case "readUserFields", "writeUserFields":
                guard case .array(let names) = value else {
                    throw wrong(value, "class level permissions \(key) - must be an array")
                }
                for name in names { try checkPointerField(name, of: key, fields) }
            case "protectedFields":
                try checkProtectedFields(value, fields, objectIdIsCustom)
            case "ACL":
                try checkDefaultACL(value, objectIdIsCustom)
            default:
                guard ClassPermissions.Operation(rawValue: key) != nil else {
                    throw ParseError(107, "\(key) is not a valid operation for class level permissions")
                }
                try checkGrant(value, of: key, fields, objectIdIsCustom)
            }
        }
    }

    private static func checkGrant(
        _ value: JSON, of operation: String, _ fields: [String: ClassSchema.Field], _ objectIdIsCustom: Bool
    ) throws(ParseError) {
        guard case .object(let entries) = value else {
            throw wrong(value, "class level permissions \(operation) - must be an object")
        }
        for (key, value) in entries.members {
            if key == "pointerFields" {
                guard case .array(let names) = value else {
                    throw wrong(value, "\(operation)[pointerFields] - expected an array.")
                }
                for name in names { try checkPointerField(name, of: operation, fields) }
                continue
            }
            guard isPrincipal(key, objectIdIsCustom) || key == "requiresAuthentication" else { throw badKey(key) }
            guard value == .bool(true) else { throw wrong(value, "class level permissions acl \(operation):\(key)") }
        }
    }

    private static func checkProtectedFields(
        _ value: JSON, _ fields: [String: ClassSchema.Field], _ objectIdIsCustom: Bool
    ) throws(ParseError) {
        guard case .object(let entries) = value else {
            throw wrong(value, "class level permissions protectedFields - must be an object")
        }
        for (key, value) in entries.members {
            // A field that is gone, or names no users, lets nobody see anything: as in the reference, no reason to
            // refuse.
            guard key.hasPrefix("userField:") || key == "authenticated" || isPrincipal(key, objectIdIsCustom) else {
                throw badKey(key)
            }
            guard case .array(let names) = value else {
                throw wrong(value, "protectedFields[\(key)] - expected an array.")
            }
            for name in names {
                if case .string(let name) = name, DefaultFields.everywhere[name] != nil {
                    throw ParseError(107, "Default field '\(name)' can not be protected")
                }
                guard case .string(let field) = name, fields[field] != nil else {
                    throw ParseError(107, "Field '\(shown(name))' in protectedFields:\(key) does not exist")
                }
            }
        }
    }

    private static func checkDefaultACL(_ value: JSON, _ objectIdIsCustom: Bool) throws(ParseError) {
        guard case .object(let entries) = value else {
            throw wrong(value, "class level permissions ACL - must be an object")
        }
        for (principal, rights) in entries.members {
            guard principal == "currentUser" || isPrincipal(principal, objectIdIsCustom) else {
                throw badKey(principal)
            }
            guard case .object(let rights) = rights else { throw wrong(rights, "class level permissions acl") }
            for (right, value) in rights.members {
                guard right == "read" || right == "write" else {
                    throw ParseError(107, "'\(right)' is not a valid key for class level permissions acl")
                }
                guard case .bool = value else { throw wrong(value, "class level permissions acl") }
            }
        }
    }

    private static func checkPointerField(
        _ name: JSON, of place: String, _ fields: [String: ClassSchema.Field]
    ) throws(ParseError) {
        if case .string(let field) = name, isUserField(fields[field]) { return }
        throw ParseError(107, "'\(shown(name))' is not a valid column for class level pointer permissions \(place)")
    }

    private static func isUserField(_ field: ClassSchema.Field?) -> Bool {
        field?.type == .pointer("_User") || field?.type == .array
    }

    /// `*`, `role:NAME` or the id of a user.
    private static func isPrincipal(_ key: String, _ objectIdIsCustom: Bool) -> Bool {
        if key == "*" { return true }
        if key.hasPrefix("role:") { return key.utf8.count > 5 }
        if objectIdIsCustom { return !key.isEmpty }
        return key.utf8.count >= 10
            && key.utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            }
    }

    private static func badKey(_ key: String) -> ParseError {
        ParseError(107, "'\(key)' is not a valid key for class level permissions")
    }

    private static func wrong(_ value: JSON, _ place: String) -> ParseError {
        ParseError(107, "'\(shown(value))' is not a valid value for \(place)")
    }

    private static func shown(_ value: JSON) -> String {
        switch value {
        case .null: "null"
        case .bool(let bool): "\(bool)"
        case .number(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
        case .string(let string): string
        case .array: "[list]"
        case .object: "[object Object]"
        }
    }
}
