import Postgres
import Store
import Wire

/// Proving that an address is its user's.
extension UserRules {
    /// A new address waits to be verified: what is stored for it, and the mail.
    func beginVerification(_ write: Write) async throws {
        let mail = options.mail
        guard mail.verifiesAddresses, let change = write.change("email") else { return }
        guard case .set(.string(let address)) = change.operation else {
            if !write.isNew { write.columns += Verification.columns(nil, life: nil) }
            return
        }
        var username = write.value("username").flatMap { if case .string(let name) = $0 { name } else { nil } }
        if !write.isNew {
            let original = try await write.readOriginal()
            guard original["email"] != .string(address) else { return }
            username = username ?? original["username"]?.string
        }
        if !write.viewer.isAboveAccess || write.change("emailVerified") == nil {
            write.set("emailVerified", .bool(false))
        }
        guard mail.sendsVerification, let send = mail.send, write.value("emailVerified") != .bool(true) else {
            // A link that went to the old address verifies no other.
            if !write.isNew { write.columns += Verification.columns(nil, life: nil) }
            return
        }
        let token = MailedToken(for: .emailVerification, of: write.objectId, secret: mail.secret)
        write.columns += Verification.columns(token, life: mail.verificationLife)
        let message = AccountMail(
            kind: .verifyEmail, address: address, userId: write.objectId, username: username ?? "",
            link: mail.link("verify_email", token), language: write.operation.request.language)
        write.addEffect { _ = try await send(message, $0) }
    }
}

enum Verification {
    static func columns(_ token: MailedToken?, life: Double?) -> [ServerColumn] {
        [
            ServerColumn("_email_verify_token", token.map { .text($0.stored) } ?? .null, "text"),
            ServerColumn("_email_verify_token_expires_at", end(life), "timestamptz"),
        ]
    }

    static func end(_ life: Double?) -> Parameter {
        life.map { .timestamp(milliseconds: Timestamp.now.milliseconds + Int64($0 * 1000)) } ?? .null
    }
}

extension Accounts {
    /// What became of a link.
    public enum LinkOutcome: Sendable { case done, expired, invalid }

    /// Whether a link's end is still to come. One that was mailed while links had no end holds only as long as none has:
    /// whoever sets a limit means the old links too.
    /// - Parameter column: whether its end is to come; NULL for none.
    static func holds(_ rows: Rows, _ column: Int, life: Double?) -> Bool {
        rows.isNull(0, column) ? life == nil : rows.bool(0, column)
    }

    private static let claimVerification = Statement(
        """
        UPDATE "_User" SET "_email_verify_token" = NULL, "_email_verify_token_expires_at" = NULL
        WHERE split_part("_email_verify_token", '.', 2) = $1::text
            AND ("_email_verify_token_expires_at" > now() OR "_email_verify_token_expires_at" IS NULL AND NOT $2::boolean)
        RETURNING "objectId"
        """)
    private static let hasVerification = Statement(
        "SELECT FROM \"_User\" WHERE split_part(\"_email_verify_token\", '.', 2) = $1::text")

    /// Takes a link's token: the address that it was sent to is verified. Each works once.
    public func verifyEmail(token: String) async throws -> LinkOutcome {
        guard !token.isEmpty else { return .invalid }
        let digest = MailedToken.digest(token)
        let isDone = try await store.operation(as: .master).inTransaction { operation in
            let rows = try await operation.write(
                Accounts.claimVerification, [.text(digest), .bool(options.mail.verificationLife != nil)])
            guard rows.count > 0 else { return false }
            try await operation.setByRule("_User", rows.string(0, 0), field: "emailVerified", to: .bool(true))
            return true
        }
        if isDone { return .done }
        return try await database.read(Accounts.hasVerification, [.text(digest)]).count > 0 ? .expired : .invalid
    }

    private static let columns = """
        SELECT "objectId", "username", "email", "emailVerified", "_email_verify_token",
            "_email_verify_token_expires_at" > now()
        FROM "_User"
        """
    private static let unverifiedByEmail = Statement("\(columns) WHERE \"email\" = $1::text")
    private static let unverifiedByName = Statement("\(columns) WHERE \"username\" = $1::text")
    private static let unverifiedByToken = Statement(
        "\(columns) WHERE split_part(\"_email_verify_token\", '.', 2) = $1::text")

