import Foundation
import Glibc
import Options
import Testing
import Wire

/// What an administrator writes, and what the server makes of it.
@Suite struct OptionsTests {
    private func options(_ json: String) throws -> ServerOptions { try ServerOptions(file: JSONParser.parse(json)) }

    private func fault(_ json: String) -> String? {
        do {
            _ = try options(json)
            return nil
        } catch { return "\(error)" }
    }

    @Test func withoutAnythingToldTheDefaultsStand() throws {
        let options = ServerOptions()
        #expect(options.masterKey == nil)
        #expect(options.host == "127.0.0.1" && options.port == 1337 && options.mountPath == "/parse")
        #expect(options.requestComplexity.queryDepth.value == 10)
        #expect(options.requestComplexity.subqueryLimit.value == nil)
        #expect(options.maxUploadSize == ByteCount(20 * 1024 * 1024))
        #expect(options.protectedFields == ["_User": ["*": ["email"]]])
        #expect(options.notEffective.isEmpty)
    }

    @Test func optionsAreReadWithTheirNestedOnes() throws {
        let options = try options(
            """
            {"//": "a comment", "appId": "foro", "masterKey": "m", "port": 8080, "maxLimit": 50, "maxUploadSize": "4kb",
             "masterKeyIps": ["10.0.0.0/8"], "allowOrigin": "https://foro.example", "mountPath": "api/",
             "requestComplexity": {"includeDepth": 2, "subqueryDepth": -1, "allowRegex": false},
             "routeAllowList": ["health", "classes/Foro[0-9a-f]*(/.*)?"], "clientKey": null,
             "requestKeywordDenylist": [{"key": "nivel", "value": 7}, {"value": "^spam\\\\d+$"}],
             "protectedFields": {"_User": {"*": ["phone"]}, "Temas": {"role:x": ["nota"]}}}
            """)
        #expect(options.appId == "foro" && options.port == 8080 && options.maxLimit == 50)
        #expect(options.maxUploadSize.bytes == 4096)
        #expect(options.allowOrigin == ["https://foro.example"] && options.mountPath == "/api")
        #expect(options.requestComplexity.includeDepth.value == 2)
        #expect(options.requestComplexity.subqueryDepth.allows(1_000_000))
        #expect(!options.requestComplexity.allowRegex)
        #expect(options.routeAllowList?.map { $0.matches("classes/Foro12/abc") } == [false, true])
        #expect(options.requestKeywordDenylist.first?.value == .number(7))
        #expect(options.requestKeywordDenylist.last?.valuePattern?.isFound(in: "spam42") == true)
        #expect(options.requestKeywordDenylist.last?.valuePattern?.isFound(in: "no spam42") == false)
        #expect(options.protectedFields["_User"] == ["*": ["phone", "email"]])
        #expect(options.protectedFields["Temas"] == ["role:x": ["nota"]])
    }

