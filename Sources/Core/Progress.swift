import Glibc
import Synchronization

/// How far long work is, told to whoever waits for it: on a terminal one line with a bar, the rate and the time that is
/// left, drawn at most ten times a second; elsewhere a line for each tenth. Goes to standard error.
public final class Progress: Sendable {
    /// What is counted.
    public enum Unit: Sendable {
        case objects, rows, bytes

        func text(_ count: Int) -> String {
            switch self {
            case .objects, .rows: Progress.grouped(count)
            case .bytes: Progress.size(count)
            }
        }
    }

    private struct State {
        var title: String
        var done = 0
        /// What was done before it began.
        var before = 0
        var total: Int?
        var unit: Unit
        let started = Loop.monotonicNow()
        var drawn: UInt64 = 0
        var tenth = 0
        /// Moments of the last seconds, and how much was done then: what the rate is of.
        var marks: [(time: UInt64, done: Int)] = []
        var isDrawn = false
    }

    private let state: Mutex<State>
    private let isTerminal: Bool
    private let width: Int
    private let write: @Sendable (String) -> Void

    /// - Parameter total: nil where nobody knows it before the end.
    public convenience init(_ title: String, total: Int?, unit: Unit) {
        var size = winsize()
        let isTerminal = isatty(STDERR_FILENO) == 1
        let hasSize = isTerminal && ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 20
        self.init(title, total: total, unit: unit, isTerminal: isTerminal, width: hasSize ? Int(size.ws_col) : 80) {
            text in
            var text = text
            text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }
    }

    /// Says nothing.
    public static let silent = Progress("", total: nil, unit: .rows, isTerminal: false, width: 80) { _ in }

    /// One that is told what it writes to: a terminal or not, of so many columns.
    public init(
        _ title: String, total: Int?, unit: Unit, isTerminal: Bool, width: Int,
        write: @escaping @Sendable (String) -> Void
    ) {
        state = Mutex(State(title: title, total: total, unit: unit))
        self.isTerminal = isTerminal
        self.width = width
        self.write = write
    }

    /// The next part of the work.
    ///
    /// - Parameter done: how much of it was done by an earlier run.
    public func begin(_ title: String, total: Int?, unit: Unit, from done: Int = 0) {
        state.withLock { state in
            clear(&state)
            state = State(title: title, done: done, before: done, total: total, unit: unit)
            if let total, total > 0 { state.tenth = min(10, done * 10 / total) }
        }
    }

    /// So much is done, of all of it.
    public func reach(_ done: Int, now: UInt64 = Loop.monotonicNow()) {
        state.withLock { state in
            state.done = max(done, state.done)
            if isTerminal {
                guard now >= state.drawn + 100_000_000 else { return }
                state.drawn = now
                draw(&state, now)
            } else if let total = state.total, total > 0 {
                let tenth = min(10, state.done * 10 / total)
                guard tenth > state.tenth else { return }
                state.tenth = tenth
                write(line(&state, now) + "\n")
            }
        }
    }

    /// So much more is done.
    public func advance(by count: Int) { reach(state.withLock { $0.done } + count) }

    /// A line that stays.
    public func say(_ text: String) {
        state.withLock { state in
            clear(&state)
            write(text + "\n")
        }
    }

    /// Takes the bar away: what comes next speaks for itself.
    public func end() { state.withLock { clear(&$0) } }

    private func clear(_ state: inout State) {
        if state.isDrawn { write("\r\u{1B}[K") }
        state.isDrawn = false
    }

    private func draw(_ state: inout State, _ now: UInt64) {
        write("\r\(line(&state, now))\u{1B}[K")
        state.isDrawn = true
    }

    /// `Temas  [#####     ]  52 %  5,200,000 of 10,000,000  41,000/s  2 min left`
    private func line(_ state: inout State, _ now: UInt64) -> String {
        state.marks.append((now, state.done))
        // The rate of the last ten seconds, so that a stall shows.
        while state.marks.count > 2, state.marks[1].time + 10_000_000_000 < now { state.marks.removeFirst() }
        let start = (time: state.started, done: state.before)
        let since = isTerminal ? state.marks.first ?? start : start
        let seconds = Double(now &- since.time) / 1e9
        let rate = seconds > 0.2 ? Double(state.done - since.done) / seconds : 0
        var parts: [String] = []
        if let total = state.total, total > 0 {
            parts.append("\(state.unit.text(state.done)) of \(state.unit.text(total))")
            if rate > 0 {
                parts.append("\(state.unit.text(Int(rate)))/s")
                if state.done < total { parts.append(Progress.time(Double(total - state.done) / rate) + " left") }
            }
            let share = min(1, Double(state.done) / Double(total))
            let percent = "\(Int(share * 100)) %"
            let rest = parts.joined(separator: "  ")
            let room = width - state.title.count - rest.count - percent.count - 9
            guard isTerminal, room >= 8 else { return "\(state.title)  \(percent)  \(rest)" }
            let cells = min(room, 30)
            let filled = Int(share * Double(cells))
            let bar = String(repeating: "#", count: filled) + String(repeating: " ", count: cells - filled)
            return "\(state.title)  [\(bar)]  \(percent)  \(rest)"
        }
        parts.append(state.unit.text(state.done))
        if rate > 0 { parts.append("\(state.unit.text(Int(rate)))/s") }
        return "\(state.title)  " + parts.joined(separator: "  ")
    }

    // MARK: figures

    /// `10,000,000`
    public static func grouped(_ count: Int) -> String {
        let digits = Array(String(count.magnitude))
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return count < 0 ? "-" + text : text
    }

    /// `812 bytes`, `4.7 MB`; 1 MB is 1,000,000 bytes.
    public static func size(_ bytes: Int) -> String {
        guard bytes >= 1000 else { return "\(bytes) bytes" }
        var value = Double(bytes)
        var unit = 0
        while value >= 999.95, unit < 4 {
            value /= 1000
            unit += 1
        }
        let tenths = Int((value * 10).rounded())
        let text = tenths >= 1000 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
        return text + [" bytes", " kB", " MB", " GB", " TB"][unit]
    }

    /// `40 s`, `3 min`, `2 h 5 min`
    public static func time(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds < 1e8 else { return "long" }
        let whole = Int(seconds.rounded(.up))
        if whole < 90 { return "\(whole) s" }
        if whole < 5400 { return "\((whole + 30) / 60) min" }
        return "\(whole / 3600) h \(whole % 3600 / 60) min"
    }
}
