import CLibPQ
import Core
import Glibc
import Synchronization

/// Where PostgreSQL may be, as the connection string tells it: its hosts in order, names resolved off the loop, the one
/// that served last first. For one worker.
final class Hosts {
    /// One place to try. What is nil is left to the connection string.
    struct Candidate: Sendable, Hashable {
        var host: String?
        var address: String?
        var port: String?
        /// What the server must be: libpq's `target_session_attrs`.
        var sessionAttributes: String?

        /// For libpq, behind the connection string: later settings win.
        var settings: [(String, String)] {
            [("host", host), ("hostaddr", address), ("port", port), ("target_session_attrs", sessionAttributes)]
                .compactMap { name, value in value.map { (name, $0) } }
        }
    }

    typealias Resolve = @Sendable (_ name: String) -> [String]

    private let loop: Loop
    private let resolve: Resolve
    private let places: [Candidate]
    private let names: Set<String>
    /// Passes over all candidates: what the server must be in each.
    private let passes: [String?]
    private var lastGood: Candidate?
    private var resolved: [String: [String]] = [:]
    private var resolvedAt: UInt64?
    private var waiting: [([Candidate]) -> Void] = []
    private let givenTimeout: UInt64?
    private let timeout: UInt64

    /// - Parameter resolve: Blocks; called on a thread of its own. Answers nothing where a name is not known.
    init(loop: Loop, configuration: DatabaseConfiguration, resolve: @escaping Resolve = Hosts.addresses) {
        self.loop = loop
        self.resolve = resolve
        let options = Hosts.parse(configuration.conninfo)
        // What a service file says is libpq's to read.
        let isService = options["service"] != nil || getenv("PGSERVICE") != nil
        let hosts = isService ? [] : Hosts.list(options["host"] ?? Hosts.environment("PGHOST"))
        let addresses = isService ? [] : Hosts.list(options["hostaddr"] ?? Hosts.environment("PGHOSTADDR"))
        let ports = Hosts.list(options["port"] ?? Hosts.environment("PGPORT"))
        var places: [Candidate] = []
        for index in 0..<max(hosts.count, addresses.count) {
            var place = Candidate()
            if index < hosts.count { place.host = hosts[index] }
            if index < addresses.count, !addresses[index].isEmpty { place.address = addresses[index] }
            if !ports.isEmpty { place.port = ports[min(index, ports.count - 1)] }
            places.append(place)
        }
        self.places = places.isEmpty ? [Candidate()] : places
        names = Set(places.filter { $0.address == nil }.compactMap(\.host).filter(Hosts.isName))
        switch options["target_session_attrs"] ?? Hosts.environment("PGTARGETSESSIONATTRS") {
        case nil: passes = places.count > 1 ? ["read-write"] : [nil]
        // One after the other, what libpq would do in two rounds.
        case "prefer-standby": passes = ["standby", "any"]
        case let given: passes = [given]
        }
        givenTimeout = options["connect_timeout"].flatMap { UInt64($0) }.flatMap { $0 > 0 ? $0 * 1_000_000_000 : nil }
        timeout = configuration.connectTimeout.nanoseconds
    }

    /// Nanoseconds that one candidate of so many may take: all together what the configuration says, but each a second.
    func timeout(candidates count: Int) -> UInt64 {
        givenTimeout ?? (count > 1 ? max(timeout / UInt64(count), min(timeout, 1_000_000_000)) : timeout)
    }

    /// Calls `completion` with the places to try, in a later turn; with none where no name is known.
    func find(_ completion: @escaping ([Candidate]) -> Void) {
        waiting.append(completion)
        guard waiting.count == 1 else { return }
        if names.isEmpty || resolvedAt.map({ loop.now < $0 + 1_000_000_000 }) == true {
            loop.schedule(after: 0) { [weak self] in self?.answer() }
            return
        }
        let lookup = Lookup(names: names, resolve: resolve)
        lookup.start()
        loop.spawn {
            try? await lookup.done.wait()
            self.resolved = lookup.found.withLock { $0 }
            self.resolvedAt = self.loop.now
            self.answer()
        }
    }

    /// A connection was made.
    func succeeded(_ candidate: Candidate) { lastGood = candidate }

    private func answer() {
        var found: [Candidate] = []
        for place in places {
            guard let host = place.host, names.contains(host), place.address == nil else {
                found.append(place)
                continue
            }
            for address in resolved[host] ?? [] {
                var candidate = place
                candidate.address = address
                found.append(candidate)
            }
        }
        let all = passes.flatMap { attributes in
            found.map { place in
                var candidate = place
                candidate.sessionAttributes = attributes
                return candidate
            }
        }
        let ordered = all.filter { $0 == lastGood } + all.filter { $0 != lastGood }
        let completions = waiting
        waiting = []
        for completion in completions { completion(ordered) }
    }

    // MARK: the connection string

    private static func parse(_ conninfo: String) -> [String: String] {
        guard let options = PQconninfoParse(conninfo, nil) else { return [:] }
        defer { PQconninfoFree(options) }
        var found: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val, value.pointee != 0 {
                found[String(cString: keyword)] = String(cString: value)
            }
            option += 1
        }
        return found
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func list(_ value: String?) -> [String] {
        value.map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) } ?? []
    }

    /// Neither a socket's folder nor an address.
    private static func isName(_ host: String) -> Bool {
        guard let first = host.first, first != "/", first != "@" else { return false }
        var address = in6_addr()
        return inet_pton(AF_INET, host, &address) != 1 && inet_pton(AF_INET6, host, &address) != 1
    }

    // MARK: names

    /// What name service says of a name, in its order. Blocks.
    static let addresses: Resolve = { name in
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var found: [String] = []
        var next = list
        while let entry = next {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            if getnameinfo(
                entry.pointee.ai_addr, entry.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
                == 0
            {
                found.append(String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
            }
            next = entry.pointee.ai_next
        }
        return found
    }

    /// Names being resolved on a thread of their own: name service may take many seconds.
    private final class Lookup: Sendable {
        let done = Waiter()
        let found = Mutex<[String: [String]]>([:])
        private let names: Set<String>
        private let resolve: Resolve

        init(names: Set<String>, resolve: @escaping Resolve) {
            self.names = names
            self.resolve = resolve
        }

        func start() {
            var thread = pthread_t()
            let argument = Unmanaged.passRetained(self).toOpaque()
            let result = pthread_create(
                &thread, nil,
                { argument in
                    guard let argument else { return nil }
                    Unmanaged<Lookup>.fromOpaque(argument).takeRetainedValue().run()
                    return nil
                }, argument)
            if result == 0 { pthread_detach(thread) } else { Unmanaged<Lookup>.fromOpaque(argument).release() }
            if result != 0 { done.resume() }
        }

        private func run() {
            for name in names {
                let addresses = resolve(name)
                found.withLock { $0[name] = addresses }
            }
            done.resume()
        }
    }
}
