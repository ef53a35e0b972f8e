import Core
import Wire

/// role, user, config, jobs run.
extension CommandContext {
    // MARK: roles

    func role() async throws {
        let words = command.words
        switch words.first {
        case "list" where words.count == 1: try await listRoles()
        case "show" where words.count == 2: try await showRole(words[1])
        case "add" where words.count > 2: try await changeRole(words[1], Array(words[2...]), adding: true)
        case "remove" where words.count > 2: try await changeRole(words[1], Array(words[2...]), adding: false)
        case "create" where words.count == 2:
            guard try isWanted("Make the role \(words[1])?") else { return }
            let body: JSON = ["name": .string(words[1]), "ACL": ["*": ["read": true]]]
            let made = try await ask("POST", "/roles", record(body))
            say("_Role:\(made.object?["objectId"]?.string ?? "")")
        case "delete" where words.count == 2:
            let id = try await findRole(words[1])
            guard try isWanted("Delete the role \(words[1])? What it was let do nobody may do then.") else { return }
            _ = try await ask("DELETE", "/roles/\(id.urlEncoded)")
            say("deleted 1")
        default: throw wrongUse()
        }
    }

    private func findRole(_ name: String) async throws -> String {
        let found = try await find("_Role", record(["where": ["name": .string(name)], "keys": "name"]))
        guard let id = found.first?["objectId"]?.string else {
            throw CommandFailure.notFound("there is no role \(name)")
        }
        return id
    }

    private func members(_ role: String) -> JSONObject {
        record(["$relatedTo": ["object": FilterValues.pointer("_Role", role), "key": "users"]])
    }

    private func listRoles() async throws {
        let roles = try await find("_Role", record(["order": "name", "limit": 10_000, "keys": "name"]))
        var table = TextTable(["role", "members"])
        table.numeric = [1]
        for role in roles {
            let count = try await count("_User", members(role["objectId"]?.string ?? ""))
            let name = role["name"]?.string ?? ""
            if command.isOn("json") {
                printJSON(["name": .string(name), "members": .number(Double(count))])
            } else {
                table.rows.append([name, "\(count)"])
            }
        }
        if !command.isOn("json") { printTable(table) }
    }

    private func showRole(_ name: String) async throws {
        let id = try await findRole(name)
        var cursor = Cursor(Sorting(field: "objectId", isDescending: false, isEverywhere: true))
        var table = TextTable(["user", "objectId"])
        while let next = cursor.condition {
            let page = try await find(
                "_User",
                record([
                    "where": .object(Filter.all([members(id), next])), "order": .string(cursor.order), "limit": 1000,
                    "keys": "username",
                ]))
            for user in page {
                let name = user["username"] ?? .null
                if command.isOn("json") {
                    printJSON(["username": name, "objectId": user["objectId"] ?? .null])
                } else {
                    table.rows.append([Cells.text(name), user["objectId"]?.string ?? ""])
                }
            }
            _ = cursor.take(page)
        }
        if !command.isOn("json") { printTable(table) }
    }

    private func changeRole(_ name: String, _ users: [String], adding: Bool) async throws {
        let id = try await findRole(name)
        var pointers: [JSON] = []
        for user in users {
            pointers.append(FilterValues.pointer("_User", try await findUser(user)["objectId"]?.string ?? ""))
        }
        let list = users.joined(separator: ", ")
        guard try isWanted(adding ? "Put \(list) into \(name)?" : "Take \(list) out of \(name)?") else { return }
        let operation = JSON.string(adding ? "AddRelation" : "RemoveRelation")
        _ = try await ask(
            "PUT", "/roles/\(id.urlEncoded)", record(["users": ["__op": operation, "objects": .array(pointers)]]))
        let count = try await count("_User", members(id))
        if command.isOn("json") { return printJSON(["members": .number(Double(count))]) }
        say("\(count) member\(count == 1 ? "" : "s")")
    }

    // MARK: users