    @Test func anUnknownOptionNamesTheNearestOne() {
        #expect(fault(#"{"masterkey": "x"}"#) == #"unknown option "masterkey"; did you mean "masterKey"?"#)
        #expect(fault(#"{"alowOrigin": "x"}"#)?.contains(#"did you mean "allowOrigin"?"#) == true)
        #expect(
            fault(#"{"requestComplexity": {"queryDeepth": 1}}"#)?
                .contains(#"did you mean "requestComplexity.queryDepth"?"#) == true)
        #expect(fault(#"{"zzzzzzzzzz": 1}"#)?.contains("hermes options") == true)
        #expect(fault(#"{"filesAdapter": 1}"#)?.contains("Parse Server") == true)
    }

    @Test func aWrongTypeOrRangeIsSaidClearly() {
        #expect(fault(#"{"port": "8080"}"#) == #"the option "port" must be a whole number, not "8080""#)
        #expect(fault(#"{"port": 70000}"#) == #"the option "port" must be from 0 to 65535, not 70000"#)
        #expect(fault(#"{"defaultLimit": 0}"#) == #"the option "defaultLimit" must be at least 1, not 0"#)
        #expect(
            fault(#"{"sessionLength": 0}"#)
                == #"the option "sessionLength" must be above 0 and at most 1000000000, not 0"#)
        #expect(fault(#"{"sessionLength": 1e300}"#)?.contains("at most 1000000000, not ") == true)
        #expect(fault(#"{"requestComplexity": 3}"#)?.contains("must be an object, not 3") == true)
        #expect(fault(#"{"masterKeyIps": ["10.0.0.300"]}"#)?.contains(#""10.0.0.300" is neither"#) == true)
        #expect(fault(#"{"maxUploadSize": "many"}"#)?.contains(#"not "many""#) == true)
        #expect(fault(#"{"rateLimit": [{"requestPaht": "/x"}]}"#)?.contains(#"did you mean "requestPath"?"#) == true)
        #expect(fault(#"{"routeAllowList": ["("]}"#)?.contains("not a regular expression") == true)
        #expect(fault(#"{"masterKey": "a", "readOnlyMasterKey": "a"}"#)?.contains("must not be the same") == true)
        #expect(fault(#"{"tlsKey": "key.pem"}"#)?.contains("must be set together") == true)
        #expect(fault("[]")?.contains("must be a JSON object") == true)
    }

    @Test func aKnownOptionWithoutEffectIsNamed() throws {
        let options = try options(#"{"scheduledPush": true, "preserveFileName": true, "port": 1}"#)
        #expect(options.notEffective == ["scheduledPush", "preserveFileName"])
    }

    @Test func aDefaultThatIsToldIsNotWorthAWarning() throws {
        let options = try options(
            #"{"scheduledPush": false, "rateLimit": [], "accountLockout": {}, "pages": {"placeholders": {}},"#
                + #" "preventLoginWithUnverifiedEmail": false, "passwordPolicy": {"maxPasswordHistory": 0}}"#)
        #expect(options.notEffective.isEmpty)
    }

    /// Who believes to be protected and is not must know before the first request.
    @Test func anOptionThatProtectsAndDoesNothingRefusesTheStart() {
        let json = #"{"encryptionKey": "k"}"#
        #expect(fault(json)?.contains("protects, but does nothing") == true)
        #expect(fault(json)?.contains("take it out: ") == true)
    }

    /// These protect only together with what they stand on.
    @Test(
        arguments: [
            (#"{"preventLoginWithUnverifiedEmail": true}"#, "verifyUserEmails"),
            (#"{"preventSignupWithUnverifiedEmail": true}"#, "preventLoginWithUnverifiedEmail"),
            (#"{"verifyUserEmails": true}"#, "email.smtp"),
            (#"{"rateLimit": [{"requestPath": "/login", "requestCount": 3}]}"#, "requestTimeWindow"),
        ])
    func whatStandsOnAnotherOptionAsksForIt(_ json: String, _ missing: String) {
        #expect(fault(json)?.contains(missing) == true)
    }

    @Test func theLastWordOnSuchAnOptionCounts() throws {
        let file = try JSONParser.parse(#"{"preventLoginWithUnverifiedEmail": true, "scheduledPush": true}"#)
        let options = try ServerOptions(
            file: file, flags: [("prevent-login-with-unverified-email", "false"), ("scheduled-push", "false")])
        #expect(options.notEffective.isEmpty)
        #expect(throws: OptionFault.self) { try ServerOptions(environment: ["HERMES_VERIFY_USER_EMAILS": "true"]) }
    }

    @Test func usersSeeTheirOwnAddressUnlessToldOtherwise() throws {
        #expect(ServerOptions().protectedFieldsOwnerExempt)
        #expect(try !options(#"{"protectedFieldsOwnerExempt": false}"#).protectedFieldsOwnerExempt)
    }

    @Test func anOlderNameOfProtectedFieldsIsUnderstood() throws {
        let alone = try options(#"{"userSensitiveFields": ["phone", "email"]}"#)
        #expect(alone.protectedFields == ["_User": ["*": ["email", "phone"]]])
        let both = try options(
            #"{"userSensitiveFields": ["phone"], "protectedFields": {"_User": {"*": ["street"], "role:x": []}}}"#)
        #expect(both.protectedFields["_User"] == ["*": ["street", "phone", "email"], "role:x": []])
    }

    /// Parse Server starts with them, so that configurations which have them can be taken over.
    @Test func oldOptionsOfParseServerAreTakenWithAWarning() throws {
        let options = try options(
            #"{"fileKey": "k", "customIdSize": 11, "maxLogFiles": "14d", "mountPlayground": true, "push": {"ios": {}},"#
                + #" "liveQueryServerOptions": {"cacheTimeout": 1}, "enableExpressErrorHandler": false}"#)
        #expect(
            options.notEffective == [
                "fileKey", "customIdSize", "maxLogFiles", "mountPlayground", "push",
                "liveQueryServerOptions.cacheTimeout",
            ])
        #expect(fault(#"{"collectionPrefix": "a_"}"#)?.contains("a database of its own") == true)
    }

    @Test func aDenylistThatCouldDenyNothingIsRefused() throws {
        #expect(fault(#"{"requestKeywordDenylist": {"key": "x"}}"#)?.contains("must be a list") == true)
        #expect(fault(#"{"requestKeywordDenylist": ["x"]}"#)?.contains("must hold objects") == true)
        #expect(fault(#"{"requestKeywordDenylist": [{}]}"#)?.contains("needs a key or a value") == true)
        #expect(fault(#"{"requestKeywordDenylist": [{"keys": "x"}]}"#)?.contains("did you mean \"key\"?") == true)
        #expect(fault(#"{"requestKeywordDenylist": [{"key": ["x"]}]}"#)?.contains("must be a text, a number") == true)
        #expect(fault(#"{"requestKeywordDenylist": [{"value": {}}]}"#)?.contains("must be a text, a number") == true)
        #expect(fault(#"{"requestKeywordDenylist": [{"value": "("}]}"#)?.contains("not a regular expression") == true)
        // Parse Server reads a number as the pattern that its digits are.
        let list = try options(#"{"requestKeywordDenylist": [{"key": 7}, {"value": true}]}"#).requestKeywordDenylist
        #expect(list.first?.key?.isFound(in: "a7") == true)
        #expect(list.last?.value == .bool(true))
    }

    @Test func flagsGoBeforeTheEnvironmentAndTheEnvironmentBeforeTheFile() throws {
        let options = try ServerOptions(
            file: JSONParser.parse(#"{"port": 1, "host": "::1", "appName": "file", "maxLimit": 7}"#),
            environment: [
                "HERMES_PORT": "2", "HERMES_HOST": "::2", "HERMES_MASTER_KEY_IPS": "10.0.0.1,10.0.0.2",
                "DATABASE_URL": "postgres://db/x", "HERMES_DATA": "/srv/hermes", "HERMES_UNRELATED": "x",
            ],
            flags: [
                ("port", "3"), ("allow-custom-object-id", ""), ("requestComplexity.queryDepth", "-1"),
                ("rate-limit", ""),
            ])
        #expect(options.port == 3 && options.host == "::2" && options.appName == "file" && options.maxLimit == 7)
        #expect(options.masterKeyIps.entries == ["10.0.0.1", "10.0.0.2"])
        #expect(options.databaseURI == "postgres://db/x" && options.dataFolder == "/srv/hermes")
        #expect(options.allowCustomObjectId && options.requestComplexity.queryDepth.value == nil)
        #expect(try ServerOptions(flags: [("database-url", "dbname=x"), ("data", "y")]).databaseURI == "dbname=x")
    }

    /// Mails would lead nowhere.
    @Test(arguments: ["serverURL", "publicServerURL"]) func anAddressIsAURLToPutPathsBehind(name: String) throws {
        for wrong in ["x", "foro.example.com/parse", "ftp://foro.example.com", "http://", "https:///parse", ""] {
            #expect(fault(#"{"\#(name)": "\#(wrong)"}"#)?.contains(name) == true, "\(wrong)")
        }
        let right = try options(#"{"\#(name)": "https://foro.example.com:8443/parse/"}"#)
        #expect((right.serverURL ?? right.publicServerURL) == "https://foro.example.com:8443/parse")
        #expect(try options(#"{"\#(name)": "http://[::1]:1337"}"#).notEffective.isEmpty)
    }

    @Test(arguments: [
        ("{\n  \"port\": 1,\n}", "line 3, column 1"), ("{\"port\": 1 \"host\": \"x\"}", "line 1, column 12"),
        ("{\n  'port': 1}", "line 2, column 3"), ("{\"a\": \"x\n\"}", "line 1, column 9"),
        ("{\"a\": [1, tru]}", "column 11"),
        ("{} {}", "column 4"), ("{\"a\": 1", "it ends before it is complete"), ("{\"a\": 01}", "column 8"),
    ])
    func aFileThatIsNoJSONIsToldWhereItIsNot(text: String, place: String) throws {
        let path = NSTemporaryDirectory() + "hermes-options-\(UUID().uuidString).json"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let fault = #expect(throws: OptionFault.self) { try ServerArguments(["--config", path]).options() }
        #expect(fault?.description.hasPrefix("\(path) is not JSON: ") == true)
        #expect(fault?.description.contains(place) == true, "\(fault?.description ?? "")")
    }

    /// As editors of Windows write it.
    @Test func aFileMayBeginWithTheMarkOfItsEncoding() throws {
        let path = NSTemporaryDirectory() + "hermes-options-\(UUID().uuidString).json"
        try Data("\u{FEFF}{\"port\": 7}".utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try ServerArguments(["--config", path]).options().port == 7)
    }

    /// As Parse Server takes it.
    @Test func aLoneRateLimitNeedsNoList() throws {
        let limit = #"{"requestPath": "/login", "requestTimeWindow": 1000, "requestCount": 3}"#
        let path = NSTemporaryDirectory() + "hermes-options-\(UUID().uuidString).json"
        try Data("{\"rateLimit\": \(limit)}".utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try ServerArguments(["--config", path]).options().rateLimit.map(\.requestPath) == ["/login"])
    }

    @Test func aListOfObjectsIsTakenFromAFlagAsJSON() throws {
        let limit = #"{"requestPath": "/login", "requestTimeWindow": 1000, "requestCount": 3}"#
        for (text, count) in [(limit, 1), ("[\(limit)]", 1), (" [\(limit), \(limit)]", 2), ("", 0)] {
            let options = try ServerOptions(flags: [("rate-limit", text)])
            #expect(options.rateLimit.map(\.requestPath) == Array(repeating: "/login", count: count))
        }
        #expect(throws: OptionFault("--rate-limit must be JSON: it ends before it is complete")) {
            try ServerOptions(flags: [("rate-limit", "[\(limit)")])
        }
        let origins = try ServerOptions(flags: [("allow-origin", #"["https://a.example"]"#)]).allowOrigin
        #expect(origins == ["https://a.example"])
        #expect(try ServerOptions(flags: [("route-allow-list", "[a-z]+,classes")]).routeAllowList?.count == 2)
    }

    /// libpq would take each of them for a database's name.
    @Test(arguments: ["x", "mysql://a:SECRET@db/x", "mongodb://a:SECRET@db/x?retryWrites=true"])
    func whatIsNoAddressOfPostgreSQLIsRefusedUnquoted(uri: String) {
        let fault = #expect(throws: OptionFault.self) { try ServerOptions(flags: [("database-url", uri)]) }
        #expect(fault?.description.contains("postgresql://USER:PASSWORD@HOST/DATABASE") == true)
        #expect(fault?.description.contains("SECRET") == false)
        #expect(fault?.description.contains("hermes import") == uri.hasPrefix("mongodb"))
    }

    @Test func anUnknownFlagNamesTheNearestOne() {
        #expect(throws: OptionFault("unknown flag --prot; did you mean --port?")) {
            try ServerOptions(flags: [("prot", "1")])
        }
        #expect(throws: OptionFault(#"--port must be a whole number, not "x""#)) {
            try ServerOptions(flags: [("port", "x")])
        }
        #expect(throws: OptionFault(#"HERMES_PORT must be a whole number, not "x""#)) {
            try ServerOptions(environment: ["HERMES_PORT": "x"])
        }
    }

    @Test func theDocumentationIsMadeFromTheTable() throws {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        let page = try #require(contents(root + "/docs/configuration.md"))
        #expect(
            page == OptionTable.markdown,
            "docs/configuration.md is out of date: hermes options --markdown > docs/configuration.md")
    }

    private func contents(_ path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
