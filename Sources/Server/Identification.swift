import Accounts
import Core
import HTTP
import Options
import Store
import Wire

/// Reads who sends a request: application id, keys, session token, from headers, Basic authentication or the body.
///
/// The body counts only on POST, and only where no header carries a known application id: it is what the JavaScript
/// SDK sends from browsers.
struct Identification {
    let options: ServerOptions

    static let unauthorized = ParseError(nil, "unauthorized", status: 403)

    /// Takes the marks of client libraries out of `body`, and its method, where it overrides POST.
    func identify(_ request: HTTPRequest, method: inout String, body: inout JSONObject) throws(ParseError) -> Caller {
        var appId = request.header("X-Parse-Application-Id")
        var masterKey = request.header("X-Parse-Master-Key")
        var caller = Caller()
        caller.sessionToken = request.header("X-Parse-Session-Token").flatMap { $0.isEmpty ? nil : $0 }
        caller.installationId = request.header("X-Parse-Installation-Id")
        caller.requestId = request.header("X-Parse-Request-Id")
        var maintenanceKey = request.header("X-Parse-Maintenance-Key")
        var clientKeys = ClientKeys(request)
        var context = request.header("X-Parse-Cloud-Context").map { (try? JSONParser.parse($0)) ?? .null }
        if let basic = request.header("Authorization").flatMap(BasicAuthentication.init) {
            appId = basic.appId
            masterKey = basic.masterKey ?? masterKey
            clientKeys.javascript = basic.javascriptKey ?? clientKeys.javascript
        }
        if method == "POST", !body.isEmpty {
            if let override = body["_method"] {
                body["_method"] = nil
                if case .string(let name) = override { method = name.uppercased() }
            }
            if appId != options.appId, body["_ApplicationId"] != nil {
                appId = try take("_ApplicationId", &body)
                clientKeys.javascript = try take("_JavaScriptKey", &body) ?? ""
                _ = try take("_ClientVersion", &body)
                caller.installationId = try take("_InstallationId", &body) ?? caller.installationId
                caller.sessionToken = try take("_SessionToken", &body) ?? caller.sessionToken
                masterKey = try take("_MasterKey", &body) ?? masterKey
                maintenanceKey = try take("_MaintenanceKey", &body) ?? maintenanceKey
                _ = try take("_ContentType", &body)
                if let given = body["_context"] {
                    body["_context"] = nil
                    context = given
                }
            }
            for mark in ["_noBody", "_RevocableSession"] { body[mark] = nil }
        }
        if let context {
            var object = context
            if case .string(let text) = context { object = (try? JSONParser.parse(text)) ?? .null }
            guard case .object(let given) = object else { throw ParseError(107, "Invalid object for context.") }
            caller.context = given
        }
        guard appId == options.appId, !options.appId.isEmpty else { throw Identification.unauthorized }
        caller.key = try key(master: masterKey, maintenance: maintenanceKey, of: request)
        if caller.key == .none, !clientKeys.satisfy(options) { throw Identification.unauthorized }
        return caller
    }

    /// Whether a request shows the master key or the read-only one, as `X-Parse-Master-Key`, as a bearer token or as
    /// the password of Basic authentication, from where that key may be used.
    func isOperator(_ request: HTTPRequest) -> Bool {
        let authorization = request.header("Authorization")
        let bearer = authorization.flatMap { text -> String? in
            let parts = text.split(separator: " ", maxSplits: 1)
            return parts.count == 2 && parts[0].lowercased() == "bearer" ? String(parts[1]) : nil
        }
        let given =
            request.header("X-Parse-Master-Key") ?? bearer
            ?? authorization.flatMap(BasicAuthentication.init)?.masterKey
        let key = try? key(master: given, maintenance: nil, of: request)
        return key == .master || key == .readOnlyMaster
    }

    /// Throws 403 where a right key comes from an address that it must not come from.
    private func key(
        master: String?, maintenance: String?, of request: HTTPRequest
    ) throws(ParseError) -> Viewer.Key {
        if let maintenance, Secret.matches(maintenance, options.maintenanceKey) {
            try check(request, options.maintenanceKeyIps, "maintenanceKey")
            return .maintenance
        }
        guard let master else { return .none }
        if Secret.matches(master, options.masterKey) {
            try check(request, options.masterKeyIps, "masterKey")
            return .master
        }
        if Secret.matches(master, options.readOnlyMasterKey) {
            try check(request, options.readOnlyMasterKeyIps, "readOnlyMasterKey")
            return .readOnlyMaster
        }
        return .none
    }

    /// A right key from a wrong address has been stolen, or the list of addresses is wrong: both are worth a line.
    private func check(_ request: HTTPRequest, _ allowed: AddressSet, _ key: String) throws(ParseError) {
        let address = options.trustProxy.client(of: request)
        if let address, allowed.contains(address) { return }
        Log.shared.warning(
            "a right key came from an address that it is not for",
            ["key": .text(key), "address": .text(address?.description ?? "unknown"), "option": .text(key + "Ips")])
        throw Identification.unauthorized
    }

    private func take(_ name: String, _ body: inout JSONObject) throws(ParseError) -> String? {
        guard let given = body[name] else { return nil }
        body[name] = nil
        guard case .string(let text) = given else { throw Identification.unauthorized }
        return text
    }
}

/// The keys that a configuration may ask of client libraries.
private struct ClientKeys {
    var rest: String?
    var client: String?
    var javascript: String?
    var dotNet: String?

    init(_ request: HTTPRequest) {
        rest = request.header("X-Parse-REST-API-Key")
        client = request.header("X-Parse-Client-Key")
        javascript = request.header("X-Parse-Javascript-Key")
        dotNet = request.header("X-Parse-Windows-Key")
    }

    /// Where any is configured, one must be right.
    func satisfy(_ options: ServerOptions) -> Bool {
        let pairs = [
            (rest, options.restAPIKey), (client, options.clientKey), (javascript, options.javascriptKey),
            (dotNet, options.dotNetKey),
        ]
        let configured = pairs.filter { $0.1 != nil }
        return configured.isEmpty
            || configured.contains { given, key in given.map { Secret.matches($0, key) } ?? false }
    }
}

/// `Basic appId:masterKey`, or `Basic appId:javascript-key=KEY`.
private struct BasicAuthentication {
    let appId: String
    var masterKey: String?
    var javascriptKey: String?

    init?(_ header: String) {
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic",
            let bytes = Base64.decode(String(parts[1])), let text = String(validating: bytes, as: UTF8.self),
            let colon = text.firstIndex(of: ":")
        else { return nil }
        appId = String(text[..<colon])
        let secret = text[text.index(after: colon)...]
        let mark = "javascript-key="
        if secret.hasPrefix(mark) {
            javascriptKey = String(secret.dropFirst(mark.count))
        } else {
            masterKey = String(secret)
        }
    }
}
