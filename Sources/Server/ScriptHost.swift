import Cloud
import Core
import Glibc
import JavaScript
import Options
import Synchronization

/// The node's cloud code in JavaScript: loaded before the node listens, loaded anew on SIGHUP.
final class ScriptHost: Sendable {
    private let mainFile: String
    private let options: JavaScriptOptions
    private let registry: CloudRegistry
    private let running = Mutex<JavaScriptCode?>(nil)

    init?(_ options: ServerOptions, registry: CloudRegistry, background: any CloudCaller) {
        guard let mainFile = options.cloud else { return nil }
        self.mainFile = mainFile
        self.registry = registry
        var script = options.javaScript
        script.background = background
        self.options = script
    }

    /// Loads the file as it is now, and has requests use it. One that can't be loaded changes nothing; what runs goes
    /// on with the code that it began with.
    ///
    /// - Throws: `JavaScriptFault`, with file and line where the code is at fault.
    func load() async throws {
        let code = try await JavaScriptCode(mainFile: mainFile, options: options) { [weak self] code in
            self?.take(code, isNew: false)
        }
        take(code, isNew: true)
        for feature in code.description.missing {
            Log.shared.warning("cloud code uses what is not there", ["cloud": .text("\(feature)")])
        }
    }

    private func take(_ code: JavaScriptCode, isNew: Bool) {
        let isCurrent = running.withLock { running in
            if isNew { running = code }
            return running === code
        }
        // What old code registers late does not count any more.
        if isCurrent { registry.set(code.code, of: .javascript) }
    }

    func stop() {
        let code = running.withLock { running in
            defer { running = nil }
            return running
        }
        code?.close()
    }
}

extension ServerOptions {
    /// How cloud code in JavaScript is to run, as far as the options say.
    public var javaScript: JavaScriptOptions {
        var script = JavaScriptOptions()
        script.isolates = cloudIsolates
        script.callLimit = UInt64(cloudTimeLimit * 1e9)
        script.turnLimit = UInt64(cloudTurnLimit * 1e9)
        script.memoryLimit = cloudMemoryLimit.bytes
        script.applicationId = appId
        script.masterKey = masterKey ?? ""
        script.serverURL = serverURL ?? ""
        script.defaultLimit = defaultLimit
        var next = environ
        while let entry = next.pointee {
            let parts = String(cString: entry).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { script.environment[String(parts[0])] = String(parts[1]) }
            next += 1
        }
        return script
    }
}

/// How cloud code reads and writes for nobody's request: while it is loaded, by its own timers.
struct NodeCaller: CloudCaller {
    weak var node: Node?

    func send(_ request: CloudRequest) async throws -> CloudResponse {
        guard let response = try await node?.serve(request) else { throw CancellationError() }
        return response
    }
}
