import Glibc
import Hermes
import TestSupport
import Testing

/// Hooks of every kind, over HTTP on a real server.
@Suite struct HookTests {
    @Test func aHookBeforeASaveRefusesAndCompletes() async throws {
        let app = Hermes()
        app.beforeSave(Tema.self) { request in
            guard request.object.Tema?.count ?? 0 >= 6 else { throw ParseError(142, "El tema es demasiado corto.") }
            if request.isNew { request.object.comentarios = 0 }
        }
        try await withApp(app) { client in
            let short = try await client.asMaster.post("classes/Temas", ["Tema": "Roma"])
            #expect(short.status == 400)
            #expect(short.code == 142)
            #expect(short["error"] == "El tema es demasiado corto.")
            let made = try await client.asMaster.post("classes/Temas", ["Tema": "Roma en tres días"])
            #expect(made.status == 201)
            #expect(made["comentarios"] == 0)
            let id = made["objectId"]?.string ?? ""
            let changed = try await client.asMaster.put("classes/Temas/\(id)", ["comentarios": 4])
            #expect(changed.status == 200)
            let read = try await client.asMaster.get("classes/Temas/\(id)")
            #expect(read["comentarios"] == 4)
            #expect(read["Tema"] == "Roma en tres días")
        }
    }

    /// Deeper than a body can be, by way of a path.
    @Test func aHookSeesHoweverDeepAnObjectIs() async throws {
        @Sendable func nested(_ depth: Int) -> Value { depth == 0 ? 1 : ["a": nested(depth - 1)] }
        let seen = Seen()
        let app = Hermes()
        app.afterSave("Honda") { request in seen.add(request.object["nombre"]?.string ?? "nada") }
        try await withApp(app) { client in
            let made = try await client.asMaster.post("classes/Honda", ["nombre": "uno", "datos": nested(45)])
            let id = made["objectId"]?.string ?? ""
            let path = "datos." + String(repeating: "a.", count: 40) + "hondo"
            let changed = try await client.asMaster.put("classes/Honda/\(id)", ["nombre": "dos", path: nested(500)])
            #expect(changed.status == 200)
            #expect(seen.list == ["uno", "dos"])
        }
    }

    @Test func aHookSeesWhatChangesAndWhatWasThere() async throws {
        let seen = Seen()
        let app = Hermes()
        app.beforeSave(Tema.self) { request in
            seen.add(
                "antes \(request.changed(\.Tema)) \(request.changed(\.comentarios)) "
                    + "\(request.original?.comentarios ?? -1) \(request.object.comentarios ?? -1)")
            // What stands is sent again: no change.
            if !request.isNew, request.changed(\.autor) { throw ParseError(119, "El autor queda.") }
        }
        app.afterSave(Tema.self) { request in
            seen.add("después \(request.changed(\.Tema)) \(request.object.comentarios ?? -1) \(request.isNew)")
            request.object["aviso"] = "visto"
        }
        try await withApp(app) { client in
            let master = client.asMaster
            let author: Value = ["__type": "Pointer", "className": "_User", "objectId": "u1"]
            let made = try await master.post("classes/Temas", ["Tema": "Roma", "comentarios": 1, "autor": author])
            #expect(made["aviso"] == "visto")
            #expect(seen.list == ["antes true true -1 1", "después true 1 true"])
            let path = "classes/Temas/\(made["objectId"]?.string ?? "")"
            _ = try await master.put(
                path, ["comentarios": ["__op": "Increment", "amount": 2], "Tema": "Roma", "autor": author])
            #expect(Array(seen.list.suffix(2)) == ["antes false true 1 3", "después false 3 false"])
            let refused = try await master.put(path, ["autor": ["__op": "Delete"]])
            #expect(refused.code == 119)
            let stored = try await master.get(path)
            #expect(stored["aviso"] == nil)
            #expect(stored["comentarios"] == 3)
        }
    }

