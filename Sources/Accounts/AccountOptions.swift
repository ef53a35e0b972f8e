import Store

/// What the configuration says of accounts.
public struct AccountOptions: Sendable {
    /// Seconds that a session lasts.
    public var sessionLength: Double = 31_536_000
    /// Whether sessions end at all.
    public var sessionsExpire = true
    /// Tokens lie in the database as digests: who reads it can't log in with them.
    public var hashesSessionTokens = false
    /// What tokens that lie there as digests are sealed with beside them, for lists of sessions; nil: lists show none.
    public var tokenSeal: Seal?
    /// A new password ends all sessions of its user.
    public var passwordChangeEndsSessions = true
    public var allowsAnonymousUsers = true
    public var usersArePrivate = true
    public var lowercasesEmail = false
    public var lowercasesUsername = false
    /// Log-in and password resets take names and addresses in any case.
    public var logInIgnoresCase = false
    public var passwords = PasswordPolicy()
    public var lockout = LockoutPolicy()
    public var mail = AccountMailOptions()
    public var export = AccountExportOptions()
    /// A session that is used in the second half of its life begins a new one.
    public var useExtendsSessions = false
    /// Other ways to log in, by the names under which clients send their data.
    public var providers: [String: any Provider] = [:]
    /// nil: `authData.mfa` is not understood.
    public var secondFactor: SecondFactorOptions?
    /// nil: no links to log in by are sent.
    public var logInLink: LogInLinkOptions?
    public var installations = InstallationOptions()

    public init() {}

    /// The rules of the server's own classes, as hooks on the path of every write.
    public var rules: [Hook] {
        UserRules(options: self).hooks + SessionRules(options: self).hooks + RoleRules().hooks
            + InstallationRules(options: installations).hooks
    }
}
