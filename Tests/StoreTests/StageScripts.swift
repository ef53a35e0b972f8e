import Core
import Postgres
import Schema
import Wire

@testable import Accounts
@testable import Store

/// What a script did: its parts with the ids that objects got, as far as it came, and what each answered.
private struct Performance {
    var parts: [Script.Part] = []
    var outcomes: [Model.Answer] = []
    /// Of objects that were made, by part.
    var ids: [Int: String] = [:]
}

extension Stage {
    /// How the store differs from the model in what it answers and in what is stored then; and the world then.
    func differs(_ world: World, _ script: Script) async throws -> (difference: String?, after: World) {
        let done: Performance
        do { done = try await perform(script) } catch { return ("the store fails: \(error)", world) }
        let viewer = Model(world, script.asker)
        var current = world
        var touched: Set<String> = []
        for (index, part) in done.parts.enumerated() {
            let model = Model(current, sameViewerAs: viewer)
            let expected: Model.Answer
            var isOrdered = false
            switch part {
            case .ask(let question):
                expected = model.answer(question)
                isOrdered = question.parameters["order"] != nil
            case .write(let change):
                let effect = model.write(change, newId: done.ids[index] ?? "")
                expected = effect.answer
                current = effect.world
                touched.insert(change.className)
                if change.className == "_User" { touched.insert("_Role") }
                if !script.isTransaction, let grown = effect.grown,
                    try await fieldsDiffer(grown, change.className) == nil
                {
                    current = grown
                }
            }
            if let difference = Stage.difference(expected, done.outcomes[index], isOrdered: isOrdered) {
                return ("part \(index): \(part)\n\(difference)", current)
            }
            if script.isTransaction, case .refused = expected { current = world }
        }
        for className in touched.sorted() {
            if let difference = try await storedDiffers(current, className) {
                return ("behind it \(className) differs: \(difference)", current)
            }
        }
        return (nil, current)
    }

    /// Whether all that is stored is what the model has, by the database's own schema, not by what is remembered of it.
    func storedDiffers(_ world: World) async throws -> String? {
        try await store.catalogue.reload()
        for table in world.classes {
            if let difference = try await storedDiffers(world, table.name) { return "\(table.name): \(difference)" }
        }
        return nil
    }

    // MARK: performing

    private func perform(_ script: Script) async throws -> Performance {
        let viewer = try await viewer(script.asker)
        let operation = store.operation(as: viewer)
        guard script.isTransaction else {
            var done = Performance()
            for (index, part) in script.parts.enumerated() {
                do { try await perform(part, index, &done, operation) } catch {
                    done.outcomes.append(.refused([try Stage.code(error)]))
                }
            }
            return done
        }
        var done = Performance()
        do {
            try await operation.inTransaction { operation in
                done = Performance()
                try await store.lock(Stage.targets(script), in: operation)
                for (index, part) in script.parts.enumerated() { try await perform(part, index, &done, operation) }
            }
        } catch {
            done.outcomes.append(.refused([try Stage.code(error)]))
        }
        return done
    }

    /// The objects that a batch would lock.
    private static func targets(_ script: Script) -> Set<Store.Target> {
        Set(
            script.parts.compactMap { part in
                guard case .write(let change) = part, let id = change.objectId else { return nil }
                return Store.Target(className: change.className, objectId: id)
            })
    }

