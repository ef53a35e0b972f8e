import Hermes
import Synchronization
import Testing

@Suite struct TransactionTests {
    private func notes(_ client: TestClient) async throws -> [String] {
        let answer = try await client.asMaster.get("classes/Notas?order=texto")
        return answer["results"]?.array?.compactMap { $0["texto"]?.string } ?? []
    }

    @Test func aTransactionIsKeptOrUndoneAsOne() async throws {
        let app = Hermes()
        app.function("abrir", fields: ["falla": .bool]) { request in
            let fails = request.params["falla"] == true
            let count = try await request.transaction { t in
                try await t.asMaster.save(Nota(texto: "una"))
                // The request's own databases join in.
                try await request.asMaster.save(Nota(texto: "dos"))
                if fails { throw ParseError(4801, "mejor no") }
                return try await t.asMaster.count(Query(Nota.self))
            }
            return count
        }
        try await withApp(app) { client in
            let refused = try await client.post("functions/abrir", ["falla": true])
            #expect(refused.code == 4801)
            let nothing = try await notes(client)
            #expect(nothing == [])
            let kept = try await client.post("functions/abrir")
            #expect(kept["result"] == 2)
            let both = try await notes(client)
            #expect(both == ["dos", "una"])
        }
    }

    @Test func anInnerTransactionIsUndoneAlone() async throws {
        let app = Hermes()
        app.function("abrir") { request in
            try await request.asMaster.transaction { t in
                try await t.save(Nota(texto: "fuera"))
                do {
                    try await t.transaction { inner in
                        try await inner.save(Nota(texto: "dentro"))
                        throw ParseError(4801, "esto no")
                    }
                } catch let error as ParseError { #expect(error.code == 4801) }
            }
        }
        try await withApp(app) { client in
            let answer = try await client.post("functions/abrir")
            #expect(answer.status == 200)
            let left = try await notes(client)
            #expect(left == ["fuera"])
        }
    }

    @Test func aHookInTheTransactionOfItsSaveIsUndoneWithIt() async throws {
        let app = Hermes()
        app.beforeSave(Tema.self, in: .transaction) { request in
            try await request.asMaster.save(Nota(texto: request.object.Tema ?? ""))
            try await request.transaction { t in
                try await t.asMaster.save(Nota(texto: "más \(request.object.Tema ?? "")"))
            }
            if request.object.cerrado == true { throw ParseError(4801, "cerrado") }
        }
        try await withApp(app) { client in
            let refused = try await client.asMaster.post("classes/Temas", ["Tema": "uno", "cerrado": true])
            #expect(refused.code == 4801)
            let kept = try await client.asMaster.post("classes/Temas", ["Tema": "dos"])
            #expect(kept.status == 201)
            let left = try await notes(client)
            #expect(left == ["dos", "más dos"])
        }
    }

    @Test func countsOfManyAtOnceAreRight() async throws {
        let app = Hermes()
        app.beforeSave(Nota.self, in: .transaction) { request in
            guard request.isNew, let tema = request.object.tema else { return }
            var change = Record(tema)
            change.increment(\.comentarios)
            try await request.asMaster.save(change)
        }
        try await withApp(app, ["workers": 2]) { client in
            let master = client.asMaster
            let made = try await master.post("classes/Temas", ["Tema": "Roma", "comentarios": 0])
            let id = made["objectId"]?.string ?? ""
            _ = try await master.post("classes/Notas", ["texto": "primera"])
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for n in 0..<40 {
                    group.addTask {
                        try await master.post(
                            "classes/Notas", ["texto": "\(n)", "tema": .pointer(AnyPointer("Temas", id))]
                        ).status
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.allSatisfy { $0 == 201 })
            let tema = try await master.get("classes/Temas/\(id)")
            #expect(tema["comentarios"] == 40)
        }
    }

    @Test func aTransactionThatMeetsAnotherInADeadlockIsRunAgain() async throws {
        let app = Hermes()
        let runs = Mutex(0)
        let meeting = Meeting(2)
        let end = Meeting(2)
        app.function("cruzar", fields: ["a": .string.required, "b": .string.required]) { request in
            let first: String = try request.value("a")
            let second: String = try request.value("b")
            let ownRuns = Mutex(0)
            try await request.asMaster.transaction { t in
                runs.withLock { $0 += 1 }
                let run = ownRuns.withLock { runs in
                    runs += 1
                    return runs
                }
                // Else this one could be back before the other gets what it waited for, and they meet once more.
                if run == 2 { await end.arrive() }
                var one = Record(Nota.self, first)
                one.increment(\.n)
                try await t.save(one)
                // Both hold one of the two: now each asks for the other's.
                if run == 1 { await meeting.arrive() }
                var other = Record(Nota.self, second)
                other.increment(\.n)
                try await t.save(other)
            }
            if ownRuns.withLock({ $0 }) == 1 { await end.arrive() }
        }
        try await withApp(app) { client in
            var ids: [String] = []
            for _ in 0..<2 {
                ids.append(try await client.asMaster.post("classes/Notas", ["n": 0])["objectId"]?.string ?? "")
            }
            let (a, b) = (ids[0], ids[1])
            async let one = client.post("functions/cruzar", ["a": .string(a), "b": .string(b)])
            async let other = client.post("functions/cruzar", ["a": .string(b), "b": .string(a)])
            let statuses = [try await one.status, try await other.status]
            #expect(statuses == [200, 200])
            #expect(runs.withLock { $0 } == 3)
            for id in ids {
                let note = try await client.asMaster.get("classes/Notas/\(id)")
                #expect(note["n"] == 2)
            }
        }
    }
}

/// Lets those who come wait until all have.
final class Meeting: Sendable {
    private let state: Mutex<(missing: Int, waiting: [CheckedContinuation<Void, Never>])>

    init(_ count: Int) { state = Mutex((count, [])) }

    func arrive() async {
        await withCheckedContinuation { continuation in
            let all = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                state.missing -= 1
                state.waiting.append(continuation)
                return state.missing == 0 ? state.waiting : []
            }
            for one in all { one.resume() }
        }
    }
}
