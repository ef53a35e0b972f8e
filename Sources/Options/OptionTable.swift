import Wire

/// One option: what it is called, what it may be, what it does, and where its value goes.
public struct Option: Sendable {
    public enum Status: Sendable, Hashable {
        case effective
        /// Known, checked for its type, and without effect in this version. A value other than the default is named
        /// in a warning at the start.
        case notEffective
        /// Without effect in this version as well, but it protects something that works without it: a value other
        /// than the default refuses the start, so that nobody believes to be protected. `without` says what is the
        /// case then, as the end of a sentence.
        case refused(without: String)
    }

    /// As in a configuration file; a member of an object after a dot: `requestComplexity.queryDepth`.
    public let name: String
    public let kind: String
    public let status: Status
    /// One sentence, without its full stop.
    public let summary: String
    /// The default as it would stand in a configuration file; nil for none.
    public let defaultValue: JSON?
    /// A second name of the flag and of the environment variable.
    let alias: String?
    /// Both answer the value as it would stand in a configuration file.
    let set: @Sendable (inout ServerOptions, JSON) throws(OptionFault) -> JSON?
    let setFlag: @Sendable (inout ServerOptions, String) throws(OptionFault) -> JSON?

    init<Value: OptionValue>(
        _ name: String, _ path: any (WritableKeyPath<ServerOptions, Value> & Sendable), _ summary: String,
        in range: ClosedRange<Double>? = nil, alias: String? = nil, _ status: Status = .effective
    ) {
        self.name = name
        kind = Value.kind
        self.status = status
        self.summary = summary
        self.alias = alias
        defaultValue = ServerOptions()[keyPath: path].shown
        set = { options, json throws(OptionFault) in
            let value = try Value(option: json)
            return try Self.put(value, path, &options, in: range)
        }
        setFlag = { options, text throws(OptionFault) in
            let value = try Value(flag: text)
            return try Self.put(value, path, &options, in: range)
        }
    }

    private static func put<Value: OptionValue>(
        _ value: Value, _ path: any (WritableKeyPath<ServerOptions, Value> & Sendable), _ options: inout ServerOptions,
        in range: ClosedRange<Double>?
    ) throws(OptionFault) -> JSON? {
        try check(value.shown, in: range)
        options[keyPath: path] = value
        return value.shown
    }

    /// An option that is known by its name and type alone.
    init<Value: OptionValue>(
        later name: String, _ type: Value.Type, default defaultValue: JSON? = nil, _ summary: String,
        _ status: Status = .notEffective
    ) {
        self.name = name
        kind = Value.kind
        self.status = status
        self.summary = summary
        alias = nil
        self.defaultValue = defaultValue
        set = { _, json throws(OptionFault) in try Value(option: json).shown }
        setFlag = { _, text throws(OptionFault) in try Value(flag: text).shown }
    }

    private static func check(_ shown: JSON?, in range: ClosedRange<Double>?) throws(OptionFault) {
        guard let range, case .number(let number) = shown, !range.contains(number) else { return }
        let text = { (bound: Double) in JSON.number(bound).description }
        if range.lowerBound == .leastNonzeroMagnitude {
            throw OptionFault("must be above 0 and at most \(text(range.upperBound)), not \(text(number))")
        }
        throw OptionFault(
            range.upperBound == .greatestFiniteMagnitude
                ? "must be at least \(text(range.lowerBound)), not \(text(number))"
                : "must be from \(text(range.lowerBound)) to \(text(range.upperBound)), not \(text(number))")
    }
}

extension ClosedRange<Double> {
    static func atLeast(_ bound: Double) -> Self { bound...(.greatestFiniteMagnitude) }
    /// Seconds, days…: anything above nothing that still counts in nanoseconds.
    static let positive: Self = .leastNonzeroMagnitude...1e9
}

/// All options, in the order of the documentation.
public enum OptionTable {
    public static let groups: [(title: String, options: [Option])] = [
        ("Identity and keys", identity), ("Address", address), ("Running", running), ("Database", database),
        ("Limits", limits), ("Protection", protection), ("Schema", schema), ("Sessions", sessions),
        ("Accounts", accounts), ("Mail and pages", mail), ("Files", files), ("Devices and LiveQuery", devices),
        ("Cloud code", cloudCode), ("Webhooks", webhooks), ("Jobs", jobs), ("GraphQL", graphQL),
    ]

    static let byName: [String: Option] = {
        let pairs = groups.flatMap(\.options).map { ($0.name, $0) }
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }()

