import Core
import Wire

/// `GET /scriptlog`: the last lines of this node's log, as the reference's file adapter answers them.
extension API {
    private struct LogQuery {
        var level = Log.Level.info
        var from: Wire.Timestamp?
        var until: Wire.Timestamp?
        var newestFirst = true
        var count = 10
        /// Hermes' own: only entries behind this one's `number`.
        var after: Int64 = 0

        init(_ parameters: [(key: String, value: JSON)]) throws(ParseError) {
            for (name, value) in parameters {
                let text = value.string ?? value.number.flatMap { Int64(exactly: $0) }.map(String.init) ?? ""
                switch name {
                case "level":
                    let level = text.lowercased() == "warn" ? .warning : Log.Level.allCases.first { $0.name == text }
                    guard let level else { throw ParseError(102, "level must be debug, info, warning or error.") }
                    self.level = level
                case "from": from = try date(value, name)
                case "until": until = try date(value, name)
                case "order": newestFirst = text != "asc"
                case "n", "size":
                    guard let count = Int(text), (0...1000).contains(count) else {
                        throw ParseError(102, "\(name) must be a number from 0 to 1,000.")
                    }
                    self.count = count
                case "after":
                    guard let after = Int64(text) else { throw ParseError(102, "after must be an entry's number.") }
                    self.after = after
                default: break
                }
            }
        }

        private func date(_ value: JSON, _ name: String) throws(ParseError) -> Wire.Timestamp {
            let text = value.string ?? value.object?["iso"]?.string ?? ""
            guard let date = Wire.Timestamp(iso: text) else {
                throw ParseError(102, "\(name) must be a date, as 2026-11-22T08:00:00.000Z.")
            }
            return date
        }
    }

    func log(_ request: Request) throws -> Answer {
        let query = try LogQuery(request.parameters)
        var entries: [JSON] = []
        let isSerious = query.level.rawValue >= Log.Level.warning.rawValue
        let lines = Log.shared.recent(seriousOnly: isSerious, after: query.after)
        for line in query.newestFirst ? lines.reversed() : lines {
            guard entries.count < query.count else { break }
            guard let entry = LogEntry(line), entry.level.rawValue >= query.level.rawValue else { continue }
            if let from = query.from, entry.time < from { continue }
            if let until = query.until, entry.time > until { continue }
            entries.append(entry.json)
        }
        return Answer(json: .array(entries))
    }
}

/// A line of the log, read again.
private struct LogEntry {
    let level: Log.Level
    let time: Wire.Timestamp
    let json: JSON

    init?(_ line: Log.Line) {
        var members: [(key: String, value: JSON)] = []
        var (time, level, message) = ("", "", "")
        if line.bytes.first == UInt8(ascii: "{"), let object = try? JSONParser.parse(line.bytes).object {
            for (name, value) in object.members {
                switch name {
                case "time": time = value.string ?? ""
                case "level": level = value.string ?? ""
                case "message": message = value.string ?? ""
                // What an entry has of its own goes before a field of the same name.
                case "timestamp", "number": continue
                default: members.append((name, value))
                }
            }
        } else {
            // `2026-11-21T15:04:05.123Z info    listening port=1337`
            let parts = String(decoding: line.bytes, as: UTF8.self).split(separator: " ", maxSplits: 2)
            guard parts.count == 3 else { return nil }
            (time, level) = (String(parts[0]), String(parts[1]))
            message = String(parts[2].drop { $0 == " " })
        }
        guard let level = Log.Level.allCases.first(where: { $0.name == level }),
            let moment = Wire.Timestamp(iso: time)
        else { return nil }
        self.level = level
        self.time = moment
        json = .object(
            JSONObject(
                [
                    ("level", .string(level.name)), ("message", .string(message)), ("timestamp", .string(time)),
                    ("number", .number(Double(line.number))),
                ] + members))
    }
}
