import Browse
import Core
import Glibc
import Wire

/// `hermes browse` at work: keys, answers and timers go into the browser, its screens to the terminal. Lives on its
/// worker.
public final class BrowseSession {
    private var browser: Browser
    private let server: ParseServer
    private let terminal: Terminal
    private let loop: Loop
    private var tasks: [Int: Task<Void, Never>] = [:]
    private var timers: [Int: Loop.Timer] = [:]
    private let end = Waiter()
    /// 128 and the signal that ended it.
    private var signal: Int32?
    private var clock: Loop.Timer?

    private init(_ browser: Browser, _ server: ParseServer, _ terminal: Terminal, _ loop: Loop) {
        self.browser = browser
        self.server = server
        self.terminal = terminal
        self.loop = loop
    }

    /// Browses until somebody quits.
    ///
    /// - Returns: the exit status.
    /// - Throws: `CommandFailure`: no terminal, no server, not its key.
    public static func run(_ options: Browser.Options, at address: ServerAddress, loop: Loop) async throws -> Int32 {
        guard let terminal = Terminal() else {
            throw CommandFailure(1, "hermes browse needs a terminal (TERM is one that ncurses knows)")
        }
        let server = ParseServer(loop: loop, address: address)
        let session = BrowseSession(Browser(options), server, terminal, loop)
        let keys = loop.watch(STDIN_FILENO, .read) { _ in session.take(terminal.readEvents()) }
        let signals = SignalSource([SIGINT, SIGTERM, SIGHUP, SIGWINCH], loop: loop) { session.signalled($0) }
        session.take([.resize(terminal.size), .start])
        session.tick()
        try? await session.end.wait()
        signals.cancel()
        keys.cancel()
        session.clock?.cancel()
        for task in session.tasks.values { task.cancel() }
        for timer in session.timers.values { timer.cancel() }
        server.close()
        terminal.stop()
        if let failure = session.browser.failure { throw failure }
        return session.signal.map { 128 + $0 } ?? 0
    }

    private func signalled(_ number: Int32) {
        if number == SIGWINCH {
            terminal.readSize()
            return take([.resize(terminal.size)])
        }
        signal = number
        end.resume()
    }

    /// The clock goes on where nobody types.
    private func tick() {
        clock = loop.schedule(after: 5_000_000_000) { [unowned self] in
            self.take([.timer(-1)])
            self.tick()
        }
    }

    private static var now: Int64 { Wire.Timestamp.now.milliseconds }

    private func take(_ events: [Event]) {
        guard !events.isEmpty else { return }
        for event in events {
            for effect in browser.update(event, now: BrowseSession.now) { act(effect) }
        }
        guard !browser.hasQuit else { return end.resume() }
        terminal.draw(browser.view(terminal.size))
    }

    private func act(_ effect: Effect) {
        switch effect {
        case .fetch(let number, let request): fetch(number, request)
        case .cancel(let number): tasks.removeValue(forKey: number)?.cancel()
        case .timer(let number, let milliseconds):
            timers[number] = loop.schedule(after: UInt64(milliseconds) * 1_000_000) { [unowned self] in
                self.timers[number] = nil
                self.take([.timer(number)])
            }
        case .copy(let text):
            guard !terminal.copy(text, base64: Base64.encode(Array(text.utf8))) else { return }
            take([.copied(file: Terminal.makeFile(text))])
        case .read(let path):
            do { take([.fileRead(path: path, .success(try LocalFile.read(path)))]) } catch {
                take([.fileRead(path: path, .failure(error))])
            }
        case .editor(let text): take([.edited(terminal.edit(text))])
        case .quit: end.resume()
        }
    }

    private func fetch(_ number: Int, _ request: ServerRequest) {
        tasks[number] = loop.spawn { [unowned self] in
            let start = Loop.monotonicNow()
            let result: Result<Answer, ServerFault>
            do {
                let answer = try await self.server.send(request)
                let took = Int((Loop.monotonicNow() - start) / 1_000_000)
                result = .success(Answer(json: answer.json, bytes: answer.size, milliseconds: took))
            } catch { result = .failure(error as? ServerFault ?? .cancelled) }
            guard self.tasks.removeValue(forKey: number) != nil else { return }
            self.take([.answer(number, result)])
        }
    }
}