    private func perform(
        _ part: Script.Part, _ index: Int, _ done: inout Performance, _ operation: Operation
    ) async throws {
        let part = part.naming(done.ids)
        done.parts.append(part)
        switch part {
        case .ask(let question): done.outcomes.append(.value(try await answer(question, in: operation)))
        case .write(let change):
            // A hash takes as long as hundreds of writes, and is nothing that a model could foretell.
            if let password = change.body["password"]?.string { operation.keepHash("hash", of: password) }
            let written: Written
            switch change.kind {
            case .create:
                written = try await store.create(change.className, change.body, in: operation)
                done.ids[index] = written.objectId
            case .update(let id):
                written = try await store.update(change.className, objectId: id, change.body, in: operation)
            case .delete(let id): written = try await store.delete(change.className, objectId: id, in: operation)
            }
            var out = JSONWriter()
            written.write(to: &out)
            var answer = try JSONParser.parse(out.bytes).object ?? JSONObject()
            // Chosen by the server: that they are there is all that can be said.
            for key in ["createdAt", "updatedAt", "sessionToken"] where answer[key]?.string != nil {
                answer[key] = true
            }
            done.outcomes.append(.value(.object(answer)))
        }
    }

    /// As a client gets it; an error that no client should get is thrown on.
    private static func code(_ error: any Error) throws -> Int {
        if let error = error as? ParseError, let code = error.code { return code }
        guard let error = error as? PostgresError else { throw error }
        if error.sqlState == "HP111" { return 111 }
        if error.isUniqueViolation { return 137 }
        throw error
    }

    // MARK: what is stored

    private func storedDiffers(_ world: World, _ className: String) async throws -> String? {
        if let difference = try await fieldsDiffer(world, className) { return difference }
        guard let table = world[className] else { return nil }
        let all = Question(kind: .find, className: className, parameters: JSONObject([("limit", 10_000)]))
        let stored = Model.Answer.value(try await answer(all, in: store.operation(as: .master)))
        if let difference = Stage.difference(Model(world, .master).answer(all), stored, isOrdered: false) {
            return difference
        }
        for (field, type) in table.fields {
            guard case .relation = type else { continue }
            let rows = try await store.database.read(
                Statement("SELECT \"owningId\", \"relatedId\" FROM \"_Join:\(field):\(className)\""), [])
            let stored = Set((0..<rows.count).map { rows.string($0, 0) + " → " + rows.string($0, 1) })
            let expected = Set(
                world.rows(of: className).flatMap { row in row.members(field).map { row.id + " → " + $0 } })
            if stored != expected { return "\(field) has \(stored.sorted())\nthe model \(expected.sorted())" }
        }
        return nil
    }

    private func fieldsDiffer(_ world: World, _ className: String) async throws -> String? {
        let stored = try await store.catalogue.snapshot()[className]
        guard let table = world[className] else { return stored == nil ? nil : "the class was made" }
        guard let stored else { return "the class is gone" }
        let ours = Dictionary(uniqueKeysWithValues: table.fields.map { ($0.name, $0.type) })
        let theirs = stored.fields.mapValues(\.type).filter { name, type in
            DefaultFields.everywhere[name] == nil && !(className == "_User" && ["password", "authData"].contains(name))
        }
        return ours == theirs ? nil : "the class has the fields \(theirs)\nthe model \(ours)"
    }
}

extension Script.Part {
    /// With the ids that objects got which parts before it made.
    fileprivate func naming(_ ids: [Int: String]) -> Script.Part {
        guard !ids.isEmpty else { return self }
        let names = Dictionary(uniqueKeysWithValues: ids.map { (Script.made(by: $0.key), $0.value) })
        func named(_ json: JSON) -> JSON {
            switch json {
            case .string(let text): .string(names[text] ?? text)
            case .array(let elements): .array(elements.map(named))
            case .object(let object): .object(JSONObject(object.members.map { ($0.key, named($0.value)) }))
            default: json
            }
        }
        switch self {
        case .ask(var question):
            question.parameters = named(.object(question.parameters)).object ?? JSONObject()
            if case .get(let id) = question.kind { question.kind = .get(names[id] ?? id) }
            return .ask(question)
        case .write(var change):
            change.body = named(.object(change.body)).object ?? JSONObject()
            switch change.kind {
            case .create: break
            case .update(let id): change.kind = .update(names[id] ?? id)
            case .delete(let id): change.kind = .delete(names[id] ?? id)
            }
            return .write(change)
        }
    }
}
