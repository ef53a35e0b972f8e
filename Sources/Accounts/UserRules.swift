import Core
import Postgres
import Store
import Wire

/// What holds for every write to `_User`, whoever writes: names and addresses, passwords, ways of logging in, the
/// user's own rights, its sessions.
struct UserRules: Sendable {
    let options: AccountOptions

    var hooks: [Hook] {
        [
            Hook("users", on: "_User", .beforeSave) { try await before($0) },
            Hook("users", on: "_User", .completeSave) { try await complete($0) },
            Hook("users", on: "_User", .beforeDelete) { try beforeDelete($0) },
        ]
    }

    // MARK: before an application's hooks

    /// Refuses what nobody may write, and takes what is no field out of what hooks see: they never meet a password.
    private func before(_ write: Write) async throws {
        let isClient = !write.viewer.isAboveAccess
        if isClient, write.change("emailVerified") != nil {
            throw write.refusal(119, "Clients aren't allowed to manually update email verification.")
        }
        if !write.isNew {
            if isClient, write.viewer.userId == nil { throw write.missing }
            try refuseEmptied(write)
        }
        let isLinked = try await takeAuthData(write)
        if write.isNew {
            if !isLinked { try checkSignUp(write) }
            if write.change("username") == nil || write.change("username")?.operation == .set(.null) {
                // A name that the server makes is told: the client can't know it.
                let name = Random.hexadecimal(12)
                write.set("username", .string(name))
                write.extras["username"] = .string(name)
            }
        }
        try takePassword(write)
    }

    private func checkSignUp(_ write: Write) throws(ParseError) {
        guard case .string(let name)? = write.value("username"), !name.isEmpty else { throw .missingUsername }
        guard case .string(let password)? = write.value("password"), !password.isEmpty else {
            throw ParseError(201, "password is required")
        }
    }

    /// A user can't lose its name or its password.
    private func refuseEmptied(_ write: Write) throws(ParseError) {
        if write.empties("username") { throw .missingUsername }
        if write.empties("password") { throw ParseError(201, "password is required") }
    }

    private func takePassword(_ write: Write) throws(ParseError) {
        guard let change = write.change("password") else { return }
        guard case .set(.string(let password)) = change.operation else {
            guard case .set(let value) = change.operation else {
                throw ParseError(111, "A password must be a text.")
            }
            throw ParseError(
                111,
                "schema mismatch for _User.password; expected String but got \(value.fieldType?.description ?? "null")")
        }
        write.remove("password")
        write.password = password
    }

    /// `authData` becomes a column that only the server sets, once what it says has been shown to be true. Answers
    /// whether it names a way to log in.
    private func takeAuthData(_ write: Write) async throws -> Bool {
        guard let given = write.authData else { return false }
        let authData = try AuthData(given, options)
        guard !authData.isEmpty else {
            if given == .null, !write.isNew || write.change("username") != nil {
                throw ParseError.unsupportedAuthentication
            }
            return false
        }
        // What was only taken away from what is not there says nothing.
        guard !write.isNew || !authData.links.isEmpty || authData.secondFactor != nil else { return false }
        write.extras["authDataResponse"] = .object(JSONObject())
        var (stored, logins, gone) = (JSONObject(), [(provider: String, id: String)](), authData.unlinks)
        for link in authData.links {
            let id = try await link.proven(options, in: write.operation)
            stored[link.provider] = link.stored(id)
            if !link.isAnonymous { logins.append((link.provider, id)) }
        }
        if let given = authData.secondFactor, let secondFactor = options.secondFactor {
            try await SecondFactor(options: secondFactor).change(given, in: write)
            if SecondFactor.isSetUp(given) {
                stored[AuthData.secondFactor] = ["status": "enabled"]
            } else {
                gone.append(AuthData.secondFactor)
            }
        }
        let userId = write.objectId
        if write.isNew {
            write.columns.append(ServerColumn("authData", .utf8(JSON.object(stored).bytes), "jsonb"))
        } else {
            let (stored, gone) = (stored, gone)
            write.addEffect { try await $0.mergeAuthData(stored, without: gone, of: userId) }
        }
        if !logins.isEmpty || !authData.unlinks.isEmpty {
            let (logins, unlinks) = (logins, authData.unlinks)
            write.addEffect { try await $0.changeLogins(logins, without: unlinks, of: userId) }
        }
        return !authData.links.isEmpty
    }

    // MARK: behind an application's hooks