    /// Options of Parse Server that Hermes does in another way, and which.
    static let replaced: [String: String] = [
        "databaseAdapter": "Hermes has one store, PostgreSQL: see databaseURI",
        "databaseOptions": "see databaseURI and database",
        "emailAdapter": "see email.smtp and email.from",
        "filesAdapter": "files are kept by the server itself",
        "cacheAdapter": "the server keeps its caches itself", "loggerAdapter": "see logLevel and logFormat",
        "verbose": "set logLevel to debug", "silent": "set logLevel to error", "jsonLogs": "set logFormat to json",
        "logLevels": "see logLevel", "cluster": "see workers",
        "collectionPrefix": "each application has a database of its own: see databaseURI",
        "middleware": "put a proxy before the server",
        "requestContextMiddleware": "put a proxy before the server", "serverCloseComplete": "wait for its end",
        "analyticsAdapter": "there is none",
        "passwordPolicy.validatorCallback": "see passwordPolicy.validatorPattern",
        "liveQuery.redisURL": "servers reach each other through PostgreSQL",
        "liveQuery.redisOptions": "servers reach each other through PostgreSQL",
        "liveQueryServerOptions.redisURL": "servers reach each other through PostgreSQL",
        "liveQueryServerOptions.port": "LiveQuery has the API's port",
        "liveQueryServerOptions.appId": "it is the API's", "liveQueryServerOptions.masterKey": "it is the API's",
        "liveQueryServerOptions.serverURL": "it is the API's",
        "directAccess": "hooks reach the data without HTTP at all times", "ip": "see host",
        "masterKeyTtl": "keys are told once, at the start", "cacheMaxSize": "the server bounds its caches itself",
        "verifyServerUrl": "the server does not call itself", "enableInsecureAuthAdapters": "there are none",
    ]

    static let identity: [Option] = [
        Option(
            "appId", \.appId, "The application's id, sent by every client; made at the first start where none is told"),
        Option("appName", \.appName, "The application's name, for people to read"),
        Option("masterKey", \.masterKey, "The key that may do everything; made at the first start where none is told"),
        Option("maintenanceKey", \.maintenanceKey, "The key that sees internal fields and passes object permissions"),
        Option("readOnlyMasterKey", \.readOnlyMasterKey, "The key that may read everything and write nothing"),
        Option("webhookKey", \.webhookKey, "Goes with every call of a webhook, and signs it"),
        Option(
            "restAPIKey", \.restAPIKey,
            "Asked of REST clients; once one client key is set, each client must send its own"),
        Option("clientKey", \.clientKey, "Asked of iOS, Android and desktop clients"),
        Option("javascriptKey", \.javascriptKey, "Asked of JavaScript clients"),
        Option("dotNetKey", \.dotNetKey, "Asked of .NET clients"),
        Option("masterKeyIps", \.masterKeyIps, "The addresses from which the master key works"),
        Option("maintenanceKeyIps", \.maintenanceKeyIps, "The addresses from which the maintenance key works"),
        Option(
            "readOnlyMasterKeyIps", \.readOnlyMasterKeyIps, "The addresses from which the read-only master key works"),
    ]

    static let address: [Option] = [
        Option("host", \.host, "The address to listen on; `0.0.0.0` or `::` for all"),
        Option("port", \.port, "The port to listen on; 0 for any that is free", in: 0...65535),
        Option("mountPath", \.mountPath, "The path under which the API lies"),
        Option(
            "serverURL", \.serverURL, "The URL under which the server's own applications and hooks reach the API"),
        Option(
            "publicServerURL", \.publicServerURL,
            "The URL under which clients reach the API: stands in mails and file URLs"),
        Option(
            "trustProxy", \.trustProxy,
            "Whose `X-Forwarded-For` is believed: everybody's, a number of proxies', or addresses' (`loopback` too)"
        ),
        Option("allowOrigin", \.allowOrigin, "The origins that browsers may call from; `*` for all"),
        Option("allowHeaders", \.allowHeaders, "Headers that browsers may send beside the usual ones"),
        Option(
            "tlsCertificate", \.tlsCertificate,
            "A PEM file with the certificate and its chain: serves HTTPS; read again on SIGHUP"),
        Option("tlsKey", \.tlsKey, "The PEM file with the certificate's key"),
    ]

    static let running: [Option] = [
        Option(
            "dataFolder", \.dataFolder, "The folder for keys, logs and the private PostgreSQL cluster", alias: "data"),
        Option("workers", \.workers, "How many cores work; none: all of them", in: 1...1024),
        Option("logLevel", \.logLevel, "The least grave thing that is logged"),
        Option("logFormat", \.logFormat, "Lines for people, or JSON"),
        Option("logsFolder", \.logsFolder, "A folder for logs that the API can search", .notEffective),
        Option(later: "maxLogFiles", JSON.self, "How many logs, or of how many days, are kept in it"),
        Option(
            later: "enableProductPurchaseLegacyApi", Bool.self, default: false,
            "Whether purchases in Apple's shop are looked up: they never are"),
        Option(
            later: "enableExpressErrorHandler", Bool.self, default: false, "Whether Express sees errors: there is none"),
        Option("drainTimeout", \.drainTimeout, "Seconds that running requests have left after SIGTERM", in: 0...3600),
    ]

