import Synchronization
import Testing

@testable import Core

@Suite struct ProgressTests {
    /// What was written, shared with the progress.
    private final class Output: Sendable {
        private let text = Mutex("")
        func append(_ more: String) { text.withLock { $0 += more } }
        var all: String { text.withLock { $0 } }
    }

    private func make(total: Int?, isTerminal: Bool, width: Int = 80) -> (Progress, Output) {
        let output = Output()
        let progress = Progress("Temas", total: total, unit: .objects, isTerminal: isTerminal, width: width) {
            output.append($0)
        }
        return (progress, output)
    }

    @Test func elsewhereThereIsALineForEachTenth() {
        let (progress, output) = make(total: 1000, isTerminal: false)
        for done in stride(from: 0, through: 1000, by: 10) { progress.reach(done) }
        let lines = output.all.split(separator: "\n")
        #expect(lines.count == 10)
        #expect(lines.first?.hasPrefix("Temas  10 %  100 of 1,000") == true)
        #expect(lines.last?.hasPrefix("Temas  100 %  1,000 of 1,000") == true)
        #expect(!output.all.contains("\u{1B}"))
    }

    @Test func aTerminalShowsABarThatFitsIt() {
        for width in [40, 80, 200] {
            let (progress, output) = make(total: 10_000_000, isTerminal: true, width: width)
            let start: UInt64 = 1_000_000_000_000_000
            for second in 1...20 {
                progress.reach(second * 50_000, now: start + UInt64(second) * 1_000_000_000)
            }
            let lines = output.all.split(separator: "\r").map { $0.replacing("\u{1B}[K", with: "") }
            #expect(lines.count == 20)
            if width >= 80 {
                let last = lines.last ?? ""
                #expect(last.contains("] ") && last.contains("10 %"))
                #expect(last.contains("1,000,000 of 10,000,000  50,000/s  3 min left"))
                #expect(lines.allSatisfy { $0.count < width })
            }
        }
    }

    @Test func aBarIsDrawnTenTimesASecondAtMost() {
        let (progress, output) = make(total: 100_000, isTerminal: true)
        let start: UInt64 = 1_000_000_000_000_000
        for millisecond in 0..<2000 { progress.reach(millisecond, now: start + UInt64(millisecond) * 1_000_000) }
        #expect(output.all.split(separator: "\r").count == 20)
        progress.end()
        #expect(output.all.hasSuffix("\r\u{1B}[K"))
    }

    @Test func whatAnEarlierRunDidIsNoPartOfTheRate() {
        let (progress, output) = make(total: 1000, isTerminal: false)
        progress.begin("Temas", total: 1000, unit: .objects, from: 500)
        progress.reach(510)
        #expect(output.all.isEmpty)
        progress.reach(600)
        #expect(output.all.hasPrefix("Temas  60 %  600 of 1,000"))
    }

    @Test(arguments: [
        (0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (4_680_000, "4.7 MB"), (999_960_000, "1.0 GB"),
        (123_400_000_000, "123 GB"),
    ])
    func sizesAreShort(_ bytes: Int, _ text: String) { #expect(Progress.size(bytes) == text) }

    @Test(arguments: [(0.2, "1 s"), (89, "89 s"), (150, "3 min"), (7500, "2 h 5 min"), (.infinity, "long")])
    func timesAreShort(_ seconds: Double, _ text: String) { #expect(Progress.time(seconds) == text) }

    @Test func numbersAreGrouped() {
        #expect([0, 999, 1000, -1_234_567].map(Progress.grouped) == ["0", "999", "1,000", "-1,234,567"])
    }
}
