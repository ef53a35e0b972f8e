import Postgres
import Schema
import Store
import Wire

/// What a sign-up made.
public struct SignedUp {
    public let created: Created
    /// nil where none was opened: a user made with the master key.
    public let sessionToken: String?
    /// Whether the sign-up was by authData: the answer then carries `authDataResponse`.
    public let byAuthData: Bool
}

extension Accounts {
    /// Makes a user. Throws 200, 201 for a bad name or password, 202, 203 for a taken name or address, 125 for a
    /// malformed address.
    public func signUp(_ body: JSONObject, as viewer: Viewer) async throws -> SignedUp {
        var body = body
        try checkServerFields(body, viewer)
        if let id = body["objectId"]?.string, id.hasPrefix("role:") {
            throw ParseError(119, store.options.sanitizesErrors ? "Permission denied" : "Invalid object ID.")
        }
        if body["id"] != nil { throw ParseError(105, "id is an invalid field name.") }
        let authData = try AuthData.take(&body, allowsAnonymous: options.allowsAnonymousUsers)
        if authData == nil {
            guard let name = body["username"]?.string, !name.isEmpty else { throw ParseError.missingUsername }
            guard let password = body["password"]?.string, !password.isEmpty else {
                throw ParseError(201, "password is required")
            }
        }
        if let authData, let known = try await existingUser(authData) {
            return try await logInByAuthData(known, viewer)
        }
        // A name that the server makes is told: the client can't know it.
        var madeName: String?
        if body["username"] == nil || body["username"] == .null {
            madeName = Random.hexadecimal(12)
            body["username"] = madeName.map { .string($0) }
        }
        try normalise(&body)
        let password = try takePassword(&body)
        var update = try await store.parseUpdate("_User", body, creating: true)
        if update.acl == nil || update.acl == .delete {
            update.acl = .set(ACL(options.usersArePrivate ? [] : [ACL.Entry("*", read: true, write: false)]))
        }
        var server = ServerSide()
        server.columns = try await columns(password: password)
        if let authData { server.columns.append(ServerColumn("authData", .utf8(authData.json.bytes), "jsonb")) }
        let id = try store.newObjectId(update)
        server.objectId = id
        var token: String?
        // The master key makes users for others; an installation's id says that it is for itself.
        if viewer.key == .none || viewer.installationId != nil {
            let origin = Origin.signUp(provider: authData?.provider ?? "password")
            let session = newSession(id, origin, viewer.installationId)
            token = session.token
            server.afterwards.append((session.statement, session.parameters))
        }
        var created = try await mappingDuplicates {
            try await store.create("_User", update, as: viewer, server: server)
        }
        if let madeName { created.answered["username"] = .string(madeName) }
        return SignedUp(created: created, sessionToken: token, byAuthData: authData != nil)
    }

    // MARK: steps shared with updates

    /// emailVerified is the server's own, but for the master key.
    func checkServerFields(_ body: JSONObject, _ viewer: Viewer) throws(ParseError) {
        if !viewer.isAboveAccess, body["emailVerified"] != nil {
            throw ParseError(
                119,
                store.options.sanitizesErrors
                    ? "Permission denied" : "Clients aren't allowed to manually update email verification.")
        }
    }

    /// Checks the address; puts name and address in lower case where the configuration asks for it.
    func normalise(_ body: inout JSONObject) throws(ParseError) {
        if case .string(let email)? = body["email"] {
            guard EmailAddress.isPlausible(email) else {
                throw ParseError(125, "Email address format is invalid.")
            }
            if options.lowercasesEmail { body["email"] = .string(email.lowercased()) }
        }
        if options.lowercasesUsername, case .string(let name)? = body["username"] {
            body["username"] = .string(name.lowercased())
        }
    }

    /// Takes the password out of what is stored as fields.
    func takePassword(_ body: inout JSONObject) throws -> String? {
        guard let given = body["password"] else { return nil }
        body["password"] = nil
        guard case .string(let password) = given else {
            let type = try Value.parse(given).fieldType?.description ?? "null"
            throw ParseError(111, "schema mismatch for _User.password; expected String but got \(type)")
        }
        guard !password.utf8.contains(0) else {
            throw ParseError(111, "A password cannot hold the character U+0000.")
        }
        return password
    }

    func columns(password: String?) async throws -> [ServerColumn] {
        guard let password else { return [] }
        guard let hash = try await Passwords.hash(password) else {
            throw ParseError(1, "The password could not be hashed.")
        }
        return [
            ServerColumn("_hashed_password", .text(hash), "text"),
            ServerColumn("_perishable_token", .null, "text"),
            ServerColumn("_perishable_token_expires_at", .null, "timestamptz"),
        ]
    }

    /// Tells which name was taken.
    func mappingDuplicates<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as PostgresError where error.isUniqueViolation {
            switch error.constraint {
            case "_User_username": throw ParseError(202, "Account already exists for this username.")
            case "_User_email": throw ParseError(203, "Account already exists for this email address.")
            case "_User_authData_anonymous": throw ParseError(208, "this auth is already used")
            default: throw error
            }
        }
    }

    // MARK: authData

    private static let findByAnonymousId = Statement(
        "SELECT \"objectId\" FROM \"_User\" WHERE (\"authData\" #>> '{anonymous,id}') = $1::text")

    private func existingUser(_ authData: AuthData) async throws -> String? {
        let rows = try await database.read(Accounts.findByAnonymousId, [.text(authData.id)])
        return rows.count > 0 ? rows.string(0, 0) : nil
    }

    /// The same authData again is a log-in.
    private func logInByAuthData(_ userId: String, _ viewer: Viewer) async throws -> SignedUp {
        let token = try await openSession(userId, .logIn(provider: "anonymous"), viewer.installationId)
        throw LoggedInInstead(userId: userId, sessionToken: token)
    }
}

/// A sign-up whose authData belongs to a user already: the answer is that of a log-in.
public struct LoggedInInstead: Error {
    public let userId: String
    public let sessionToken: String
}

/// The authData of a sign-up. Only anonymous users so far.
struct AuthData {
    let provider: String
    let id: String
    let json: JSON

    /// Takes `authData` out of a body; nil when it says nothing. 252 for a provider that is not configured.
    static func take(_ body: inout JSONObject, allowsAnonymous: Bool) throws(ParseError) -> AuthData? {
        guard let given = body["authData"] else { return nil }
        body["authData"] = nil
        guard given != .null else { return nil }
        guard case .object(let providers) = given else {
            throw ParseError(251, "authData must be an object of providers.")
        }
        var found: AuthData?
        for (provider, data) in providers.members {
            guard provider == "anonymous", allowsAnonymous else {
                throw ParseError(252, "This authentication method is unsupported.")
            }
            guard case .object(let object) = data, let id = object["id"] else {
                throw ParseError(251, "The authData of \(provider) needs an id.")
            }
            guard case .string(let id) = id, !id.isEmpty else {
                throw ParseError(162, "The id of authData must be a string.")
            }
            found = AuthData(provider: provider, id: id, json: given)
        }
        return found
    }
}

enum EmailAddress {
    /// Something before and something after an `@`: all that Parse asks.
    static func isPlausible(_ address: String) -> Bool {
        guard let at = address.dropFirst().firstIndex(of: "@") else { return false }
        return address.index(after: at) < address.endIndex
    }
}

extension ParseError {
    static let missingUsername = ParseError(200, "bad or missing username")
}
