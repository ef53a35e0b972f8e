import Postgres
import Store
import Wire

/// What the server asks of passwords. Binds the master key too.
public struct PasswordPolicy: Sendable {
    /// Whether a password is good enough; nil: any is.
    public var validator: (@Sendable (String) -> Bool)?
    /// What is said of one that is not.
    public var validationError = "Password does not meet the Password Policy requirements."
    public var forbidsUsername = false
    /// Seconds after which a password opens no session any more; nil: it never grows old.
    public var maximumAge: Double?
    /// How many passwords, the one that holds included, may not be set again: 0 to 20.
    public var history = 0

    public init() {}

    /// - Throws: 142 for a password that the policy refuses, whoever sets it.
    func check(_ password: String, username: String?) throws(ParseError) {
        if let validator, !validator(password) { throw ParseError(142, validationError) }
        if forbidsUsername, let username, !username.isEmpty, password.contains(username) {
            throw ParseError(142, "Password cannot contain your username.")
        }
    }
}

/// The password that a user has, and those that it had.
struct StandingPassword {
    let username: String?
    private let hash: String?
    /// The last one first.
    private let history: [String]

    private static let load = Statement(
        """
        SELECT "username", "_hashed_password", "_password_history" FROM "_User" WHERE "objectId" = $1::text
        """)

    init(of userId: String, in operation: Operation) async throws {
        let rows = try await operation.read(StandingPassword.load, [.text(userId)])
        username = rows.count > 0 ? rows.optionalString(0, 0) : nil
        hash = rows.count > 0 ? rows.optionalString(0, 1) : nil
        guard rows.count > 0, !rows.isNull(0, 2) else {
            history = []
            return
        }
        history = (try JSONParser.parse(rows.json(0, 2)).array ?? []).compactMap(\.string)
    }

    /// - Throws: 142 for a password that is among the last `count`.
    func refuse(_ password: String, among count: Int, for address: String?) async throws {
        for old in ([hash].compactMap { $0 } + history).prefix(count)
        where try await Passwords.verify(password, old, for: address) {
            throw ParseError(142, "New password should not be the same as last \(count) passwords.")
        }
    }

    /// What is remembered once the password that holds is replaced.
    func remembered(_ count: Int) -> JSON {
        .array(([hash].compactMap { $0 } + history).prefix(max(count - 1, 0)).map { .string($0) })
    }
}
