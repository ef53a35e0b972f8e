import Postgres
import Schema
import Store
import Wire

/// What a log-in brought.
public struct LoggedIn {
    /// The user as it may see itself; nil where it may not even get its own row.
    public let user: FoundObject?
    public let userId: String
    public let sessionToken: String?
}

extension Accounts {
    // Names and addresses are compared as they stand, unless the options say otherwise: each has a plain index beside the
    // unique one, which is without case.
    private static let findByName = Statement(byName("\"username\" = $1::text", "\"email\" = $1::text"))
    private static let findByEmail = Statement("\(columns) WHERE \"email\" = $1::text")
    private static let findByBoth = Statement("\(columns) WHERE \"username\" = $1::text AND \"email\" = $2::text")

    // The same in any case, by the unique indexes.
    private static let findByNameInAnyCase = Statement(
        byName(isSame("username", "$1"), isSame("email", "$1")))
    private static let findByEmailInAnyCase = Statement("\(columns) WHERE \(isSame("email", "$1"))")
    private static let findByBothInAnyCase = Statement(
        "\(columns) WHERE \(isSame("username", "$1")) AND \(isSame("email", "$2"))")

    private static let columns = """
        SELECT "objectId", "_hashed_password", "_rperm", "_wperm", "_password_changed_at", "emailVerified",
            "_account_lockout_expires_at" IS NOT DISTINCT FROM \(forever) FROM "_User"
        """

    private static func byName(_ name: String, _ address: String) -> String {
        "\(columns) WHERE \(name) UNION ALL \(columns) WHERE \(address) LIMIT 1"
    }

    static func isSame(_ column: String, _ parameter: String) -> String {
        "lower(\"\(column)\" COLLATE \"und-x-icu\") = lower(\(parameter)::text COLLATE \"und-x-icu\")"
    }

    static let refused = ParseError(101, "Invalid username/password.")

    /// Checks name (or address) and password. Throws 101 for whatever is wrong, so that nothing is told apart;
    /// 200, 201 when something is missing.
    func authenticate(_ parameters: JSONObject, in operation: Operation) async throws -> Authenticated {
        let username = Credential(parameters["username"])
        let email = Credential(parameters["email"])
        let password = Credential(parameters["password"])
        if case .missing = username, case .missing = email { throw ParseError(200, "username/email is required.") }
        if case .missing = password { throw ParseError(201, "password is required.") }
        guard case .text(let password) = password else { throw Accounts.refused }
        let rows: Rows
        switch (username, email) {
        case (.text(let username), .missing):
            rows = try await operation.read(
                options.logInIgnoresCase ? Accounts.findByNameInAnyCase : Accounts.findByName, [.text(username)])
        case (.missing, .text(let email)):
            rows = try await operation.read(
                options.logInIgnoresCase ? Accounts.findByEmailInAnyCase : Accounts.findByEmail, [.text(email)])
        case (.text(let username), .text(let email)):
            rows = try await operation.read(
                options.logInIgnoresCase ? Accounts.findByBothInAnyCase : Accounts.findByBoth,
                [.text(username), .text(email)])
        default: throw Accounts.refused
        }
        let hash = rows.count > 0 ? rows.optionalString(0, 1) : nil
        // Who guesses at an account that is locked learns no more of it than of a name that is nobody's.
        let isClosed = rows.count > 0 && rows.bool(0, 6)
        if rows.count > 0, !isClosed {
            try await countAttempt(at: rows.string(0, 0))
        } else {
            try await countStranger("\(username) \(email)")
        }
        let isRight = try await Passwords.verify(
            password, hash ?? Passwords.nobody, for: operation.request.address)
        guard isRight, hash != nil else { throw Accounts.refused }
        guard !isClosed else { throw Accounts.locked }
        // Locked out in Parse's way, by the master key: the ACL names nobody.
        let isLocked =
            !rows.isNull(0, 2) && rows.textArray(0, 2).isEmpty && !rows.isNull(0, 3) && rows.textArray(0, 3).isEmpty
        guard !isLocked || operation.viewer.isAboveAccess else { throw Accounts.refused }
        let userId = rows.string(0, 0)
        try await forgetAttempts(at: userId)
        // A URL says it as a text.
        let asked = parameters["ignoreEmailVerification"]
        let overlooks = operation.viewer.isMaster && (asked == true || asked == "true")
        if options.mail.logInNeedsVerification, rows.isNull(0, 5) || !rows.bool(0, 5), !overlooks {
            throw ParseError.unverifiedEmail
        }
        return Authenticated(
            userId: userId, hash: hash,
            passwordSince: rows.isNull(0, 4) ? nil : Timestamp(milliseconds: rows.timestampMilliseconds(0, 4)))
    }

