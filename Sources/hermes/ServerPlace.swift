import Browse
import Glibc
import Options
import Wire

/// The server that commands ask, and its keys: never told as arguments, which every user of a machine can see.
enum ServerPlace {
    /// Where the options make a server listen, unless a URL is told; the keys of the options or the environment, else of
    /// the data folder's keys.json.
    static func address(_ options: ServerOptions, url told: String?) throws -> ServerAddress {
        var (appId, masterKey, readOnlyKey) = (options.appId, options.masterKey, options.readOnlyMasterKey)
        if appId.isEmpty || masterKey == nil {
            let path = Keys.path(in: options.dataFolder)
            if access(path, F_OK) == 0 {
                let keys = try Keys.read(path)
                if appId.isEmpty { appId = keys["appId"] ?? "" }
                masterKey = masterKey ?? keys["masterKey"]
                readOnlyKey = readOnlyKey ?? keys["readOnlyMasterKey"]
            }
            guard !appId.isEmpty, masterKey != nil || readOnlyKey != nil else {
                throw CommandFailure(
                    4,
                    "\(path) is not there: tell --data, --config, or HERMES_APP_ID and HERMES_MASTER_KEY (or "
                        + "HERMES_READ_ONLY_MASTER_KEY)")
            }
        }
        var url: String
        if let known = told ?? getenv("HERMES_URL").map({ String(cString: $0) }) {
            url = known
        } else {
            url = try listening(options)
        }
        while url.hasSuffix("/") { url.removeLast() }
        guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
            throw OptionFault("--url is a URL, as http://127.0.0.1:1337/parse")
        }
        return ServerAddress(url: url, appId: appId, masterKey: masterKey, readOnlyMasterKey: readOnlyKey)
    }

    private static func listening(_ options: ServerOptions) throws(OptionFault) -> String {
        if options.tlsCertificate != nil {
            guard let known = options.serverURL ?? options.publicServerURL else {
                throw OptionFault("tell where the server is with --url https://…\(options.mountPath)")
            }
            return known
        }
        guard options.port != 0 else { throw OptionFault("tell where the server is with --url or --port") }
        let host = ["0.0.0.0", "::", ""].contains(options.host) ? "127.0.0.1" : options.host
        return "http://\(host.contains(":") ? "[\(host)]" : host):\(options.port)\(options.mountPath)"
    }
}
