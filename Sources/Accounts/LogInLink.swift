import Postgres
import Store
import Wire

/// Links by mail that log in, once.
public struct LogInLinkOptions: Sendable {
    /// The application's page that they lead to; `token` is added to its query.
    public var url: String
    /// Seconds that one holds.
    public var life: Double

    public init(url: String, life: Double = 900) {
        self.url = url
        self.life = life
    }

    func link(_ token: MailedToken) -> String { "\(url)\(url.contains("?") ? "&" : "?")token=\(token.text)" }
}

extension Accounts {
    private static let byEmail = Statement(
        "SELECT \"objectId\", \"username\", \"email\" FROM \"_User\" WHERE \"email\" = $1::text")
    private static let setToken = Statement(
        """
        UPDATE "_User" SET "_login_token" = $2::text, "_login_token_expires_at" = $3::timestamptz
        WHERE "objectId" = $1::text AND "email" = $4::text RETURNING 1
        """)
    private static let claim = Statement(
        """
        UPDATE "_User" SET "_login_token" = NULL, "_login_token_expires_at" = NULL
        WHERE split_part("_login_token", '.', 2) = $1::text AND "_login_token" IS NOT NULL
            AND "_login_token_expires_at" > now()
        RETURNING "objectId"
        """)

    /// `POST /requestLogInLink`: a mail with a link. An unknown address is answered like any other.
    ///
    /// - Throws: 204, 125 for what is no address; 108 where the server sends none.
    public func requestLogInLink(_ body: JSONObject, in operation: Operation) async throws {
        let address = try EmailAddress.asked(body["email"])
        guard let links = options.logInLink else {
            throw ParseError(108, "This server sends no links to log in by. Set auth.link in its configuration.")
        }
        try checkMail()
        try await evenly(true) { try await sendLink(links, to: address, in: operation) }
    }

    private func sendLink(_ links: LogInLinkOptions, to address: String, in operation: Operation) async throws {
        let rows = try await operation.read(Accounts.byEmail, [.text(address)])
        guard rows.count > 0, EmailAddress.isPlausible(rows.string(0, 2)) else { return }
        let userId = rows.string(0, 0)
        let token = MailedToken(for: .logIn, of: userId, secret: options.mail.secret)
        let message = AccountMail(
            kind: .logInLink, address: rows.string(0, 2), userId: userId, username: rows.optionalString(0, 1) ?? "",
            link: links.link(token), language: operation.request.language)
        try await mail(message, token, set: Accounts.setToken, life: links.life, in: operation)
    }

    /// `POST /logInByLink`: takes a link's token, which works once, and opens a session; the address is verified by it.
    /// Without the second factor that an account has, the token stays good.
    ///
    /// - Throws: 101 for a token that is none, was used or has expired; -1, 141 for the second factor.
    public func logInByLink(_ body: JSONObject, in operation: Operation) async throws -> LoggedIn {
        let invalid = ParseError(101, "The link is invalid or has expired.")
        guard options.logInLink != nil, case .string(let token)? = body["token"], !token.isEmpty,
            !token.utf8.contains(0)
        else { throw invalid }
        return try await operation.inTransaction { operation in
            let rows = try await operation.write(Accounts.claim, [.text(MailedToken.digest(token))])
            guard rows.count > 0 else { throw invalid }
            let userId = rows.string(0, 0)
            try await checkIsOpen(userId, in: operation)
            try await checkSecondFactor(of: userId, body["authData"] ?? .null, in: operation)
            if options.mail.verifiesAddresses {
                try await operation.setByRule("_User", userId, field: "emailVerified", to: .bool(true))
            }
            return try await logIn(userId, .logIn(provider: "link"), in: operation)
        }
    }
}
