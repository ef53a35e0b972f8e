import Glibc
import Synchronization

/// A program that this one started. A thread of its own starts it and waits for its end, so that no zombie is left
/// and a parent-death signal, which Linux ties to the starting thread, means the end of the whole program.
///
/// Its calls block: not for use on a worker.
public final class ChildProcess: Sendable {
    public struct Failure: Error, CustomStringConvertible, Sendable {
        public let description: String
    }

    public let processID: pid_t
    /// Keeps a program that starts from inheriting a pipe that is not marked close-on-exec yet.
    private static let spawning = Mutex(())
    private let status: Mutex<Int32?>

    private init(processID: pid_t) {
        self.processID = processID
        status = Mutex(nil)
    }

    /// Where a program finds the folder whose descriptor it was given: also when its user may not enter the folders
    /// that lie above it.
    static let folderPath = "/proc/self/fd/\(folderDescriptor)"
    private static let folderDescriptor: Int32 = 9

    /// The exit code, 128 + signal where a signal ended it, nil while it runs.
    public var exitCode: Int32? {
        status.withLock { status in
            status.map { ($0 & 0x7f) == 0 ? ($0 >> 8) & 0xff : 128 + ($0 & 0x7f) }
        }
    }

    /// Starts a program in a session of its own: a terminal's Ctrl-C does not reach it.
    ///
    /// - Parameters:
    ///   - command: The program's path, then its arguments.
    ///   - environment: All of the program's environment.
    ///   - input: A descriptor that it reads; nil has it read nothing.
    ///   - output: A descriptor for both of its outputs; nil throws them away.
    ///   - errors: Another one for its standard error.
    ///   - folder: A descriptor of a folder that the program finds under `folderPath`.
    ///   - onExit: Called on the thread that waited, with the exit code.
    public static func start(
        _ command: [String], environment: [String: String], input: Int32? = nil, output: Int32? = nil,
        errors: Int32? = nil, folder: Int32? = nil, onExit: @escaping @Sendable (Int32) -> Void = { _ in }
    ) throws -> ChildProcess {
        let start = Start(
            command: command, environment: environment, input: input, output: output, errors: errors ?? output,
            folder: folder, onExit: onExit)
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(start).toOpaque()
        let result = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                ChildProcess.runAndReap(Unmanaged<Start>.fromOpaque(argument).takeRetainedValue())
                return nil
            }, argument)
        guard result == 0 else {
            Unmanaged<Start>.fromOpaque(argument).release()
            throw Failure(description: "no thread left to start \(command.first ?? "")")
        }
        pthread_detach(thread)
        while true {
            if let result = start.result.withLock({ $0 }) { return try result.get() }
            usleep(200)
        }
    }

    /// Runs a program to its end.
    public static func run(
        _ command: [String], environment: [String: String], folder: Int32? = nil
    ) throws -> (exitCode: Int32, output: String) {
        let pipe = try makePipe()
        defer { close(pipe.read) }
        let child: ChildProcess
        do {
            defer { close(pipe.write) }
            child = try start(command, environment: environment, output: pipe.write, folder: folder)
        }
        var output: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(pipe.read, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            output += chunk[..<count]
        }
        return (child.wait(seconds: 3600) ?? -1, String(decoding: output, as: UTF8.self))
    }

    /// A pipe whose ends no program inherits but the one that is given one of them. Close both.
    public static func makePipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        let made = spawning.withLock { _ in
            pipe(&ends) == 0 && ends.allSatisfy { fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }
        }
        guard made else { throw Failure(description: "no descriptor left") }
        return (ends[0], ends[1])
    }

    public func signal(_ number: Int32) {
        // Only while it runs: afterwards the number may be another program's.
        status.withLock { status in if status == nil { kill(processID, number) } }
    }

    /// Waits for its end; nil when it did not come within the time.
    public func wait(seconds: Double) -> Int32? {
        var left = Int(seconds * 1000 / 5)
        while true {
            if let exitCode { return exitCode }
            guard left > 0 else { return nil }
            left -= 1
            usleep(5000)
        }
    }

    private final class Start: Sendable {
        let command: [String]
        let environment: [String: String]
        let input: Int32?
        let output: Int32?
        let errors: Int32?
        let folder: Int32?
        let onExit: @Sendable (Int32) -> Void
        let result = Mutex<Result<ChildProcess, any Error>?>(nil)
        init(
            command: [String], environment: [String: String], input: Int32?, output: Int32?, errors: Int32?,
            folder: Int32?, onExit: @escaping @Sendable (Int32) -> Void
        ) {
            self.command = command
            self.environment = environment
            self.input = input
            self.output = output
            self.errors = errors
            self.folder = folder
            self.onExit = onExit
        }
    }

    private static func runAndReap(_ start: Start) {
        let child: ChildProcess
        do {
            child = ChildProcess(processID: try spawn(start))
            start.result.withLock { $0 = .success(child) }
        } catch {
            return start.result.withLock { $0 = .failure(error) }
        }
        // Waits without reaping first, so that `signal` never meets a number that is free already.
        var information = siginfo_t()
        while waitid(P_PID, id_t(child.processID), &information, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
        child.status.withLock { status in
            var raw: Int32 = 0
            while waitpid(child.processID, &raw, 0) < 0 && errno == EINTR {}
            status = raw
        }
        start.onExit(child.exitCode ?? -1)
    }

    private static func spawn(_ start: Start) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let streams = [(start.input, Int32(0), O_RDONLY), (start.output, 1, O_WRONLY), (start.errors, 2, O_WRONLY)]
        for (descriptor, stream, mode) in streams {
            if let descriptor {
                posix_spawn_file_actions_adddup2(&actions, descriptor, stream)
            } else {
                posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", mode, 0)
            }
        }
        if let folder = start.folder { posix_spawn_file_actions_adddup2(&actions, folder, folderDescriptor) }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGCHLD, SIGUSR1, SIGUSR2] {
            sigaddset(&defaults, signal)
        }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        // POSIX_SPAWN_SETSID, which spawn.h shows to GNU programs only.
        let newSession: Int32 = 0x80
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | newSession
        posix_spawnattr_setflags(&attributes, Int16(flags))

        let arguments = start.command.map { strdup($0) } + [nil]
        let environment = start.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (arguments + environment).forEach { free($0) } }
        var processID: pid_t = 0
        let result = spawning.withLock { _ in
            posix_spawn(&processID, start.command.first ?? "", &actions, &attributes, arguments, environment)
        }
        guard result == 0 else {
            throw Failure(
                description: "\(start.command.first ?? "") can't be started: \(String(cString: strerror(result)))")
        }
        return processID
    }
}
