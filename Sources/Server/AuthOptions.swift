import Accounts
import Options
import Store
import Wire

/// The option `auth`: other ways to log in, by the names under which clients send their data.
extension ServerOptions {
    /// - Throws: `OptionFault` for what cannot be a provider.
    func setAuth(_ accounts: inout AccountOptions) throws(OptionFault) {
        guard case .object(let auth) = auth else { throw OptionFault("the option \"auth\" must be an object") }
        for (name, given) in auth.members {
            guard case .object(let given) = given else { throw OptionFault("auth.\(name) must be an object") }
            let settings = Settings(name: name, given: given)
            switch name {
            case "mfa": accounts.secondFactor = try secondFactor(settings)
            case "link":
                try settings.check(["url", "life"])
                let url = try settings.text("url")
                guard ["https://", "http://"].contains(where: url.hasPrefix) else {
                    throw OptionFault("auth.link.url must be the URL of the application's page that logs in")
                }
                accounts.logInLink = LogInLinkOptions(
                    url: url, life: Double(try settings.number("life", in: 60...86_400) ?? 900))
            case "anonymous": throw OptionFault("anonymous users are set by enableAnonymousUsers")
            case "github":
                try settings.check(["clientId", "clientSecret", "siteURL", "apiURL"])
                accounts.providers[name] = GitHub(
                    clientId: try settings.text("clientId"), clientSecret: try settings.text("clientSecret"),
                    site: try settings.optional("siteURL") ?? "https://github.com",
                    api: try settings.optional("apiURL") ?? "https://api.github.com")
            default: accounts.providers[name] = try openIDConnect(settings)
            }
        }
    }

    private func openIDConnect(_ settings: Settings) throws(OptionFault) -> OpenIDConnect {
        try settings.check(["clientId", "clientIds", "issuer", "jwksURL"])
        var issuers: [String]
        var keysURL = try settings.optional("jwksURL")
        switch settings.name {
        case "google": issuers = OpenIDConnect.googleIssuers
        case "apple":
            issuers = OpenIDConnect.appleIssuers
            // Its discovery document says the same.
            keysURL = keysURL ?? "https://appleid.apple.com/auth/keys"
        default: issuers = []
        }
        if let issuer = try settings.optional("issuer") { issuers = [issuer] }
        guard let first = issuers.first else {
            throw OptionFault(
                "auth.\(settings.name) needs \"issuer\", the URL of an OpenID Connect issuer; known without are apple, google, github, mfa and link"
            )
        }
        guard ["https://", "http://"].contains(where: first.hasPrefix) else {
            throw OptionFault("auth.\(settings.name).issuer must be a URL")
        }
        return OpenIDConnect(
            issuers: issuers, audiences: try settings.texts("clientId", "clientIds"), keysURL: keysURL,
            allowsExpired: allowExpiredAuthDataToken)
    }

    private func secondFactor(_ settings: Settings) throws(OptionFault) -> SecondFactorOptions {
        try settings.check(["options", "digits", "period", "algorithm", "attempts", "enabled"])
        guard settings.given["options"] == nil || settings.given["options"] == ["TOTP"] else {
            throw OptionFault("auth.mfa.options can be [\"TOTP\"] only: codes by SMS are not sent")
        }
        guard settings.given["period"] == nil || settings.given["period"] == 30,
            settings.given["algorithm"] == nil || settings.given["algorithm"] == "SHA1"
        else { throw OptionFault("auth.mfa: authenticators know a period of 30 and SHA1; leave them out") }
        guard let masterKey else { throw OptionFault("auth.mfa needs the option \"masterKey\"") }
        var options = SecondFactorOptions(seal: Seal(.secondFactor, masterKey: masterKey))
        options.digits = try settings.number("digits", in: 6...8) ?? options.digits
        options.attempts = try settings.number("attempts", in: 1...1000) ?? options.attempts
        return options
    }

    /// What is told of one provider.
    private struct Settings {
        let name: String
        let given: JSONObject

        func check(_ known: Set<String>) throws(OptionFault) {
            for (key, _) in given.members where !known.contains(key) {
                throw OptionFault(
                    "auth.\(name) has no option \"\(key)\"; it has \(known.sorted().joined(separator: ", "))")
            }
        }

        func optional(_ key: String) throws(OptionFault) -> String? {
            switch given[key] {
            case nil, .null: return nil
            case .string(let text) where !text.isEmpty: return text
            default: throw OptionFault("auth.\(name).\(key) must be a text")
            }
        }

        func text(_ key: String) throws(OptionFault) -> String {
            guard let text = try optional(key) else { throw OptionFault("auth.\(name) needs \"\(key)\"") }
            return text
        }

        /// One or several, under either name.
        func texts(_ one: String, _ several: String) throws(OptionFault) -> [String] {
            let all = [given[one], given[several]].compactMap { $0 }.flatMap { $0.array ?? [$0] }
            let texts = all.compactMap(\.string).filter { !$0.isEmpty }
            guard !texts.isEmpty, texts.count == all.count else {
                throw OptionFault("auth.\(name) needs \"\(one)\": the application's id there, a text or a list of them")
            }
            return texts
        }

        func number(_ key: String, in range: ClosedRange<Int>) throws(OptionFault) -> Int? {
            guard let given = given[key] else { return nil }
            guard let number = given.number.flatMap({ Int(exactly: $0) }), range.contains(number) else {
                throw OptionFault("auth.\(name).\(key) must be from \(range.lowerBound) to \(range.upperBound)")
            }
            return number
        }
    }
}
