import Core
import Synchronization

/// Hears notifications for all workers of a node over one connection, which has a thread of its own.
///
/// Each worker's `Database` is a member. What is heard is posted to the members' loops; since when nothing can have
/// been missed is one number that all read. A member to which something was posted that it has not taken in yet does
/// not rely on that number.
public final class NodeListener: Sendable {
    enum Event: Sendable {
        /// Listening has begun: whatever was notified before may have been missed.
        case connected
        case lost
        case notification(channel: String, payload: String)
    }

    /// One worker's part: how many events were posted to it that it has not taken in.
    final class Member: Sendable {
        let executor: LoopExecutor
        let deliver: @Sendable (Event) -> Void
        private let pending = Atomic(0)

        init(executor: LoopExecutor, deliver: @escaping @Sendable (Event) -> Void) {
            self.executor = executor
            self.deliver = deliver
        }

        var isUpToDate: Bool { pending.load(ordering: .acquiring) == 0 }

        fileprivate func post(_ event: Event) {
            pending.add(1, ordering: .releasing)
            executor.post {
                self.deliver(event)
                self.pending.subtract(1, ordering: .releasing)
            }
        }
    }

    private struct State {
        var members: [Member] = []
        /// What is to be listened to.
        var channels: Set<String> = []
        /// The connection listens to all of them.
        var isSure = false
        /// The members were told that listening has begun, and not that it has ended.
        var wasToldConnected = false
        /// The connection's thread, as long as there is a member that listens.
        var worker: Worker?
    }

    private let configuration: DatabaseConfiguration
    private let state = Mutex(State())
    /// When the last heartbeat that was answered was sent; 0 while the connection does not listen to all channels.
    private let heardUntil = Atomic<UInt64>(0)
    private let demand = Atomic(Demand.none)

    /// Who has asked how far nothing was missed since the last heartbeat.
    private enum Demand: UInt8, AtomicRepresentable {
        case none, some
        /// For long nobody: hearts beat slowly.
        case resting
    }

    /// - Parameter configuration: How to reach the server, how often to ask it and how long to trust it.
    public init(_ configuration: DatabaseConfiguration) { self.configuration = configuration }

    // MARK: for the members

    /// The monotonic time in nanoseconds up to which nothing was missed; 0 while that can't be said. Who asks relies on
    /// it: signs of life come quickly for a while.
    var lastHeard: UInt64 {
        // Written once a heartbeat, not by each request: the workers share it.
        if demand.load(ordering: .relaxed) != .some, demand.exchange(.some, ordering: .relaxed) == .resting {
            onConnection { $0.wake() }
        }
        return heardUntil.load(ordering: .acquiring)
    }

    /// Has a member hear of a channel. True where the channel is listened to already, so that no `connected` follows.
    func listen(_ member: Member, _ channel: String) -> Bool {
        state.withLock { state in
            if !state.members.contains(where: { $0 === member }) { state.members.append(member) }
            guard state.channels.insert(channel).inserted else { return state.isSure }
            state.isSure = false
            heardUntil.store(0, ordering: .releasing)
            let worker = state.worker ?? Worker(name: "listener")
            let isNew = state.worker == nil
            state.worker = worker
            worker.executor.post {
                worker.assumeIsolated { worker in
                    let loop = worker.loop
                    if isNew {
                        loop.keep(ListeningConnection(loop: loop, configuration: self.configuration, node: self))
                    }
                    loop.first(ListeningConnection.self)?.update()
                }
            }
            return false
        }
    }

    /// A member goes; with the last one goes the connection. `done` is resumed once it is closed.
    func leave(_ member: Member, done: Waiter) {
        let last: Worker? = state.withLock { state in
            state.members.removeAll { $0 === member }
            guard state.members.isEmpty, let worker = state.worker else { return nil }
            heardUntil.store(0, ordering: .releasing)
            state = State()
            return worker
        }
        guard let last else { return done.resume() }
        last.executor.post {
            last.assumeIsolated { worker in
                worker.loop.first(ListeningConnection.self)?.close()
                worker.stop()
            }
            done.resume()
        }
    }

    /// Runs SQL on the connection that listens; for tests of what poolers do.
    package func runOnItsConnection(_ sql: String) {
        onConnection { $0.run(sql) }
    }

    private func onConnection(_ body: @escaping @Sendable (ListeningConnection) -> Void) {
        guard let worker = state.withLock({ $0.worker }) else { return }
        worker.executor.post {
            worker.assumeIsolated { worker in
                if let connection = worker.loop.first(ListeningConnection.self) { body(connection) }
            }
        }
    }

    // MARK: for the connection

    var wantedChannels: Set<String> { state.withLock { $0.channels } }

    func connected(to channels: Set<String>, at sent: UInt64) {
        state.withLock { state in
            // More were wanted meanwhile: those are on their way.
            guard state.channels == channels else { return }
            state.isSure = true
            state.wasToldConnected = true
            state.members.forEach { $0.post(.connected) }
            heardUntil.store(sent, ordering: .releasing)
        }
    }

    func heard(at sent: UInt64) {
        state.withLock { state in
            if state.isSure { heardUntil.store(sent, ordering: .releasing) }
        }
    }

    /// Whether anybody has asked since the last call. What is asked from now on counts for the next one.
    func takeDemand() -> Bool { demand.exchange(.none, ordering: .relaxed) == .some }

    /// False where somebody asks just now; who asks later wakes the connection.
    func rest() -> Bool {
        demand.compareExchange(expected: .none, desired: .resting, ordering: .relaxed).exchanged
    }

    func notified(_ channel: String, _ payload: String) {
        state.withLock { state in
            state.members.forEach { $0.post(.notification(channel: channel, payload: payload)) }
        }
    }

    func lost() {
        state.withLock { state in
            heardUntil.store(0, ordering: .releasing)
            state.isSure = false
            guard state.wasToldConnected else { return }
            state.wasToldConnected = false
            state.members.forEach { $0.post(.lost) }
        }
    }
}
