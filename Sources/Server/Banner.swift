import Glibc
import Options
import Wire

/// What a server says of itself once it serves.
public enum Banner {
    /// - Parameters:
    ///   - port: the port that it listens on, which the options may have left open.
    ///   - database: PostgreSQL's version, such as "15.14".
    public static func text(_ options: ServerOptions, port: Int, workers: Int, database: String) -> String {
        let site = address(options, port: port)
        let url = site + options.mountPath
        let place = options.keysFile.map { "in " + absolute($0) } ?? "told by the configuration"
        let rows = [
            ("API", url), ("listening on", "\(options.host), port \(port)"), ("application id", options.appId),
            ("master key", place + (options.keysAreNew ? " (made just now; keep a copy)" : "")),
            (
                "data",
                options.databaseURI == nil
                    ? "\(absolute(options.dataFolder)) (private PostgreSQL \(database))"
                    : "PostgreSQL \(database) at the address told"
            ),
            ("process", "\(getpid()), \(workers) \(workers == 1 ? "worker" : "workers")"),
        ]
        let width = rows.map(\.0.count).max() ?? 0
        let lines = rows.map { "  \($0.0)\(String(repeating: " ", count: width - $0.0.count))  \($0.1)" }
        return "\nHermes \(version) is ready\n\n" + lines.joined(separator: "\n") + "\n\n" + trial(options, url)
            + welcome(options, site)
    }

    /// Where a person goes: the last line, for who reads no other. A server without pages for people has none.
    private static func welcome(_ options: ServerOptions, _ site: String) -> String {
        switch options.app {
        case .none: ""
        case .forum: "The forum is open: go to \(publicSite(options) ?? site)/ in your browser, sign up, and write.\n\n"
        }
    }

    /// The public address without its path.
    private static func publicSite(_ options: ServerOptions) -> String? {
        guard let url = options.publicServerURL, let scheme = url.firstRange(of: "://") else { return nil }
        return String(url[..<scheme.upperBound] + url[scheme.upperBound...].prefix { $0 != "/" })
    }

    /// Two ways to try the server, ready to be pasted; no secret is among them, since the keys of clients are none.
    private static func trial(_ options: ServerOptions, _ url: String) -> String {
        let clientKey = [
            ("X-Parse-REST-API-Key", options.restAPIKey), ("X-Parse-Javascript-Key", options.javascriptKey),
            ("X-Parse-Client-Key", options.clientKey), ("X-Parse-Windows-Key", options.dotNetKey),
        ].first { $0.1 != nil }
        let headers = [
            ("X-Parse-Application-Id", options.appId), clientKey ?? ("", nil), ("Content-Type", "application/json"),
        ].compactMap { name, value in value.map { "-H \(quotedForShell("\(name): \($0)"))" } }
        // The forum's members have addresses.
        let address = options.app == .forum ? #", "email": "lucia@example.com""# : ""
        let curl = """
            Sign somebody up:

              curl \(headers.joined(separator: " ")) \\
                -d '{"username": "lucia", "password": "ruta-2015"\(address)}' \(quotedForShell(url + "/users"))


            """
        // Where others have keys, JavaScript clients without one are not let in.
        guard clientKey == nil || options.javascriptKey != nil else { return curl }
        let keys = [options.appId] + (options.javascriptKey.map { [$0] } ?? [])
        return curl + """
            Log in with the JavaScript SDK (npm install parse; in a page: parse.min.js, and not the first line):

              const Parse = require('parse/node');
              Parse.initialize(\(keys.map { JSON.string($0).description }.joined(separator: ", ")));
              Parse.serverURL = \(JSON.string(url));
              Parse.User.logIn('lucia', 'ruta-2015').then(user => console.log('hello', user.id));


            """
    }

    private static func address(_ options: ServerOptions, port: Int) -> String {
        let scheme = options.tlsCertificate == nil ? "http" : "https"
        let host = ["0.0.0.0", "::"].contains(options.host) ? "localhost" : options.host
        return "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }

    private static func quotedForShell(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }

    /// Hermes' version; CHANGELOG.md says what is in it.
    public static let version = "0.1.0"

    private static func absolute(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}

/// The database that a private cluster keeps everything in.
public enum PrivateDatabase {
    public static let name = "hermes"
}
