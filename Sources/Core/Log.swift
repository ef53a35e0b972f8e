import Glibc
import Synchronization

/// A structured log: one line an event, as JSON or as text. Callable from any thread; a caller never waits for the
/// disk. No password, token or mail body may go in: that is the callers' rule.
public final class Log: Sendable {
    public enum Level: Int, Sendable, CaseIterable {
        case debug, info, warning, error

        public var name: String {
            switch self {
            case .debug: "debug"
            case .info: "info"
            case .warning: "warning"
            case .error: "error"
            }
        }
    }

    public enum Format: Sendable { case json, text }

    public enum Value: Sendable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
        ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral
    {
        case text(String)
        case int(Int)
        case number(Double)
        case bool(Bool)
        public init(stringLiteral value: String) { self = .text(value) }
        public init(integerLiteral value: Int) { self = .int(value) }
        public init(floatLiteral value: Double) { self = .number(value) }
        public init(booleanLiteral value: Bool) { self = .bool(value) }
    }

    public typealias Fields = KeyValuePairs<String, Value>

    /// The process's log: text to standard error at `info`, until `main` configures it.
    public static let shared = Log(descriptor: 2)

    private let minimum: Atomic<Int>
    private let isJSON: Atomic<Bool>
    private let sink: LogSink

    /// - Parameter descriptor: where lines go; it stays the caller's.
    public init(descriptor: Int32, level: Level = .info, format: Format = .text) {
        minimum = Atomic(level.rawValue)
        isJSON = Atomic(format == .json)
        sink = LogSink(descriptor: descriptor)
    }

    public func configure(level: Level, format: Format) {
        minimum.store(level.rawValue, ordering: .relaxed)
        isJSON.store(format == .json, ordering: .relaxed)
    }

    public func isEnabled(_ level: Level) -> Bool { level.rawValue >= minimum.load(ordering: .relaxed) }

    /// Writes one line. Neither `message` nor `fields` is worked out when the level is off.
    public func log(_ level: Level, _ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:]) {
        guard isEnabled(level) else { return }
        var line: [UInt8] = []
        line.reserveCapacity(256)
        let time = Timestamp.millisecondsNow()
        if isJSON.load(ordering: .relaxed) {
            LogLine.json(time, level, message(), fields(), &line)
        } else {
            LogLine.text(time, level, message(), fields(), &line)
        }
        sink.write(line)
    }

    public func debug(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:]) {
        log(.debug, message(), fields())
    }
    public func info(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:]) {
        log(.info, message(), fields())
    }
    public func warning(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:]) {
        log(.warning, message(), fields())
    }
    public func error(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:]) {
        log(.error, message(), fields())
    }

    /// The last lines, about 1 MiB of them, and of warnings and errors the last 256 KiB, in their order.
    ///
    /// - Parameters:
    ///   - seriousOnly: only warnings and errors.
    ///   - number: only lines behind this one.
    public func recent(seriousOnly: Bool = false, after number: Int64 = 0) -> [Line] {
        sink.ring.lines(seriousOnly: seriousOnly, after: number)
    }

    /// Waits until everything logged so far has been written: before the process ends.
    public func flush() { sink.flush() }
}
