import Glibc
import Options

/// What a server says of itself once it serves.
public enum Banner {
    /// - Parameters:
    ///   - port: the port that it listens on, which the options may have left open.
    ///   - database: PostgreSQL's version, such as "15.14".
    public static func text(_ options: ServerOptions, port: Int, workers: Int, database: String) -> String {
        let scheme = options.tlsCertificate == nil ? "http" : "https"
        let host = ["0.0.0.0", "::"].contains(options.host) ? "localhost" : options.host
        let shownHost = host.contains(":") ? "[\(host)]" : host
        var rows = [
            ("API", "\(scheme)://\(shownHost):\(port)\(options.mountPath)"),
            ("listening on", "\(options.host), port \(port)"),
            ("application id", options.appId),
        ]
        if let file = options.keysFile {
            rows.append(("keys", absolute(file) + (options.keysAreNew ? " (made just now; keep a copy)" : "")))
        }
        rows += [
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
        return "\nHermes \(version) is ready\n\n" + lines.joined(separator: "\n") + "\n\n"
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
