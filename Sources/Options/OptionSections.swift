import Wire

// The options that come as objects. Their meaning stands in `OptionTable`, like that of all others.

extension ServerOptions {
    /// What is compiled into `hermes` beside the data service.
    public enum App: String, Sendable, CaseIterable { case none, forum }

    public enum LogLevel: String, Sendable, CaseIterable { case error, warning, info, debug }
    public enum LogFormat: String, Sendable, CaseIterable { case text, json }

    public struct Database: Sendable {
        public var sharedConnections = 2
        public var ownedConnections = 16
        /// Seconds.
        public var statementTimeout = 15.0
        /// Seconds that a request waits for a connection before it is told to come again (503).
        public var waitTimeout = 5.0
        public init() {}
    }

    /// The queue of jobs; all but `concurrency` in seconds.
    public struct Jobs: Sendable {
        public var concurrency = 8
        public var timeLimit = 3600.0
        public var lease = 15.0
        public var poll = 3.0
        public var keepFinished = 86_400.0
        public var keepDead = 30 * 86_400.0
        public init() {}
    }

    /// Limits that the HTTP server keeps before a request is understood.
    public struct HTTPLimits: Sendable {
        public var maxHeadSize = ByteCount(12 << 10)
        public var maxBodyMemory = ByteCount(256 << 20)
        public var maxAnswerMemory = ByteCount(256 << 20)
        /// Seconds from the first byte of a head to its end.
        public var headTimeout = 10.0
        /// Seconds without a byte either way.
        public var idleTimeout = 60.0
        public var maxConnections = 20_000
        public var maxConnectionsPerAddress = 12_000
        public init() {}
    }

    /// Binds every caller but the master and maintenance keys.
    public struct RequestComplexity: Sendable {
        public var queryDepth = Ceiling(10)
        public var includeDepth = Ceiling(10)
        public var includeCount = Ceiling(100)
        public var subqueryDepth = Ceiling(10)
        public var subqueryLimit = Ceiling.none
        public var conditionCount = Ceiling(200)
        public var subqueryCount = Ceiling(100)
        public var batchRequestLimit = Ceiling(100)
        public var graphQLDepth = Ceiling(20)
        public var graphQLFields = Ceiling(200)
        public var allowRegex = true
        public init() {}
    }

    public struct RateLimit: Sendable, Equatable {
        public enum Zone: String, Sendable, CaseIterable { case ip, user, session, global }
        public var requestPath = ""
        /// Milliseconds.
        public var requestTimeWindow: Double?
        public var requestCount: Int?
        /// Empty: all. In capitals.
        public var requestMethods: [String] = []
        public var zone = Zone.ip
        public var includeMasterKey = false
        public var includeInternalRequests = false
        public var errorResponseMessage = "Too many requests."
        public init() {}
    }

    public struct Idempotency: Sendable {
        public var paths: [Pattern] = []
        /// Seconds.
        public var ttl = 300.0
        public init() {}
    }

    /// A key, a value, or a pair of both that no request may carry; a pattern is found anywhere in a text.
    public struct DeniedKeyword: Sendable {
        public var key: Pattern?
        /// A text is a pattern; anything else must be equal.
        public var value: JSON?
        /// The pattern that `value` is, where it is a text.
        public var valuePattern: Pattern?
        public init(key: Pattern? = nil, value: JSON? = nil) {
            self.key = key
            self.value = value
            if case .string(let text) = value { valuePattern = (try? Pattern(text)) ?? Pattern(literal: text) }
        }
    }

    public struct AccountLockout: Sendable {
        /// Failed log-ins in a row; none: no lockout.
        public var threshold: Int?
        /// Minutes.
        public var duration = 5.0
        public var unlockOnPasswordReset = false
        public init() {}
    }

    /// What a user takes along.
    public struct AccountExport: Sendable {
        public var maxSize = ByteCount(64 << 20)
        public var hourly = 5
        public init() {}
    }

    public struct PasswordPolicy: Sendable {
        public var validatorPattern: Pattern?
        public var validationError: String?
        public var doNotAllowUsername = false
        /// Days; none: a password never grows old.
        public var maxPasswordAge: Double?
        public var maxPasswordHistory = 0
        /// Seconds; none: a link never expires.
        public var resetTokenValidityDuration: Double?
        public var resetTokenReuseIfValid = false
        public var resetPasswordSuccessOnInvalidEmail = true
        public init() {}
    }

    public struct Email: Sendable {
        /// `smtp://[user:password@]host:port` or `smtps://…`.
        public var smtp: String?
        /// An address, with a name before it perhaps: `Foro <foro@example.com>`.
        public var from: String?
        public var language = "en"
        public var certificateAuthorities: String?
        /// Seconds.
        public var timeLimit = 120.0
        public var hourlyPerAddress = 10
        public var hourlyPerAccount = 30
        public init() {}
    }

    public struct Pages: Sendable {
        public var pagesEndpoint = "apps"
        public var pagesPath: String?
        public var enableLocalization = false
        public var localizationJsonPath: String?
        public var localizationFallbackLocale = "en"
        public var placeholders: JSON = .object(JSONObject())
        public var forceRedirect = false
        public var encodePageParamHeaders = false
        public var customUrls: [String: String] = [:]
        public init() {}
    }

    public struct FileUpload: Sendable {
        public var enableForPublic = false
        public var enableForAnonymousUser = false
        public var enableForAuthenticatedUser = true
        public var fileExtensions: [Pattern] = []
        public var allowedFileUrlDomains = ["*"]
        public init() {}
    }

    public struct FileDownload: Sendable {
        public var enableForPublic = true
        public var enableForAnonymousUser = true
        public var enableForAuthenticatedUser = true
        public init() {}
    }

    public struct Installation: Sendable {
        public enum Action: String, Sendable, CaseIterable { case delete, update }
        public enum Priority: String, Sendable, CaseIterable { case deviceToken, installationId }
        public var duplicateDeviceTokenAction = Action.delete
        public var duplicateDeviceTokenActionEnforceAuth = false
        public var duplicateDeviceTokenMergePriority = Priority.deviceToken
        public init() {}
    }

    public struct LiveQuery: Sendable {
        public var classNames: [Pattern] = []
        /// Milliseconds.
        public var regexTimeout = 100.0
        public init() {}
    }

    public struct LiveQueryServer: Sendable {
        public var keyPairs: [String: String] = [:]
        public init() {}
    }

    public struct DefinedSchema: Sendable {
        public var definitions: JSON = .array([])
        public var strict = false
        public var deleteExtraFields = false
        public var recreateModifiedFields = false
        public var lockSchemas = false
        public var keepUnknownIndexes = false
        public init() {}
    }

    public struct Security: Sendable {
        public var enableCheck = false
        public var enableCheckLog = false
        public init() {}
    }

    public struct Webhooks: Sendable {
        public var sendSessionTokens = true
        public var allowPrivateNetworks = true
        /// Seconds.
        public var timeLimit = 10.0
        /// Seconds.
        public var jobTimeLimit = 600.0
        public var maxAnswerSize = ByteCount(10 << 20)
        public var callsPerHost = 32
        public var queuePerHost = 1000
        public var failuresBeforePause = 5
        /// Seconds.
        public var pause = 10.0
        public init() {}
    }
}
