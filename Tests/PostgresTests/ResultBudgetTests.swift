import Core
import TestSupport
import Testing

@testable import Postgres

/// What large results may hold of memory, all together.
@Suite struct ResultBudgetTests {
    private let megabytes: Statement = "SELECT repeat('x', 1000) FROM generate_series(1, $1::int8 * 1000)"

    @Test func aResultThatIsTooLargeIsGivenUpAndHarmsNoOther() async throws {
        let shared = try await TestDatabase.make()
        let budget = MemoryBudget(limit: 16 << 20)
        try await shared.withDatabase({
            $0.resultBudget = budget
            $0.sharedLimit = 2
        }) { _, database in
            let results = await database.loop.concurrently(20) { index in
                index == 7
                    ? try await database.read(megabytes, [.int(100)]).count
                    : try await database.read("SELECT $1::int8", [.int(Int64(index))]).count
            }
            for (index, result) in results.enumerated() where index != 7 {
                #expect(try result.get() == 1)
            }
            let error = await failure(of: { try results[7].get() })
            #expect((error as? PostgresError)?.kind == .resultTooLarge)
            #expect(budget.held == 0)
            try await expectOne(database.read("SELECT 1"))
        }
    }

    @Test func largeResultsCountAsLongAsTheyAreUsed() async throws {
        let shared = try await TestDatabase.make()
        let budget = MemoryBudget(limit: 32 << 20)
        try await shared.withDatabase({ $0.resultBudget = budget }) { _, database in
            var rows: Rows? = try await database.read(megabytes, [.int(12)])
            #expect(rows?.count == 12_000)
            let held = budget.held
            #expect(held >= 12_000_000)
            // The second finds no room beside the first, and has it afterwards. Small ones always have.
            let error = await failure(of: { _ = try await database.read(megabytes, [.int(20)]) })
            #expect((error as? PostgresError)?.kind == .noRoom)
            #expect(budget.held == held)
            try await expectOne(database.read("SELECT 1"))
            withExtendedLifetime(rows) {}
            rows = nil
            #expect(budget.held == 0)
            let count = try await database.read(megabytes, [.int(12)]).count
            #expect(count == 12_000)
            #expect(budget.held == 0)
        }
    }
}
