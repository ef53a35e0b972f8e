/// How far long work is, said as suits who reads it: on a terminal one line that is written over, with a bar, the rate
/// and the time left; elsewhere a line for each tenth.
public struct Progress: Sendable {
    /// What is counted: `objects`.
    public var unit: String
    /// nil: nobody knows.
    public var total: Int?
    public var isTerminal: Bool
    private let start: UInt64
    /// What was done before this run began.
    private let before: Int
    private var lastShown: UInt64 = 0
    private var lastTenth: Int

    /// - Parameters:
    ///   - before: how many were done by an earlier run.
    ///   - now: nanoseconds on a clock that only goes forward.
    public init(unit: String, total: Int?, before: Int = 0, isTerminal: Bool, now: UInt64) {
        self.unit = unit
        self.total = total
        self.isTerminal = isTerminal
        self.before = before
        start = now
        lastTenth = total.map { $0 > 0 ? before * 10 / $0 : 0 } ?? 0
    }

    /// - Parameter done: of all, those of earlier runs included.
    /// - Returns: what is to be written to standard error; nil: nothing now.
    public mutating func update(_ done: Int, now: UInt64) -> String? {
        if isTerminal {
            guard now >= lastShown + 100_000_000 else { return nil }
            lastShown = now
            return "\r" + line(done, now) + "\u{1B}[K"
        }
        guard let total, total > 0 else { return nil }
        let tenth = min(10, done * 10 / total)
        guard tenth > lastTenth, tenth < 10 else { return nil }
        lastTenth = tenth
        return line(done, now) + "\n"
    }

    /// The last word.
    public func end(_ done: Int, now: UInt64) -> String {
        let seconds = Double(now - start) / 1e9
        let took = seconds < 10 ? "\((seconds * 10).rounded() / 10)" : "\(Int(seconds))"
        let text = "\(Progress.grouped(done)) \(unit) in \(took) s"
        return isTerminal ? "\r\(text)\u{1B}[K\n" : text + "\n"
    }

    private func line(_ done: Int, _ now: UInt64) -> String {
        let seconds = max(0.001, Double(now - start) / 1e9)
        let rate = Double(done - before) / seconds
        var parts = "\(Progress.grouped(done)) \(unit)  \(Progress.grouped(Int(rate)))/s"
        guard let total, total > 0 else { return parts }
        let share = min(1, Double(done) / Double(total))
        let filled = Int(share * 20)
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: 20 - filled)
        if rate > 0, done < total { parts += "  \(Progress.duration(Double(total - done) / rate)) left" }
        return "[\(bar)] \(Int(share * 100)) %  " + parts
    }

    /// `1,000,000`
    public static func grouped(_ number: Int) -> String {
        var text = ""
        for (index, digit) in String(number.magnitude).reversed().enumerated() {
            if index > 0, index % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return (number < 0 ? "-" : "") + String(text.reversed())
    }

    /// `42 s`, `3 min`, `2 h 5 min`
    static func duration(_ seconds: Double) -> String {
        let seconds = Int(min(seconds, 1e9).rounded(.up))
        if seconds < 90 { return "\(seconds) s" }
        let minutes = (seconds + 30) / 60
        return minutes < 90 ? "\(minutes) min" : "\(minutes / 60) h \(minutes % 60) min"
    }
}
