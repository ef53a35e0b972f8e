import Core
import Foundation
import Glibc
import Testing

@Suite struct LogTests {
    private func lines(
        level: Log.Level = .info, format: Log.Format, _ write: (Log) -> Void
    ) throws -> [String] {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        _ = FileManager.default.createFile(atPath: url.path, contents: nil)
        defer { try? FileManager.default.removeItem(at: url) }
        let file = try FileHandle(forWritingTo: url)
        let log = Log(descriptor: file.fileDescriptor, level: level, format: format)
        write(log)
        log.flush()
        return try String(contentsOf: url, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    @Test func aJSONLineHoldsMessageAndFields() throws {
        let lines = try lines(format: .json) { log in
            log.info("it \"listens\"\n", ["port": 1337, "host": "a\tb\u{1}", "tls": true, "load": 0.5])
        }
        #expect(lines.count == 1)
        let object = try #require(
            JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: Any])
        #expect(object["message"] as? String == "it \"listens\"\n")
        #expect(object["level"] as? String == "info")
        #expect(object["port"] as? Int == 1337)
        #expect(object["host"] as? String == "a\tb\u{1}")
        #expect(object["tls"] as? Bool == true)
        #expect(object["load"] as? Double == 0.5)
        let time = try #require(object["time"] as? String)
        #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
    }

    @Test func aTextLineStaysOneLine() throws {
        let lines = try lines(format: .text) { log in
            log.warning("first\nsecond", ["plain": "x", "spaced": "a b", "quote": "\"", "empty": ""])
        }
        #expect(lines.count == 1)
        #expect(lines[0].hasSuffix(#" warning first\nsecond plain=x spaced="a b" quote="\"" empty="""#))
    }

    /// The disk that holds the log is full for a while.
    @Test func whatAFullDiskDidNotTakeIsCounted() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        _ = FileManager.default.createFile(atPath: url.path, contents: nil)
        defer { try? FileManager.default.removeItem(at: url) }
        let file = try FileHandle(forWritingTo: url)
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let descriptor = dup(full.fileDescriptor)
        defer { close(descriptor) }
        let log = Log(descriptor: descriptor)
        for number in 1...3 {
            log.info("lost \(number)")
            log.flush()
        }
        dup2(file.fileDescriptor, descriptor)
        log.info("kept")
        log.flush()
        let lines = try String(contentsOf: url, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 2 && lines[0] == "(3 lines of the log could not be written here)", "\(lines)")
        #expect(lines.last?.hasSuffix("kept") == true, "\(lines)")
    }

    /// A pipe whose reader hangs holds up no end.
    @Test func aLogThatNobodyReadsDoesNotKeepTheProcess() {
        let pipe = Pipe()
        let log = Log(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        log.info(String(repeating: "x", count: 1 << 20))
        // It returns: that is the test.
        log.flush()
        // The writing thread holds on to the pipe until all is read.
        var count = 0
        while count <= 1 << 20 { count += pipe.fileHandleForReading.availableData.count }
    }

    @Test(arguments: [Log.Format.json, .text])
    func theLastLinesAreKeptAndErrorsLonger(_ format: Log.Format) throws {
        let file = try #require(FileHandle(forWritingAtPath: "/dev/null"))
        let log = Log(descriptor: file.fileDescriptor, format: format)
        log.error("first error")
        log.warning("first warning")
        let filler = String(repeating: "x", count: 1000)
        for number in 0..<3000 {
            log.info("\(filler) \(number)")
            // The writer may fall behind; what it drops is not kept either.
            if number % 500 == 0 { log.flush() }
        }
        log.error("last error")
        log.flush()
        let lines = log.recent()
        let texts = lines.map { String(decoding: $0.bytes, as: UTF8.self) }
        #expect(texts.count > 900 && texts.count < 1100)
        #expect(texts[0].contains("first error") && texts[1].contains("first warning"))
        #expect(texts[2].contains(filler) && texts.last?.contains("last error") == true)
        #expect(zip(lines, lines.dropFirst()).allSatisfy { $0.number < $1.number })
        let serious = log.recent(seriousOnly: true).map { String(decoding: $0.bytes, as: UTF8.self) }
        #expect(serious.count == 3 && serious.allSatisfy { !$0.contains(filler) })
        let before = try #require(lines.dropLast().last?.number)
        #expect(log.recent(after: before).count == 1)
        #expect(log.recent(seriousOnly: true, after: try #require(lines.last?.number)).isEmpty)
        // Another run of the program counts on.
        let next = Log(descriptor: file.fileDescriptor, format: format)
        next.error("again")
        next.flush()
        #expect(try #require(next.recent().first?.number) > before)
    }

    @Test func whatIsOffCostsNothing() throws {
        var evaluated = false
        func expensive() -> String {
            evaluated = true
            return "text"
        }
        let lines = try lines(level: .warning, format: .text) { log in
            log.info(expensive())
            log.error("kept")
        }
        #expect(!evaluated)
        #expect(lines.count == 1)
    }

    @Test func linesOfManyThreadsStayWhole() throws {
        let lines = try lines(format: .json) { log in
            let group = DispatchGroup()
            for thread in 0..<8 {
                group.enter()
                Thread.detachNewThread {
                    for number in 0..<1000 { log.info("line", ["thread": .int(thread), "number": .int(number)]) }
                    group.leave()
                }
            }
            group.wait()
        }
        #expect(lines.count == 8000)
        #expect(lines.allSatisfy { $0.hasPrefix("{\"time\":") && $0.hasSuffix("}") })
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (951_827_696_789, "2000-02-29T12:34:56.789Z"),
        (-1, "1969-12-31T23:59:59.999Z"), (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        (1_795_273_445_123, "2026-11-21T15:04:05.123Z"),
    ])
    func timestampsAreUTC(milliseconds: Int64, text: String) {
        var bytes: [UInt8] = []
        Timestamp.append(milliseconds: milliseconds, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == text)
    }
}
