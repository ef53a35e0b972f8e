import CLibPQ
import Glibc

/// One of PostgreSQL's own client programs, such as pg_dump.
public struct PostgresTool: Sendable {
    public let path: String
    /// Such as "15.14".
    public let version: String

    /// Finds a program that is not older than the server: under /usr/lib/postgresql (Debian) the one that is nearest to
    /// it, else the first on PATH that will do.
    ///
    /// - Throws: `ChildProcess.Failure` that says what to install.
    public static func find(_ program: String, atLeast majorVersion: Int) throws -> PostgresTool {
        let folders = PostgresBinaries.debianVersions.filter { $0 >= majorVersion }.sorted()
            .map { "/usr/lib/postgresql/\($0)/bin" }
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        for folder in folders + path.split(separator: ":").map(String.init) {
            let file = "\(folder)/\(program)"
            guard access(file, X_OK) == 0 else { continue }
            // "pg_dump (PostgreSQL) 15.14 (Debian …)"
            let output = try ChildProcess.run([file, "--version"], environment: environment).output
            let version = output.split(separator: " ").first { $0.first?.isNumber == true } ?? ""
            guard let major = Int(version.prefix { $0.isNumber }), major >= majorVersion else { continue }
            return PostgresTool(path: file, version: version.trimmingSuffix(while: \.isNewline))
        }
        throw ChildProcess.Failure(
            description: "\(program) of PostgreSQL \(majorVersion) or newer is not here. Install it: apt install "
                + "postgresql-client-\(majorVersion)")
    }

    /// Starts it for a database. It ends with this program. No secret is among its arguments, where every user of the
    /// machine could read it.
    ///
    /// - Parameter applicationName: what its connections are called, where the connection string doesn't say.
    public func start(
        _ arguments: [String], conninfo: String, applicationName: String, input: Int32? = nil, output: Int32? = nil,
        errors: Int32? = nil
    ) throws -> ChildProcess {
        let (visible, secrets) = try PostgresTool.split(conninfo)
        let setpriv = "/usr/bin/setpriv"
        let guardian = access(setpriv, X_OK) == 0 ? [setpriv, "--pdeathsig", "TERM", "--"] : []
        return try ChildProcess.start(
            guardian + [path] + arguments + ["--dbname", visible],
            environment: PostgresTool.environment.merging(secrets) { $1 }
                .merging(["PGAPPNAME": applicationName]) { $1 }, input: input, output: output,
            errors: errors)
    }

    /// What anybody may see of a connection string, and the rest as libpq's environment variables.
    static func split(_ conninfo: String) throws -> (visible: String, secrets: [String: String]) {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(conninfo, &message) else {
            defer { PQfreemem(message) }
            throw ChildProcess.Failure(description: message.map { String(cString: $0) } ?? "out of memory")
        }
        defer { PQconninfoFree(options) }
        var visible: [String] = []
        var secrets: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            defer { option += 1 }
            guard let value = option.pointee.val.map({ String(cString: $0) }) else { continue }
            switch String(cString: keyword) {
            case "password": secrets["PGPASSWORD"] = value
            case "sslpassword":
                throw ChildProcess.Failure(description: "sslpassword can't be handed on to pg_dump and pg_restore")
            case let name:
                visible.append("\(name)=\(quotedForConninfo(value))")
            }
        }
        return (visible.joined(separator: " "), secrets)
    }

    /// This program's own, where libpq finds what the connection string leaves open.
    private static var environment: [String: String] {
        var variables: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee.map({ String(cString: $0) }) {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            entry += 1
        }
        return variables.merging(["LC_ALL": "C", "TZ": "UTC"]) { $1 }
    }
}

/// A value as it stands in a connection string.
func quotedForConninfo(_ value: String) -> String {
    "'" + value.flatMap { "'\\".contains($0) ? ["\\", $0] : [$0] } + "'"
}

extension Substring {
    fileprivate func trimmingSuffix(while isGone: (Character) -> Bool) -> String {
        var rest = self
        while let last = rest.last, isGone(last) { rest.removeLast() }
        return String(rest)
    }
}
