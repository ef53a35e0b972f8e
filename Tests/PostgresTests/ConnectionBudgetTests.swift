import Core
import Postgres
import TestSupport
import Testing

/// How many connections a node may open.
@Suite struct ConnectionBudgetTests {
    private let usual = DatabaseConfiguration("")

    @Test(arguments: [1, 2, 4, 16, 64, 128], [5, 20, 40, 97, 200, 500])
    func theSumStaysWithinWhatIsLeft(workers: Int, available: Int) {
        let fitted = usual.fitted(workers: workers, available: available)
        let least = workers * 2 + 1
        #expect(fitted.connections(workers: workers) <= max(available, least))
        #expect(fitted.ownedLimit >= 1 && fitted.sharedConnections >= 1)
        #expect(fitted.sharedLimit >= fitted.sharedConnections)
        #expect(fitted.ownedLimit <= usual.ownedLimit && fitted.sharedLimit <= usual.sharedLimit)
    }

    @Test func whatSufficesIsLeftAlone() {
        let fitted = usual.fitted(workers: 2, available: 97)
        #expect(fitted.ownedLimit == usual.ownedLimit && fitted.sharedLimit == usual.sharedLimit)
        #expect(fitted.sharedConnections == usual.sharedConnections)
        // Sixteen cores beside PostgreSQL's usual hundred.
        let many = usual.fitted(workers: 16, available: 97)
        #expect(many.ownedLimit == 3 && many.sharedLimit == 3 && many.sharedConnections == 2)
    }

    @Test func theServerIsAskedAndADatabasesOwnLimitCounts() async throws {
        let shared = try await TestDatabase.make()
        try await shared.execute("ALTER DATABASE \(shared.name) CONNECTION LIMIT 12")
        let fitted = try await shared.configuration.fitted(workers: 2)
        #expect(fitted.connections(workers: 2) <= 12)
        #expect(fitted.ownedLimit >= 2)
        try await shared.execute("ALTER DATABASE \(shared.name) CONNECTION LIMIT -1")
        try await shared.withDatabase { _, database in
            // The tests' server allows 500.
            let left = try await database.availableConnections()
            #expect(left > 12 && left < 500)
        }
    }
}
