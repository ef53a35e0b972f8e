import Wire

extension ServerOptions {
    /// The options that were told: a configuration file's first, the environment's over them, the flags' over both.
    ///
    /// - Parameters:
    ///   - defaults: what stands where nobody tells, as a file has it.
    ///   - file: the file's content, a JSON object; nil where there is no file.
    ///   - fileName: named in what is said of the file.
    ///   - environment: `HERMES_…` variables, and `DATABASE_URL`.
    ///   - flags: names as they were typed, without their dashes, in any case: `port`, `masterKeyIps`,
    ///     `master-key-ips`.
    /// - Throws: `OptionFault` that names the option, what is wrong with it and, where a name is unknown, the
    ///   nearest one that is known.
    public init(
        defaults: JSONObject = JSONObject(), file: JSON? = nil, fileName: String? = nil,
        environment: [String: String] = [:],
        flags: [(name: String, value: String)] = []
    ) throws(OptionFault) {
        self.init()
        try read(.object(defaults))
        if let file {
            do throws(OptionFault) { try read(file) } catch {
                throw fileName.map { OptionFault("\($0): \(error)") } ?? error
            }
        }
        for option in OptionTable.groups.flatMap(\.options) {
            for name in [option.name, option.alias].compactMap({ $0 }) {
                let variable = OptionText.variable(name)
                if let text = environment[variable] { try set(option, text, calledHere: variable) }
            }
        }
        if let text = environment["DATABASE_URL"], environment["HERMES_DATABASE_URL"] == nil,
            let option = OptionTable.byName["databaseURI"]
        {
            try set(option, text, calledHere: "DATABASE_URL")
        }
        for flag in flags { try set(Self.option(flag: flag.name), flag.value, calledHere: "--" + flag.name) }
        try finish()
    }

    // MARK: a configuration file

    private mutating func read(_ file: JSON) throws(OptionFault) {
        guard case .object(let members) = file else { throw OptionFault("the configuration must be a JSON object") }
        try read(members, prefix: "")
    }

    private mutating func read(_ object: JSONObject, prefix: String) throws(OptionFault) {
        for member in object.members where !Self.isComment(member.key) {
            let name = prefix + member.key
            if let option = OptionTable.byName[name] {
                // Null stands for an option that is not told, as in JavaScript.
                if member.value == .null { continue }
                do throws(OptionFault) { note(option, try option.set(&self, member.value)) } catch {
                    throw OptionFault("the option \"\(name)\" \(error)")
                }
            } else if OptionTable.sections.contains(name) {
                switch member.value {
                case .null: continue
                case .object(let inner): try read(inner, prefix: name + ".")
                default:
                    throw OptionFault("the option \"\(name)\" must be an object, not \(OptionText.short(member.value))")
                }
            } else {
                throw Self.unknown(name)
            }
        }
    }

    /// JSON has no comments; a member whose name begins with `//` is one.
    private static func isComment(_ name: String) -> Bool { name.hasPrefix("//") }

    private static func unknown(_ name: String) -> OptionFault {
        if let instead = OptionTable.replaced[name] {
            return OptionFault("the option \"\(name)\" of Parse Server is not one of Hermes: \(instead)")
        }
        let nearest = Nearest.name(to: name, among: Array(OptionTable.byName.keys) + OptionTable.sections)
        return OptionFault(
            "unknown option \"\(name)\"; "
                + (nearest.map { "did you mean \"\($0)\"?" } ?? "`hermes options` lists the known ones"))
    }

    // MARK: flags and the environment

    /// Whether the option that a flag names may stand without a value.
    public static func isSwitch(flag name: String) throws(OptionFault) -> Bool {
        try option(flag: name).kind == Bool.kind
    }

    private static func option(flag name: String) throws(OptionFault) -> Option {
        let wanted = plain(name)
        if let option = OptionTable.byFlag[wanted] { return option }
        let nearest = Nearest.name(to: wanted, among: Array(OptionTable.byFlag.keys))
            .flatMap { OptionTable.byFlag[$0] }.map { OptionText.flag($0.name) }
        throw OptionFault(
            "unknown flag --\(name); "
                + (nearest.map { "did you mean --\($0)?" } ?? "`hermes options` lists the known ones"))
    }

    private mutating func set(_ option: Option, _ text: String, calledHere: String) throws(OptionFault) {
        do throws(OptionFault) { note(option, try option.setFlag(&self, text)) } catch {
            throw OptionFault("\(calledHere) \(error)")
        }
    }

    static func plain(_ name: String) -> String { name.filter { $0 != "-" && $0 != "." && $0 != "_" }.lowercased() }

    // MARK: the whole

    /// Remembers an option without effect that was told; the last word on it counts.
    private mutating func note(_ option: Option, _ told: JSON?) {
        notEffective.removeAll { $0 == option.name }
        if option.status != .effective, told != option.defaultValue { notEffective.append(option.name) }
    }

    private func refuseFalseProtection() throws(OptionFault) {
        let sentences = notEffective.compactMap { name -> String? in
            guard case .refused(let without)? = OptionTable.byName[name]?.status else { return nil }
            return "the option \"\(name)\" protects, but does nothing in this version of Hermes; to start without "
                + "it, take it out: \(without)"
        }
        if !sentences.isEmpty { throw OptionFault(sentences.joined(separator: "\n")) }
    }

