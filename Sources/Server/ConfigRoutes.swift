import Cloud
import Core
import Store
import Wire

/// `/config`: the application's parameters, as clients read and administrators set them.
extension API {
    func config(_ request: Request) async throws -> Answer {
        let content = try await globalConfig.read(store.database)
        return Answer(body: request.viewer.isMaster ? content.answer : content.openAnswer)
    }

    func updateConfig(_ request: Request) async throws -> Answer {
        try store.denylist.check(request.body)
        let isWatched = [.beforeSave, .afterSave].contains { cloud.code.triggers[Trigger($0, on: "@Config")] != nil }
        let original = isWatched ? try await globalConfig.reread(store.database) : nil
        // Checked before anybody else sees it, and again when hooks may have changed it.
        var change = try GlobalConfig.Change(request.body)
        if let asked = try await cloud.ofConfig(.beforeSave, .object(request.body), original, request.operation) {
            try store.denylist.check(asked)
            change = try GlobalConfig.Change(asked)
        }
        try await globalConfig.apply(change, store.database)
        if isWatched {
            let now = try await globalConfig.reread(store.database)
            _ = try await cloud.ofConfig(.afterSave, now.json, original, request.operation)
        }
        return Answer(json: ["result": true])
    }
}

extension GlobalConfig.Change {
    /// - Parameter body: `{"params": {…}, "masterKeyOnly": {…}}`. A parameter that is set is open to all unless its mark
    ///   comes along.
    init(_ body: JSONObject) throws(ParseError) {
        let params = try Self.object("params", body)
        var marks: [String: Bool] = [:]
        for (name, mark) in try Self.object("masterKeyOnly", body).members { marks[name] = mark.isTruthy }
        for (name, value) in params.members {
            try Self.check(name)
            if value.object?["__op"] == "Delete" {
                delete.append(name)
            } else {
                if let operation = value.object?["__op"] {
                    throw ParseError(108, "A parameter can be set or deleted, not \(operation).")
                }
                _ = try Value.parse(value)
                set.append((name, value, marks[name] ?? false))
            }
            marks[name] = nil
        }
        mark = marks.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private static func object(_ name: String, _ body: JSONObject) throws(ParseError) -> JSONObject {
        switch body[name] {
        case nil, .null: return JSONObject()
        case let json?:
            guard let object = json.objectOrEmptyList else { throw ParseError(107, "\(name) must be an object.") }
            return object
        }
    }

    private static func check(_ name: String) throws(ParseError) {
        let isPossible =
            !name.isEmpty && name.utf8.count <= 255 && !name.hasPrefix("__")
            && !name.utf8.contains { $0 < 0x20 || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "$") }
        guard isPossible else { throw ParseError(105, "Invalid name of a parameter: \(name.prefix(100))") }
    }
}

extension CloudDispatch {
    /// Calls the hooks of `@Config`. `object` and `original` have `params` and `masterKeyOnly`; before a save `object`
    /// has those that are to be set, after it all; there is no `original` while nothing is set.
    ///
    /// - Returns: what is to be set instead; nil: it stays.
    /// - Throws: what a hook throws; of one after the save nothing, since it stands.
    func ofConfig(
        _ kind: TriggerKind, _ object: JSON, _ original: GlobalConfig.Content?, _ operation: Operation
    ) async throws -> JSONObject? {
        let trigger = Trigger(kind, on: "@Config")
        var object = object
        var isChanged = false
        for handler in code.triggers[trigger] ?? [] {
            var payload = try await payload(trigger, handler, operation)
            payload["object"] = object
            if let original, !original.params.isEmpty { payload["original"] = original.json }
            do {
                let answer = try await call(handler, payload, in: operation)
                guard kind == .beforeSave, let other = answer.body?.object?["object"]?.object else { continue }
                object = .object(other)
                isChanged = true
            } catch  where kind == .afterSave {
                Log.shared.error(
                    "a hook failed behind a change of the configuration that stands",
                    ["hook": .text(handler.name), "error": "\(error)"])
            }
        }
        return isChanged ? object.object : nil
    }
}
