import Wire

/// A URL that is called where an application would run code of its own.
public struct Webhook: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        case function(String)
        case trigger(Trigger)
        case job(String)
    }

    public let kind: Kind
    public let url: String

    /// - Throws: 143 for a name or a URL that cannot be.
    public init(_ kind: Kind, url: String) throws(ParseError) {
        switch kind {
        case .function(let name), .job(let name): try Self.check(name: name)
        case .trigger(let trigger): try Self.check(trigger)
        }
        guard url.utf8.count <= 2048, Self.host(of: url) != nil, url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else {
            throw .badHook("its url must be an http or https URL of at most 2,048 bytes")
        }
        self.kind = kind
        self.url = url
    }

    /// For the log, and for who reads an error.
    public var name: String {
        switch kind {
        case .function(let name): "webhook of the function \(name)"
        case .job(let name): "webhook of the job \(name)"
        case .trigger(let trigger): "webhook \(trigger.kind.rawValue) of \(trigger.className)"
        }
    }

    /// Scheme, host and port: what is out of order when a call finds nobody.
    var host: String { Self.host(of: url) ?? "" }

    private static func host(of url: String) -> String? {
        guard let scheme = ["http://", "https://"].first(where: { url.lowercased().hasPrefix($0) }) else { return nil }
        let authority = url.dropFirst(scheme.count).prefix { !"/?#\\".contains($0) }
        // Behind the last @; before it stand a name and a password.
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        guard let first = host.first, first != ":" else { return nil }
        return scheme + host.lowercased()
    }

    private static func check(name: String) throws(ParseError) {
        guard !name.isEmpty, name.utf8.count <= 255, name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
            throw .badHook("a name has from 1 to 255 bytes, and no control characters")
        }
    }

    /// The server's own names have only some events.
    private static func check(_ trigger: Trigger) throws(ParseError) {
        let allowed: Set<TriggerKind>
        switch trigger.className {
        case "@File":
            allowed = [.beforeSave, .afterSave, .beforeDelete, .afterDelete, .beforeFind, .afterFind]
        case "@Config": allowed = [.beforeSave, .afterSave]
        case "@Connect": allowed = [.beforeConnect]
        case "_Session": allowed = [.afterLogout]
        case "_User":
            allowed = objects.union([.beforeLogin, .afterLogin, .beforePasswordResetRequest, .accountExport])
        default:
            guard Names.isClass(trigger.className) else {
                throw .badHook("there can be no class \(trigger.className.prefix(100))")
            }
            allowed = objects
        }
        guard allowed.contains(trigger.kind) else {
            throw .badHook("\(trigger.className) has no \(trigger.kind.rawValue)")
        }
    }

    /// What happens to the objects of any class.
    private static let objects: Set<TriggerKind> = [
        .beforeSave, .afterSave, .beforeDelete, .afterDelete, .beforeFind, .afterFind, .beforeSubscribe, .afterEvent,
    ]
}

extension ParseError {
    /// A hook that is declared wrongly.
    public static func badHook(_ reason: String? = nil) -> ParseError {
        ParseError(143, "invalid hook declaration" + (reason.map { ": \($0)" } ?? ""))
    }
}
