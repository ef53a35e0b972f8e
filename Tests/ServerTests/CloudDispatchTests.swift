import Cloud
import Core
import HTTP
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Server

/// How an application's cloud code is called, whoever provides it: here plain closures.
@Suite struct CloudDispatchTests {
    // MARK: writes

    @Test func beforeSaveIsToldAnIdThatTheClientHasChosen() async throws {
        let calls = CloudCalls()
        var code = CloudCode()
        var handler = CloudHandler("prueba") { call in
            calls.add(call)
            return CloudAnswer()
        }
        handler.needsObject = false
        code.triggers[Trigger(.beforeSave, on: "Temas")] = [handler]
        try await withServer(cloud: code, { $0.allowCustomObjectId = true }) { server in
            let client = server.client
            try await client.must("POST", "/classes/Temas", ["objectId": "mio", "a": 1], master: true)
            #expect(calls.last["objectId"] == "mio")
            try await client.must("PUT", "/classes/Temas/mio", ["a": 2], master: true)
            #expect(calls.last["objectId"] == nil)
            try await client.must("POST", "/classes/Temas", ["a": 1], master: true)
            #expect(calls.last["objectId"] == nil)
        }
    }

    @Test func beforeSaveSeesHowSomebodySignsUpAndChangesNothingOfIt() async throws {
        let calls = CloudCalls()
        let code = CloudCode(.beforeSave, on: "_User") { call in
            calls.add(call)
            var object = call.changes ?? JSONObject()
            object["authData"] = ["anonymous": ["id": "otra"]]
            object["edad"] = 7
            return CloudAnswer(["object": .object(object)])
        }
        try await withServer(cloud: code) { server in
            let logins: JSON = ["anonymous": ["id": "una"]]
            let made = try await server.client.send("POST", "/users", ["authData": logins, "nombre": "Ana"])
            #expect(made.status == 201 && made.json["edad"] == 7 && made.json["authData"] == nil)
            #expect(calls.last["object"]?.object?["authData"] == logins)
            let session = made.json["sessionToken"]?.string
            let user = try await server.client.send("GET", "/users/me", session: session)
            #expect(user.json["authData"] == logins)
        }
    }

    @Test func beforeSaveSeesWhatIsToBeWrittenAndMayReplaceIt() async throws {
        let calls = CloudCalls()
        let code = CloudCode(.beforeSave) { call in
            calls.add(call)
            var object = call.changes ?? JSONObject()
            object["Tema"] = .string((object["Tema"]?.string ?? "").uppercased())
            object["ACL"] = ["*": ["read": true]]
            return CloudAnswer(["object": .object(object)])
        }
        try await withServer(cloud: code) { server in
            let client = server.client
            let made = try await client.send("POST", "/classes/Temas", ["Tema": "viaje", "votos": 1], master: true)
            #expect(made.status == 201)
            #expect(made.json["Tema"] == "VIAJE")
            #expect(made.json["ACL"] == ["*": ["read": true]])
            // What it left as it was is not told.
            #expect(made.json["votos"] == nil)
            let payload = calls.last
            #expect(payload["triggerName"] == "beforeSave")
            #expect(payload["object"] == ["className": "Temas", "Tema": "viaje", "votos": 1])
            #expect(payload["original"] == nil)
            #expect(payload["master"] == true)
            #expect(payload["installationId"] == "cloud")
            let id = made.objectId ?? ""
            let changed = try await client.send(
                "PUT", "/classes/Temas/\(id)", ["votos": ["__op": "Increment", "amount": 2]], master: true)
            #expect(changed.json["votos"] == 3)
            #expect(calls.last["original"]?.object?["votos"] == 1)
            #expect(calls.last["object"]?.object?["votos"] == ["__op": "Increment", "amount": 2])
            #expect(calls.last["object"]?.object?["Tema"] == "VIAJE")
            let stored = try await server.all("Temas")
            #expect(stored.count == 1)
            #expect(stored.first?["votos"] == 3)
        }
    }

    @Test func aRefusalIsTheClientsAnswerAndNothingIsWritten() async throws {
        let code = CloudCode(.beforeSave) { _ in throw ParseError(4801, "El tema está cerrado.") }
        try await withServer(cloud: code) { server in
            let reply = try await server.client.send("POST", "/classes/Temas", ["Tema": "x"], master: true)
            #expect(reply.status == 400)
            #expect(reply.json["code"] == 4801)
            #expect(reply.json["error"] == "El tema está cerrado.")
            let stored = try await server.all("Temas")
            #expect(stored.isEmpty)
        }
    }