    static let database: [Option] = [
        Option(
            "databaseURI", \.databaseURI,
            "PostgreSQL's address, as `DATABASE_URL` too; a pooler in between must work by session; none: a private "
                + "cluster in the data folder",
            alias: "databaseURL"),
        Option(
            "database.sharedConnections", \.database.sharedConnections,
            "Connections of each worker that plain reads share", in: 1...64),
        Option(
            "database.ownedConnections", \.database.ownedConnections,
            "Connections of each worker for writes and transactions, one at a time each", in: 1...256),
        Option(
            "database.statementTimeout", \.database.statementTimeout, "Seconds that one statement may take",
            in: .positive),
        Option(
            "database.waitTimeout", \.database.waitTimeout,
            "Seconds that a request waits for a connection before it is refused (503)", in: .positive),
    ]

    static let cloudCode: [Option] = [
        Option("app", \.app, "An application that is served beside the data service: `forum`, or `none`"),
        Option("cloud", \.cloud, "A file of cloud code in JavaScript, an existing `cloud/main.js`"),
        Option("cloudTimeLimit", \.cloudTimeLimit, "Seconds that a hook or a function may take", in: .positive),
        Option(
            "cloudIsolates", \.cloudIsolates,
            "How many threads run the JavaScript; each has globals of its own", in: 1...64),
        Option(
            "cloudTurnLimit", \.cloudTurnLimit, "Seconds that JavaScript may run without waiting for anything",
            in: .positive),
        Option("cloudMemoryLimit", \.cloudMemoryLimit, "The memory that JavaScript may take, for each thread"),
    ]

    static let limits: [Option] = [
        Option("defaultLimit", \.defaultLimit, "How many results a query gives that names no limit", in: .atLeast(1)),
        Option(
            "maxLimit", \.maxLimit, "The most results a query gives, whatever it asks for, master key included",
            in: .atLeast(1)),
        Option("maxUploadSize", \.maxUploadSize, "The largest body of a request, unpacked"),
        Option(
            "requestComplexity.queryDepth", \.requestComplexity.queryDepth,
            "How deep `$or`, `$and`, `$nor` may nest; these limits do not bind the master key"),
        Option("requestComplexity.includeDepth", \.requestComplexity.includeDepth, "How many steps an include may go"),
        Option(
            "requestComplexity.includeCount", \.requestComplexity.includeCount, "How many includes a query may have"),
        Option("requestComplexity.subqueryDepth", \.requestComplexity.subqueryDepth, "How deep subqueries may nest"),
        Option(
            "requestComplexity.subqueryLimit", \.requestComplexity.subqueryLimit, "How many results of a subquery count"
        ),
        Option(
            "requestComplexity.conditionCount", \.requestComplexity.conditionCount,
            "How many conditions a `where` may hold, those of its subqueries too; a list counts as one"),
        Option(
            "requestComplexity.subqueryCount", \.requestComplexity.subqueryCount,
            "How many subqueries a `where` may hold"),
        Option(
            "requestComplexity.batchRequestLimit", \.requestComplexity.batchRequestLimit,
            "How many requests a batch may hold"),
        Option(
            "requestComplexity.graphQLDepth", \.requestComplexity.graphQLDepth, "How deep a GraphQL query may go",
            .notEffective),
        Option(
            "requestComplexity.graphQLFields", \.requestComplexity.graphQLFields,
            "How many fields a GraphQL query may have", .notEffective),
        Option("requestComplexity.allowRegex", \.requestComplexity.allowRegex, "Whether queries may use `$regex`"),
        Option(
            "rateLimit", \.rateLimit,
            "Limits of requests by path: a list of objects as in Parse Server; counted for all nodes together, and "
                + "for an IPv6 network of 64 bits as for one address"),
        Option(
            "idempotencyOptions.paths", \.idempotencyOptions.paths,
            "Path prefixes whose POST and PUT are done once for each `X-Parse-Request-Id`, as regular expressions"
        ),
        Option(
            "idempotencyOptions.ttl", \.idempotencyOptions.ttl, "Seconds that a request id is remembered",
            in: .positive),
        Option(
            "requestKeywordDenylist", \.requestKeywordDenylist,
            "Keys and values that no request may carry, as regular expressions"
        ),
        Option(
            "http.maxHeadSize", \.http.maxHeadSize, "The largest head of a request; each connection takes 4 KB more"),
        Option(
            "http.maxBodyMemory", \.http.maxBodyMemory,
            "What the bodies of all requests together may take of memory; past it, 503 is answered"),
        Option(
            "http.maxAnswerMemory", \.http.maxAnswerMemory,
            "What large answers, and the rows for them, together may take of memory; past it, and for one answer of more "
                + "than half of it, a read is refused"),
        Option(
            "http.headTimeout", \.http.headTimeout, "Seconds that a request's head may take to arrive", in: .positive),
        Option("http.idleTimeout", \.http.idleTimeout, "Seconds that a connection may be silent", in: .positive),
        Option("http.maxConnections", \.http.maxConnections, "Connections in all", in: .atLeast(1)),
        Option(
            "http.maxConnectionsPerAddress", \.http.maxConnectionsPerAddress, "Connections from one address",
            in: .atLeast(1)),
    ]

