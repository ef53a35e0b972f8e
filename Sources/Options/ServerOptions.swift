import Glibc
import Wire

/// What a Hermes server is told at its start, with the defaults that stand where nothing is told.
///
/// What each option means, its name in a configuration file and whether it is effective yet stand in one place,
/// `OptionTable`; docs/configuration.md is made from it. The names are Parse Server's where it has the option.
public struct ServerOptions: Sendable {
    // MARK: identity and keys
    /// Empty until the keys are made or told: see `Keys`.
    public var appId = ""
    public var appName = "Hermes"
    public var masterKey: String?
    public var maintenanceKey: String?
    public var readOnlyMasterKey: String?
    public var webhookKey: String?
    public var restAPIKey: String?
    public var clientKey: String?
    public var javascriptKey: String?
    public var dotNetKey: String?
    public var masterKeyIps = AddressSet.loopback
    public var maintenanceKeyIps = AddressSet.loopback
    public var readOnlyMasterKeyIps = AddressSet.loopback

    // MARK: address
    public var host = "127.0.0.1"
    public var port = 1337
    public var mountPath = "/parse"
    public var serverURL: String?
    public var publicServerURL: String?
    public var trustProxy = TrustProxy.none
    public var allowOrigin = ["*"]
    public var allowHeaders: [String] = []
    public var tlsCertificate: String?
    public var tlsKey: String?

    // MARK: running
    public var dataFolder = ".hermes"
    /// None: one for each core.
    public var workers: Int?
    /// How many workers there are to be.
    public var workerCount: Int { workers ?? max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
    public var logLevel = LogLevel.info
    public var logFormat = LogFormat.text
    public var logsFolder: String?
    /// Seconds.
    public var drainTimeout = 30.0

    // MARK: database
    /// None: a private cluster in the data folder.
    public var databaseURI: String?
    public var database = Database()

    // MARK: limits
    public var defaultLimit = 100
    /// A find is held in memory until it is written: without a bound one request could take all of it.
    public var maxLimit: Int? = 10_000
    public var maxUploadSize = ByteCount(20 << 20)
    public var requestComplexity = RequestComplexity()
    public var rateLimit: [RateLimit] = []
    public var idempotencyOptions = Idempotency()
    public var requestKeywordDenylist: [DeniedKeyword] = [
        DeniedKeyword(key: Pattern(literal: "_bsontype"), value: .string("Code")),
        DeniedKeyword(key: Pattern(literal: "constructor")), DeniedKeyword(key: Pattern(literal: "__proto__")),
    ]
    public var http = HTTPLimits()

    // MARK: protection
    public var routeAllowList: [Pattern]?
    public var enableSanitizedErrorResponse = true
    public var allowAggregationForReadOnlyMasterKey = false
    public var protectedFields: [String: [String: [String]]] = ["_User": ["*": ["email"]]]
    /// An older name of `protectedFields._User.*`, to which its fields are added.
    public var userSensitiveFields: [String] = []
    public var protectedFieldsOwnerExempt = true
    public var protectedFieldsTriggerExempt = true
    public var protectedFieldsSaveResponseExempt = false
    public var security = Security()

    // MARK: schema
    public var allowClientClassCreation = false
    public var allowCustomObjectId = false
    public var objectIdSize = 10
    public var schema = DefinedSchema()
    /// Milliseconds.
    public var cacheTTL = 5000.0

    // MARK: sessions
    /// Seconds.
    public var sessionLength = 31_536_000.0
    public var expireInactiveSessions = true
    public var extendSessionOnUse = false
    /// nil: as the database was made.
    public var hashSessionTokens: Bool?
    public var revokeSessionOnPasswordReset = true

    // MARK: accounts
    public var enableAnonymousUsers = true
    public var enforcePrivateUsers = true
    public var convertEmailToLowercase = false
    public var convertUsernameToLowercase = false
    public var caseInsensitiveLogIn = false
    public var verifyUserEmails = false
    public var preventLoginWithUnverifiedEmail = false
    public var preventSignupWithUnverifiedEmail = false
    public var sendUserEmailVerification = true
    /// Seconds; none: a link never expires.
    public var emailVerifyTokenValidityDuration: Double?
    public var emailVerifyTokenReuseIfValid = false
    public var emailVerifySuccessOnInvalidEmail = true
    public var accountLockout = AccountLockout()
    public var accountExport = AccountExport()
    public var passwordPolicy = PasswordPolicy()
    public var email = Email()
    /// A folder; none: only the server's own words.
    public var mailTemplates: String?
    public var pages = Pages()
    public var auth: JSON = .object(JSONObject())
    public var allowExpiredAuthDataToken = false

    // MARK: cloud code
    public var app = App.none
    /// A JavaScript file; none: there is no JavaScript.
    public var cloud: String?
    /// Seconds.
    public var cloudTimeLimit = 10.0
    public var cloudIsolates = 1
    /// Seconds.
    public var cloudTurnLimit = 1.0
    public var cloudMemoryLimit = ByteCount(256 << 20)

    // MARK: webhooks
    public var webhooks = Webhooks()

    // MARK: jobs
    public var jobs = Jobs()

    // MARK: files, devices, LiveQuery
    public var fileUpload = FileUpload()
    public var fileDownload = FileDownload()
    public var preserveFileName = false
    public var installation = Installation()
    public var scheduledPush = false
    public var startLiveQueryServer = false
    public var liveQuery = LiveQuery()
    public var liveQueryServerOptions = LiveQueryServer()

    /// Names of the options that were told otherwise than their defaults and have no effect in this version.
    public internal(set) var notEffective: [String] = []

    /// The file that keys came from, where they were not all told; see `Keys`.
    public internal(set) var keysFile: String?
    /// Whether this start has made that file.
    public internal(set) var keysAreNew = false

    /// The defaults.
    public init() {}
}