    @Test func whatIsThrownOtherwiseIs141AndSaysNothing() async throws {
        struct Secret: Error { let password = "hunter2" }
        let code = CloudCode(.beforeSave) { _ in throw Secret() }
        try await withServer(cloud: code) { server in
            let reply = try await server.client.send("POST", "/classes/Temas", ["Tema": "x"], master: true)
            #expect(reply.json["code"] == 141)
            #expect(reply.json["error"]?.string?.contains("hunter2") == false)
        }
    }

    @Test func afterSaveSeesWhatStandsAndMayAnswerInItsPlace() async throws {
        let calls = CloudCalls()
        let code = CloudCode(.afterSave) { call in
            calls.add(call)
            switch call.wholePayload["object"]?.object?["Tema"] {
            case "otro": return CloudAnswer(["object": ["aviso": "guardado"]])
            case "campo": return CloudAnswer(["fields": ["extra": 1]])
            case "falla": throw ParseError(1, "tarde")
            default: return CloudAnswer()
            }
        }
        try await withServer(cloud: code) { server in
            let client = server.client
            let made = try await client.send(
                "POST", "/classes/Temas", ["Tema": "uno", "n": ["__op": "Increment", "amount": 4], "otra": nil],
                master: true)
            let object = calls.last["object"]?.object
            #expect(object?["objectId"]?.string == made.objectId)
            #expect(object?["n"] == 4)
            #expect(object?["Tema"] == "uno")
            #expect(object?["createdAt"] != nil)
            #expect(object?["updatedAt"] != nil)
            _ = try await client.send("PUT", "/classes/Temas/\(made.objectId ?? "")", ["Tema": "dos"], master: true)
            #expect(calls.last["original"]?.object?["Tema"] == "uno")
            #expect(calls.last["object"]?.object?["Tema"] == "dos")
            #expect(calls.last["object"]?.object?["n"] == 4)
            let other = try await client.send("POST", "/classes/Temas", ["Tema": "otro"], master: true)
            #expect(other.json == ["aviso": "guardado"])
            let field = try await client.send("POST", "/classes/Temas", ["Tema": "campo"], master: true)
            #expect(field.json["extra"] == 1)
            #expect(field.objectId != nil)
            // Its errors change nothing.
            let failed = try await client.send("POST", "/classes/Temas", ["Tema": "falla"], master: true)
            #expect(failed.status == 201)
        }
    }

