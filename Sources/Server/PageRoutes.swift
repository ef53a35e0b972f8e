import Accounts
import CCrypto
import HTTP
import Options
import Store
import Wire

/// `/apps/APPID/…`: what the links in mails lead to. They need no key: the token that a link carries is what counts.
struct PageRoutes {
    let options: ServerOptions
    let accounts: Accounts
    let ownPages: OwnPages?

    /// A request for a page; nil where the path is none's.
    ///
    /// - Parameter accountPages: the application's own.
    func answer(
        _ http: HTTPRequest, _ path: [String], client: String, accountPages: (logIn: String, recovery: String)?
    ) async throws -> Answer? {
        guard path.first == options.pages.pagesEndpoint else { return nil }
        let method = http.method == "HEAD" ? "GET" : http.method
        if path.count == 2, method == "GET", let page = Page.byFile[path[1]] {
            return show(page, Call(http, options, accountPages))
        }
        guard path.count == 3 else { return nil }
        let route = (method, path[2])
        guard ["verify_email", "request_password_reset", "resend_verification_email"].contains(route.1) else {
            return nil
        }
        guard path[1] == options.appId else { throw Identification.unauthorized }
        let call = Call(
            http, options, accountPages, body: method == "POST" ? try RequestBody.members(http, as: .object) : nil)
        var info = RequestInfo()
        info.id = http.id
        info.address = client
        info.language = call.locale ?? http.header("Accept-Language")
        let operation = accounts.store.operation(as: .anonymous, request: info)
        switch route {
        case ("GET", "verify_email"): return try await verify(call)
        case ("GET", "request_password_reset"): return try await askForPassword(call)
        case ("POST", "request_password_reset"): return try await resetPassword(call, operation)
        case ("POST", "resend_verification_email"): return try await resend(call, operation)
        default: return nil
        }
    }

    /// What a request says, from its query and its form.
    private struct Call {
        private let values: JSONObject
        let locale: String?
        let language: Page.Language
        /// A script asks, which wants JSON.
        let wantsJSON: Bool
        let accountPages: (logIn: String, recovery: String)?

        init(
            _ http: HTTPRequest, _ options: ServerOptions, _ accountPages: (logIn: String, recovery: String)?,
            body: JSONObject? = nil
        ) {
            self.accountPages = accountPages
            var values = body ?? JSONObject()
            for (name, value) in RequestBody.pairs(http.query ?? "") where values[name] == nil {
                values[name] = .string(value)
            }
            self.values = values
            locale = Call.locale(values["locale"]?.string ?? http.header("X-Parse-Page-Param-Locale"))
            let fallback =
                Page.Language(rawValue: String(options.pages.localizationFallbackLocale.prefix(2))) ?? .english
            language = Page.Language(asked: locale ?? http.header("Accept-Language"), fallback: fallback)
            wantsJSON = http.header("X-Requested-With") != nil
        }

        /// A text that is not empty.
        subscript(name: String) -> String? { values[name]?.string.flatMap { $0.isEmpty ? nil : $0 } }

        /// `es`, `es-MX`: anything else is no locale.
        private static func locale(_ text: String?) -> String? {
            guard let text, (2...35).contains(text.utf8.count) else { return nil }
            let parts = text.split(separator: "-", omittingEmptySubsequences: false)
            let isTag = parts.allSatisfy { part in
                (1...8).contains(part.utf8.count)
                    && part.utf8.allSatisfy { byte in
                        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    }
            }
            return isTag ? text : nil
        }
    }

    // MARK: the routes

    private func verify(_ call: Call) async throws -> Answer {
        let token = call["token"]
        switch try await accounts.verifyEmail(token: token ?? "") {
        case .done: return page(.emailVerificationSuccess, call)
        case .expired: return page(.emailVerificationLinkExpired, call, token: token)
        case .invalid: return page(.emailVerificationLinkInvalid, call)
        }
    }

    private func askForPassword(_ call: Call) async throws -> Answer {
        let token = call["token"]
        let (outcome, username) = try await accounts.resetToken(token ?? "")
        guard outcome == .done else { return page(.passwordResetLinkInvalid, call) }
        return page(.passwordReset, call, token: token, username: username)
    }

    private func resetPassword(_ call: Call, _ operation: Operation) async throws -> Answer {
        func refuse(_ error: ParseError) throws -> Answer {
            if call.wantsJSON { throw error }
            return redirect(.passwordResetLinkInvalid, call)
        }
        guard let token = call["token"] else { return try refuse(ParseError(-1, "Missing token")) }
        guard let password = call["new_password"] else { return try refuse(ParseError(201, "Missing password")) }
        do { try await accounts.resetPassword(token: token, to: password, in: operation) } catch let error as ParseError
            where error.code == -1 && !call.wantsJSON
        {
            // A password that is refused leaves the link good: the form comes again, and says why.
            let (outcome, username) = try await accounts.resetToken(token)
            guard outcome == .done else { return page(.passwordResetLinkInvalid, call) }
            return page(.passwordReset, call, token: token, username: username, error: error.message)
        }
        return call.wantsJSON
            ? Answer(json: "Password successfully reset") : page(.passwordResetSuccess, call)
    }