    func user() async throws {
        guard command.words.count == 2 else { throw wrongUse() }
        let name = command.words[1]
        switch command.words[0] {
        case "show": try await showUser(name)
        case "sessions":
            let sessions = try await find("_Session", try await sessions(of: name))
            var table = TextTable(["session", "since", "until", "installation"])
            for session in sessions {
                if command.isOn("json") {
                    printJSON(.object(session))
                } else {
                    table.rows.append(
                        ["objectId", "createdAt", "expiresAt", "installationId"].map {
                            Cells.field($0, of: session)
                        })
                }
            }
            if !command.isOn("json") { printTable(table) }
        case "logout":
            let condition = try await sessions(of: name)
            guard try isWanted("End all sessions of \(name)?") else { return }
            var ended = 0
            while true {
                let found = try await find("_Session", condition)
                if found.isEmpty { break }
                for session in found {
                    let id = session["objectId"]?.string ?? ""
                    do { _ = try await ask("DELETE", "/sessions/\(id.urlEncoded)") } catch let fault as ServerFault
                        where fault.isNotFound
                    {}
                    ended += 1
                }
            }
            say("\(ended) session\(ended == 1 ? "" : "s") ended")
        case "password": try await setPassword(name)
        case "lock": try await lock(name)
        case "unlock":
            let id = try await findUser(name)["objectId"]?.string ?? ""
            guard try isWanted("Unlock \(name)?") else { return }
            _ = try await ask("DELETE", "/users/\(id.urlEncoded)/lock")
            say("unlocked")
        default: throw wrongUse()
        }
    }

    private func lock(_ name: String) async throws {
        let id = try await findUser(name)["objectId"]?.string ?? ""
        guard try isWanted("Lock \(name)? Nobody can log in there then, and all sessions end.") else { return }
        let answer = try await ask("POST", "/users/\(id.urlEncoded)/lock")
        let ended = Int(answer.object?["sessionsEnded"]?.number ?? 0)
        say("locked, \(ended) session\(ended == 1 ? "" : "s") ended")
    }

    private func sessions(of name: String) async throws -> JSONObject {
        let id = try await findUser(name)["objectId"]?.string ?? ""
        return record([
            "where": ["user": FilterValues.pointer("_User", id)], "order": "-createdAt", "limit": 1000,
            "keys": "user,expiresAt,installationId,createdWith",
        ])
    }

    private func showUser(_ name: String) async throws {
        let id = try await findUser(name)["objectId"]?.string ?? ""
        let copy = CommandContext(
            TypedCommand("get", ["_User:\(id)"], command.flags), server: server, console: console, loop: loop)
        try await copy.get()
        guard !command.isOn("json") else { return }
        let belongs: JSON = ["users": FilterValues.pointer("_User", id)]
        let roles = try await find("_Role", record(["where": belongs, "keys": "name", "order": "name"]))
        say("roles: " + (roles.isEmpty ? "none" : roles.compactMap { $0["name"]?.string }.joined(separator: ", ")))
        let sessions = try await count("_Session", record(["user": FilterValues.pointer("_User", id)]))
        say("sessions: \(sessions)")
        // Parse Server and older versions have no such route.
        let answer = try? await ask("GET", "/users/\(id.urlEncoded)/lock").object
        guard let answer, answer["locked"] == true else { return }
        let end = answer["until"].map { "until \(Cells.text($0)), by wrong passwords" }
        say("locked: " + (end ?? "until it is unlocked"))
    }

    private func setPassword(_ name: String) async throws {
        let id = try await findUser(name)["objectId"]?.string ?? ""
        guard let first = console.ask("New password for \(name): ", true), !first.isEmpty else {
            throw CommandFailure.wrong("no password was given")
        }
        if console.noteIsTerminal {
            guard console.ask("Once more: ", true) == first else {
                throw CommandFailure(1, "the two differ; nothing was changed")
            }
        }
        _ = try await ask("PUT", "/users/\(id.urlEncoded)", record(["password": .string(first)]))
        say("the password of \(name) is changed")
    }

