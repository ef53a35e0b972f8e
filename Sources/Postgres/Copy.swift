import CLibPQ
import Core
import Dates

extension Database {
    /// Runs `COPY … FROM STDIN` with what `next` returns, piece after piece, nil at the end. Pieces may end anywhere.
    /// Waits while the server can't keep up; takes as long as it takes (no statement timeout). Returns how many rows
    /// came in; when it throws, none did.
    public func copyIn(_ sql: String, _ next: () async throws -> [UInt8]?) async throws -> Int {
        try await transaction(retries: 0) { transaction in
            _ = try await transaction.run("SET LOCAL statement_timeout = 0")
            return try await transaction.copyIn(sql, next)
        }
    }

    /// Runs `COPY … TO STDOUT`; `body` gets row after row (in the binary format also header and trailer), each valid
    /// during its call. Waits while `body` can't keep up. Returns how many rows went out.
    public func copyOut(_ sql: String, _ body: (UnsafeRawBufferPointer) async throws -> Void) async throws -> Int {
        try await transaction(readOnly: true, retries: 0) { transaction in
            _ = try await transaction.run("SET LOCAL statement_timeout = 0")
            return try await transaction.copyOut(sql, body)
        }
    }
}

extension Transaction {
    /// As `Database.copyIn`, within this transaction.
    public func copyIn(_ sql: String, _ next: () async throws -> [UInt8]?) async throws -> Int {
        try await prepareForCopy()
        return try await connection.copyIn(sql, next)
    }

    /// As `Database.copyOut`, within this transaction.
    public func copyOut(_ sql: String, _ body: (UnsafeRawBufferPointer) async throws -> Void) async throws -> Int {
        try await prepareForCopy()
        return try await connection.copyOut(sql, body)
    }
}

/// COPY has the connection to itself, out of pipeline mode. Where it is left in the middle, `isCopying` stays true,
/// and the pool closes the connection, which undoes the COPY.
extension Connection {
    func copyIn(_ sql: String, _ next: () async throws -> [UInt8]?) async throws -> Int {
        try await beginCopy(sql, expecting: PGRES_COPY_IN)
        do {
            while let piece = try await next() {
                let sent = piece.withUnsafeBytes {
                    PQputCopyData(handle, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
                }
                // In non-blocking mode libpq keeps what it can't send, so that each piece leaves before the next.
                guard sent == 1 else { throw lostInCopy() }
                try await flushCopy()
            }
        } catch let error as PostgresError where error.kind == .connectionLost(mayHaveRun: true) {
            throw error
        } catch  where !(error is CancellationError) && phase == .ready {
            PQputCopyEnd(handle, "the source of the data failed")
            try await flushCopy()
            _ = try? await endCopy()
            throw error
        }
        guard PQputCopyEnd(handle, nil) == 1 else { throw lostInCopy() }
        try await flushCopy()
        return try await endCopy()
    }

    func copyOut(_ sql: String, _ body: (UnsafeRawBufferPointer) async throws -> Void) async throws -> Int {
        try await beginCopy(sql, expecting: PGRES_COPY_OUT)
        while let handle {
            var row: UnsafeMutablePointer<CChar>?
            let length = PQgetCopyData(handle, &row, 1)
            if length == 0 {
                try await waitForSocket(.read)
                guard let handle = self.handle, PQconsumeInput(handle) == 1 else { throw lostInCopy() }
                continue
            }
            guard length > 0 else { return try await endCopy() }
            defer { PQfreemem(row) }
            try await body(UnsafeRawBufferPointer(start: row, count: Int(length)))
        }
        throw lostInCopy()
    }

    private func beginCopy(_ sql: String, expecting status: ExecStatusType) async throws {
        guard let handle, phase == .ready, PQexitPipelineMode(handle) == 1 else { throw lostInCopy() }
        isCopying = true
        guard PQsendQuery(handle, sql) == 1 else { throw lostInCopy() }
        try await flushCopy()
        guard let result = try await nextResult() else { throw lostInCopy() }
        defer { PQclear(result) }
        guard PQresultStatus(result) != status else { return }
        let failed = PQresultStatus(result) == PGRES_FATAL_ERROR
        let error =
            failed ? PostgresError(result: result) : PostgresError(.parameter, "this is not such a COPY: \(sql)")
        if failed { _ = try await endCopy(result) }
        throw error
    }

    /// Takes the final result and goes back to pipeline mode. Returns the count of rows.
    private func endCopy(_ earlier: OpaquePointer? = nil) async throws -> Int {
        var count = 0
        var failure: PostgresError?
        while let result = try await nextResult() {
            defer { PQclear(result) }
            if PQresultStatus(result) == PGRES_FATAL_ERROR {
                failure = PostgresError(result: result)
            } else {
                count = Int(String(cString: PQcmdTuples(result))) ?? 0
            }
        }
        guard let handle, PQenterPipelineMode(handle) == 1 else { throw lostInCopy() }
        isCopying = false
        watch?.update(.read)
        if let failure { throw failure }
        return count
    }

    private func nextResult() async throws -> OpaquePointer? {
        while let handle {
            if PQisBusy(handle) == 0 { return PQgetResult(handle) }
            try await waitForSocket(.read)
            guard let handle = self.handle, PQconsumeInput(handle) == 1 else { break }
        }
        throw lostInCopy()
    }

    /// Sends all that libpq holds, and reads meanwhile, since the server may have something to say first.
    private func flushCopy() async throws {
        while let handle {
            switch PQflush(handle) {
            case 0: return
            case 1:
                try await waitForSocket([.read, .write])
                guard let handle = self.handle, PQconsumeInput(handle) == 1 else { throw lostInCopy() }
            default: throw lostInCopy()
            }
        }
        throw lostInCopy()
    }

    private func waitForSocket(_ interest: Loop.Readiness) async throws {
        let waiter = Waiter()
        copyWaiter = waiter
        defer { copyWaiter = nil }
        watch?.update(interest)
        try await waiter.wait()
    }

    private func lostInCopy() -> PostgresError {
        PostgresError(.connectionLost(mayHaveRun: true), PostgresError.message(of: handle))
    }
}

/// Rows in COPY's text format: fields between tabs, `\N` for NULL.
public struct CopyText: Sendable {
    public private(set) var bytes: [UInt8] = []
    private var isFirst = true

