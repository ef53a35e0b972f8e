import Cloud
import Core
import Glibc
import Synchronization
import Wire

/// Cloud code in JavaScript: a main file as a Parse Server runs it, in isolates of its own.
///
/// Lives as long as somebody holds it or one of its handlers: after a swap the old code ends with its last call.
public final class JavaScriptCode: Sendable {
    /// The main file, as given.
    public let mainFile: String
    private let options: JavaScriptOptions
    private let pool: IsolatePool

    /// Loads the code in every isolate. What it registers later counts too.
    ///
    /// - Parameter changed: called, on a thread of the code's, whenever it registers something after it has been loaded:
    ///   `code` is another one then.
    /// - Throws: `JavaScriptFault`: JavaScriptCore is not installed, the file is not there, or it threw; with file and
    ///   line.
    public init(
        mainFile: String, options: JavaScriptOptions = JavaScriptOptions(),
        changed: @escaping @Sendable (JavaScriptCode) -> Void = { _ in }
    ) async throws {
        self.mainFile = mainFile
        self.options = options
        guard SourceFile.kind(mainFile) == 1 else { throw JavaScriptFault("\(mainFile): there is no such file") }
        pool = IsolatePool(mainFile: SourceFile.realPath(mainFile), options: options)
        do { try await pool.fill() } catch { throw JavaScriptFault("\(error)") }
        pool.whenChanged { [weak self] in if let self { changed(self) } }
    }

    deinit { pool.end() }

    /// What the code listens to and offers now.
    public var code: CloudCode {
        var code = CloudCode()
        for (key, rateLimits) in pool.handlers {
            code.rateLimits += rateLimits
            switch key {
            case .trigger(let trigger): code.triggers[trigger] = [handler(key)]
            case .function(let name): code.functions[name] = handler(key)
            case .job(let name): code.jobs[name] = handler(key)
            }
        }
        return code
    }

    /// What the code registers and what it lacks, for people: one line each.
    public var description: JavaScriptDescription {
        JavaScriptDescription(
            handlers: pool.handlers.keys.map(\.description).sorted(),
            missing: pool.missing.sorted(by: MissingFeature.isBefore))
    }

    /// Ends the code at once; calls that run fail. Not needed for a swap.
    public func close() { pool.end() }

    private func handler(_ key: HandlerKey) -> CloudHandler {
        let name = "\(mainFile.split(separator: "/").last ?? "main.js") \(key.description)"
        var handler = CloudHandler(name) { call in try await self.run(key, name, call) }
        handler.handsOver = true
        handler.needsObject = false
        return handler
    }

    private func run(_ key: HandlerKey, _ name: String, _ call: CloudCall) async throws -> CloudAnswer {
        let outcome = try await pool.isolate().run { number in
            RunningCall(number: number, key: key, name: name, call: call)
        }
        var answer = CloudAnswer()
        if case .function = key {
            answer.text = outcome.body
        } else if let body = outcome.body {
            do throws(ParseError) { answer.body = try JSONParser.parse(body) } catch {
                // The client's own body was well.
                throw ParseError(141, "\(name) leaves what cannot be stored: \(error.message)")
            }
        }
        answer.context = try outcome.context.flatMap { try JSONParser.parse($0).object }
        if let response = try outcome.response.flatMap({ try JSONParser.parse($0).object }) {
            answer.status = response["status"]?.number.flatMap { Int(exactly: $0) }
            answer.headers = (response["headers"]?.object?.members ?? []).map { ($0.key, $0.value.string ?? "") }
        }
        return answer
    }
}

/// What a file of cloud code registers, and what it uses that is not there.
public struct JavaScriptDescription: Sendable {
    /// `beforeSave Temas`, `function abrir`, `job resumen`; in alphabetical order.
    public let handlers: [String]
    /// By file and line.
    public let missing: [MissingFeature]
}

/// Why cloud code could not be loaded, with file and line where it is at fault.
public struct JavaScriptFault: Error, Sendable, CustomStringConvertible {
    public let description: String
    init(_ description: String) { self.description = description }
}
