import CLibPQ
import Core
import Glibc

/// Making a connection without holding up the worker: PQconnectStart, PQconnectPoll, then the session's settings.
extension Connection {
    func connect() {
        // A peer that vanished without a word is noticed within half a minute. What stands first is only a default.
        let pairs = [
            ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "20000"), ("dbname", configuration.conninfo),
            ("fallback_application_name", configuration.applicationName),
            ("client_encoding", "UTF8"),
        ]
        let keys = pairs.map { strdup($0.0) } + [nil]
        let values = pairs.map { strdup($0.1) } + [nil]
        defer { (keys + values).forEach { free($0) } }
        // 1: a database's name may be a whole connection string.
        handle = PQconnectStartParams(
            keys.map { UnsafePointer($0) }, values.map { UnsafePointer($0) }, 1)
        connectTimer = loop.schedule(after: configuration.connectTimeout.nanoseconds) { [weak self] in
            self?.lose(PostgresError(.unavailable, "PostgreSQL did not answer within the connect timeout"))
        }
        // The owner hears of a failure in a later turn, not within its own call.
        loop.schedule(after: 0) { [weak self] in self?.beginWatching() }
    }

    private func beginWatching() {
        guard phase == .connecting else { return }
        guard let handle, PQstatus(handle) != CONNECTION_BAD else { return connectingFailed() }
        // "Before the first call of PQconnectPoll, behave as if it had returned PGRES_POLLING_WRITING."
        watchSocket(.write)
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

    private func connectingFailed() {
        lose(PostgresError(.unavailable, PostgresError.message(of: handle)))
    }

    private func watchSocket(_ interest: Loop.Readiness) {
        guard let handle else { return }
        let socket = PQsocket(handle)
        guard socket >= 0 else { return connectingFailed() }
        watch = loop.watch(socket, interest) { [weak self] in self?.handle($0) }
    }

    private func setUp(_ handle: OpaquePointer) {
        watchSocket(.read)
        phase = .settingUp
        PQsetNoticeReceiver(handle, { _, _ in }, nil)
        guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else { return connectingFailed() }
        var settings = configuration.settings
        settings["statement_timeout"] = "\(configuration.statementTimeout.milliseconds)ms"
        settings["idle_in_transaction_session_timeout"] = "\(configuration.idleTransactionTimeout.milliseconds)ms"
        let pairs = settings.sorted { $0.key < $1.key }
        let command = Command(
            Connection.settingsStatement,
            [.textArray(pairs.map(\.key)), .textArray(pairs.map(\.value))]
        ) { [weak self] outcome in self?.setUpEnded(outcome) }
        run(command)
    }

    private static let settingsStatement: Statement =
        "SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS setting (name, value)"

    private func setUpEnded(_ outcome: Command.Outcome) {
        guard phase == .settingUp else { return }
        guard case .rows = outcome else {
            var error = PostgresError(.unavailable, "the session's settings were refused")
            if case .failed(let cause, _) = outcome { error.message += ": \(cause.message)" }
            return lose(error)
        }
        connectTimer?.cancel()
        connectTimer = nil
        phase = .ready
        idleSince = loop.now
        owner?.connectionIsReady(self)
    }
}
