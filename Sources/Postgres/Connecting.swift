import CLibPQ
import Core
import Glibc

/// Making a connection without holding up the worker: names resolved elsewhere, then for each place that there may be
/// PQconnectStart, PQconnectPoll and a time limit of its own, then the session's settings.
extension Connection {
    func connect() {
        let limit = configuration.connectTimeout.nanoseconds
        connectTimer = loop.schedule(after: limit) { [weak self] in
            self?.lose(PostgresError(.unavailable, "name service did not answer within the connect timeout"))
        }
        // The owner hears of a failure in a later turn, not within its own call.
        hosts.find { [weak self] candidates in
            guard let self, phase == .connecting else { return }
            connectLimit = hosts.timeout(candidates: candidates.count)
            candidatesLeft = candidates[...]
            connectingError = PostgresError(.unavailable, "no host of the connection string is known to name service")
            tryNext()
        }
    }

    private func tryNext() {
        leaveHost()
        guard let candidate = candidatesLeft.popFirst() else {
            return lose(connectingError ?? PostgresError(.unavailable, "PostgreSQL is not reached"))
        }
        host = candidate
        // A peer that vanished without a word is noticed within half a minute. What stands first is only a default.
        let pairs =
            [
                ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
                ("tcp_user_timeout", "20000"), ("dbname", configuration.conninfo),
                ("fallback_application_name", configuration.applicationName), ("client_encoding", "UTF8"),
            ] + candidate.settings
        let keys = pairs.map { strdup($0.0) } + [nil]
        let values = pairs.map { strdup($0.1) } + [nil]
        defer { (keys + values).forEach { free($0) } }
        // 1: a database's name may be a whole connection string.
        handle = PQconnectStartParams(
            keys.map { UnsafePointer($0) }, values.map { UnsafePointer($0) }, 1)
        connectTimer = loop.schedule(after: connectLimit) { [weak self] in
            self?.connectingFailed("PostgreSQL did not answer within the connect timeout")
        }
        guard let handle, PQstatus(handle) != CONNECTION_BAD else { return connectingFailed() }
        // "Before the first call of PQconnectPoll, behave as if it had returned PGRES_POLLING_WRITING."
        watchSocket(.write)
    }

    private func leaveHost() {
        connectTimer?.cancel()
        watch?.cancel()
        watch = nil
        if let handle { PQfinish(handle) }
        handle = nil
    }

    func continueConnecting() {
        guard let handle, phase == .connecting else { return }
        // The socket may become another one within PQconnectPoll.
        watch?.cancel()
        watch = nil
        switch PQconnectPoll(handle) {
        case PGRES_POLLING_READING: watchSocket(.read)
        case PGRES_POLLING_WRITING: watchSocket(.write)
        case PGRES_POLLING_OK: setUp(handle)
        default: connectingFailed()
        }
    }

    /// This place does not serve: on to the next one.
    private func connectingFailed(_ reason: String? = nil) {
        connectingError = PostgresError(.unavailable, reason ?? PostgresError.message(of: handle))
        guard phase == .connecting else { return lose(connectingError ?? PostgresError(.unavailable, "")) }
        tryNext()
    }

    private func watchSocket(_ interest: Loop.Readiness) {
        guard let handle else { return }
        let socket = PQsocket(handle)
        guard socket >= 0 else { return connectingFailed() }
        watch = loop.watch(socket, interest) { [weak self] in self?.handle($0) }
    }

    private func setUp(_ handle: OpaquePointer) {
        watchSocket(.read)
        notices.attach(to: handle)
        guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else { return connectingFailed() }
        phase = .settingUp
        var settings = configuration.settings
        settings["statement_timeout"] = "\(configuration.statementTimeout.milliseconds)ms"
        settings["idle_in_transaction_session_timeout"] = "\(configuration.idleTransactionTimeout.milliseconds)ms"
        if isShared { settings["default_transaction_read_only"] = "on" }
        let pairs = settings.sorted { $0.key < $1.key }
        let command = Command(
            Connection.settingsStatement,
            [.textArray(pairs.map(\.key)), .textArray(pairs.map(\.value))]
        ) { [weak self] outcome in self?.setUpEnded(outcome) }
        run(command)
    }

    /// - Parameter version: as libpq has it, 130016 for 13.16; 0 where it is not known.
    static func tooOld(_ version: Int32) -> String? {
        guard (1..<150_000).contains(version) else { return nil }
        let minor = version >= 100_000 ? version % 10_000 : version / 100 % 100
        return "PostgreSQL \(version / 10_000).\(minor) is too old: take PostgreSQL 15 or newer"
    }

    private static let settingsStatement: Statement =
        "SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS setting (name, value)"

    private func setUpEnded(_ outcome: Command.Outcome) {
        guard phase == .settingUp else { return }
        guard case .rows = outcome else {
            var error = PostgresError(.unavailable, "the session's settings were refused")
            if case .failed(let cause, _) = outcome { error.message += ": \(cause.message)" }
            // Its settings may be unknown there, so that nobody can ask it for its version.
            if let tooOld = Self.tooOld(PQserverVersion(handle)) { error.message = tooOld }
            return lose(error)
        }
        connectTimer?.cancel()
        connectTimer = nil
        candidatesLeft = []
        if let host { hosts.succeeded(host) }
        phase = .ready
        idleSince = loop.now
        owner?.connectionIsReady(self)
    }
}
