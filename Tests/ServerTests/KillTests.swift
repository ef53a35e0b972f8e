import Core
import Foundation
import Glibc
import Postgres
import TestSupport
import Testing
import Wire

/// `kill -9` under load: what was acknowledged is there afterwards.
@Suite(.serialized) struct KillTests {
    /// What clients were told, and what they tried.
    private final class Book {
        /// By writer: numbers of the objects that were acknowledged.
        var created: [Int: [Int]] = [:]
        /// By writer: increments acknowledged, and attempted.
        var counted: [Int: Int] = [:]
        var attempted: [Int: Int] = [:]
        /// By writer: the last acknowledged text, and what was tried after it.
        var text: [Int: String] = [:]
        var tried: [Int: Set<String>] = [:]
        var isOver = false
        var acknowledged: Int { created.values.map(\.count).reduce(0, +) }
    }

    private let writers = 8

    @Test func acknowledgedWritesOutliveAKill() async throws {
        let folder = HermesProcess.makeFolder("kill")
        defer { removeFolder(folder) }
        let writers = writers
        try await onWorker { loop in
            let book = Book()
            var server = try HermesProcess(folder: folder)
            try await server.waitUntilReady(loop)
            var client = Client(loop, port: server.port)
            var counters: [String] = []
            for _ in 0..<writers { counters.append(try await client.create("Counter", ["count": 0, "text": "-"])) }
            for round in ["hermes", "postgres", "both"] {
                let before = book.acknowledged
                book.isOver = false
                let done = Waiter()
                var left = writers
                for writer in 0..<writers {
                    let (id, client) = (counters[writer], client)
                    loop.spawn {
                        await KillTests.write(writer, id, client, book, loop)
                        left -= 1
                        if left == 0 { done.resume() }
                    }
                }
                // Under load: in the middle of a few hundred acknowledged writes.
                let isBusy = try await eventually(loop) { book.acknowledged >= before + 200 }
                #expect(isBusy)
                if round != "hermes" {
                    let postmaster = try #require(HermesProcess.postmaster(folder))
                    kill(postmaster, SIGKILL)
                }
                if round != "postgres" {
                    server.child.signal(SIGKILL)
                    let exit = try await server.exit(within: 5)
                    #expect(exit == 128 + SIGKILL)
                } else {
                    // The server goes on, and starts its database again: writes are acknowledged once more.
                    let count = book.acknowledged
                    let goesOn = try await eventually(loop) { book.acknowledged > count + 50 }
                    #expect(goesOn, "after the end of PostgreSQL")
                }
                book.isOver = true
                try await done.wait()
                client.close()
                if round != "postgres" {
                    server = try HermesProcess(folder: folder)
                    try await server.waitUntilReady(loop)
                }
                client = Client(loop, port: server.port)
                try await KillTests.check(book, counters, client, round)
            }
            server.child.signal(SIGTERM)
            let exit = try await server.exit(within: 20)
            #expect(exit == 0)
            #expect(HermesProcess.postmaster(folder) == nil)
            client.close()
        }
    }

    /// Writes one thing after another until the server is gone, or told to end.
    private static func write(_ writer: Int, _ id: String, _ client: Client, _ book: Book, _ loop: Loop) async {
        var number = (book.created[writer]?.last ?? -1) + 1000
        while !book.isOver {
            number += 1
            let text = "text \(number)"
            do {
                let made = try await client.send(
                    "POST", "/classes/Item",
                    ["writer": .number(Double(writer)), "number": .number(Double(number))], master: true)
                if made.status == 201 { book.created[writer, default: []].append(number) }
                book.attempted[writer, default: 0] += 1
                let counted = try await client.send(
                    "PUT", "/classes/Counter/\(id)", ["count": ["__op": "Increment", "amount": 1]], master: true)
                if counted.status == 200 { book.counted[writer, default: 0] += 1 }
                book.tried[writer, default: []].insert(text)
                let set = try await client.send("PUT", "/classes/Counter/\(id)", ["text": .string(text)], master: true)
                if set.status == 200 {
                    book.text[writer] = text
                    book.tried[writer] = []
                }
                if made.status == 503 { try await loop.sleep(nanoseconds: 20_000_000) }
            } catch {
                return
            }
        }
    }

    private static func check(_ book: Book, _ counters: [String], _ client: Client, _ round: String) async throws {
        for (writer, id) in counters.enumerated() {
            let filter = encoded("{\"writer\":\(writer)}")
            let found = try await client.must(
                "GET", "/classes/Item?limit=1000000&keys=number&where=\(filter)", master: true)
            let numbers =
                found.json["results"]?.array?.compactMap { $0.object?["number"]?.number.map { Int($0) } } ?? []
            let lost = Set(book.created[writer] ?? []).subtracting(numbers)
            #expect(lost.isEmpty, "\(round): creates of writer \(writer) are lost")
            #expect(Set(numbers).count == numbers.count, "\(round): created twice")
            let counter = try await client.must("GET", "/classes/Counter/\(id)", master: true).json
            let count = Int(counter["count"]?.number ?? -1)
            #expect(count >= book.counted[writer] ?? 0, "\(round): increments are lost")
            #expect(count <= book.attempted[writer] ?? 0, "\(round): increments happened twice")
            let text = counter["text"]?.string ?? ""
            #expect(
                text == book.text[writer] ?? "-" || book.tried[writer]?.contains(text) == true,
                "\(round): an update is lost: \(text)")
        }
    }
}
