import Glibc

/// Where PostgreSQL's programs are, and which major version they are.
public struct PostgresBinaries: Sendable, Hashable {
    public let folder: String
    public let majorVersion: Int

    /// The folder given; else under /usr/lib/postgresql (Debian) the version asked for, or the newest where none is;
    /// else the first on PATH.
    ///
    /// - Parameter majorVersion: To which version the data belongs. No other one is taken.
    public static func find(folder: String? = nil, majorVersion: Int? = nil) throws -> PostgresBinaries {
        try find(folder: folder, majorVersion: majorVersion, debian: debian)
    }

    private static let debian = "/usr/lib/postgresql"

    /// The versions of which Debian's packages have put something here.
    static var debianVersions: [Int] { namesInFolder(debian).compactMap { Int($0) } }

    static func find(folder: String?, majorVersion: Int?, debian: String) throws -> PostgresBinaries {
        if let folder { return try PostgresBinaries(folder: folder) }
        let versions = namesInFolder(debian).compactMap { Int($0) }.sorted(by: >)
        for version in versions
        where version == majorVersion ?? version && isProgram("\(debian)/\(version)/bin/postgres") {
            return try PostgresBinaries(folder: "\(debian)/\(version)/bin")
        }
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        for folder in path.split(separator: ":") where isProgram("\(folder)/postgres") && isProgram("\(folder)/initdb")
        {
            let found = try PostgresBinaries(folder: String(folder))
            if found.majorVersion == majorVersion ?? found.majorVersion { return found }
        }
        if let majorVersion {
            throw ChildProcess.Failure(
                description:
                    "The data belongs to PostgreSQL \(majorVersion), whose programs are neither under \(debian) "
                    + "nor on PATH. Install them (apt install postgresql-\(majorVersion)), or move the data with "
                    + "pg_upgrade.")
        }
        throw ChildProcess.Failure(
            description: "No PostgreSQL server was found under \(debian) or on PATH. Install it "
                + "(apt install postgresql), name its bin folder, or give the URL of a running one.")
    }

    private init(folder: String) throws {
        let program = "\(folder)/postgres"
        guard Self.isProgram(program), Self.isProgram("\(folder)/initdb") else {
            throw ChildProcess.Failure(description: "There are no postgres and initdb in \(folder).")
        }
        // "postgres (PostgreSQL) 15.14 (Debian …)"
        let output = try ChildProcess.run([program, "--version"], environment: [:]).output
        let number = output.split(separator: " ").first { $0.first?.isNumber == true } ?? ""
        guard let major = Int(number.prefix { $0.isNumber }) else {
            throw ChildProcess.Failure(description: "\(program) does not tell its version.")
        }
        guard major >= 15 else {
            throw ChildProcess.Failure(description: "\(program) is version \(major); 15 or newer is needed.")
        }
        self.folder = folder
        majorVersion = major
    }

    func path(_ program: String) -> String { "\(folder)/\(program)" }

    private static func isProgram(_ path: String) -> Bool { access(path, X_OK) == 0 }
}
