import Synchronization

extension Log {
    /// A line that was logged, in the log's own format, without its end.
    public struct Line: Sendable {
        /// Grows from line to line, also from one run of the program to the next.
        public let number: Int64
        public let bytes: [UInt8]
    }
}

/// The last lines of a log, kept in memory for operators who cannot reach the file that they go to.
///
/// Warnings and errors have room of their own: requests by the thousand do not push them out.
final class LogRing: Sendable {
    private struct Lines {
        let capacity: Int
        private(set) var all: [Log.Line] = []
        /// Those before it were forgotten.
        private var first = 0
        private var bytes = 0

        init(capacity: Int) { self.capacity = capacity }

        var held: ArraySlice<Log.Line> { all[first...] }

        mutating func append(_ line: Log.Line) {
            all.append(line)
            bytes += line.bytes.count
            while bytes > capacity {
                bytes -= all[first].bytes.count
                all[first] = Log.Line(number: 0, bytes: [])
                first += 1
            }
            if first > 256, first > all.count / 2 {
                all.removeFirst(first)
                first = 0
            }
        }
    }

    private struct State {
        var lines: Lines
        var serious: Lines
        var next: Int64
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - capacity: bytes of the last lines.
    ///   - serious: bytes of warnings and errors.
    init(capacity: Int = 1 << 20, serious: Int = 256 << 10) {
        state = Mutex(
            State(
                lines: Lines(capacity: capacity), serious: Lines(capacity: serious),
                // A thousand lines a millisecond, and no number comes again after a restart.
                next: Timestamp.millisecondsNow() * 1000))
    }

    /// Takes whole lines, each with its end.
    func append(_ text: [UInt8]) {
        state.withLock { state in
            text.withUnsafeBufferPointer { bytes in
                var start = 0
                while let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
                    let line = Log.Line(number: state.next, bytes: Array(bytes[start..<end]))
                    start = end + 1
                    guard !line.bytes.isEmpty else { continue }
                    state.next += 1
                    state.lines.append(line)
                    if LogRing.isSerious(line.bytes) { state.serious.append(line) }
                }
            }
        }
    }

    /// The lines behind a number, in their order; of those that were forgotten, what is serious is still there.
    func lines(seriousOnly: Bool, after number: Int64) -> [Log.Line] {
        state.withLock { state in
            let serious = state.serious.held.filter { $0.number > number }
            guard !seriousOnly else { return serious }
            guard let first = state.lines.held.first?.number else { return serious }
            return serious.filter { $0.number < first } + state.lines.held.filter { $0.number > number }
        }
    }

    /// By the level's place in either format; lines of another form are the log's own and serious.
    private static func isSerious(_ line: [UInt8]) -> Bool {
        // `{"time":"2026-11-21T15:04:05.123Z","level":"error"`, `2026-11-21T15:04:05.123Z error   `
        let place = line.first == UInt8(ascii: "{") ? 44 : 25
        guard line.count > place else { return true }
        return line[place] != UInt8(ascii: "i") && line[place] != UInt8(ascii: "d")
    }
}