    public init() {}

    /// Adds a field; nil is NULL.
    public mutating func field(_ text: String?) {
        guard var text else {
            separate()
            return bytes += [UInt8(ascii: "\\"), UInt8(ascii: "N")]
        }
        text.withUTF8 { field(utf8: UnsafeRawBufferPointer($0)) }
    }

    /// Adds a field of text that is UTF-8 already.
    public mutating func field(utf8 text: UnsafeRawBufferPointer) {
        separate()
        var plain = 0
        for index in text.indices {
            let letter: UInt8
            switch text[index] {
            case UInt8(ascii: "\\"): letter = UInt8(ascii: "\\")
            case UInt8(ascii: "\t"): letter = UInt8(ascii: "t")
            case UInt8(ascii: "\n"): letter = UInt8(ascii: "n")
            case UInt8(ascii: "\r"): letter = UInt8(ascii: "r")
            default: continue
            }
            bytes.append(contentsOf: text[plain..<index])
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(letter)
            plain = index + 1
        }
        bytes.append(contentsOf: text[plain...])
    }

    /// Adds a moment, in milliseconds since 1970.
    public mutating func field(milliseconds: Int64) {
        let moment = CivilTime(millisecondsSince1970: milliseconds)
        // PostgreSQL reads ISO 8601 between these years only.
        guard (1...9999).contains(moment.date.year) else {
            return field(TimestampText.make(milliseconds: milliseconds))
        }
        separate()
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: CivilTime.maximumISOLength) { text in
            guard let start = text.baseAddress else { return }
            bytes.append(contentsOf: text[..<moment.writeISO(to: start)])
        }
    }

    /// Ends the row.
    public mutating func endRow() {
        bytes.append(UInt8(ascii: "\n"))
        isFirst = true
    }

    /// Hands over what was gathered, and begins anew.
    public mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    private mutating func separate() {
        if !isFirst { bytes.append(UInt8(ascii: "\t")) }
        isFirst = false
    }
}