    @Test func fieldsOfAnyNameStayWhereAHookChangesTheObject() async throws {
        let app = Hermes()
        app.beforeSave("Llaves") { request in request.object["visto"] = true }
        try await withApp(app) { client in
            let master = client.asMaster
            let sent: Value = ["sessionToken": "r1", "authData": ["puerta": ["id": "7"]], "password": "abre"]
            let made = try await master.post("classes/Llaves", sent)
            let path = "classes/Llaves/\(made["objectId"]?.string ?? "")"
            let stored = try await master.get(path)
            for name in ["sessionToken", "authData", "password"] { #expect(stored[name] == sent[name]) }
            _ = try await master.put(path, ["sessionToken": "r2"])
            #expect(try await master.get(path)["sessionToken"] == "r2")
        }
    }

    /// As where it keeps a count that only the master reads: sets it and saves it.
    @Test func protectedFieldsThatAHookSetsAreNotShown() async throws {
        let app = Hermes()
        app.beforeSave("Votos") { request in request.object["antes"] = "secreto" }
        app.afterSave("Votos") { request in
            request.object["despues"] = "secreto"
            request.object["visto"] = true
        }
        try await withApp(app) { client in
            let open: Value = ["*": true]
            let permissions: Value = [
                "create": open, "get": open, "protectedFields": ["*": ["antes", "despues"]],
            ]
            _ = try await client.asMaster.post(
                "schemas/Votos",
                [
                    "fields": ["antes": ["type": "String"], "despues": ["type": "String"]],
                    "classLevelPermissions": permissions,
                ])
            let made = try await client.post("classes/Votos", [:])
            #expect(made.status == 201)
            #expect(made["visto"] == true)
            #expect(made["antes"] == nil && made["despues"] == nil)
            #expect(try await client.asMaster.post("classes/Votos", [:])["despues"] == "secreto")
        }
    }

    @Test func deletesAreRefusedAndTold() async throws {
        let seen = Seen()
        let app = Hermes()
        app.beforeDelete(Tema.self) { request in
            if request.object.comentarios ?? 0 > 0 { throw ParseError(119, "Tiene comentarios.") }
        }
        app.afterDelete(Tema.self) { request in seen.add(request.object.Tema ?? "") }
        try await withApp(app) { client in
            let master = client.asMaster
            let full = try await master.post("classes/Temas", ["Tema": "lleno", "comentarios": 1])
            let empty = try await master.post("classes/Temas", ["Tema": "vacío"])
            let refused = try await master.delete("classes/Temas/\(full["objectId"]?.string ?? "")")
            #expect(refused.code == 119)
            let gone = try await master.delete("classes/Temas/\(empty["objectId"]?.string ?? "")")
            #expect(gone.status == 200)
            #expect(seen.list == ["vacío"])
        }
    }

    @Test func findsAreNarrowedAndTheirResultsChanged() async throws {
        let app = Hermes()
        app.beforeFind(Tema.self) { request in
            if !request.isMaster { request.query = request.query.where(\.cerrado != true) }
        }
        app.afterFind(Tema.self) { request in
            request.objects.removeAll { $0.Tema == "oculto" }
            for index in request.objects.indices { request.objects[index]["largo"] = 4 }
        }
        app.beforeFind("Nada") { request in request.objects = [Object("Nada", ["inventado": true])] }
        try await withApp(app) { client in
            let master = client.asMaster
            for tema in [["Tema": "Roma"], ["Tema": "Bari", "cerrado": true], ["Tema": "oculto"]] as [Value] {
                _ = try await master.post("classes/Temas", tema)
            }
            _ = try await master.post("classes/Nada", ["n": 1])
            let found = try await client.get("classes/Temas")
            #expect(found["results"]?.array?.map { $0.pointer?.object?["Tema"] ?? $0["Tema"] } == ["Roma"])
            #expect(found["results"]?[0]?["largo"] == 4)
            let all = try await master.get("classes/Temas")
            #expect(all["results"]?.array?.count == 2)
            let invented = try await master.get("classes/Nada")
            #expect(invented["results"]?[0]?["inventado"] == true)
        }
    }

    @Test func aPasswordThatAHookSetsIsNotToldOf() async throws {
        let app = Hermes()
        app.beforeSave("_User") { request in
            if request.object["olvidada"] == true { request.object["password"] = "nueva" }
        }
        try await withApp(app) { client in
            let ana = try await client.signUp("ana")
            let id = try await ana.get("users/me")["objectId"]?.string ?? ""
            let changed = try await client.asMaster.put("users/\(id)", ["olvidada": true])
            #expect(changed.status == 200)
            #expect(changed["password"] == nil)
            #expect(try await client.post("login", ["username": "ana", "password": "nueva"]).status == 200)
        }
    }

    @Test func logInsAndLogOutsAreTold() async throws {
        let seen = Seen()
        let app = Hermes()
        app.beforeLogin(as: Usuario.self) { request in
            if request.object.ciudad == "vetada" { throw ParseError(4801, "Vetada.") }
        }
        app.afterLogin { request in seen.add("entra \(request.object.username ?? "")") }
        app.afterLogout { request in seen.add("sale \(request.session.user != nil)") }
        try await withApp(app) { client in
            let signedUp = try await client.post("users", ["username": "ana", "password": "x"])
            let login: Value = ["username": "ana", "password": "x"]
            let loggedIn = try await client.post("login", login)
            let token = loggedIn["sessionToken"]?.string ?? ""
            _ = try await client.asSession(token).post("logout")
            #expect(seen.list == ["entra ana", "sale true"])
            _ = try await client.asMaster.put(
                "users/\(signedUp["objectId"]?.string ?? "")", ["ciudad": "vetada"])
            let refused = try await client.post("login", login)
            #expect(refused.code == 4801)
        }
    }

    @Test func whatIsThrownOtherwiseSaysNothing() async throws {
        struct Secret: Error { let password = "hunter2" }
        let app = Hermes()
        app.beforeSave("Temas") { _ in throw Secret() }
        try await withApp(app) { client in
            let refused = try await client.asMaster.post("classes/Temas", ["Tema": "Roma"])
            #expect(refused.code == 141)
            #expect(refused["error"]?.string?.contains("hunter2") == false)
        }
    }

    @Test func aHookThatTakesTooLongIsStopped() async throws {
        let app = Hermes()
        app.beforeSave("Temas", timeLimit: .milliseconds(200)) { _ in try await Task.sleep(for: .seconds(3600)) }
        try await withApp(app) { client in
            let refused = try await client.asMaster.post("classes/Temas", ["Tema": "Roma"])
            #expect(refused.code == 141)
            #expect(refused["error"]?.string?.contains("beforeSave Temas") == true)
        }
    }

    @Test(.timeLimit(.minutes(2))) func hooksThatBlockTheirThreadsKeepNoOtherFromRunning() async throws {
        let gate = Gate()
        // More than the machine has processors, and so than Swift's own pool has threads.
        let count = 4 * sysconf(Int32(_SC_NPROCESSORS_ONLN))
        let app = Hermes()
        app.beforeSave("Lentos", timeLimit: .seconds(120)) { _ in gate.pass() }
        app.beforeSave("Temas") { request in request.object["visto"] = true }
        try await withApp(app) { client in
            for name in ["Lentos", "Temas"] { _ = try await client.asMaster.post("schemas/\(name)", ["fields": [:]]) }
            defer { gate.open() }
            let slow = (0..<count).map { number in
                Task { try await client.asMaster.post("classes/Lentos", ["n": .number(Double(number))]).status }
            }
            var blocked = 0
            for await _ in gate.arrivals {
                blocked += 1
                if blocked == count { break }
            }
            let made = try await client.asMaster.post("classes/Temas", ["Tema": "Roma"])
            #expect(made.status == 201)
            gate.open()
            for task in slow { #expect(try await task.value == 201) }
        }
    }

    @Test func theRequestIsTold() async throws {
        let seen = Seen()
        let app = Hermes()
        app.beforeSave(Tema.self) { request in
            let user = try await request.fetchUser(as: Usuario.self)
            seen.add(
                "\(user?.username ?? "-") \(request.user?.objectId == user?.objectId) \(request.isMaster) "
                    + "\(request.headers["x-viaje"] ?? "-") \(request.installationId ?? "-") "
                    + "\(request.address ?? "-") \(request.context["de"]?.string ?? "-")")
            request.context["antes"] = true
            request.log.info("visto", ["n": 1])
        }
        app.afterSave(Tema.self) { request in seen.add("\(request.context["antes"] == true)") }
        try await withApp(app) { client in
            let ana = try await client.signUp("ana")
            _ = try await client.asMaster.post("schemas/Temas", ["fields": [:]])
            let made = try await ana.with(header: "X-Viaje", "largo").with(header: "X-Parse-Installation-Id", "i1")
                .with(header: "X-Parse-Cloud-Context", #"{"de":"cliente"}"#).post("classes/Temas", ["Tema": "Roma"])
            #expect(made.status == 201)
            #expect(seen.list == ["ana true false largo i1 127.0.0.1 cliente", "true"])
        }
    }

    @Test func aHookThatChangesAUserLosesNoPassword() async throws {
        let app = Hermes()
        app.beforeSave(Usuario.self) { request in request.object.ciudad = "Bari" }
        try await withApp(app) { client in
            let ana = try await client.signUp("ana", password: "uno")
            let me = try await ana.get("users/me")
            #expect(me["ciudad"] == "Bari")
            let changed = try await ana.put("users/\(me["objectId"]?.string ?? "")", ["password": "dos"])
            #expect(changed.status == 200)
            let old = try await client.post("login", ["username": "ana", "password": "uno"])
            #expect(old.code == 101)
            let new = try await client.post("login", ["username": "ana", "password": "dos"])
            #expect(new.status == 200)
        }
    }
}
