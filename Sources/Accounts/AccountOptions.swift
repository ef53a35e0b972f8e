/// What the configuration says of accounts.
public struct AccountOptions: Sendable {
    /// Seconds that a session lasts.
    public var sessionLength: Double = 31_536_000
    /// Whether sessions end at all.
    public var sessionsExpire = true
    /// A new password ends all sessions of its user.
    public var passwordChangeEndsSessions = true
    public var allowsAnonymousUsers = true
    public var usersArePrivate = true
    public var lowercasesEmail = false
    public var lowercasesUsername = false

    public init() {}
}
