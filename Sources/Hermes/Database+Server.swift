internal import Wire

extension Database {
    // MARK: users

    /// Somebody who has just signed up or logged in.
    public struct LoggedIn<Fields: ParseObject>: Sendable {
        /// Without its password.
        public let user: Record<Fields>
        /// For the client, which sends it with its requests; here ``Database/asSession(_:)`` takes it.
        public let sessionToken: String?
    }

    /// Makes a user, who needs a `username` and a `password` at least, and a session unless the master key signs up
    /// without an installation.
    ///
    /// - Throws: 202 where the name is taken, 203 where the address is.
    @discardableResult
    public func signUp<Fields>(_ user: Record<Fields>) async throws -> LoggedIn<Fields> {
        var answer = try await send("POST", ["users"], user.changes).object ?? JSONObject()
        let token = answer["sessionToken"]?.string
        answer["sessionToken"] = nil
        var saved = user.saved(answer)
        saved.known["password"] = nil
        return LoggedIn(user: saved, sessionToken: token)
    }

    /// The same of what a description holds.
    @discardableResult
    public func signUp<Fields: ParseObject>(_ user: Fields) async throws -> LoggedIn<Fields> {
        try await signUp(Record(user))
    }

    /// Begins a session.
    ///
    /// - Parameters:
    ///   - username: the name, or the address.
    ///   - password: as it was typed.
    ///   - authData: what goes with the password: `["mfa": ["token": "123456"]]` where the account has a second factor.
    ///   - type: the description of the application's users.
    /// - Throws: 101 where the name or the password is wrong; -1 where the account has a second factor and none was told,
    ///   141 where that is wrong.
    public func logIn<Fields: ParseObject>(
        username: String, password: String, authData: [String: Value] = [:], as type: Fields.Type = User.self
    ) async throws -> LoggedIn<Fields> {
        var body = JSONObject([("username", .string(username)), ("password", .string(password))])
        if !authData.isEmpty { body["authData"] = Value.object(authData).json }
        var answer = try await send("POST", ["login"], body).object ?? JSONObject()
        let token = answer["sessionToken"]?.string
        answer["sessionToken"] = nil
        return LoggedIn(user: Record(className: Fields.className, known: answer), sessionToken: token)
    }

    /// Whether a password is right, with no session begun. A wrong one counts as a log-in that failed.
    ///
    /// - Parameters:
    ///   - username: the name, or the address.
    ///   - password: as it was typed.
    /// - Throws: 101 where the name or the password is wrong; 205 where they are right and log-in waits for the address
    ///   to be verified.
    public func verifyPassword(username: String, password: String) async throws {
        try await send(
            "POST", ["verifyPassword"],
            JSONObject([("username", .string(username)), ("password", .string(password))]))
    }

    /// Ends the session whose rights these are.
    public func logOut() async throws { try await send("POST", ["logout"]) }

    /// Has a mail sent with which a forgotten password can be set anew.
    public func requestPasswordReset(email: String) async throws {
        try await send("POST", ["requestPasswordReset"], JSONObject([("email", .string(email))]))
    }

    /// Has the mail sent again by which somebody shows that an address is his (`verifyUserEmails`).
    ///
    /// - Parameter email: an address that an account has, and that was not verified yet. Of any other nothing is sent, and
    ///   nothing said.
    public func requestEmailVerification(email: String) async throws {
        try await send("POST", ["verificationEmailRequest"], JSONObject([("email", .string(email))]))
    }

    /// All that is kept of the account whose rights these are, as JSON.
    ///
    /// - Throws: what `GET /users/me/export` answers, 100 where that was asked for too often.
    public func exportAccount() async throws -> String {
        try await send("GET", ["users", "me", "export"]).description
    }

    /// Deletes the account whose rights these are, with its sessions.
    ///
    /// - Parameters:
    ///   - password: the account's.
    ///   - authData: what goes with the password: `["mfa": ["token": "123456"]]` where the account has a second factor.
    /// - Throws: 101 for a wrong password, -1 where a code is missing, 141 where it is wrong.
    public func deleteAccount(password: String, authData: [String: Value] = [:]) async throws {
        var body = JSONObject([("password", .string(password))])
        if !authData.isEmpty { body["authData"] = Value.object(authData).json }
        try await send("POST", ["users", "me", "delete"], body)
    }

    // MARK: roles

    /// A role by its name.
    ///
    /// - Throws: 101 where there is none that may be read.
    public func role(_ name: String) async throws -> Record<Role> {
        guard let role = try await first(Query(Role.self).where(\.name == name)) else {
            throw ParseError(101, "There is no role \(name).")
        }
        return role
    }

    /// Gives a user a role.
    public func add<Fields>(_ user: Pointer<Fields>, toRole name: String) async throws {
        var role = try await role(name)
        role.add(AnyPointer(user.className, user.objectId), to: "users")
        try await save(role)
    }

    /// Takes a role away from a user.
    public func remove<Fields>(_ user: Pointer<Fields>, fromRole name: String) async throws {
        var role = try await role(name)
        role.remove(AnyPointer(user.className, user.objectId), from: "users")
        try await save(role)
    }

    // MARK: functions, jobs, configuration

    /// Calls a function of cloud code, whoever provides it; answers its result, nil where it has none.
    public func call(_ function: String, _ parameters: [String: Value] = [:]) async throws -> Value? {
        try await send("POST", ["functions", function], parameters.jsonObject).object?["result"].map { Value($0) }
    }

    /// Has a job run soon, on some node, once what this belongs to is committed. Takes the master's rights.
    public func startJob(_ name: String, _ parameters: [String: Value] = [:]) async throws {
        try await send("POST", ["jobs", name], parameters.jsonObject)
    }

    /// The application's configuration, as clients read it; as the master, with what is for the master alone.
    public func config() async throws -> [String: Value] {
        let answer = try await send("GET", ["config"])
        return answer.object?["params"].flatMap { Value($0).object } ?? [:]
    }
}