    @Test func deletesAreShownBeforeAndAfter() async throws {
        let calls = CloudCalls()
        var code = CloudCode(.beforeDelete) { call in
            calls.add(call)
            if call.payload["object"]?.object?["fijo"] == true { throw ParseError(4802, "No se borra.") }
            return CloudAnswer()
        }
        code.add(.afterDelete, on: "Temas") { call in
            calls.add(call)
            return CloudAnswer()
        }
        try await withServer(cloud: code) { server in
            let fixed = try await server.client.create("Temas", ["fijo": true])
            let loose = try await server.client.create("Temas", ["Tema": "adiós"])
            let refused = try await server.client.send("DELETE", "/classes/Temas/\(fixed)", master: true)
            #expect(refused.json["code"] == 4802)
            let deleted = try await server.client.send("DELETE", "/classes/Temas/\(loose)", master: true)
            #expect(deleted.status == 200)
            #expect(
                calls.payloads.map { $0["triggerName"]?.string } == ["beforeDelete", "beforeDelete", "afterDelete"])
            #expect(calls.last["object"]?.object?["Tema"] == "adiós")
            // Who may not delete is refused before any hook is asked.
            let stranger = try await server.client.send("DELETE", "/classes/Temas/nadie", master: true)
            #expect(stranger.json["code"] == 101)
            #expect(calls.count == 3)
        }
    }

    // MARK: the way back

    @Test func whatAHookWritesInATransactionIsKeptOrUndoneWithIt() async throws {
        var code = CloudCode()
        var handler = CloudHandler("prueba") { call in
            _ = try await call.caller.send(
                CloudRequest("POST", "classes/Notas", body: ["de": "hook"], as: .master))
            // What fails within is undone alone, and the transaction goes on.
            do {
                _ = try await call.caller.send(CloudRequest("POST", "classes/Notas", body: ["de": 7], as: .master))
            } catch let error as ParseError { #expect(error.code == 111) }
            if call.changes?["falla"] == true { throw ParseError(4804, "no") }
            return CloudAnswer()
        }
        handler.inTransaction = true
        code.triggers[Trigger(.beforeSave, on: "Temas")] = [handler]
        try await withServer(cloud: code) { server in
            let client = server.client
            _ = try await client.create("Notas", ["de": "prueba"])
            let kept = try await client.send("POST", "/classes/Temas", ["falla": false], master: true)
            #expect(kept.status == 201)
            let after = try await server.all("Notas")
            #expect(after.count == 2)
            let undone = try await client.send("POST", "/classes/Temas", ["falla": true], master: true)
            #expect(undone.json["code"] == 4804)
            let end = try await server.all("Notas")
            #expect(end.count == 2)
        }
    }

    @Test func requestsOfCloudCodeHaveTheRightsTheyAskFor() async throws {
        var code = CloudCode()
        code.functions["leer"] = CloudHandler("leer") { call in
            let path = "classes/Privado/\(call.payload["params"]?.object?["id"]?.string ?? "")"
            var seen = JSONObject()
            var authorities: [(String, CloudRequest.Authority)] = [
                ("nadie", .nobody), ("casa", .master), ("quien", .caller),
            ]
            if let token = call.sessionToken { authorities.append(("sesión", .session(token))) }
            for (name, authority) in authorities {
                do {
                    let response = try await call.caller.send(CloudRequest("GET", path, as: authority))
                    seen[name] = response.body.object?["n"]
                } catch let error as ParseError { seen[name] = .number(Double(error.code ?? 0)) }
            }
            return CloudAnswer(.object(seen))
        }
        try await withServer(cloud: code) { server in
            let client = server.client
            let ana = try await client.signUp("ana")
            let id = try await client.create(
                "Privado", ["n": 1, "ACL": .object(JSONObject([(ana.id, ["read": true])]))])
            let own = try await client.send("POST", "/functions/leer", ["id": .string(id)], session: ana.token)
            #expect(own.json["result"] == ["nadie": 101, "casa": 1, "quien": 1, "sesión": 1])
            let stranger = try await client.send("POST", "/functions/leer", ["id": .string(id)])
            #expect(stranger.json["result"] == ["nadie": 101, "casa": 1, "quien": 101])
        }
    }

    /// Cloud code is told so as every client is, whatever it asks of them.
    @Test func filesAreNotServedYet() async throws {
        var code = CloudCode()
        code.functions["fichero"] = CloudHandler("fichero") { call in
            var codes: [JSON] = []
            for (method, path) in [("POST", "files/a.txt"), ("DELETE", "files/a.txt"), ("GET", "files/app/a.txt")] {
                do {
                    _ = try await call.caller.send(
                        CloudRequest(method, path, body: ["base64": "YQ=="], as: .master))
                    codes.append(.null)
                } catch let error as ParseError { codes.append(.number(Double(error.code ?? 0))) }
            }
            return CloudAnswer(.array(codes))
        }
        try await withServer(cloud: code) { server in
            let reply = try await server.client.send("POST", "/functions/fichero", [:])
            #expect(reply.json["result"] == [108, 108, 108])
        }
    }

    @Test func hooksThatSaveInACircleAreStopped() async throws {
        let code = CloudCode(.beforeSave) { call in
            _ = try await call.caller.send(CloudRequest("POST", "classes/Temas", body: ["n": 1], as: .master))
            return CloudAnswer()
        }
        try await withServer(cloud: code) { server in
            let reply = try await server.client.send("POST", "/classes/Temas", ["n": 0], master: true)
            #expect(reply.json["code"] == 141)
            let stored = try await server.all("Temas")
            #expect(stored.isEmpty)
        }
    }

    @Test func theContextGoesFromHookToHook() async throws {
        let calls = CloudCalls()
        var code = CloudCode(.beforeSave) { call in
            var context = call.payload["context"]?.object ?? JSONObject()
            context["antes"] = true
            return CloudAnswer(nil, context: context)
        }
        code.add(.afterSave, on: "Temas") { call in
            calls.add(call)
            return CloudAnswer()
        }
        try await withServer(cloud: code) { server in
            _ = try await server.client.send(
                "POST", "/classes/Temas", ["n": 1], master: true,
                headers: [("X-Parse-Cloud-Context", #"{"de":"cliente"}"#)])
            #expect(calls.last["context"] == ["de": "cliente", "antes": true])
        }
    }

    // MARK: functions, sessions, limits

    @Test func functionsAreToldTheirParametersAndMaySetTheStatus() async throws {
        let calls = CloudCalls()
        var code = CloudCode()
        code.functions["con.punto"] = CloudHandler("f") { call in
            calls.add(call)
            var answer = CloudAnswer(call.payload["params"])
            answer.status = 202
            answer.headers = [("X-Viaje", "nuevo")]
            return answer
        }
        code.functions["nada"] = CloudHandler("f") { _ in CloudAnswer() }
        try await withServer(cloud: code) { server in
            let client = server.client
            let reply = try await client.send(
                "POST", "/functions/con.punto?a=2", ["a": 1, "b": nil],
                headers: [("X-Parse-Installation-Id", "i1"), ("X-Parse-Maintenance-Key", "falsa")])
            #expect(reply.status == 202)
            #expect(reply.json["result"] == ["a": "2", "b": nil])
            #expect(reply.header("X-Viaje") == "nuevo")
            let payload = calls.last
            #expect(payload["functionName"] == "con.punto")
            #expect(payload["installationId"] == "i1")
            #expect(payload["headers"]?.object?["x-parse-application-id"] != nil)
            #expect(payload["headers"]?.object?["x-parse-maintenance-key"] == nil)
            #expect(payload["user"] == nil)
            let nothing = try await client.send("POST", "/functions/nada")
            #expect(nothing.json == [:])
            let unknown = try await client.send("POST", "/functions/otra")
            #expect(unknown.json["code"] == 141)
            let ana = try await client.signUp("ana")
            _ = try await client.send("POST", "/functions/con.punto", [:], session: ana.token)
            #expect(calls.last["user"]?.object?["username"] == "ana")
            #expect(calls.last["user"]?.object?["sessionToken"] == nil)
            _ = try await client.send("POST", "/functions/con.punto", [:], master: true)
            #expect(calls.last["headers"]?.object?["x-parse-master-key"] == nil)
        }
    }

    @Test func logInsAndLogOutsAreShown() async throws {
        let calls = CloudCalls()
        var code = CloudCode()
        for kind in [TriggerKind.beforeLogin, .afterLogin] {
            code.add(kind, on: "_User") { call in
                calls.add(call)
                if call.payload["object"]?.object?["vetada"] == true { throw ParseError(4805, "Vetada.") }
                return CloudAnswer()
            }
        }
        code.add(.afterLogout, on: "_Session") { call in
            calls.add(call)
            return CloudAnswer()
        }
        try await withServer(cloud: code) { server in
            let client = server.client
            let ana = try await client.signUp("ana")
            #expect(calls.count == 0)
            let body: JSON = ["username": "ana", "password": "secret"]
            let loggedIn = try await client.send("POST", "/login", body)
            #expect(loggedIn.status == 200)
            #expect(calls.payloads.map { $0["triggerName"]?.string } == ["beforeLogin", "afterLogin"])
            #expect(calls.last["object"]?.object?["objectId"]?.string == ana.id)
            _ = try await client.send("POST", "/logout", [:], session: loggedIn.sessionToken)
            #expect(calls.last["triggerName"] == "afterLogout")
            #expect(calls.last["object"]?.object?["className"] == "_Session")
            _ = try await client.send("PUT", "/users/\(ana.id)", ["vetada": true], master: true)
            let refused = try await client.send("POST", "/login", body)
            #expect(refused.json["code"] == 4805)
            let wrong = try await client.send("POST", "/login", ["username": "ana", "password": "x"])
            #expect(wrong.json["code"] == 101)
        }
    }

    @Test func whatNeverEndsIsStoppedAndUndone() async throws {
        var code = CloudCode()
        var handler = CloudHandler("lento") { call in
            _ = try await call.caller.send(CloudRequest("POST", "classes/Notas", body: ["n": 1], as: .master))
            try await Waiter().wait()
            return CloudAnswer()
        }
        handler.inTransaction = true
        handler.timeLimit = 0.3
        code.triggers[Trigger(.beforeSave, on: "Temas")] = [handler]
        try await withServer(cloud: code) { server in
            let reply = try await server.client.send("POST", "/classes/Temas", ["n": 1], master: true)
            #expect(reply.json["code"] == 141)
            #expect(reply.json["error"]?.string?.contains("lento") == true)
            let notes = try await server.all("Notas")
            #expect(notes.isEmpty)
            let temas = try await server.all("Temas")
            #expect(temas.isEmpty)
        }
    }

    /// Its client was told that nothing happened; so nothing may happen later either.
    @Test func whatWasStoppedWritesNothingAnyMore() async throws {
        let isOver = Waiter()
        let hasTried = Waiter()
        var code = CloudCode()
        var handler = CloudHandler("sordo") { call in
            // Deaf to its cancellation.
            let caller = call.caller
            await Task.detached {
                try? await isOver.wait()
                _ = try? await caller.send(CloudRequest("POST", "classes/Notas", body: ["n": 1], as: .master))
                hasTried.resume()
            }.value
            return CloudAnswer()
        }
        handler.timeLimit = 0.2
        code.triggers[Trigger(.beforeSave, on: "Temas")] = [handler]
        try await withServer(cloud: code) { server in
            let reply = try await server.client.send("POST", "/classes/Temas", ["n": 1], master: true)
            #expect(reply.json["code"] == 141)
            isOver.resume()
            try await hasTried.wait()
            let notes = try await server.all("Notas")
            #expect(notes.isEmpty)
        }
    }

    /// As where it counts: the write stands, so the count does too.
    @Test(arguments: ["afterSave", "afterDelete"])
    func whatFollowsAWriteIsDoneThoughItsClientHasGone(kind: String) async throws {
        let hasBegun = Waiter()
        let goesOn = Waiter()
        let isAsked = Waiter()
        let isMissed = Waiter()
        var code = CloudCode()
        code.functions["espera"] = CloudHandler("espera") { _ in
            isAsked.resume()
            defer { isMissed.resume() }
            try await Waiter().wait()
            return CloudAnswer()
        }
        code.triggers[Trigger(try #require(TriggerKind(rawValue: kind)), on: "Temas")] = [
            CloudHandler("detrás") { call in
                hasBegun.resume()
                try await goesOn.wait()
                _ = try await call.caller.send(CloudRequest("POST", "classes/Notas", body: ["n": 1], as: .master))
                return CloudAnswer()
            }
        ]
        try await withServer(cloud: code) { server in
            let client = server.client
            try await client.must("POST", "/classes/Notas", ["n": 0], master: true)
            let task = server.loop.spawn {
                guard kind == "afterDelete" else {
                    _ = try? await client.send("POST", "/classes/Temas", ["n": 1], master: true)
                    return
                }
                let made = try? await client.must("POST", "/classes/Temas", ["n": 1], master: true)
                _ = try? await client.send("DELETE", "/classes/Temas/\(made?.objectId ?? "")", master: true)
            }
            try await hasBegun.wait()
            task.cancel()
            await task.value
            // Who went later is missed: so is the first.
            let other = server.loop.spawn { _ = try? await client.send("POST", "/functions/espera") }
            try await isAsked.wait()
            other.cancel()
            await other.value
            try await isMissed.wait()
            goesOn.resume()
            let isDone = try await eventually(server.loop) { try await server.all("Notas").count == 2 }
            #expect(isDone)
        }
    }

    @Test func whatIsRegisteredLaterCountsFromTheNextRequest() async throws {
        try await withServer(workers: 2) { server in
            let client = server.client
            let before = try await client.send("POST", "/functions/tardía")
            #expect(before.json["code"] == 141)
            var code = CloudCode()
            code.functions["tardía"] = CloudHandler("f") { _ in CloudAnswer("ya") }
            server.nodes[0].cloud.set(code, of: .javascript)
            for _ in 0..<8 {
                let after = try await client.send("POST", "/functions/tard%C3%ADa")
                #expect(after.json["result"] == "ya")
            }
        }
    }
}
