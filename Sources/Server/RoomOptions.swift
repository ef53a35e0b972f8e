import Accounts
import Cloud
import HTTP
import Jobs
import Mail
import Options
import Store
import Wire

/// The configuration as each room wants it.
extension ServerOptions {
    var storeOptions: StoreOptions {
        var store = StoreOptions()
        store.defaultLimit = defaultLimit
        store.maxLimit = maxLimit
        store.subqueryLimit = requestComplexity.subqueryLimit.value
        store.allowsClientClassCreation = allowClientClassCreation
        store.allowsCustomObjectIds = allowCustomObjectId
        store.objectIdSize = objectIdSize
        store.sanitizesErrors = enableSanitizedErrorResponse
        store.ownersSeeProtectedFields = protectedFieldsOwnerExempt
        store.saveAnswersShowProtectedFields = protectedFieldsSaveResponseExempt
        store.fileURLPrefix = "\(publicServerURL ?? serverURL ?? "")/files/\(appId)/"
        store.tokenSeal = tokenSeal
        return store
    }

    private var tokenSeal: Seal? { masterKey.map { Seal(.sessionToken, masterKey: $0) } }

    /// Protected fields that the configuration adds, by class.
    var serverProtectedFields: [String: JSONObject] {
        protectedFields.mapValues { byPrincipal in
            JSONObject(byPrincipal.sorted { $0.key < $1.key }.map { ($0.key, .array($0.value.map { .string($0) })) })
        }
    }

    var jobOptions: JobRunner.Options {
        var runner = JobRunner.Options()
        runner.concurrency = jobs.concurrency
        runner.lease = .seconds(jobs.lease)
        runner.poll = .seconds(jobs.poll)
        runner.keepFinished = .seconds(jobs.keepFinished)
        runner.keepDead = .seconds(jobs.keepDead)
        return runner
    }

    var accountOptions: AccountOptions {
        var accounts = AccountOptions()
        accounts.sessionLength = sessionLength
        accounts.hashesSessionTokens = hashSessionTokens ?? false
        accounts.tokenSeal = tokenSeal
        accounts.sessionsExpire = expireInactiveSessions
        accounts.passwordChangeEndsSessions = revokeSessionOnPasswordReset
        accounts.allowsAnonymousUsers = enableAnonymousUsers
        accounts.usersArePrivate = enforcePrivateUsers
        accounts.lowercasesEmail = convertEmailToLowercase
        accounts.lowercasesUsername = convertUsernameToLowercase
        accounts.logInIgnoresCase = caseInsensitiveLogIn
        accounts.useExtendsSessions = extendSessionOnUse
        if let pattern = passwordPolicy.validatorPattern {
            accounts.passwords.validator = { pattern.isFound(in: $0) }
        }
        if let error = passwordPolicy.validationError { accounts.passwords.validationError = error }
        accounts.passwords.forbidsUsername = passwordPolicy.doNotAllowUsername
        accounts.passwords.maximumAge = passwordPolicy.maxPasswordAge.map { $0 * 86_400 }
        accounts.passwords.history = passwordPolicy.maxPasswordHistory
        accounts.mail.pagesURL = pagesURL
        accounts.mail.secret = Array(Digest.sha256("mailed tokens \(masterKey ?? "")").utf8)
        accounts.mail.verifiesAddresses = verifyUserEmails
        accounts.mail.sendsVerification = sendUserEmailVerification
        accounts.mail.logInNeedsVerification = verifyUserEmails && preventLoginWithUnverifiedEmail
        accounts.mail.signUpNeedsVerification =
            verifyUserEmails && preventLoginWithUnverifiedEmail && preventSignupWithUnverifiedEmail
        accounts.mail.verificationLife = emailVerifyTokenValidityDuration
        accounts.mail.verificationIsReused = emailVerifyTokenReuseIfValid
        accounts.mail.hidesUnknownAddresses = emailVerifySuccessOnInvalidEmail
        accounts.mail.resetLife = passwordPolicy.resetTokenValidityDuration
        accounts.mail.resetIsReused = passwordPolicy.resetTokenReuseIfValid
        accounts.mail.hidesUnknownResets = passwordPolicy.resetPasswordSuccessOnInvalidEmail
        accounts.export.maxSize = accountExport.maxSize.bytes
        accounts.export.hourly = accountExport.hourly
        accounts.lockout.threshold = accountLockout.threshold
        accounts.lockout.duration = accountLockout.duration * 60
        accounts.lockout.passwordResetUnlocks = accountLockout.unlockOnPasswordReset
        accounts.installations.duplicateAction =
            switch installation.duplicateDeviceTokenAction {
            case .delete: .delete
            case .update: .update
            }
        accounts.installations.removesByCallersRights = installation.duplicateDeviceTokenActionEnforceAuth
        accounts.installations.mergePriority =
            switch installation.duplicateDeviceTokenMergePriority {
            case .deviceToken: .deviceToken
            case .installationId: .installationId
            }
        return accounts
    }

