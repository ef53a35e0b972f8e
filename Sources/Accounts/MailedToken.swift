import Postgres
import Store

/// A token that a mail carries: who holds it has shown that the address is his.
///
/// The database holds a random number and the token's digest, `NONCE.DIGEST`: who reads it, or a backup of it, learns no
/// token. The server makes the same token of the same number again, where a second mail is to carry it too.
struct MailedToken {
    enum Purpose: String {
        case emailVerification
        case passwordReset
        case logIn
    }

    /// 40 hexadecimal digits.
    let text: String
    /// What the database holds.
    let stored: String

    /// A new one.
    init(for purpose: Purpose, of userId: String, secret: [UInt8]) {
        self.init(purpose, userId, secret, nonce: Random.hexadecimal(16))
    }

    /// The one that is stored; nil where it was made with another secret.
    init?(stored: String, for purpose: Purpose, of userId: String, secret: [UInt8]) {
        guard let nonce = stored.split(separator: ".").first else { return nil }
        self.init(purpose, userId, secret, nonce: String(nonce))
        guard self.stored == stored else { return nil }
    }

    private init(_ purpose: Purpose, _ userId: String, _ secret: [UInt8], nonce: String) {
        let digest = Digest.hmacSHA256("\(purpose.rawValue) \(userId) \(nonce)", key: secret)
        text = Digest.hexadecimal(Array(digest.prefix(20)))
        stored = "\(nonce).\(MailedToken.digest(text))"
    }

    /// By which the database finds a token.
    static func digest(_ text: String) -> String { Digest.sha256(text) }
}

/// What an account's mails say: the templates' names are the reference's.
public struct AccountMail: Sendable {
    public enum Kind: String, Sendable { case verifyEmail, passwordReset, logInLink }

    public let kind: Kind
    public let address: String
    public let userId: String
    public let username: String
    /// Where the mail leads, token included.
    public let link: String
    /// The language that the client asks for, as sent; nil: the server's.
    public let language: String?
}

/// How accounts reach people by mail.
public struct AccountMailOptions: Sendable {
    /// Writes the mail to the queue, in the operation's transaction, and answers whether it did: of too many some are
    /// dropped. nil: no mail is configured.
    public var send: (@Sendable (AccountMail, Operation) async throws -> Bool)?
    /// Where pages lie: `https://example.com/parse/apps/APPID`.
    public var pagesURL = ""
    /// What tokens are made with.
    public var secret: [UInt8] = []
    /// New addresses are to be verified.
    public var verifiesAddresses = false
    /// The mail for it is sent by itself.
    public var sendsVerification = true
    /// Who has not verified his address can't log in.
    public var logInNeedsVerification = false
    /// A sign-up is answered with 205 until the address is verified.
    public var signUpNeedsVerification = false
    /// Seconds that a link to verify holds; nil: always.
    public var verificationLife: Double?
    public var verificationIsReused = false
    /// Whether requests for unknown addresses are answered like any other.
    public var hidesUnknownAddresses = true
    /// Seconds that a link for a new password holds; nil: always.
    public var resetLife: Double?
    public var resetIsReused = false
    public var hidesUnknownResets = true

    public init() {}

    /// - Parameter language: which the page is to be in, whatever the browser asks for.
    func link(_ page: String, _ token: MailedToken, in language: String? = nil) -> String {
        "\(pagesURL)/\(page)?\(language.map { "locale=\($0)&" } ?? "")token=\(token.text)"
    }
}

extension Accounts {
    /// Mails a link, whose token holds from then on: both or neither. Where the mail is dropped, the link before it goes
    /// on to hold; where the address has changed meanwhile, none goes to the old one.
    ///
    /// - Parameters:
    ///   - set: what keeps the token: of the user $1, if it has the address $4, $2 until $3. nil: it is kept already.
    ///   - life: seconds that it holds; nil: always.
    func mail(
        _ message: AccountMail, _ token: MailedToken, set: Statement?, life: Double?, in operation: Operation
    ) async throws {
        guard let send = options.mail.send else { return }
        struct Dropped: Error {}
        let parameters: [Parameter] = [
            .text(message.userId), .text(token.stored), Verification.end(life), .text(message.address),
        ]
        func both(_ operation: Operation) async throws {
            if let set, try await operation.write(set, parameters).count == 0 { return }
            guard try await send(message, operation) else { throw Dropped() }
        }
        do {
            if operation.isInTransaction {
                try await operation.savepoint { try await both(operation) }
            } else {
                try await operation.inTransaction { try await both($0) }
            }
        } catch is Dropped {}
    }
}
