internal import Glibc
package import Options
internal import Server
internal import Wire

extension Hermes {
    /// Serves until SIGTERM or SIGINT; then requests that run are finished.
    ///
    /// The command line and the environment are those of `hermes serve`: without any, keys and a private PostgreSQL
    /// cluster are made in `.hermes`, and the server listens on 127.0.0.1, port 1337. Where it cannot start, a sentence
    /// on standard error says why, and the program ends: status 2 for an option that cannot be, 1 for anything else.
    public func run() async throws {
        var arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "serve" { arguments.removeFirst() }
        do {
            try await run(try ServerArguments(arguments))
        } catch let error as CancellationError {
            throw error
        } catch {
            Console.complain("hermes: \(error)\n")
            exit(error is OptionFault ? 2 : 1)
        }
    }

    /// The same with what was typed, for a program that has other commands too; throws what keeps it from starting.
    package func run(_ arguments: ServerArguments) async throws {
        var options = try arguments.options(defaults: preferred.withLock(\.jsonObject))
        try Keys.complete(&options)
        if !options.notEffective.isEmpty {
            let names = options.notEffective.joined(separator: ", ")
            Console.complain("hermes: warning: not effective in this version: \(names)\n")
        }
        try await Service.run(options, code: code)
    }

    /// Starts the server and answers once it serves: for tests, and for programs that do more than serve.
    ///
    /// - Parameter options: as a configuration file has them, docs/configuration.md: `["port": 0, "appId": "viajes"]`.
    ///   The environment and the command line are not looked at.
    /// - Throws: what keeps it from starting; prints as a sentence.
    public func start(_ options: [String: Value] = [:]) async throws -> RunningServer {
        var settled = try ServerOptions(
            defaults: preferred.withLock(\.jsonObject), file: .object(options.jsonObject), fileName: "options",
            environment: [:], flags: [])
        try Keys.complete(&settled)
        let running = try await Service.start(settled, code: code)
        return RunningServer(
            running: running, url: "http://127.0.0.1:\(running.port)\(settled.mountPath)", appId: settled.appId,
            masterKey: settled.masterKey ?? "")
    }
}

/// A server that serves in this process.
public struct RunningServer: Sendable {
    let running: Service.Running
    /// Where it serves: `http://127.0.0.1:1337/parse`.
    public let url: String
    /// What clients send as `X-Parse-Application-Id`.
    public let appId: String
    /// What stands above all rights.
    public let masterKey: String
    /// The port that it listens on.
    public var port: Int { running.port }

    /// Waits for SIGTERM or SIGINT.
    public func waitForEnd() async { await running.waitForEnd() }

    /// Finishes the requests that run, and ends.
    public func stop() async { await running.stop() }
}
