import Core
import Postgres
import TestSupport
import Testing
import Wire

@testable import Schema

/// How a class grows: within a transaction and beside those who use it.
@Suite struct GrowthTests {
    // MARK: beside what others have made

    @Test func whatWasMadeByHandStandsInTheWayInWords() async throws {
        try await withCatalogue { catalogue, database in
            _ = try await catalogue.ensure("Temas", fields: [:])
            _ = try await database.write("ALTER TABLE \"Temas\" ADD COLUMN votos text")
            _ = try await database.write("CREATE TABLE \"Ajena\" (id int)")
            _ = try await database.write("CREATE TYPE \"Tipo\" AS ENUM ('a')")
            let column = await failure(of: { _ = try await catalogue.ensure("Temas", fields: ["votos": .number]) })
            #expect((column as? ParseError)?.code == 105)
            #expect((column as? ParseError)?.message.contains("votos") == true)
            for name in ["Ajena", "Tipo"] {
                let table = await failure(of: { _ = try await catalogue.ensure(name, fields: [:]) })
                #expect((table as? ParseError)?.code == 103)
                #expect((table as? ParseError)?.message.contains(name) == true)
            }
            // What is not in the way goes on.
            let snapshot = try await catalogue.ensure("Temas", fields: ["otros": .number])
            #expect(snapshot["Temas"]?.fields["otros"] != nil)
        }
    }

    // MARK: in a transaction

    @Test func aTransactionThatHasWrittenToAClassMayLetItGrow() async throws {
        try await withCatalogue { catalogue, database in
            _ = try await catalogue.ensure("Temas", fields: [:])
            var open: Transaction?
            try await database.transaction { transaction in
                open = transaction
                try await insert("a", transaction)
                let private1 = try await catalogue.ensure("Temas", fields: ["votos": .number], in: transaction)
                #expect(private1["Temas"]?.fields["votos"]?.type == .number)
                let private2 = try await catalogue.ensure("Foros", fields: ["nombre": .string], in: transaction)
                // With what the transaction had made before.
                #expect(private2["Temas"]?.fields["votos"] != nil)
                #expect(private2["Foros"]?.fields["nombre"] != nil)
                let own = try await catalogue.snapshot(in: transaction)
                #expect(own["Foros"] != nil)
                let shared = try await catalogue.snapshot()
                #expect(shared["Temas"]?.fields["votos"] == nil)
                #expect(shared["Foros"] == nil)
                _ = try await transaction.execute("UPDATE \"Temas\" SET votos = 1")
            }
            if let open { catalogue.committed(open) }
            let after = try await catalogue.snapshot()
            #expect(after["Temas"]?.fields["votos"]?.type == .number)
            #expect(after["Foros"]?.fields["nombre"]?.type == .string)
        }
    }

    @Test func whatIsRolledBackLeavesNeitherColumnsNorNews() async throws {
        try await withCatalogue { catalogue, database in
            catalogue.follow()
            let listening = try await eventually(database.loop) { database.isListening }
            #expect(listening)
            _ = try await catalogue.ensure("Temas", fields: [:])
            let before = try await catalogue.snapshot()["Temas"]?.version
            let error = await failure(of: {
                try await database.transaction { transaction in
                    _ = try await catalogue.ensure(
                        "Temas", fields: ["votos": .number, "autores": .relation("_User")], in: transaction)
                    throw ParseError(142, "no")
                }
            })
            #expect((error as? ParseError)?.code == 142)
            let after = try await catalogue.reload()["Temas"]
            #expect(after?.fields["votos"] == nil)
            #expect(after?.version == before)
            let left = try await database.read(
                """
                SELECT (SELECT count(*) FROM pg_attribute WHERE attname = 'votos')
                    + (SELECT count(*) FROM pg_class WHERE relname LIKE '\\_Join:autores%')
                """
            ).int(0, 0)
            #expect(left == 0)
        }
    }

    @Test func aSavepointUndoesWhatGrewBehindIt() async throws {
        try await withCatalogue { catalogue, database in
            _ = try await catalogue.ensure("Temas", fields: [:])
            try await database.transaction { transaction in
                _ = try await catalogue.ensure("Temas", fields: ["uno": .number], in: transaction)
                try? await transaction.savepoint {
                    _ = try await catalogue.ensure("Temas", fields: ["dos": .number], in: transaction)
                    _ = try await catalogue.ensure("Foros", fields: [:], in: transaction)
                    try await insert("a", transaction)
                    throw ParseError(142, "no")
                }
                catalogue.undone(in: transaction)
                let seen = try await catalogue.snapshot(in: transaction)
                #expect(seen["Temas"]?.fields["uno"] != nil)
                #expect(seen["Temas"]?.fields["dos"] == nil)
                #expect(seen["Foros"] == nil)
                let again = try await catalogue.ensure("Temas", fields: ["dos": .string], in: transaction)
                #expect(again["Temas"]?.fields["dos"]?.type == .string)
                // The caller's own waits are as long as before.
                let timeout = try await transaction.execute("SELECT current_setting('lock_timeout')").string(0, 0)
                #expect(timeout == "0")
            }
        }
    }

    // MARK: beside others

