import Core
import Postgres
import Schema
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Accounts
@testable import Store

/// Hooks on the path of a write: what they see, change, refuse, and what is kept or undone with them.
@Suite struct HookTests {
    /// A store with these hooks on an open class `Temas (titulo String, votos Number)`.
    private static func withStore<Result: Sendable>(
        _ hooks: [Hook], _ body: @Sendable (Store) async throws -> Result
    ) async throws -> Result {
        try await TestDatabase.make(template: .migrated).withDatabase { _, database in
            let stage = try Stage(database)
            stage.store.hooks = Hooks(AccountOptions().rules + hooks)
            _ = try await stage.store.catalogue.create(
                "Temas",
                SchemaRequest(fields: JSONObject([("titulo", ["type": "String"]), ("votos", ["type": "Number"])])))
            return try await body(stage.store)
        }
    }

    private static func titles(_ store: Store) async throws -> [String] {
        let rows = try await store.database.read("SELECT coalesce(\"titulo\", '-') FROM \"Temas\" ORDER BY 1")
        return (0..<rows.count).map { rows.string($0, 0) }
    }

    private final class Seen: Sendable {
        private let list = Mutex<[String]>([])
        func add(_ text: String) { list.withLock { $0.append(text) } }
        var all: [String] { list.withLock { $0 } }
    }

    @Test func hooksRunInTheirOrderAndSeeWhatTheFormerLeft() async throws {
        let seen = Seen()
        let hooks = ["a", "b"].map { name in
            Hook(name, on: "Temas", .beforeSave) { write in
                guard case .string(let title)? = write.value("titulo") else { return }
                seen.add("\(name):\(title)")
                write.set("titulo", .string(title + name))
            }
        }
        let last = Hook("last", on: "Temas", .completeSave) { write in
            if case .string(let title)? = write.value("titulo") { seen.add("last:\(title)") }
        }
        try await HookTests.withStore([last] + hooks) { store in
            _ = try await store.create("Temas", JSONObject([("titulo", "x")]), in: store.operation(as: .anonymous))
            #expect(seen.all == ["a:x", "b:xa", "last:xab"])
            let titles = try await HookTests.titles(store)
            #expect(titles == ["xab"])
        }
    }

    @Test func aRefusalKeepsEverythingAsItWas() async throws {
        let hook = Hook("refuses", on: "Temas", .beforeSave) { write in
            if write.isNew { return }
            throw ParseError(142, "no")
        }
        try await HookTests.withStore([hook]) { store in
            let operation = store.operation(as: .anonymous)
            let made = try await store.create("Temas", JSONObject([("titulo", "x")]), in: operation)
            let error = await failure(of: {
                try await store.update(
                    "Temas", objectId: made.objectId, JSONObject([("titulo", "y"), ("nuevo", 1)]), in: operation)
            })
            #expect((error as? ParseError)?.code == 142)
            let titles = try await HookTests.titles(store)
            #expect(titles == ["x"])
            let field = try await store.catalogue.reload()["Temas"]?.fields["nuevo"]
            #expect(field == nil)
        }
    }

    /// Permissions and existence come first: a hook is not asked about what the viewer may not write.
    @Test func aHookIsNotAskedAboutWhatCannotBe() async throws {
        let seen = Seen()
        let hook = Hook("sees", on: "Temas", .beforeSave, needs: .original) { _ in seen.add("asked") }
        try await HookTests.withStore([hook]) { store in
            let hidden = try await store.create(
                "Temas", JSONObject([("titulo", "x"), ("ACL", [:])]), in: store.operation(as: .master))
            let asked = seen.all.count
            for id in [hidden.objectId, "noestaaaaa"] {
                let error = await failure(of: {
                    try await store.update(
                        "Temas", objectId: id, JSONObject([("titulo", "y")]), in: store.operation(as: .anonymous))
                })
                #expect((error as? ParseError)?.code == 101)
            }
            #expect(seen.all.count == asked)
        }
    }