    private func resend(_ call: Call, _ operation: Operation) async throws -> Answer {
        guard call["username"] != nil || call["token"] != nil else {
            return redirect(.emailVerificationLinkInvalid, call)
        }
        let isSent = try await accounts.requestVerification(
            username: call["username"], token: call["token"], in: operation)
        return redirect(isSent ? .emailVerificationSendSuccess : .emailVerificationSendFail, call)
    }

    // MARK: answers

    /// The page itself, or the way to the operator's own.
    private func page(
        _ page: Page, _ call: Call, token: String? = nil, username: String? = nil, error: String? = nil
    ) -> Answer {
        if options.pages.forceRedirect || options.pages.customUrls[page.rawValue] != nil {
            return redirect(page, call, token: token, username: username, error: error)
        }
        return show(page, call, token: token, username: username, error: error)
    }

    private func show(
        _ page: Page, _ call: Call, token: String? = nil, username: String? = nil, error: String? = nil
    ) -> Answer {
        let form = page == .passwordReset ? "request_password_reset" : "resend_verification_email"
        var contents = Page.Contents()
        contents.appName = options.appName
        contents.language = call.language
        contents.accountPages = call.accountPages
        contents.token = token
        contents.username = username
        contents.error = error
        contents.action = options.pagesURL + "/" + form + (call.locale.map { "?locale=\($0)" } ?? "")
        var headers = PageRoutes.protection
        headers.append(("Content-Type", "text/html; charset=utf-8"))
        headers.append(("Content-Language", call.language.rawValue))
        headers += parameters(call, token, username, error).map { name, value in
            ("X-Parse-Page-Param-" + name.prefix(1).uppercased() + name.dropFirst(), header(value))
        }
        if let own = ownPages?.html(page, locale: call.locale ?? call.language.rawValue, values: values(contents)) {
            headers.removeAll { $0.0 == "Content-Security-Policy" }
            headers.append(("Content-Security-Policy", PageRoutes.ownPolicy))
            return Answer(headers: headers, body: Array(own.utf8))
        }
        return Answer(headers: headers, body: Array(page.html(contents).utf8))
    }

    /// What an operator's page may show of this one.
    private func values(_ contents: Page.Contents) -> [(String, String)] {
        [
            ("appId", options.appId), ("appName", options.appName), ("publicServerUrl", options.publicURL),
            ("action", contents.action), ("locale", contents.language.rawValue), ("token", contents.token ?? ""),
            ("username", contents.username ?? ""), ("error", contents.error ?? ""),
        ]
    }

    /// An operator's page has styles of its own, and pictures from anywhere; no scripts.
    private static let ownPolicy =
        "default-src 'none'; style-src 'unsafe-inline' 'self'; img-src https: data: 'self'; "
        + "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

    private func redirect(
        _ page: Page, _ call: Call, token: String? = nil, username: String? = nil, error: String? = nil
    ) -> Answer {
        let parameters = parameters(call, token, username, error)
        let address =
            options.pages.customUrls[page.rawValue]
            ?? "\(options.publicURL)/\(options.pages.pagesEndpoint)/\(page.file)"
        let query = parameters.map { "\($0.0)=\($0.1.urlEncoded)" }.joined(separator: "&")
        var headers = [("Location", address + (address.contains("?") ? "&" : "?") + query)]
        headers.append(("Content-Type", "text/plain; charset=utf-8"))
        if let locale = call.locale { headers.append(("X-Parse-Page-Param-Locale", locale)) }
        return Answer(status: 303, headers: headers + PageRoutes.protection, body: Array("See Other\n".utf8))
    }

    private func parameters(
        _ call: Call, _ token: String?, _ username: String?, _ error: String?
    ) -> [(String, String)] {
        var parameters = [("appId", options.appId), ("appName", options.appName)]
        if let token { parameters.append(("token", token)) }
        if let username { parameters.append(("username", username)) }
        if let error { parameters.append(("error", error)) }
        if let locale = call.locale { parameters.append(("locale", locale)) }
        return parameters
    }

    /// Values with other signs than visible ones always go encoded: a header can't hold them.
    private func header(_ value: String) -> String {
        let isPlain = value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        return options.pages.encodePageParamHeaders || !isPlain ? value.urlEncoded : value
    }

    /// Nothing but the page's own style is loaded, nobody frames it, and links don't tell where they were.
    private static let protection: [(String, String)] = {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var size: UInt32 = 0
        let style = Array(Page.style.utf8)
        precondition(EVP_Digest(style, style.count, &digest, &size, EVP_sha256(), nil) == 1)
        let hash = Base64.encode(Array(digest.prefix(Int(size))))
        return [
            (
                "Content-Security-Policy",
                "default-src 'none'; style-src 'sha256-\(hash)'; form-action 'self'; base-uri 'none'; "
                    + "frame-ancestors 'none'"
            ),
            ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
            ("X-Frame-Options", "DENY"),
        ]
    }()
}

extension ServerOptions {
    /// Under which clients reach the API.
    var publicURL: String { publicServerURL ?? serverURL ?? "" }
    /// Under which the application's pages lie.
    var pagesURL: String { "\(publicURL)/\(pages.pagesEndpoint)/\(appId.urlEncoded)" }
}
