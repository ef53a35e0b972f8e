import Core
import Postgres
import TestSupport
import Testing
import Wire

@testable import Schema

/// Many clients, on one node or several, change the schema at once.
@Suite struct CatalogueRaceTests {
    @Test func manyTasksThatMakeTheSameClassAtOnceMakeOne() async throws {
        try await TestDatabase.make(template: .catalogue).withDatabase { _, database in
            let catalogue = Catalogue(database: database, cache: SchemaCache())
            let results = await database.loop.concurrently(50) { _ in
                try await catalogue.ensure("Temas", fields: ["titulo": .string])
            }
            #expect(results.allSatisfy { (try? $0.get())?["Temas"]?.fields["titulo"]?.type == .string })
            let classes = try await database.read("SELECT count(*) FROM \"_SCHEMA\" WHERE \"className\" = 'Temas'")
            #expect(classes.int(0, 0) == 1)
        }
    }

    @Test func twoNodesThatAddTheSameFieldOfOneTypeBothSucceed() async throws {
        try await twoNodes { one, other in
            _ = try await one.ensure("Temas", fields: [:])
            let results = await one.database.loop.concurrently(20) { number in
                try await (number % 2 == 0 ? one : other).ensure("Temas", fields: ["votos": .number])
            }
            #expect(results.allSatisfy { (try? $0.get())?["Temas"]?.fields["votos"]?.type == .number })
        }
    }

    @Test func ofTwoTypesForOneFieldOneWinsAndTheOthersAreToldSo() async throws {
        try await twoNodes { one, other in
            _ = try await one.ensure("Temas", fields: [:])
            let results = await one.database.loop.concurrently(20) { number in
                try await (number % 2 == 0 ? one : other).ensure(
                    "Temas", fields: ["votos": number % 2 == 0 ? .number : .string])
            }
            let winner = try await one.reload()["Temas"]?.fields["votos"]?.type
            #expect(winner == .number || winner == .string)
            for (number, result) in results.enumerated() {
                let type: FieldType = number % 2 == 0 ? .number : .string
                switch result {
                case .success: #expect(type == winner)
                case .failure(let error):
                    #expect((error as? ParseError)?.code == 111)
                    #expect(type != winner)
                }
            }
        }
    }

    @Test func aChangeOnOneNodeIsHeardByTheOther() async throws {
        try await twoNodes { one, other in
            one.follow()
            other.follow()
            let listening = try await eventually(one.database.loop) {
                one.database.isListening && other.database.isListening
            }
            #expect(listening)
            _ = try await other.snapshot()
            for number in 0..<10 {
                let name = "campo\(number)"
                _ = try await one.ensure("Temas", fields: [name: .string])
                let isSeen = try await eventually(one.database.loop) {
                    try await other.snapshot()["Temas"]?.fields[name] != nil
                }
                #expect(isSeen)
            }
        }
    }

    @Test func aNodeThatHearsNothingAsksTheDatabase() async throws {
        try await twoNodes { one, other in
            // Neither follows: each knows that it can't be sure of its cache.
            _ = try await other.snapshot()
            #expect(!other.database.isListening)
            for number in 0..<5 {
                _ = try await one.ensure("Temas", fields: ["campo\(number)": .string])
                let seen = try await other.snapshot()["Temas"]?.fields["campo\(number)"]
                #expect(seen != nil)
            }
            try await one.delete("Temas")
            let gone = try await other.snapshot()["Temas"]
            #expect(gone == nil)
        }
    }

    @Test func aTransactionThatLetAClassGrowHoldsUpNoOtherClass() async throws {
        try await twoNodes { one, other in
            _ = try await one.ensure("Temas", fields: [:])
            try await one.database.transaction { transaction in
                _ = try await one.ensure("Temas", fields: ["titulo": .string], in: transaction)
                // Still uncommitted. Both nodes change other classes, and make new ones.
                let foros = try await one.ensure("Foros", fields: ["nombre": .string])
                #expect(foros["Foros"]?.fields["nombre"] != nil)
                _ = try await other.ensure("Foros", fields: ["orden": .number])
                let seen = try await one.snapshot()
                #expect(seen["Temas"]?.fields["titulo"] == nil)
                #expect(seen["Foros"]?.fields["orden"] != nil)
            }
        }
    }

    @Test func twoTransactionsThatBothWroteAndBothWantAFieldDoNotWaitForEver() async throws {
        try await twoNodes { one, other in
            _ = try await one.ensure("Temas", fields: [:])
            var left = 2
            let bothWrote = [Waiter(), Waiter()]
            let results = await one.database.loop.concurrently(2) { number in
                let node = number == 0 ? one : other
                return try await node.database.transaction { transaction in
                    try await insert("id\(number)", transaction)
                    left -= 1
                    if left == 0 { bothWrote.forEach { $0.resume() } }
                    try await bothWrote[number].wait()
                    return try await node.ensure("Temas", fields: ["votos": .number], in: transaction)
                }
            }
            // Each holds what the other needs: at least one loses, and is begun anew or, where that comes to nothing,
            // told to try again; of what was undone nothing stays.
            for case .failure(let error) in results { #expect((error as? ParseError)?.status == 503) }
            let refused = results.count {
                if case .failure(let error) = $0 { (error as? ParseError)?.status == 503 } else { false }
            }
            let kept = try await one.database.read("SELECT count(*) FROM \"Temas\"").int(0, 0)
            #expect(kept == 2 - Int64(refused))
        }
    }

    /// Two nodes on one database: each with its own connections and its own cache.
    private func twoNodes(_ body: @Sendable (Catalogue, Catalogue) async throws -> Void) async throws {
        let shared = try await TestDatabase.make(template: .catalogue)
        try await shared.withDatabase { _, database in
            let second = Database(loop: database.loop, configuration: shared.configuration)
            do {
                try await body(
                    Catalogue(database: database, cache: SchemaCache()),
                    Catalogue(database: second, cache: SchemaCache()))
            } catch {
                await second.close()
                throw error
            }
            await second.close()
        }
    }
}

extension TestDatabase.Template {
    /// With the server's own classes.
    static let catalogue = TestDatabase.Template("catalogue") { conninfo in
        let worker = Worker(name: "template")
        try await worker.run { _, loop in
            let database = Database(loop: loop, configuration: DatabaseConfiguration(conninfo))
            _ = try await Migrator().run(database)
            await database.close()
        }
        await worker.stop()
    }
}