    @Test func aHookSeesTheObjectAsItWas() async throws {
        let seen = Seen()
        let hook = Hook("sees", on: "Temas", .beforeSave, needs: .original) { write in
            seen.add(write.original?["titulo"]?.string ?? "none")
        }
        try await HookTests.withStore([hook]) { store in
            let operation = store.operation(as: .anonymous)
            let made = try await store.create("Temas", JSONObject([("titulo", "x")]), in: operation)
            _ = try await store.update(
                "Temas", objectId: made.objectId, JSONObject([("titulo", "y")]), in: operation)
            #expect(seen.all == ["none", "x"])
        }
    }

    @Test func whatAHookSavesIsUndoneWithItsTransaction() async throws {
        let hook = Hook("copies", on: "Temas", .beforeSave, needs: .transaction) { write in
            guard case .string(let title)? = write.value("titulo"), title.hasPrefix("x") else { return }
            let operation = try write.operation.nested(as: .master)
            #expect(operation.isInTransaction)
            _ = try await operation.store.create(
                "Temas", JSONObject([("titulo", .string("copy of \(title)"))]), in: operation)
            if title == "x2" { throw ParseError(142, "no") }
        }
        try await HookTests.withStore([hook]) { store in
            _ = try await store.create("Temas", JSONObject([("titulo", "x1")]), in: store.operation(as: .anonymous))
            _ = await failure(of: {
                try await store.create(
                    "Temas", JSONObject([("titulo", "x2")]), in: store.operation(as: .anonymous))
            })
            let titles = try await HookTests.titles(store)
            #expect(titles == ["copy of x1", "x1"])
        }
    }

    @Test func aHookThatSavesInACircleIsEnded() async throws {
        let seen = Seen()
        let hook = Hook("circle", on: "Temas", .beforeSave) { write in
            seen.add("again")
            let operation = try write.operation.nested()
            _ = try await operation.store.create("Temas", JSONObject([("titulo", "more")]), in: operation)
        }
        try await HookTests.withStore([hook]) { store in
            let error = await failure(of: {
                try await store.create("Temas", JSONObject([("titulo", "x")]), in: store.operation(as: .anonymous))
            })
            #expect((error as? ParseError)?.code == 141)
            #expect(seen.all.count == Operation.maximumDepth + 1)
            let left = try await HookTests.titles(store)
            #expect(left == [])
        }
    }

    /// An after-hook runs when the write stands: within a transaction behind its commit, and not at all without one.
    @Test func afterHooksFollowTheCommit() async throws {
        let seen = Seen()
        let hook = Hook("after", on: "Temas", .afterSave) { write in
            let rows = try await write.operation.store.database.read("SELECT FROM \"Temas\"")
            seen.add("\(write.kind) \(rows.count)")
            throw ParseError(142, "what fails behind a write changes nothing")
        }
        try await HookTests.withStore([hook]) { store in
            let operation = store.operation(as: .master)
            _ = try await store.create("Temas", JSONObject([("titulo", "a")]), in: operation)
            #expect(seen.all == ["create 1"])
            try await operation.inTransaction { operation in
                _ = try await store.create("Temas", JSONObject([("titulo", "b")]), in: operation)
                _ = try await store.create("Temas", JSONObject([("titulo", "c")]), in: operation)
                #expect(seen.all == ["create 1"])
            }
            #expect(seen.all == ["create 1", "create 3", "create 3"])
            _ = await failure(of: {
                try await operation.inTransaction { operation in
                    _ = try await store.create("Temas", JSONObject([("titulo", "d")]), in: operation)
                    throw ParseError(1, "undone")
                }
            })
            #expect(seen.all.count == 3)
        }
    }

    @Test func rulesHoldWhateverAHookMakesOfAUser() async throws {
        let hook = Hook("meddles", on: "_User", .beforeSave) { write in
            #expect(write.change("password") == nil)
            write.set("email", .string("nonsense"))
        }
        try await HookTests.withStore([hook]) { store in
            let error = await failure(of: {
                try await store.create(
                    "_User", JSONObject([("username", "ana"), ("password", "secret")]),
                    in: store.operation(as: .anonymous))
            })
            #expect((error as? ParseError)?.code == 125)
        }
    }