    /// Who has shown the right password.
    struct Authenticated {
        let userId: String
        /// The password's.
        let hash: String?
        /// When it was set; nil: it is not known of old accounts.
        let passwordSince: Wire.Timestamp?
    }

    /// - Throws: 101 for a password that has grown too old to open a session.
    private func checkAge(_ authenticated: Authenticated) async throws {
        guard let age = options.passwords.maximumAge else { return }
        guard let since = authenticated.passwordSince else {
            // Set before ages were counted: it begins to grow old now.
            _ = try await database.write(Accounts.beginAge, [.text(authenticated.userId)])
            return
        }
        guard Double(Timestamp.now.milliseconds - since.milliseconds) / 1000 > age else { return }
        throw ParseError(101, "Your password has expired. Please reset your password.")
    }

    private static let beginAge = Statement(
        """
        UPDATE "_User" SET "_password_changed_at" = now() WHERE "objectId" = $1::text AND "_password_changed_at" IS NULL
        """)

    public func logIn(_ parameters: JSONObject, in operation: Operation) async throws -> LoggedIn {
        let authenticated = try await authenticate(parameters, in: operation)
        try await checkAge(authenticated)
        let given = parameters["authData"] ?? .null
        try await checkSecondFactor(of: authenticated.userId, given, in: operation)
        try await link(given, to: authenticated.userId, in: operation)
        return try await logIn(
            authenticated.userId, .logIn(provider: "password"), shownBy: authenticated.hash, in: operation)
    }

    /// Links what else a log-in brought.
    func link(_ given: JSON, to userId: String, in operation: Operation) async throws {
        guard case .object(var links) = given else { return }
        if options.secondFactor != nil { links[AuthData.secondFactor] = nil }
        guard !links.isEmpty else { return }
        let own = try await viewer(
            userId: userId, session: nil, installationId: operation.viewer.installationId, in: operation)
        _ = try await store.update(
            "_User", objectId: userId, JSONObject([("authData", .object(links))]), in: operation.nested(as: own))
    }

    /// Opens a session for a user who has shown who he is, with the hooks that listen to it.
    ///
    /// - Parameter hash: of the password that was shown, if it was one.
    func logIn(
        _ userId: String, _ origin: NewSession.Origin, shownBy hash: String? = nil, in operation: Operation
    ) async throws -> LoggedIn {
        try await ask(.beforeLogin, about: userId, in: operation)
        let session = try await openSession(userId, origin, shownBy: hash, in: operation)
        let loggedIn = try await loggedIn(userId, token: session.token, operation)
        if !store.hooks.of(.afterLogin).isEmpty {
            // From here on it is the user who asks.
            let viewer = try await viewer(
                userId: userId, session: session, installationId: operation.viewer.installationId, in: operation)
            try await ask(.afterLogin, about: userId, token: session.token, in: operation.nested(as: viewer))
        }
        return loggedIn
    }

    /// Shows a user to those who listen.
    ///
    /// - Parameter token: of the user's session, if there is one to tell of.
    func ask(
        _ event: SessionHook.Event, about userId: String, token: String? = nil, in operation: Operation
    ) async throws {
        let hooks = store.hooks.of(event)
        guard !hooks.isEmpty else { return }
        let user = try await store.getRow(
            Query(className: "_User"), objectId: userId, in: operation.nested(as: .master))
        var shown = try user.json().object ?? JSONObject()
        if let token { shown["sessionToken"] = .string(token) }
        for hook in hooks { _ = try await hook.run(shown, operation) }
    }