    /// `POST /verificationEmailRequest`: another mail.
    ///
    /// - Throws: 204, 125 for what is no address; 205 and -1 for one that is unknown or verified, where the server says
    ///   so.
    public func requestVerification(_ body: JSONObject, in operation: Operation) async throws {
        let address = try EmailAddress.asked(body["email"])
        // Where addresses are not verified, none waits for a mail; but who is unknown is said where it may be.
        guard options.mail.verifiesAddresses || !options.mail.hidesUnknownAddresses else { return }
        try checkMail()
        try await evenly(options.mail.hidesUnknownAddresses) { try await sendVerification(to: address, in: operation) }
    }

    private func sendVerification(to address: String, in operation: Operation) async throws {
        let rows = try await operation.read(Accounts.unverifiedByEmail, [.text(address)])
        guard rows.count > 0 else {
            if options.mail.hidesUnknownAddresses { return }
            throw ParseError(205, "No user found with email \(address)")
        }
        guard rows.isNull(0, 3) || !rows.bool(0, 3) else {
            if options.mail.hidesUnknownAddresses { return }
            throw ParseError(-1, "Email \(address) is already verified.")
        }
        guard options.mail.verifiesAddresses else { return }
        try await sendVerification(rows, in: operation)
    }

    /// The page's form, which has a name or a token that has expired. Answers whether a mail was sent.
    public func requestVerification(
        username: String?, token: String?, in operation: Operation
    ) async throws -> Bool {
        try checkMail()
        return try await evenly(options.mail.hidesUnknownAddresses) {
            try await sendVerification(username: username, token: token, in: operation)
        }
    }

    private func sendVerification(username: String?, token: String?, in operation: Operation) async throws -> Bool {
        let rows: Rows
        if let username, !username.isEmpty {
            rows = try await operation.read(Accounts.unverifiedByName, [.text(username)])
        } else {
            rows = try await operation.read(
                Accounts.unverifiedByToken, [.text(MailedToken.digest(token ?? ""))])
        }
        guard rows.count > 0, !rows.isNull(0, 2), rows.isNull(0, 3) || !rows.bool(0, 3) else {
            return options.mail.hidesUnknownAddresses
        }
        try await sendVerification(rows, in: operation)
        return true
    }

    private static let setVerification = Statement(
        """
        UPDATE "_User" SET "_email_verify_token" = $2::text, "_email_verify_token_expires_at" = $3::timestamptz
        WHERE "objectId" = $1::text AND "email" = $4::text RETURNING 1
        """)

    private func sendVerification(_ rows: Rows, in operation: Operation) async throws {
        let mail = options.mail
        let userId = rows.string(0, 0)
        var standing: MailedToken?
        if mail.verificationIsReused, let stored = rows.optionalString(0, 4),
            Self.holds(rows, 5, life: mail.verificationLife)
        {
            standing = MailedToken(stored: stored, for: .emailVerification, of: userId, secret: mail.secret)
        }
        let token = standing ?? MailedToken(for: .emailVerification, of: userId, secret: mail.secret)
        let language = try await language?(userId, operation)
        let message = AccountMail(
            kind: .verifyEmail, address: rows.string(0, 2), userId: userId, username: rows.optionalString(0, 1) ?? "",
            link: mail.link("verify_email", token, in: language), language: language ?? operation.request.language)
        let set = standing == nil ? Accounts.setVerification : nil
        try await self.mail(message, token, set: set, life: mail.verificationLife, in: operation)
    }

    /// - Throws: 108 where no mail can be sent.
    func checkMail() throws(ParseError) {
        guard options.mail.send == nil else { return }
        throw ParseError(108, "This server sends no mail. Set email.smtp and email.from in its configuration.")
    }
}

extension EmailAddress {
    /// The address that a request names.
    /// - Throws: 204 where it names none, 125 for what is no text.
    static func asked(_ json: JSON?) throws(ParseError) -> String {
        switch json {
        case nil, .null, .string(""): throw ParseError(204, "you must provide an email")
        case .string(let address) where !address.utf8.contains(0): return address
        default: throw ParseError(125, "you must provide a valid email string")
        }
    }
}
