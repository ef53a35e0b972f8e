import Archive
import Core
import Options
import Server

/// `hermes export` and `hermes import`.
struct ExportCommand {
    enum Direction: String { case export, `import` }

    let direction: Direction
    var arguments: OwnArguments

    init(_ direction: Direction) {
        self.direction = direction
        arguments =
            direction == .export
            ? OwnArguments(flags: [], switches: ["lines", "continue"])
            : OwnArguments(flags: ["report"], switches: ["restart"])
    }

    /// Does it; answers what is to be printed, and the exit status: 5 where something was refused.
    func run(_ options: ServerOptions) async throws -> (text: String, status: Int32) {
        let words = arguments.words
        guard (1...(direction == .import ? 2 : 1)).contains(words.count), let path = words.last else {
            throw OptionFault("`hermes \(direction.rawValue) --help` shows what can be told")
        }
        let className = words.count == 2 ? words[0] : nil
        let progress = Progress(direction.rawValue, total: nil, unit: .objects)
        let place = DatabasePlace(options)
        switch direction {
        case .export: return (try await export(place, path, progress), 0)
        case .import:
            var work = Import(place: place, reportPath: arguments.told["report"] ?? "hermes-import-refused.jsonl")
            work.hashesSessionTokens = options.hashSessionTokens
            work.startsAnew = arguments.isOn("restart")
            let (sources, left) = try ImportSource.find(path, className: className)
            for sentence in left { progress.say(sentence) }
            let outcomes = try await work.read(sources, progress)
            return report(outcomes, work.reportPath)
        }
    }

    private func export(
        _ place: DatabasePlace, _ path: String, _ progress: Progress
    ) async throws -> String {
        var work = Export(place: place)
        let file = path.split(separator: "/").last ?? ""
        let isLines = file.hasSuffix(".jsonl") || file.hasSuffix(".ndjson")
        work.form = arguments.isOn("lines") || isLines ? .lines : .results
        let stem = [".json", ".jsonl", ".ndjson"].first { file.hasSuffix($0) }.map { String(file.dropLast($0.count)) }
        if let name = stem {
            let written = try await work.write(name, to: path, progress)
            return "\(written.name)  \(Progress.grouped(written.count))\n"
        }
        let written = try await work.write(toFolder: path, goesOn: arguments.isOn("continue"), progress)
        return written.map { "\($0.name)  \($0.wasThere ? "was there" : Progress.grouped($0.count))\n" }.joined()
    }

    private func report(_ outcomes: [Import.Outcome], _ path: String) -> (String, Int32) {
        var text = ""
        var isPartial = false
        for outcome in outcomes {
            text += "\(outcome.name)  \(Progress.grouped(outcome.imported))"
            text += outcome.name == "_SCHEMA" ? " classes\n" : ", \(Progress.grouped(outcome.refused)) refused\n"
            for remark in outcome.remarks { text += "  \(remark)\n" }
            if let failure = outcome.failure { text += "  \(failure)\n" }
            if outcome.refused > 0 || outcome.failure != nil || !outcome.remarks.isEmpty { isPartial = true }
        }
        if outcomes.contains(where: { $0.refused > 0 }) { text += "Which ones, and why: \(path)\n" }
        return (text, isPartial ? 5 : 0)
    }
}
