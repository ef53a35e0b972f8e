import Core
import Foundation
import Postgres
import Schema
import TestSupport
import Testing
import Wire

@testable import Accounts
@testable import Store

/// What a viewer gets from the store equals the answer of a simple, slow model: generated classes, permissions, rows,
/// viewers and questions, over get, find, count, distinct, include, relations and subqueries, refusals included.
///
/// HERMES_DIFFERENTIAL is the number of viewer and question pairs (2,000), HERMES_SEED makes a run again.
@Suite struct DifferentialTests {
    private static func setting(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    @Test func whatAViewerGetsEqualsTheModelsAnswer() async throws {
        let pairs = DifferentialTests.setting("HERMES_DIFFERENTIAL") ?? 2000
        let seed = UInt64(DifferentialTests.setting("HERMES_SEED") ?? Int.random(in: 1..<1_000_000_000))
        let failure: String? = try await TestDatabase.make(template: .migrated).withDatabase { _, database in
            let stage = try Stage(database)
            var chance = Chance(seed: seed)
            var asked = 0
            while asked < pairs {
                var maker = WorldMaker(chance: Chance(seed: chance.next()))
                var world = maker.world()
                try await stage.install(world)
                // The same rows under several sets of permissions.
                for round in 0..<4 where asked < pairs {
                    if round > 0 {
                        for index in world.classes.indices where world.classes[index].name != "_User" {
                            world.classes[index].permissions = maker.permissions(world.classes[index])
                        }
                        try await stage.permit(world)
                    }
                    var questions = QuestionMaker(chance: Chance(seed: chance.next()), world: world)
                    for _ in 0..<50 {
                        let (asker, question) = (questions.asker(), questions.question())
                        asked += 1
                        if try await stage.differs(world, asker, question) != nil {
                            return try await stage.shrunk(world, asker, question)
                        }
                    }
                }
            }
            return nil
        }
        if let failure { Issue.record("HERMES_SEED=\(seed)\n\(failure)") }
    }
}