    static let protection: [Option] = [
        Option(
            "routeAllowList", \.routeAllowList,
            "The only paths for callers without master key, as regular expressions"
        ),
        Option(
            "enableSanitizedErrorResponse", \.enableSanitizedErrorResponse,
            "Whether refusals say only that permission is denied, not why"),
        Option(
            "allowAggregationForReadOnlyMasterKey", \.allowAggregationForReadOnlyMasterKey,
            "Whether the read-only master key may aggregate"),
        Option(
            "protectedFields", \.protectedFields,
            "Fields that are hidden, by class and by whom they are hidden from; `_User.email` always is"),
        Option(
            "userSensitiveFields", \.userSensitiveFields,
            "Fields of `_User` that are hidden from everybody: an older name of `protectedFields._User.*`"),
        Option(
            "protectedFieldsOwnerExempt", \.protectedFieldsOwnerExempt,
            "Whether users see all fields of their own `_User` object"),
        Option(
            "protectedFieldsTriggerExempt", \.protectedFieldsTriggerExempt, "Whether triggers see protected fields",
            .notEffective),
        Option(
            "protectedFieldsSaveResponseExempt", \.protectedFieldsSaveResponseExempt,
            "Whether answers to a save show protected fields"),
        Option(
            "security.enableCheck", \.security.enableCheck, "Whether `/security` tells what is weak", .notEffective),
        Option(
            "security.enableCheckLog", \.security.enableCheckLog, "Whether the log tells of them at the start",
            .notEffective),
        Option(later: "security.checkGroups", JSON.self, "Checks of your own"),
    ]

    static let schema: [Option] = [
        Option("allowClientClassCreation", \.allowClientClassCreation, "Whether a client's save may make a new class"),
        Option("allowCustomObjectId", \.allowCustomObjectId, "Whether clients may choose objectIds"),
        Option("objectIdSize", \.objectIdSize, "Characters of a new objectId", in: 1...64),
        Option(
            later: "customIdSize", Int.self,
            "Taken for the sake of old configurations; does nothing in Parse Server either: see objectIdSize"),
        Option(
            later: "enableCollationCaseComparison", Bool.self, default: false,
            "Whether the database compares names without regard to case: it always does"),
        Option(
            "cacheTTL", \.cacheTTL,
            "Milliseconds that roles and sessions are kept without asking again; Hermes drops them once they change",
            in: .atLeast(0), .notEffective),
        Option("schema.definitions", \.schema.definitions, "Classes to make at the start, with their permissions"),
        Option(
            "schema.strict", \.schema.strict,
            "Whether the log tells of classes and fields that are there and not defined"),
        Option(
            "schema.deleteExtraFields", \.schema.deleteExtraFields,
            "Whether fields that a definition lacks are deleted with their values"),
        Option(
            "schema.recreateModifiedFields", \.schema.recreateModifiedFields,
            "Whether a field of another type than defined is deleted with its values and made anew"),
        Option("schema.lockSchemas", \.schema.lockSchemas, "Whether `/schemas` refuses changes"),
        Option(
            "schema.keepUnknownIndexes", \.schema.keepUnknownIndexes, "Whether indexes that a definition lacks stay"),
    ]

    static let sessions: [Option] = [
        Option("sessionLength", \.sessionLength, "Seconds that a session lives", in: .positive),
        Option("expireInactiveSessions", \.expireInactiveSessions, "Whether sessions expire at all"),
        Option(
            "extendSessionOnUse", \.extendSessionOnUse, "Whether use extends a session, once half its life has passed"),
        Option(
            "hashSessionTokens", \.hashSessionTokens,
            "Whether tokens of new sessions lie in the database as digests and, for lists of sessions, sealed with the master key. Where it is not told: in databases that were made since that is the default"
        ),
        Option(
            "revokeSessionOnPasswordReset", \.revokeSessionOnPasswordReset, "Whether a new password ends all sessions"),
    ]
}