    @Test func aTransactionPastItsTimeIsUndone() async throws {
        try await TestDatabase.make(template: .migrated).withDatabase { _, database in
            var options = StoreOptions()
            options.transactionTimeLimit = 0.05
            let store = try Stage(database, options).store
            _ = try await store.catalogue.create("Temas", SchemaRequest())
            let error = await failure(of: {
                try await store.operation(as: .master).inTransaction { operation in
                    _ = try await store.create("Temas", JSONObject(), in: operation)
                    _ = try await operation.read(Statement("SELECT pg_sleep(0.1)"), [])
                    _ = try await store.create("Temas", JSONObject(), in: operation)
                }
            })
            #expect((error as? ParseError)?.code == 102)
            let left = try await database.read("SELECT FROM \"Temas\"").count
            #expect(left == 0)
        }
    }

    @Test func ofAFieldThatAHookEmptiesTheDefaultIsTold() async throws {
        let hook = Hook("empties", on: "Temas", .beforeSave) { $0.set("titulo", .null) }
        try await HookTests.withStore([hook]) { store in
            let fields: JSON = ["titulo": ["type": "String", "defaultValue": "dado"]]
            _ = try await store.catalogue.update("Temas", SchemaRequest(fields: fields.object ?? JSONObject()))
            let made = try await store.create("Temas", JSONObject([("titulo", "x")]), in: store.operation(as: .master))
            #expect(made.answered["titulo"] == "dado")
            let titles = try await HookTests.titles(store)
            #expect(titles == ["dado"])
        }
    }

    @Test func anObjectWhoseBirthIsNotToldCannotHaveChangedBeforeIt() async throws {
        try await HookTests.withStore([]) { store in
            let long: JSON = ["__type": "Date", "iso": "2014-05-06T07:08:09.010Z"]
            let operation = store.operation(as: Viewer(key: .maintenance))
            _ = try await store.create("Temas", JSONObject([("titulo", "x"), ("updatedAt", long)]), in: operation)
            let rows = try await store.database.read(#"SELECT "updatedAt" = "createdAt" FROM "Temas""#)
            #expect(rows.bool(0, 0))
        }
    }

    /// Another node takes a field away between the look at the class and the statement: the class is read again.
    @Test func aFieldThatVanishesUnderAWriteIsMadeAgain() async throws {
        let hook = Hook("takes away", on: "Temas", .beforeSave) { write in
            let store = write.operation.store
            guard try await store.catalogue.snapshot()["Temas"]?.fields["votos"] != nil else { return }
            let other = Catalogue(database: store.database, cache: SchemaCache())
            _ = try await other.update("Temas", SchemaRequest(fields: JSONObject([("votos", ["__op": "Delete"])])))
        }
        try await HookTests.withStore([hook]) { store in
            let made = try await store.create(
                "Temas", JSONObject([("titulo", "x"), ("votos", 3)]), in: store.operation(as: .master))
            let rows = try await store.database.read("SELECT \"votos\" FROM \"Temas\"")
            #expect(rows.count == 1 && rows.double(0, 0) == 3)
            #expect(made.kind == .create)
        }
    }

    @Test func theReadOnlyKeyWritesNothingWhicheverWayItComes() async throws {
        try await HookTests.withStore([]) { store in
            let made = try await store.create("Temas", JSONObject([("titulo", "x")]), in: store.operation(as: .master))
            let operation = store.operation(as: Viewer(key: .readOnlyMaster))
            var codes: [Int?] = []
            func attempt(_ body: () async throws -> Void) async {
                do {
                    try await body()
                    codes.append(nil)
                } catch { codes.append((error as? ParseError)?.code) }
            }
            await attempt { _ = try await store.create("Temas", JSONObject(), in: operation) }
            await attempt {
                _ = try await store.update(
                    "Temas", objectId: made.objectId, JSONObject([("titulo", "y")]), in: operation)
            }
            await attempt { try await store.delete("Temas", objectId: made.objectId, in: operation) }
            await attempt { try await store.purge("Temas", in: operation) }
            await attempt { try await store.changeSchema(in: operation) { try await $0.delete("Temas", in: $1) } }
            #expect(codes == [119, 119, 119, 119, 119])
            let titles = try await HookTests.titles(store)
            #expect(titles == ["x"])
        }
    }
}
