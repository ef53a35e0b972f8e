import Hermes

extension Request {
    /// New or old; not who has no session, an anonymous user, or somebody whose roles were taken away.
    var isMember: Bool { Roles.ofMembers.contains(where: hasRole) }
    var isNewMember: Bool { !hasRole(Roles.member) }
    var isModerator: Bool { isMember && hasRole(Roles.moderator) }

    /// What the rules themselves read and write.
    var rules: Database { asMaster.pastHooks }

    /// Who calls.
    ///
    /// - Throws: 142 without a session, 119 for whoever is no member.
    func member() throws -> Pointer<Usuario> {
        guard let user = user(as: Usuario.self) else { throw Refusal.noSession }
        guard isMember else { throw Refusal.noMember }
        return user
    }

    /// The same for writing an object: a class asks for the session itself.
    func writer() throws -> Pointer<Usuario> {
        guard isMember, let user = user(as: Usuario.self) else { throw Refusal.noMember }
        return user
    }
}

extension FunctionRequest {
    /// A text that is not blank.
    func text(_ name: String) throws -> String {
        guard let text = params[name]?.string, !text.isBlank else { throw Refusal.wrong([name]) }
        return text
    }

    /// A text that may be missing, and counts as missing where it is blank.
    func optionalText(_ name: String) throws -> String? {
        guard let value = params[name], !value.isNull else { return nil }
        guard let text = value.string else { throw Refusal.wrong([name]) }
        return text.isBlank ? nil : text
    }

    /// true unless it says otherwise.
    func flag(_ name: String) throws -> Bool {
        guard let value = params[name], !value.isNull else { return true }
        guard let flag = value.bool else { throw Refusal.wrong([name]) }
        return flag
    }
}

extension Database {
    /// The members of these names, in any case, in the order of the names.
    ///
    /// - Throws: 101 for a name that is nobody's, or an anonymous user's, who has no address.
    func members(_ names: [String]) async throws -> [Record<Usuario>] {
        let keys = Set(names.map { $0.lowercased() })
        let found = try await find(
            Query(Usuario.self).where(.isIn(\.clave, Array(keys)) || .isIn(\.username, names))
                .select(\.username, \.clave, \.email).limit(max(1, names.count * 2)))
        return try names.map { name in
            guard
                let user = found.first(where: {
                    $0.username == name || $0.username?.lowercased() == name.lowercased()
                }), !(user.email ?? "").isEmpty
            else { throw Refusal.unknownMember(name) }
            return user
        }
    }

    func member(_ name: String) async throws -> Record<Usuario> { try await members([name])[0] }

    /// Holds members until the transaction ends.
    ///
    /// - Throws: 101 where one of them is gone.
    func hold(_ users: [Pointer<Usuario>]) async throws {
        let all = Set(users)
        guard try await lock(all) == all.count else { throw Refusal.notFound }
    }

    /// Holds a member and those who were his friends a moment ago: an account that is closed meanwhile is in no group.
    func hold(_ member: Pointer<Usuario>, andFriends others: [Pointer<Usuario>]) async throws {
        try await hold([member] + others)
        guard try await friends(of: member, among: others).count == others.count else { throw Refusal.noLongerFriends }
    }
}
