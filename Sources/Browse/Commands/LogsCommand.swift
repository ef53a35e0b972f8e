import Wire

extension CommandContext {
    private static let pause: UInt64 = 1_000_000_000
    /// Entries that one answer holds at most.
    private static let most = 1000

    /// The last lines of the server's log, and with `--follow` those that come.
    func logs() async throws {
        guard command.words.isEmpty else { throw wrongUse() }
        let level = command.flags["level"] ?? "info"
        let limit = command.flags["limit"] ?? "50"
        guard let limit = Int(limit), (0...CommandContext.most).contains(limit) else {
            throw CommandFailure.wrong("--limit is a number from 0 to 1,000, not \(limit)")
        }
        let last = try await entries(["level": .string(level), "n": .number(Double(limit)), "order": "desc"])
        for entry in last.reversed() { printEntry(entry) }
        guard command.isOn("follow") else { return }
        var number = last.first.flatMap(CommandContext.number) ?? 0
        if number == 0, limit == 0 {
            number = try await entries(["level": .string(level), "n": 1]).first.flatMap(CommandContext.number) ?? 0
        }
        var isLost = false
        while true {
            try await loop.sleep(nanoseconds: CommandContext.pause)
            let next: JSON = [
                "level": .string(level), "n": .number(Double(CommandContext.most)), "order": "asc",
                "after": .number(Double(number)),
            ]
            do {
                for entry in try await entries(next) {
                    printEntry(entry)
                    number = CommandContext.number(entry) ?? number
                }
                if isLost { console.note("hermes: the server is there again\n") }
                isLost = false
            } catch ServerFault.unreachable(let reason) {
                if !isLost { console.note("hermes: the server is away, waiting for it: \(SafeText(reason).text)\n") }
                isLost = true
            }
        }
    }

    private func entries(_ parameters: JSON) async throws -> [JSONObject] {
        let answer = try await ask("GET", "/scriptlog", record(parameters))
        return answer.array?.compactMap(\.object) ?? []
    }

    private static func number(_ entry: JSONObject) -> Double? { entry["number"]?.number }

    /// `2026-11-22 20:13:05.123 error    a request failed id=…`
    private func printEntry(_ entry: JSONObject) {
        guard !command.isOn("json") else { return printJSON(.object(entry)) }
        let time = (entry["timestamp"]?.string ?? "").replacing("T", with: " ").replacing("Z", with: "")
        let level = entry["level"]?.string ?? ""
        var line = time + " " + level + String(repeating: " ", count: max(1, 9 - level.count))
        line += entry["message"]?.string ?? ""
        for (name, value) in entry.members where !["timestamp", "level", "message", "number"].contains(name) {
            line += " \(name)=\(value.string ?? value.description)"
        }
        say(line)
    }
}
