import Wire

extension OptionTable {
    static let accounts: [Option] = [
        Option("enableAnonymousUsers", \.enableAnonymousUsers, "Whether anonymous users may sign up"),
        Option("enforcePrivateUsers", \.enforcePrivateUsers, "Whether a new user can be read by itself only"),
        Option(
            "convertEmailToLowercase", \.convertEmailToLowercase, "Whether mail addresses are kept in small letters"),
        Option(
            "convertUsernameToLowercase", \.convertUsernameToLowercase, "Whether user names are kept in small letters"),
        Option(
            "caseInsensitiveLogIn", \.caseInsensitiveLogIn,
            "Whether log-in and password resets take names and addresses in any case"),
        Option(
            "auth", \.auth,
            "Other ways to log in, by name: `apple`, `google`, `github`, `mfa`, `link`, or any OpenID Connect issuer; docs/accounts.md"
        ),
        Option(
            "allowExpiredAuthDataToken", \.allowExpiredAuthDataToken,
            "Whether a provider's token that has expired still shows who it was"),
        Option(
            "accountLockout.threshold", \.accountLockout.threshold, "Failed log-ins in a row that lock an account",
            in: 1...999),
        Option(
            "accountLockout.duration", \.accountLockout.duration, "Minutes that it stays locked",
            in: .leastNonzeroMagnitude...99999),
        Option(
            "accountLockout.unlockOnPasswordReset", \.accountLockout.unlockOnPasswordReset,
            "Whether a new password unlocks it"),
        Option(
            "accountExport.maxSize", \.accountExport.maxSize,
            "How much of the database's answers one export of an account may take"),
        Option(
            "accountExport.hourly", \.accountExport.hourly, "Exports of one account by its user within an hour",
            in: .atLeast(0)),
        Option(
            "passwordPolicy.validatorPattern", \.passwordPolicy.validatorPattern, "What a password must match"),
        Option(
            "passwordPolicy.validationError", \.passwordPolicy.validationError, "What is said of one that does not"),
        Option(
            "passwordPolicy.doNotAllowUsername", \.passwordPolicy.doNotAllowUsername,
            "Whether a password that holds the user name is refused"),
        Option(
            "passwordPolicy.maxPasswordAge", \.passwordPolicy.maxPasswordAge,
            "Days after which a password must be changed", in: .positive),
        Option(
            "passwordPolicy.maxPasswordHistory", \.passwordPolicy.maxPasswordHistory,
            "How many earlier passwords may not come again", in: 0...20),
        Option(
            "passwordPolicy.resetTokenValidityDuration", \.passwordPolicy.resetTokenValidityDuration,
            "Seconds that a link for a new password holds", in: .positive),
        Option(
            "passwordPolicy.resetTokenReuseIfValid", \.passwordPolicy.resetTokenReuseIfValid,
            "Whether a link that holds is sent again"),
        Option(
            "passwordPolicy.resetPasswordSuccessOnInvalidEmail", \.passwordPolicy.resetPasswordSuccessOnInvalidEmail,
            "Whether a reset for an unknown address is answered like any other"),
    ]

    static let mail: [Option] = [
        Option(later: "customPages", JSON.self, "Pages of your own, by name"),
        Option(later: "pages.customRoutes", JSON.self, "Routes of your own beside the pages"),
        Option(
            "email.smtp", \.email.smtp,
            "The SMTP server, `smtp://[user:password@]host:port` or `smtps://…`; with a password, `smtp` asks for STARTTLS"
        ),
        Option(
            "email.from", \.email.from,
            "The address that mails come from, such as `foro@example.com` or `El Foro <foro@example.com>`"),
        Option(
            "email.language", \.email.language,
            "The language of mails whose reader's is not known: `en`, `es`, or one of mailTemplates"),
        Option(
            "email.certificateAuthorities", \.email.certificateAuthorities,
            "A file of PEM certificates to trust in place of the system's; with it, `smtp` asks for STARTTLS"),
        Option("email.timeLimit", \.email.timeLimit, "Seconds that handing over a mail may take", in: 1...3600),
        Option(
            "email.hourlyPerAddress", \.email.hourlyPerAddress,
            "Mails to one address within an hour; those past it are dropped", in: .atLeast(0)),
        Option(
            "email.hourlyPerAccount", \.email.hourlyPerAccount,
            "Mails that one account causes within an hour; those past it are dropped", in: .atLeast(0)),
        Option(
            "mailTemplates", \.mailTemplates,
            "A folder of mails in your own words: `verifyEmail.es.txt`, `verifyEmail.es.html`…"),
        Option("verifyUserEmails", \.verifyUserEmails, "Whether mail addresses are verified"),
        Option(
            "preventLoginWithUnverifiedEmail", \.preventLoginWithUnverifiedEmail,
            "Whether log-in asks for a verified address"),
        Option(
            "preventSignupWithUnverifiedEmail", \.preventSignupWithUnverifiedEmail,
            "Whether sign-up gives no session before the address is verified"),
        Option(
            "sendUserEmailVerification", \.sendUserEmailVerification, "Whether the mail to verify is sent by itself"),
        Option(
            "emailVerifyTokenValidityDuration", \.emailVerifyTokenValidityDuration,
            "Seconds that a link to verify holds; none: always", in: .positive),
        Option(
            "emailVerifyTokenReuseIfValid", \.emailVerifyTokenReuseIfValid, "Whether a link that holds is sent again"),
        Option(
            "emailVerifySuccessOnInvalidEmail", \.emailVerifySuccessOnInvalidEmail,
            "Whether a request for an unknown address is answered like any other"),
        Option(later: "pages.enableRouter", Bool.self, default: false, "Whether pages are served: they always are"),
        Option(
            "pages.pagesPath", \.pages.pagesPath,
            "A folder with pages of your own, `password_reset.html`…, in folders named by locales too; docs/accounts.md"
        ),
        Option("pages.pagesEndpoint", \.pages.pagesEndpoint, "The path of the pages beside the API"),
        Option(
            "pages.enableLocalization", \.pages.enableLocalization,
            "Whether your own pages come in the reader's language; the server's own always do"),
        Option(
            "pages.localizationJsonPath", \.pages.localizationJsonPath,
            "A JSON file with texts for your own pages, by locale"),
        Option(
            "pages.localizationFallbackLocale", \.pages.localizationFallbackLocale, "The language where none fits"),
        Option("pages.placeholders", \.pages.placeholders, "Texts for your own pages, by name"),
        Option(
            "pages.forceRedirect", \.pages.forceRedirect, "Whether pages are always answered with a redirect"),
        Option(
            "pages.encodePageParamHeaders", \.pages.encodePageParamHeaders,
            "Whether the pages' parameters are URI-encoded in headers"),
        Option(
            "pages.customUrls", \.pages.customUrls, "URLs to go to in the place of a page, by the page's name"),
    ]

