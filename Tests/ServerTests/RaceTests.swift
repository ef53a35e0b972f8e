import TestSupport
import Testing
import Wire

/// Many clients at once on the same thing: nothing is lost, one outcome.
@Suite(.serialized) struct RaceTests {
    private let crowd = 60

    @Test func operatorsOnOneFieldLoseNothing() async throws {
        try await withServer(workers: 2) { server in
            let numbers = (0..<crowd).map { JSON.number(Double($0)) }
            let id = try await server.client.create(
                "Counter", ["count": 0, "unique": [], "list": [], "rest": .array(numbers + [.string("stays")])])
            let results = await server.loop.concurrently(crowd * 4) { index in
                let number = JSON.number(Double(index / 4))
                let change: JSON =
                    switch index % 4 {
                    case 0: ["count": ["__op": "Increment", "amount": 1]]
                    case 1: ["unique": ["__op": "AddUnique", "objects": [number, "shared"]]]
                    case 2: ["list": ["__op": "Add", "objects": [number]]]
                    default: ["rest": ["__op": "Remove", "objects": [number]]]
                    }
                return try await server.client.send("PUT", "/classes/Counter/\(id)", change, master: true)
            }
            #expect(tally(results) == ["200": crowd * 4])
            let object = try await server.client.must("GET", "/classes/Counter/\(id)", master: true).json
            #expect(object["count"] == .number(Double(crowd)))
            let wanted = Set(0..<crowd)
            let unique = object["unique"]?.array ?? []
            #expect(Set(unique.compactMap(\.number).map { Int($0) }) == wanted)
            #expect(unique.count == crowd + 1)
            let list = object["list"]?.array ?? []
            #expect(list.count == crowd)
            #expect(Set(list.compactMap(\.number).map { Int($0) }) == wanted)
            #expect(object["rest"] == ["stays"])
            // Each increment was answered with a value of its own.
            let told = results.compactMap { try? $0.get().json["count"]?.number }
            #expect(Set(told).count == crowd)
        }
    }

    @Test func oneOfManySignUpsWithOneNameWins() async throws {
        try await withServer(workers: 2) { server in
            let results = await server.loop.concurrently(50) { index in
                try await server.client.signUp(
                    ["username": index.isMultiple(of: 2) ? "ana" : "ANA", "password": "secret"])
            }
            #expect(tally(results) == ["201": 1, "400/202": 49])
            let users = try await server.all("_User")
            #expect(users.count == 1)
            let sessions = try await server.all("_Session")
            #expect(sessions.count == 1)
        }
    }

    @Test func oneOfManySignUpsWithOneAddressWins() async throws {
        try await withServer(workers: 2) { server in
            let results = await server.loop.concurrently(50) { index in
                try await server.client.signUp(
                    ["username": .string("user\(index)"), "password": "secret", "email": "one@example.org"])
            }
            #expect(tally(results) == ["201": 1, "400/203": 49])
            let users = try await server.all("_User")
            #expect(users.count == 1)
        }
    }

    @Test func oneOfManyRolesWithOneNameWins() async throws {
        try await withServer(workers: 2) { server in
            let results = await server.loop.concurrently(50) { _ in
                try await server.client.send(
                    "POST", "/roles", ["name": "moderators", "ACL": ["*": ["read": true]]], master: true)
            }
            #expect(tally(results) == ["201": 1, "400/137": 49])
            let roles = try await server.all("_Role")
            #expect(roles.count == 1)
        }
    }

    @Test func oneAnonymousIdIsOneUser() async throws {
        try await withServer(workers: 2) { server in
            let results = await server.loop.concurrently(50) { _ in
                try await server.client.send(
                    "POST", "/users", ["authData": ["anonymous": ["id": "0f3c9e2a-device"]]])
            }
            let counts = tally(results)
            #expect(counts["201"] == 1)
            // Those who come too late log in; those in the middle may be told that it was just taken.
            #expect((counts["200"] ?? 0) + (counts["400/208"] ?? 0) == 49, "\(counts)")
            let users = try await server.all("_User")
            #expect(users.count == 1)
            let ids = Set(results.compactMap { try? $0.get().objectId })
            #expect(ids.count == 1)
        }
    }

    @Test func whatIsDeletedStaysDeletedWhateverIsSaved() async throws {
        try await withServer(workers: 2) { server in
            var made: [String] = []
            for index in 0..<25 {
                made.append(try await server.client.create("Note", ["n": .number(Double(index))]))
            }
            let ids = made
            let results = await server.loop.concurrently(100) { index in
                let path = "/classes/Note/\(ids[index / 4])"
                if index % 4 == 1 { return try await server.client.send("DELETE", path, master: true) }
                return try await server.client.send(
                    "PUT", path, ["n": ["__op": "Increment", "amount": 1]], master: true)
            }
            for (index, result) in results.enumerated() {
                let reply = try result.get()
                if index % 4 == 1 {
                    #expect(reply.status == 200)
                } else {
                    #expect(reply.status == 200 || (reply.status == 404 && reply.code == 101), "\(reply.text)")
                }
            }
            let stored = try await server.all("Note")
            #expect(stored.isEmpty)
        }
    }

    @Test func manyClientsMayBeTheFirstToUseAField() async throws {
        try await withServer(workers: 2) { server in
            _ = try await server.client.create("Thing", ["known": 1])
            let same = await server.loop.concurrently(50) { index in
                try await server.client.send(
                    "POST", "/classes/Thing", ["fresh": .number(Double(index)), "known": 2], master: true)
            }
            #expect(tally(same) == ["201": 50])
            let stored = try await server.all("Thing")
            #expect(stored.count == 51)
        }
    }

    @Test func aFieldThatManyMakeWithTwoTypesGetsOne() async throws {
        try await withServer(workers: 2) { server in
            _ = try await server.client.create("Thing", ["known": 1])
            let results = await server.loop.concurrently(50) { index in
                let value: JSON = index.isMultiple(of: 2) ? "text" : 7
                return try await server.client.send("POST", "/classes/Thing", ["mixed": value], master: true)
            }
            #expect(tally(results) == ["201": 25, "400/111": 25])
            let winners = results.enumerated().filter { (try? $0.element.get().status) == 201 }.map { $0.offset % 2 }
            #expect(Set(winners).count == 1)
            let stored = try await server.all("Thing")
            #expect(stored.count == 26)
        }
    }

    @Test func manyClientsMayBeTheFirstToUseAClass() async throws {
        try await withServer(nodes: 2) { server in
            let results = await server.loop.concurrently(50) { index in
                try await server.clients[index % 2].send(
                    "POST", "/classes/Brand_New", ["n": .number(Double(index)), "f\(index % 5)": true], master: true)
            }
            #expect(tally(results) == ["201": 50])
            let stored = try await server.all("Brand_New")
            #expect(stored.count == 50)
        }
    }
}
