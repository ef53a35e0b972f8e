import Postgres
import Store
import Wire

/// A new password for who has forgotten the old one.
extension Accounts {
    private static let columns = """
        SELECT "objectId", "username", coalesce("email", "username"), "_perishable_token",
            "_perishable_token_expires_at" > now()
        FROM "_User"
        """
    // The name serves where it is the address; whoever takes somebody's address for a name comes behind him.
    private static let byAddress = Statement(
        """
        \(columns) WHERE "email" = $1::text OR "username" = $1::text AND "email" IS NULL
        ORDER BY "email" IS NULL LIMIT 1
        """)
    private static let byAddressInAnyCase = Statement(
        """
        \(columns) WHERE \(isSame("email", "$1")) OR \(isSame("username", "$1")) AND "email" IS NULL
        ORDER BY "email" IS NULL LIMIT 1
        """)
    private static let byToken = Statement(
        "\(columns) WHERE split_part(\"_perishable_token\", '.', 2) = $1::text")
    private static let setToken = Statement(
        """
        UPDATE "_User" SET "_perishable_token" = $2::text, "_perishable_token_expires_at" = $3::timestamptz
        WHERE "objectId" = $1::text AND coalesce("email", "username") = $4::text RETURNING 1
        """)

    /// `POST /requestPasswordReset`: a mail with a link. `token`: one that has expired, in the place of the address.
    ///
    /// - Throws: 204, 125, 162 for what is no address or token; 101 for an unknown address, where the server says so.
    public func requestPasswordReset(_ body: JSONObject, in operation: Operation) async throws {
        try await evenly(options.mail.hidesUnknownResets) { try await sendReset(body, in: operation) }
    }

    private func sendReset(_ body: JSONObject, in operation: Operation) async throws {
        let rows: Rows
        if let given = body["token"], given != .null {
            guard case .string(let token) = given else { throw ParseError(162, "token must be a string") }
            rows = try await operation.read(Accounts.byToken, [.text(MailedToken.digest(token))])
            guard rows.count > 0 else { throw ParseError(125, "you must provide a valid email string") }
        } else {
            let address = try EmailAddress.asked(body["email"])
            rows = try await operation.read(
                options.logInIgnoresCase ? Accounts.byAddressInAnyCase : Accounts.byAddress, [.text(address)])
        }
        try checkMail()
        guard rows.count > 0, let address = rows.optionalString(0, 2), EmailAddress.isPlausible(address) else {
            if options.mail.hidesUnknownResets { return }
            throw ParseError(101, "A user with that email does not exist.")
        }
        let userId = rows.string(0, 0)
        try await ask(.beforePasswordResetRequest, about: userId, in: operation)
        try await sendReset(rows, to: address, userId, in: operation)
    }

    private func sendReset(_ rows: Rows, to address: String, _ userId: String, in operation: Operation) async throws {
        let mail = options.mail
        var standing: MailedToken?
        if mail.resetIsReused, let stored = rows.optionalString(0, 3), Self.holds(rows, 4, life: mail.resetLife) {
            standing = MailedToken(stored: stored, for: .passwordReset, of: userId, secret: mail.secret)
        }
        let token = standing ?? MailedToken(for: .passwordReset, of: userId, secret: mail.secret)
        let language = try await language?(userId, operation)
        let message = AccountMail(
            kind: .passwordReset, address: address, userId: userId, username: rows.optionalString(0, 1) ?? "",
            link: mail.link("request_password_reset", token, in: language),
            language: language ?? operation.request.language)
        let set = standing == nil ? Accounts.setToken : nil
        try await self.mail(message, token, set: set, life: mail.resetLife, in: operation)
    }

    /// Whether a link's token holds, and whose it is.
    public func resetToken(_ token: String) async throws -> (outcome: LinkOutcome, username: String?) {
        guard !token.isEmpty else { return (.invalid, nil) }
        let rows = try await database.read(Accounts.byToken, [.text(MailedToken.digest(token))])
        guard rows.count > 0 else { return (.invalid, nil) }
        return (Self.holds(rows, 4, life: options.mail.resetLife) ? .done : .expired, rows.optionalString(0, 1))
    }

    private static let lockByToken = Statement(
        """
        SELECT "objectId", "_perishable_token_expires_at" > now()
        FROM "_User" WHERE split_part("_perishable_token", '.', 2) = $1::text FOR NO KEY UPDATE
        """)
    private static let unlock = Statement(
        """
        UPDATE "_User" SET "_failed_login_count" = 0, "_account_lockout_expires_at" = NULL
        WHERE "objectId" = $1::text AND "_account_lockout_expires_at" IS DISTINCT FROM \(forever)
        """)

    /// Sets a new password by a link's token, which works once; one that the policy refuses leaves it good.
    ///
    /// - Throws: -1 for a token that is none or has expired, and for a password that is refused, with the reason.
    public func resetPassword(token: String, to password: String, in operation: Operation) async throws {
        let invalid = ParseError(-1, "Failed to reset password: username / email / token is invalid")
        guard try await resetToken(token).outcome != .invalid else { throw invalid }
        let body = JSONObject([("password", .string(password))])
        try await hashAhead(body, for: operation)
        try await operation.nested(as: .master).inTransaction { operation in
            let rows = try await operation.write(Accounts.lockByToken, [.text(MailedToken.digest(token))])
            guard rows.count > 0 else { throw invalid }
            guard Self.holds(rows, 1, life: options.mail.resetLife) else {
                throw ParseError(-1, "The password reset link has expired")
            }
            let userId = rows.string(0, 0)
            do { _ = try await store.update("_User", objectId: userId, body, in: operation) } catch let error
                as ParseError where error.code == 142
            { throw ParseError(-1, error.message) }
            if options.lockout.passwordResetUnlocks {
                _ = try await operation.write(Accounts.unlock, [.text(userId)])
            }
        }
    }
}