    var webhookOptions: WebhookOptions {
        var hooks = WebhookOptions()
        hooks.key = webhookKey
        hooks.sendsSessionTokens = webhooks.sendSessionTokens
        hooks.timeLimit = webhooks.timeLimit
        hooks.jobTimeLimit = webhooks.jobTimeLimit
        hooks.answerLimit = webhooks.maxAnswerSize.bytes
        hooks.allowsPrivateNetworks = webhooks.allowPrivateNetworks
        hooks.callsPerHost = webhooks.callsPerHost
        hooks.queuePerHost = webhooks.queuePerHost
        hooks.failuresBeforePause = webhooks.failuresBeforePause
        hooks.pause = webhooks.pause
        return hooks
    }

    /// What sends mail; nil where `email.smtp` is not told. Reads the templates' files, so it blocks: for the start.
    func makeMailer() throws(OptionFault) -> Mailer? {
        guard let url = email.smtp else { return nil }
        guard let from = email.from else {
            throw OptionFault(
                "the option \"email.smtp\" needs \"email.from\" beside it: the address that mails come from")
        }
        var server: SMTPServer
        do throws(SMTPServer.BadURL) {
            server = try SMTPServer(url, certificateAuthorities: email.certificateAuthorities)
        } catch { throw OptionFault("the option \"email.smtp\" \(error)") }
        if let file = email.certificateAuthorities { try Self.checkAuthorities(file) }
        server.timeout = UInt64(email.timeLimit * 1e9)
        server.connectTimeout = min(server.connectTimeout, server.timeout)
        let sender: MailSender
        do throws(MailFault) { sender = try MailSender(from) } catch {
            throw OptionFault("the option \"email.from\" \(error)")
        }
        guard let masterKey else { throw OptionFault("mail needs the option \"masterKey\"") }
        let templates = try makeMailTemplates()
        guard templates.know(email.language) else {
            let known = templates.languages.sorted().joined(separator: ", ")
            throw OptionFault("the option \"email.language\": there are mails in \(known), not in \(email.language)")
        }
        var mail = MailOptions(
            server: server, from: sender, appName: appName, templates: templates, masterKey: masterKey)
        mail.language = email.language
        mail.hourlyPerAddress = email.hourlyPerAddress
        mail.hourlyPerAccount = email.hourlyPerAccount
        return Mailer(mail)
    }

    /// libcurl reads the file with each mail, and would refuse each.
    private static func checkAuthorities(_ file: String) throws(OptionFault) {
        let option = "the option \"email.certificateAuthorities\""
        let text: String
        do throws(OptionFault) { text = try TextFile.read(file) } catch { throw OptionFault("\(option): \(error)") }
        guard text.contains("-----BEGIN CERTIFICATE-----") else {
            throw OptionFault("\(option): \(file) holds no certificate in PEM")
        }
    }

    /// The server's own mails, and the operator's over them.
    public func makeMailTemplates() throws(OptionFault) -> MailTemplates {
        do throws(MailFault) {
            guard let mailTemplates else { return try MailTemplates() }
            return try MailTemplates(folder: mailTemplates)
        } catch { throw OptionFault("the option \"mailTemplates\": \(error)") }
    }
}

extension Mail {
    /// What the accounts ask for.
    init(_ mail: AccountMail) {
        let template: MailTemplate =
            switch mail.kind {
            case .verifyEmail: .verifyEmail
            case .passwordReset: .passwordReset
            case .logInLink: .logInLink
            }
        self.init(
            to: mail.address, template, values: ["link": mail.link], language: mail.language, account: mail.userId)
    }
}
