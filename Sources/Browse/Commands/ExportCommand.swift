import Core
import Glibc
import Wire

extension CommandContext {
    /// Objects in the order in which they were made, so that what is made meanwhile comes at the end. They go to
    /// `FILE.part`, which a second run goes on with, and which is renamed when all are there.
    func export() async throws {
        guard command.words.count == 2 else { throw wrongUse() }
        let shape = try await shape(command.words[0])
        let file = command.words[1]
        let condition = try await filter(shape)
        let sorting = Sorting(field: "createdAt", isDescending: false, isEverywhere: true)
        var parameters = JSONObject([("limit", 1000)])
        if let keys = try keys(shape) {
            parameters["keys"] = .string((keys.map(\.name) + ["createdAt"]).joined(separator: ","))
        } else {
            let secrets = shape.fields.map(\.name).filter(shape.isSecret)
            if !secrets.isEmpty { parameters["excludeKeys"] = .string(secrets.joined(separator: ",")) }
        }
        guard file == "-" || access(file, F_OK) != 0 else {
            throw CommandFailure(1, "\(file) is there already; name another one, or remove it")
        }
        let part = file == "-" ? nil : try LineFile(file + ".part")
        var cursor = Cursor(sorting)
        if let last = part?.lastLine {
            guard let row = (try? JSONParser.parse(last))?.object, row["objectId"]?.string != nil else {
                throw CommandFailure(1, "\(file).part is none of this command's; remove it")
            }
            cursor = Cursor(sorting, after: row)
        }
        var done = part?.lines ?? 0
        if done > 0 { console.note("going on after \(Progress.grouped(done)) objects\n") }
        let total = try await count(shape.name, condition)
        let progress = Progress(
            shape.name, total: total, unit: .objects, isTerminal: console.noteIsTerminal, width: console.width ?? 80,
            write: console.note)
        progress.begin(shape.name, total: total, unit: .objects, from: done)
        let interrupt = Interrupt(loop)
        defer { interrupt.cancel() }
        while let next = cursor.condition {
            parameters["where"] = .object(Filter.all([condition, next]))
            parameters["order"] = .string(cursor.order)
            let page = try await find(shape.name, parameters)
            if let part {
                try part.append(page.map { JSON.object($0).description + "\n" }.joined())
            } else {
                for row in page { printJSON(.object(row)) }
            }
            done += page.count
            _ = cursor.take(page)
            progress.reach(done)
            if interrupt.hasCome {
                progress.end()
                let how = part == nil ? "" : "; the same command goes on from there"
                throw CommandFailure(130, "interrupted after \(Progress.grouped(done)) objects\(how)")
            }
        }
        try part?.finish(as: file)
        progress.end()
        console.note("\(Progress.grouped(done)) objects\n")
    }
}

/// Ctrl-C as something that is looked at where it suits.
final class Interrupt {
    private(set) var hasCome = false
    private var source: SignalSource?

    init(_ loop: Loop) {
        source = SignalSource([SIGINT], loop: loop) { [unowned self] _ in self.hasCome = true }
    }

    func cancel() {
        source?.cancel()
        source = nil
    }
}

/// A file of lines that grows, and that an earlier run may have begun.
final class LineFile {
    private let path: String
    private let descriptor: Int32
    /// Whole lines that were there.
    private(set) var lines = 0
    private(set) var lastLine: String?

    /// Cuts off what is no whole line.
    /// - Throws: `CommandFailure` where the file cannot be used.
    init(_ path: String) throws {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CommandFailure(1, "\(path) cannot be written: \(errorText())") }
        var block = [UInt8](repeating: 0, count: 1 << 20)
        var line: [UInt8] = []
        var last: [UInt8] = []
        var (offset, end) = (0, 0)
        while true {
            let count = read(descriptor, &block, block.count)
            guard count > 0 else { break }
            for byte in block[..<count] {
                offset += 1
                guard byte == UInt8(ascii: "\n") else {
                    line.append(byte)
                    continue
                }
                lines += 1
                end = offset
                swap(&last, &line)
                line.removeAll(keepingCapacity: true)
            }
        }
        if lines > 0 { lastLine = String(decoding: last, as: UTF8.self) }
        guard ftruncate(descriptor, end) == 0, lseek(descriptor, end, SEEK_SET) == end else {
            throw CommandFailure(1, "\(path) cannot be written: \(errorText())")
        }
    }

    deinit { close(descriptor) }

    func append(_ text: String) throws {
        var text = text
        let isWritten = text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)[...]
            while !rest.isEmpty {
                let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
        guard isWritten else { throw CommandFailure(1, "\(path) cannot be written: \(errorText())") }
    }

    func finish(as name: String) throws {
        guard fsync(descriptor) == 0, rename(path, name) == 0 else {
            throw CommandFailure(1, "\(name) cannot be written: \(errorText())")
        }
    }
}
