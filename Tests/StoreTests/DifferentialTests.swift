import Core
import Foundation
import Postgres
import TestSupport
import Testing

/// What a viewer gets from the store, and what stands in it afterwards, equals a simple, slow model: generated classes,
/// permissions, rows, viewers and scripts, over get, find, count, distinct, include, relations and subqueries, create,
/// update and delete, alone, in batches and in transactions, refusals included.
///
/// HERMES_DIFFERENTIAL is the number of pairs of a viewer and what it asks for (2,000), HERMES_SEED makes a run again.
@Suite struct DifferentialTests {
    private static func setting(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    /// Each has a database and a worker of its own: the work is PostgreSQL's as much as the test's.
    private static let lanes = 4

    @Test func whatAViewerGetsAndLeavesEqualsTheModel() async throws {
        let pairs = DifferentialTests.setting("HERMES_DIFFERENTIAL") ?? 2000
        let seed = UInt64(DifferentialTests.setting("HERMES_SEED") ?? Int.random(in: 1..<1_000_000_000))
        try await withThrowingTaskGroup(of: String?.self) { group in
            for lane in 0..<DifferentialTests.lanes {
                // Alone, a failing lane's seed makes the same worlds again, as the first lane.
                let seed = lane == 0 ? seed : seed &+ UInt64(lane) &* 1_000_000_007
                group.addTask {
                    let failure = try await DifferentialTests.compare(pairs / DifferentialTests.lanes, seed)
                    return failure.map { "HERMES_SEED=\(seed)\n\($0)" }
                }
            }
            for try await failure in group {
                if let failure { Issue.record("\(failure)") }
            }
        }
    }

    /// The first difference, made small.
    private static func compare(_ pairs: Int, _ seed: UInt64) async throws -> String? {
        try await TestDatabase.make(template: .migrated).withDatabase { _, database in
            let stage = try Stage(database)
            var chance = Chance(seed: seed)
            var asked = 0
            while asked < pairs {
                var maker = WorldMaker(chance: Chance(seed: chance.next()))
                var world = maker.world()
                try await stage.install(world)
                // One world under several sets of permissions, as writes change it.
                for round in 0..<4 where asked < pairs {
                    if round > 0 {
                        for index in world.classes.indices where world.classes[index].isPlain {
                            world.classes[index].permissions = maker.permissions(world.classes[index])
                        }
                        try await stage.permit(world)
                    }
                    for _ in 0..<50 where asked < pairs {
                        var writes = WriteMaker(chance: Chance(seed: chance.next()), world: world)
                        let script = writes.script()
                        asked += script.parts.count
                        let (difference, after) = try await stage.differs(world, script)
                        if let difference { return try await stage.shrunk(world, script, difference) }
                        world = after
                    }
                }
                if let difference = try await stage.storedDiffers(world) { return "\(world)\n\(difference)" }
            }
            return nil
        }
    }
}