    /// Paths are put behind it: in mails, what is no URL would lead nowhere.
    private static func address(_ name: String, _ told: String?) throws(OptionFault) -> String? {
        guard var url = told else { return nil }
        while url.hasSuffix("/") { url.removeLast() }
        guard url.wholeMatch(of: /https?:\/\/[^\/\s?#]+(\/[^\s?#]*)?/.ignoresCase()) != nil else {
            throw OptionFault(
                "the option \"\(name)\" must be a URL such as https://foro.example.com/parse, not \"\(url)\"")
        }
        return url
    }

    /// What only the whole shows.
    private mutating func finish() throws(OptionFault) {
        try refuseFalseProtection()
        if !mountPath.hasPrefix("/") { mountPath = "/" + mountPath }
        while mountPath.count > 1, mountPath.hasSuffix("/") { mountPath.removeLast() }
        serverURL = try Self.address("serverURL", serverURL)
        publicServerURL = try Self.address("publicServerURL", publicServerURL)

        let keys = [
            ("masterKey", masterKey), ("readOnlyMasterKey", readOnlyMasterKey), ("maintenanceKey", maintenanceKey),
        ].compactMap { name, key in key.map { (name: name, key: $0) } }
        for (index, one) in keys.enumerated() {
            if one.key.isEmpty { throw OptionFault("the option \"\(one.name)\" must not be empty") }
            for other in keys.dropFirst(index + 1) where one.key == other.key {
                throw OptionFault("the options \"\(one.name)\" and \"\(other.name)\" must not be the same")
            }
        }
        // libpq takes any other text for a database's name, and looks for it on this machine.
        let schemes = ["postgresql://", "postgres://"]
        if let uri = databaseURI, !schemes.contains(where: uri.hasPrefix), uri.contains("://") || !uri.contains("=") {
            var fault =
                "the option \"databaseURI\" must be PostgreSQL's address: "
                + "postgresql://USER:PASSWORD@HOST/DATABASE"
            if uri.hasPrefix("mongodb") { fault += "; hermes import reads what mongoexport writes" }
            throw OptionFault(fault)
        }
        if (tlsCertificate == nil) != (tlsKey == nil) {
            throw OptionFault("the options \"tlsCertificate\" and \"tlsKey\" must be set together")
        }
        // Who believes to be protected and is not must know before the first request.
        let standing = [
            ("preventSignupWithUnverifiedEmail", preventSignupWithUnverifiedEmail),
            ("preventLoginWithUnverifiedEmail", preventLoginWithUnverifiedEmail),
            ("verifyUserEmails", verifyUserEmails),
        ]
        for (one, other) in zip(standing, standing.dropFirst()) where one.1 && !other.1 {
            throw OptionFault("the option \"\(one.0)\" needs \"\(other.0)\"")
        }
        if verifyUserEmails, sendUserEmailVerification, email.smtp == nil || email.from == nil {
            throw OptionFault("the option \"verifyUserEmails\" needs \"email.smtp\" and \"email.from\": it sends mails")
        }
        if emailVerifyTokenReuseIfValid, emailVerifyTokenValidityDuration == nil {
            throw OptionFault("the option \"emailVerifyTokenReuseIfValid\" needs \"emailVerifyTokenValidityDuration\"")
        }
        if passwordPolicy.resetTokenReuseIfValid, passwordPolicy.resetTokenValidityDuration == nil {
            throw OptionFault(
                "the option \"passwordPolicy.resetTokenReuseIfValid\" needs "
                    + "\"passwordPolicy.resetTokenValidityDuration\""
            )
        }
        let hidden = protectedFields["_User"]?["*"] ?? []
        protectedFields["_User", default: [:]]["*"] = hidden + userSensitiveFields.filter { !hidden.contains($0) }
        // As in Parse Server, what is told comes on top of the defaults.
        for (className, rules) in ServerOptions().protectedFields {
            for (principal, fields) in rules {
                let told = protectedFields[className]?[principal] ?? []
                protectedFields[className, default: [:]][principal] = told + fields.filter { !told.contains($0) }
            }
        }
    }
}

extension OptionTable {
    /// The environment variables that `ServerOptions` reads.
    public static let variables: [String] =
        ["DATABASE_URL"]
        + groups.flatMap(\.options).flatMap { option in
            [option.name, option.alias].compactMap { $0.map(OptionText.variable) }
        }

    /// Names of the options that are objects: what stands before a dot.
    static let sections: [String] = {
        let names = byName.keys.compactMap { name in name.firstIndex(of: ".").map { String(name[..<$0]) } }
        return Array(Set(names)).sorted()
    }()

    /// By name and by alias, in small letters without dots and dashes.
    static let byFlag: [String: Option] = {
        var found: [String: Option] = [:]
        for option in byName.values {
            found[ServerOptions.plain(option.name)] = option
            if let alias = option.alias { found[ServerOptions.plain(alias)] = option }
        }
        return found
    }()
}