    /// Whatever hooks have made of it, these hold.
    private func complete(_ write: Write) async throws {
        try refuseEmptied(write)
        if case .string(let email)? = write.value("email") {
            guard EmailAddress.isPlausible(email) else {
                throw ParseError(125, "Email address format is invalid.")
            }
            if options.lowercasesEmail { write.set("email", .string(email.lowercased())) }
        }
        if options.lowercasesUsername, case .string(let name)? = write.value("username") {
            write.set("username", .string(name.lowercased()))
        }
        // A hook may set a password too.
        try takePassword(write)
        if !write.isNew, write.change("email") != nil || write.password != nil {
            // A link that went to the old address is its reader's no more, and who has a new password asked for none.
            write.columns += [
                ServerColumn("_login_token", .null, "text"), ServerColumn("_perishable_token", .null, "text"),
                ServerColumn("_perishable_token_expires_at", .null, "timestamptz"),
            ]
        }
        try await beginVerification(write)
        setRights(write)
        if let password = write.password { try await setPassword(password, write) }
        if write.isNew { openFirstSession(write) }
    }

    private func setRights(_ write: Write) {
        if write.isNew {
            var entries: [ACL.Entry]
            if case .set(let given)? = write.update.acl {
                entries = given.entries
            } else {
                entries = options.usersArePrivate ? [] : [ACL.Entry("*", read: true, write: false)]
            }
            write.update.acl = .set(UserRules.withOwner(entries, write.objectId))
        } else if !write.viewer.isAboveAccess, case .set(let given)? = write.update.acl {
            write.update.acl = .set(UserRules.withOwner(given.entries, write.objectId))
        }
    }

    /// A user can't lock itself out of its own row.
    private static func withOwner(_ entries: [ACL.Entry], _ userId: String) -> ACL {
        ACL(entries.filter { $0.principal != userId } + [ACL.Entry(userId, read: true, write: true)])
    }

    private func setPassword(_ password: String, _ write: Write) async throws {
        let policy = options.passwords
        let asksForName = policy.forbidsUsername && write.value("username") == nil
        let standing =
            !write.isNew && (policy.history > 0 || asksForName)
            ? try await StandingPassword(of: write.objectId, in: write.operation) : nil
        var username = standing?.username
        if case .string(let given)? = write.value("username") { username = given }
        try policy.check(password, username: username)
        if let standing, policy.history > 0 {
            try await standing.refuse(password, among: policy.history, for: write.operation.request.address)
            write.columns.append(
                ServerColumn("_password_history", .utf8(standing.remembered(policy.history).bytes), "jsonb"))
        }
        write.columns += [
            ServerColumn("_password_changed_at", .timestamp(milliseconds: Timestamp.now.milliseconds), "timestamptz"),
            ServerColumn("_hashed_password", .text(try await write.operation.hash(password)), "text"),
        ]
        guard !write.isNew else { return }
        let userId = write.objectId
        if options.passwordChangeEndsSessions { write.addEffect { try await $0.endSessions(of: userId) } }
        if !write.viewer.isAboveAccess, write.viewer.userId == userId {
            openSession(write, NewSession(userId, .logIn(provider: "password"), write.viewer.installationId, options))
        }
    }

    /// The master key makes users for others; an installation's id says that it is for itself. Cloud code (whose
    /// installation is called so) signs nobody in by it.
    private func openFirstSession(_ write: Write) {
        guard write.viewer.installationId != "cloud" else { return }
        guard write.viewer.key == .none || write.viewer.installationId != nil else { return }
        let isVerified = write.value("emailVerified") == .bool(true)
        guard isVerified || !options.mail.logInNeedsVerification else { return }
        let linked = write.authData.flatMap { try? AuthData($0, options) }?.links.first?.provider
        openSession(
            write,
            NewSession(write.objectId, .signUp(provider: linked ?? "password"), write.viewer.installationId, options))
    }

    private func openSession(_ write: Write, _ session: NewSession) {
        write.extras["sessionToken"] = .string(session.token)
        write.addEffect { try await $0.insert(session) }
    }

    // MARK: delete

    private func beforeDelete(_ write: Write) throws(ParseError) {
        if !write.viewer.isAboveAccess, write.viewer.userId == nil { throw write.missing }
        let userId = write.objectId
        write.addEffect { operation in
            try await operation.endSessions(of: userId)
            try await operation.unrelateByRule(userId, from: "users", of: "_Role")
        }
    }
}

extension ParseError {
    static let unverifiedEmail = ParseError(205, "User email is not verified.")
    static let missingUsername = ParseError(200, "bad or missing username")
    static let unsupportedAuthentication = ParseError(252, "This authentication method is unsupported.")
}

enum EmailAddress {
    /// Something before and something after an `@`: all that Parse asks.
    static func isPlausible(_ address: String) -> Bool {
        guard let at = address.dropFirst().firstIndex(of: "@") else { return false }
        return address.index(after: at) < address.endIndex
    }
}