    /// `/loginAs`: a session for any user, opened by the master key.
    public func logInAs(_ parameters: JSONObject, in operation: Operation) async throws -> LoggedIn {
        guard case .string(let userId)? = parameters["userId"], !userId.isEmpty else {
            throw ParseError(162, "userId must not be empty, null, or undefined")
        }
        let rows = try await operation.read(
            Statement("SELECT FROM \"_User\" WHERE \"objectId\" = $1::text"), [.text(userId)])
        guard rows.count > 0 else { throw ParseError(101, "user not found") }
        if case .forever = try await lock(of: userId, in: operation) { throw Accounts.locked }
        let session = try await openSession(userId, .logIn(provider: "masterkey"), in: operation)
        return try await loggedIn(userId, token: session.token, operation)
    }

    /// `/verifyPassword`: checks and opens nothing.
    public func verifyPassword(_ parameters: JSONObject, in operation: Operation) async throws -> LoggedIn {
        let authenticated = try await authenticate(parameters, in: operation)
        return try await loggedIn(authenticated.userId, token: nil, operation)
    }

    private func loggedIn(_ userId: String, token: String?, _ operation: Operation) async throws -> LoggedIn {
        let viewer = operation.viewer
        let own =
            viewer.isAboveAccess
            ? viewer
            : try await self.viewer(userId: userId, session: nil, installationId: viewer.installationId, in: operation)
        do {
            let user = try await store.getRow(
                Query(className: "_User"), objectId: userId, in: operation.nested(as: own))
            return LoggedIn(user: user, userId: userId, sessionToken: token)
        } catch let error as ParseError where error.code == 119 || error.code == 101 {
            return LoggedIn(user: nil, userId: userId, sessionToken: token)
        }
    }

    private enum Credential {
        case missing, text(String), wrongType

        init(_ json: JSON?) {
            switch json {
            case nil, .null, .string(""): self = .missing
            case .string(let text): self = text.utf8.contains(0) ? .wrongType : .text(text)
            default: self = .wrongType
            }
        }
    }

    // MARK: sign-up

    /// What a sign-up came to.
    public enum SignedUp {
        case created(Written)
        /// Its `authData` belongs to a user already: that user is logged in.
        case loggedIn(LoggedIn)
    }

    /// Makes a user. Throws 200, 201 for a bad name or password, 202, 203 for a taken name or address, 125 for a
    /// malformed address.
    public func signUp(_ body: JSONObject, in operation: Operation) async throws -> SignedUp {
        let given = body["authData"] ?? .null
        let authData = try AuthData(given, options)
        if let loggedIn = try await logIn(by: authData, given, in: operation) { return .loggedIn(loggedIn) }
        if body["authData"] == nil || body["authData"] == .null {
            // Before the body is read as fields: what is wrong with them is told in these words.
            if let name = body["username"], name != .null, name.string == nil { throw ParseError.missingUsername }
            if let password = body["password"], password.string == nil, body["username"] != nil {
                throw ParseError(201, "password is required")
            }
        }
        // A hash takes as long as thousands of statements: nothing is locked meanwhile.
        if store.needsTransaction("_User", .create) { try await hashAhead(body, for: operation) }
        let written: Written
        do { written = try await store.create("_User", body, in: operation) } catch let error as ParseError
            where error.code == 208 && !operation.isInTransaction
        {
            // Another request with the same has signed up meanwhile.
            guard let loggedIn = try await logIn(by: authData, given, in: operation) else { throw error }
            return .loggedIn(loggedIn)
        }
        if options.mail.signUpNeedsVerification, operation.viewer.key == .none { throw ParseError.unverifiedEmail }
        return .created(written)
    }

    /// Whose `authData` it is that wants to be challenged.
    ///
    /// - Throws: -1 for what is no object, 101 where it is nobody's.
    public func checkChallenged(_ given: JSON, in operation: Operation) async throws {
        guard case .object(let providers) = given else { throw ParseError(-1, "authData should be an object.") }
        for (provider, data) in providers.members where data.object == nil {
            throw ParseError(-1, "authData.\(provider) should be an object.")
        }
        guard let link = (try? AuthData(given, options))?.links.first, link.isAnonymous,
            try await user(of: link, in: operation) != nil
        else { throw ParseError(101, "User not found.") }
    }
}