    @Test func aLongReadAndANewFieldStopNobody() async throws {
        try await withCatalogue { catalogue, database in
            _ = try await catalogue.ensure("Temas", fields: [:])
            let loop = database.loop
            try await database.transaction { reader in
                // Holds its lock on the table until the end.
                _ = try await reader.execute("SELECT count(*) FROM \"Temas\"")
                var error: (any Error)?
                var hasEnded = false
                loop.spawn {
                    error = await failure(of: { try await catalogue.ensure("Temas", fields: ["votos": .number]) })
                    hasEnded = true
                }
                var written = 0
                while !hasEnded {
                    _ = try await database.write(insertStatement, [.text("id\(written)")])
                    let count = try await database.read("SELECT count(*) FROM \"Temas\"").int(0, 0)
                    written += 1
                    #expect(count == written)
                }
                // All of these were written and read while the field's change was waiting for the long read.
                #expect(written > 3)
                #expect((error as? ParseError)?.status == 503)
                #expect((error as? ParseError)?.retryAfter != nil)
            }
            // The long read has ended.
            let schema = try await catalogue.ensure("Temas", fields: ["votos": .number])
            #expect(schema["Temas"]?.fields["votos"] != nil)
        }
    }

    @Test func whatIsThereAlreadyChangesNothingAndTellsNobody() async throws {
        try await withCatalogue { catalogue, database in
            let before = try await catalogue.ensure("Temas", fields: ["votos": .number])["Temas"]?.version
            var heard: [String] = []
            var isListening = false
            database.listen(channel: Catalogue.channel) {
                heard.append($0)
            } onConnected: {
                isListening = true
            }
            let connected = try await eventually(database.loop) { isListening }
            #expect(connected)
            let after = try await catalogue.ensure("Temas", fields: ["votos": .number])["Temas"]?.version
            #expect(after == before)
            // What is told comes in the order of the commits.
            _ = try await catalogue.ensure("Foros", fields: [:])
            let told = try await eventually(database.loop) { !heard.isEmpty }
            #expect(told)
            #expect(heard.allSatisfy { $0.hasSuffix(" Foros") })
        }
    }

    @Test func aClassHasAtMostAThousandFields() async throws {
        try await withCatalogue { catalogue, _ in
            let own = Names.maximumFields - DefaultFields.everywhere.count
            let most = Dictionary(uniqueKeysWithValues: (1...own).map { ("campo\($0)", FieldType.boolean) })
            _ = try await catalogue.ensure("Temas", fields: most)
            let one = await failure(of: { try await catalogue.ensure("Temas", fields: ["otro": .number]) })
            #expect((one as? ParseError)?.code == 105)
            let request = SchemaRequest(fields: JSONObject([("otro", ["type": "String"])]))
            let two = await failure(of: { try await catalogue.update("Temas", request) })
            #expect((two as? ParseError)?.code == 105)
            let fields = try await catalogue.reload()["Temas"]?.fields.count
            #expect(fields == Names.maximumFields)
            // What has its fields can be written, and a field in the place of another one can be made.
            let swap = SchemaRequest(
                fields: JSONObject([("campo1", ["__op": "Delete"]), ("otro", ["type": "String"])]))
            let changed = try await catalogue.update("Temas", swap)
            #expect(changed.fields["otro"] != nil)
        }
    }

    // MARK: asking the database

    @Test func thoseWhoAskAtOneMomentShareOneQuestion() async throws {
        let worker = Worker(name: "test")
        await worker.run { _, loop in
            let question = SharedQuestion<Int>(loop: loop)
            var asked = 0
            let answers = await loop.concurrently(100) { number in
                // Those that come later come while the first question is under way.
                if number >= 50 { try await loop.sleep(nanoseconds: 2_000_000) }
                return try await question.answer {
                    asked += 1
                    let answer = asked
                    try await loop.sleep(nanoseconds: 20_000_000)
                    return answer
                }
            }
            #expect(asked == 2)
            #expect(answers.prefix(50).allSatisfy { (try? $0.get()) == 1 })
            // An answer that was already being sought when they asked may be too old for them.
            #expect(answers.suffix(50).allSatisfy { (try? $0.get()) == 2 })
        }
        await worker.stop()
    }

    @Test func whoGoesAwayLeavesTheOthersTheirAnswer() async throws {
        let worker = Worker(name: "test")
        await worker.run { _, loop in
            let question = SharedQuestion<Int>(loop: loop)
            let goOn = Waiter()
            let seek: () async throws -> Int = {
                try await goOn.wait()
                return 7
            }
            let gone = loop.spawn { _ = try? await question.answer(seek) }
            let results = await loop.concurrently(2) { number in
                if number == 1 {
                    gone.cancel()
                    goOn.resume()
                    return 7
                }
                return try await question.answer(seek)
            }
            #expect(results.allSatisfy { (try? $0.get()) == 7 })
        }
        await worker.stop()
    }
}

let insertStatement: Statement =
    "INSERT INTO \"Temas\" (\"objectId\", \"createdAt\", \"updatedAt\") VALUES ($1, now(), now())"

func insert(_ id: String, _ transaction: Transaction) async throws {
    _ = try await transaction.execute(insertStatement, [.text(id)])
}