    // MARK: parameters

    func config() async throws {
        let words = command.words
        let answer = try await ask("GET", "/config").object ?? JSONObject()
        let params = answer["params"]?.object ?? JSONObject()
        let marks = answer["masterKeyOnly"]?.object ?? JSONObject()
        switch words.first {
        case nil, "list":
            guard words.count < 2 else { throw wrongUse() }
            if command.isOn("json") { return printJSON(.object(params)) }
            var table = TextTable(["parameter", "for", "value"])
            table.rows = params.members.map { name, value in
                [name, marks[name] == true ? "master key" : "everybody", Cells.text(value)]
            }
            printTable(table)
        case "get" where words.count == 2:
            guard let value = params[words[1]] else { throw CommandFailure.notFound("there is no \(words[1])") }
            if command.isOn("json") { return printJSON(value) }
            say(Cells.text(value))
        case "set" where words.count > 1: try await setConfig(words.dropFirst(), params)
        case "unset" where words.count > 1:
            for name in words.dropFirst() where params[name] == nil {
                throw CommandFailure.notFound("there is no \(name)")
            }
            for name in words.dropFirst() { say("\(name)  \(Cells.text(params[name])) -> -") }
            guard try isWanted("Remove \(words.count == 2 ? "this" : "these")?") else { return }
            let changes = words.dropFirst().map { (key: $0, value: ["__op": "Delete"] as JSON) }
            _ = try await ask("PUT", "/config", record(["params": .object(JSONObject(changes))]))
        default: throw wrongUse()
        }
    }

    private func setConfig(_ words: some Sequence<String>, _ params: JSONObject) async throws {
        var changes = JSONObject()
        var marks = JSONObject()
        for word in words {
            guard let equals = word.firstIndex(of: "="), equals > word.startIndex else {
                throw CommandFailure.wrong("NAME=VALUE was expected, not \(word)")
            }
            let name = String(word[..<equals])
            let text = String(word[word.index(after: equals)...])
            let value = (try? JSONParser.parse(text)) ?? .string(text)
            changes[name] = value
            if command.isOn("secret") { marks[name] = true }
            say("\(name)  \(Cells.text(params[name])) -> \(Cells.text(value))")
        }
        guard try isWanted("Save?") else { return }
        var body = JSONObject([("params", .object(changes))])
        if !marks.isEmpty { body["masterKeyOnly"] = .object(marks) }
        _ = try await ask("PUT", "/config", body)
    }

    // MARK: jobs

    func runJob() async throws {
        guard command.words.count > 1 else { throw wrongUse() }
        let name = command.words[1]
        var parameters = JSONObject()
        for word in command.words.dropFirst(2) {
            guard let equals = word.firstIndex(of: "="), equals > word.startIndex else {
                throw CommandFailure.wrong("PARAMETER=VALUE was expected, not \(word)")
            }
            let text = String(word[word.index(after: equals)...])
            parameters[String(word[..<equals])] = (try? JSONParser.parse(text)) ?? .string(text)
        }
        let started = try await server.send(
            ServerRequest("POST", "/jobs/\(name.urlEncoded)", parameters, key: .master))
        let id = started.headers.first { $0.name.lowercased() == "x-parse-job-status-id" }?.value ?? ""
        if command.isOn("no-wait") { return say("_JobStatus:\(id)") }
        var pause: UInt64 = 50_000_000
        while true {
            let status = try await object("_JobStatus", id)
            let state = status["status"]?.string ?? ""
            if state != "running" {
                let message = status["message"]?.string ?? ""
                if command.isOn("json") {
                    printJSON(.object(status))
                } else {
                    say(message.isEmpty ? state : "\(state): \(message)")
                }
                guard state == "succeeded" else { throw CommandFailure(1, "the job \(name) has \(state)") }
                return
            }
            try await loop.sleep(nanoseconds: pause)
            pause = min(pause * 2, 1_000_000_000)
        }
    }
}
