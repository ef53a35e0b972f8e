import Glibc
import Wire

/// The application's id and keys where nobody told them: made at the first start, kept in the data folder.
///
/// `keys.json` holds `appId`, `masterKey`, `maintenanceKey` and `readOnlyMasterKey`; only its owner may read it. It is
/// consulted only where the options tell no `appId` or no `masterKey`, and what they tell goes before it.
public enum Keys {
    private static let names = ["appId", "masterKey", "maintenanceKey", "readOnlyMasterKey"]

    public static func path(in dataFolder: String) -> String { dataFolder + "/keys.json" }

    /// Puts the keys that nobody told into `options`; makes the data folder and the file where they are missing.
    ///
    /// - Throws: `OptionFault` where the file can't be made or read, or others than its owner may read it.
    public static func complete(_ options: inout ServerOptions) throws(OptionFault) {
        guard options.appId.isEmpty || options.masterKey == nil else { return }
        try makeFolder(options.dataFolder)
        let path = path(in: options.dataFolder)
        if access(path, F_OK) != 0 { options.keysAreNew = try make(path) }
        let keys = try read(path)
        if options.appId.isEmpty { options.appId = keys["appId"] ?? "" }
        options.masterKey = options.masterKey ?? keys["masterKey"]
        options.maintenanceKey = options.maintenanceKey ?? keys["maintenanceKey"]
        options.readOnlyMasterKey = options.readOnlyMasterKey ?? keys["readOnlyMasterKey"]
        options.keysFile = path
        guard !options.appId.isEmpty, options.masterKey?.isEmpty == false else {
            throw OptionFault("\(path) has no appId or no masterKey: put them in, or remove it to have new ones made")
        }
    }

    /// The keys in a file.
    public static func read(_ path: String) throws(OptionFault) -> [String: String] {
        var information = stat()
        guard stat(path, &information) == 0 else { throw TextFile.fault("can't be read", path) }
        guard information.st_mode & 0o077 == 0 else {
            throw OptionFault("\(path) can be read by others than its owner; put it right with: chmod 600 \(path)")
        }
        let text = try TextFile.read(path)
        do { return try [String: String](option: JSONParser.parse(text)) } catch {
            throw OptionFault("\(path) is not as hermes wrote it (\(error)): put it right, or remove it")
        }
    }

    /// Returns false where another process was faster.
    private static func make(_ path: String) throws(OptionFault) -> Bool {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        // The system's generator reads getrandom(2), which is fit for keys: 40 of 62 letters are 238 bits.
        var generator = SystemRandomNumberGenerator()
        let keys = names.map { name in
            (
                name,
                JSON.string(
                    String(
                        (0..<(name == "appId" ? 20 : 40)).map { _ in
                            letters[Int.random(in: 0..<letters.count, using: &generator)]
                        }))
            )
        }
        let members = keys.map { "  \(JSON.string($0.0)): \($0.1)" }.joined(separator: ",\n")
        return try TextFile.create(path, "{\n\(members)\n}\n", mode: 0o600)
    }

    private static func makeFolder(_ folder: String) throws(OptionFault) {
        var path = folder.hasPrefix("/") ? "/" : ""
        for part in folder.split(separator: "/") {
            path += (path.isEmpty || path == "/" ? "" : "/") + part
            // Open to enter, since PostgreSQL runs as another user when this program is root.
            guard mkdir(path, 0o755) == 0 || errno == EEXIST || errno == EISDIR else {
                throw TextFile.fault("can't be made", path)
            }
        }
    }
}
