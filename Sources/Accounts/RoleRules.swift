import Store
import Wire

/// What holds for every write to `_Role`.
struct RoleRules: Sendable {
    var hooks: [Hook] { [Hook("roles", on: "_Role", .beforeSave) { try await before($0) }] }

    private func before(_ write: Write) async throws {
        guard write.isNew else { return try await refuseRename(write) }
        switch write.change("name")?.operation {
        case nil, .delete, .set(.null), .set(.string("")): throw ParseError(111, "name is required.")
        case .set(.string(let name)):
            guard RoleRules.isName(name) else {
                throw ParseError(139, "A role's name can only contain letters, digits, spaces, - and _.")
            }
        default: break
        }
        if write.update.acl == nil { throw ParseError(111, "ACL is required.") }
    }

    static func isName(_ name: String) -> Bool {
        name.unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || $0.properties.numericType != nil || " -_".unicodeScalars.contains($0)
        }
    }

    /// Roles keep their names: ACLs name them. Who may not write the role does not learn its name from the refusal.
    private func refuseRename(_ write: Write) async throws {
        guard let change = write.change("name") else { return }
        let name = try await write.readOriginal()["name"]
        switch change.operation {
        case .set(let value) where value.json == name: return
        // Of another type than a text: the class says what is wrong with it.
        case .set(let value) where value.fieldType != .string && value != .null: return
        default: throw ParseError(139, "A role's name cannot be changed after it has been saved.")
        }
    }
}
