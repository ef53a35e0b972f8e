import Glibc
import Postgres
import Schema
import Wire

/// A file of an export, and what it holds.
public struct ImportSource: Sendable, Equatable {
    /// What stands in a file.
    enum Content: Sendable, Equatable {
        case objects(className: String)
        /// The rows of a relation: `_Join:field:Class`.
        case relation(field: String, className: String)
        case schemas
    }

    let path: String
    let content: Content

    var name: String {
        switch content {
        case .objects(let className): className
        case .relation(let field, let className): ClassSchema.joinTable(field: field, of: className)
        case .schemas: "_SCHEMA"
        }
    }

    /// The files of a folder, or one file; a class of its own name, or the one that is told.
    ///
    /// - Returns: what is to be imported, in the order in which it is, and a sentence for each file that is left out.
    public static func find(_ path: String, className: String?) throws -> (sources: [ImportSource], left: [String]) {
        var information = stat()
        guard stat(path, &information) == 0 else { throw ArchiveFailure("\(path) can't be read: \(reason())") }
        guard information.st_mode & S_IFMT == S_IFDIR else {
            let name = className ?? Self.name(of: path) ?? Paths.name(of: path)
            guard let content = content(name) else {
                throw ArchiveFailure(
                    "\(name) can't be imported: name a class (hermes import CLASS FILE), or call the file CLASS.json")
            }
            return ([ImportSource(path: path, content: content)], [])
        }
        guard className == nil else { throw ArchiveFailure("\(path) is a folder: its files are named after classes") }
        var sources: [ImportSource] = []
        var left: [String] = []
        for file in namesInFolder(path) {
            guard let name = name(of: file) else { continue }
            if let content = content(name) {
                sources.append(ImportSource(path: "\(path)/\(file)", content: content))
            } else {
                left.append("\(file) is left out: \(name) is no class that can be imported")
            }
        }
        guard !sources.isEmpty else {
            throw ArchiveFailure("There is nothing to import in \(path): files are called CLASS.json or CLASS.jsonl")
        }
        guard Set(sources.map(\.name)).count == sources.count else {
            throw ArchiveFailure("Two files in \(path) are of the same class")
        }
        return (sources.sorted { ($0.rank, $0.name) < ($1.rank, $1.name) }, left)
    }

    /// Schemas first; relations when the objects are there; sessions, by which somebody could log in, last.
    private var rank: Int {
        switch content {
        case .schemas: 0
        case .objects("_User"): 1
        case .objects("_Role"): 2
        case .objects("_Session"): 5
        case .objects: 3
        case .relation: 4
        }
    }

    private static func name(of path: String) -> String? {
        let file = Paths.name(of: path)
        for ending in [".json", ".jsonl", ".ndjson"] where file.hasSuffix(ending) && file.count > ending.count {
            return String(file.dropLast(ending.count))
        }
        return nil
    }

    private static func content(_ name: String) -> Content? {
        if name == "_SCHEMA" { return .schemas }
        if name.hasPrefix("_Join:") {
            let parts = name.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            return parts.count == 3 && Names.isClass(name) ? .relation(field: parts[1], className: parts[2]) : nil
        }
        guard Names.isClass(name), !name.hasPrefix("_") || DefaultFields.openSystemClasses.contains(name) else {
            return nil
        }
        return .objects(className: name)
    }
}