    static let files: [Option] = [
        Option(
            later: "encryptionKey", String.self, "The key that stored files are encrypted with",
            .refused(without: "nothing is encrypted")),
        Option(later: "fileKey", String.self, "Stands in the URLs of files from parse.com"),
        Option(
            "fileUpload.enableForPublic", \.fileUpload.enableForPublic, "Whether anybody may upload files",
            .notEffective),
        Option(
            "fileUpload.enableForAnonymousUser", \.fileUpload.enableForAnonymousUser, "Whether anonymous users may",
            .notEffective),
        Option(
            "fileUpload.enableForAuthenticatedUser", \.fileUpload.enableForAuthenticatedUser, "Whether users may",
            .notEffective),
        Option(
            "fileUpload.fileExtensions", \.fileUpload.fileExtensions,
            "Extensions and content types that are taken; none: all that a browser does not run",
            .notEffective),
        Option(
            "fileUpload.allowedFileUrlDomains", \.fileUpload.allowedFileUrlDomains,
            "Hosts that a saved file's URL may name", .notEffective),
        Option(
            "fileDownload.enableForPublic", \.fileDownload.enableForPublic, "Whether anybody may download files",
            .notEffective),
        Option(
            "fileDownload.enableForAnonymousUser", \.fileDownload.enableForAnonymousUser, "Whether anonymous users may",
            .notEffective),
        Option(
            "fileDownload.enableForAuthenticatedUser", \.fileDownload.enableForAuthenticatedUser, "Whether users may",
            .notEffective),
        Option(
            "preserveFileName", \.preserveFileName, "Whether a file keeps its name without a random part before it",
            .notEffective),
    ]

    static let devices: [Option] = [
        Option(
            "installation.duplicateDeviceTokenAction", \.installation.duplicateDeviceTokenAction,
            "What becomes of an older installation with the same device token", .notEffective),
        Option(
            "installation.duplicateDeviceTokenActionEnforceAuth", \.installation.duplicateDeviceTokenActionEnforceAuth,
            "Whether that needs the caller's own permission", .notEffective),
        Option(
            "installation.duplicateDeviceTokenMergePriority", \.installation.duplicateDeviceTokenMergePriority,
            "Which of two installations stays", .notEffective),
        Option(later: "push", JSON.self, "The push services and their keys"),
        Option("scheduledPush", \.scheduledPush, "Whether pushes may be sent later", .notEffective),
        Option("startLiveQueryServer", \.startLiveQueryServer, "Whether LiveQuery is served", .notEffective),
        Option(
            "liveQuery.classNames", \.liveQuery.classNames, "Classes that can be subscribed to, as regular expressions",
            .notEffective),
        Option(
            "liveQuery.regexTimeout", \.liveQuery.regexTimeout,
            "Milliseconds that a pattern in a subscription may take", in: .positive, .notEffective),
        Option(
            "liveQueryServerOptions.keyPairs", \.liveQueryServerOptions.keyPairs,
            "Keys that LiveQuery clients must send, by their names", .notEffective),
        Option(
            later: "liveQueryServerOptions.cacheTimeout", Double.self, default: .number(5000),
            "Milliseconds that LiveQuery keeps a session or a role"),
        Option(
            later: "liveQueryServerOptions.websocketTimeout", Double.self, default: .number(10000),
            "Milliseconds between two pings of a socket"),
        Option(later: "liveQueryServerOptions.logLevel", String.self, "See logLevel"),
    ]

    static let graphQL: [Option] = [
        Option(later: "mountGraphQL", Bool.self, default: false, "Whether GraphQL is served"),
        Option(later: "graphQLPath", String.self, default: "/graphql", "The path of GraphQL"),
        Option(
            later: "graphQLPublicIntrospection", Bool.self, default: false,
            "Whether anybody may read the GraphQL schema"),
        Option(later: "graphQLSchema", String.self, "A file with a schema of your own"),
        Option(later: "mountPlayground", Bool.self, default: false, "Whether a page to try GraphQL is served"),
        Option(later: "playgroundPath", String.self, default: "/playground", "Its path"),
        Option(
            later: "encodeParseObjectInCloudFunction", Bool.self, default: true,
            "Whether objects among the parameters of a function become `Parse.Object`"),
    ]
}
