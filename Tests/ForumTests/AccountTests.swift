import Hermes
import Testing

@Suite struct AccountTests {
    @Test func namesAndAddressesAreOneInAnyCase() async throws {
        try await withForum { village in
            let ana = try await village.member("Ana")
            let same = try await village.stranger.post(
                "users", ["username": "ANA", "password": "x", "email": "otra@example.com"])
            #expect(same.code == 202)
            let address = try await village.stranger.post(
                "users", ["username": "otra", "password": "x", "email": "ANA@example.com"])
            #expect(address.code == 203)
            let none = try await village.stranger.post("users", ["username": "otra", "password": "x"])
            #expect(none.code == 204)
            for login: Value in [
                ["username": "aNA", "password": "Clave-7"], ["username": "ana@EXAMPLE.com", "password": "Clave-7"],
                ["email": "ANA@example.com", "password": "Clave-7"],
            ] {
                let answer = try await village.stranger.post("login", login)
                #expect(answer["objectId"]?.string == ana.id, "\(answer.body)")
            }
            let wrong = try await village.stranger.post("login", ["username": "ana", "password": "clave-7"])
            #expect(wrong.code == 101)
        }
    }

    @Test func blanksMakeNoOtherNameOrAddress() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            func signUp(_ name: String, _ address: String) async throws -> TestAnswer {
                try await village.stranger.post(
                    "users", ["username": .string(name), "password": "x", "email": .string(address)])
            }
            for (name, address, code) in [
                (" ana", "otra@example.com", 202), ("ANA\u{3000}", "otra@example.com", 202),
                ("\u{3000} ", "otra@example.com", 200), ("otra", " ana@example.com", 203),
                ("otra", "ANA@example.com\n", 203), ("otra", "ana @example.com", 125), ("otra", "\u{3000}", 204),
            ] {
                let answer = try await signUp(name, address)
                #expect(answer.code == code, "\(name), \(address): \(answer.body)")
            }
            let bea = try await signUp(" bea ", " bea@example.com ")
            #expect(bea.status == 201, "\(bea.body)")
            let row = try await village.master.get("users/\(bea.id)")
            #expect(row["username"] == "bea" && row["email"] == "bea@example.com" && row["clave"] == "bea")
            let path = "users/\(ana.id)"
            #expect(try await ana.client.put(path, ["username": "  "]).code == 200)
            #expect(try await ana.client.put(path, ["username": "bea "]).code == 202)
            #expect(try await ana.client.put(path, ["email": "bea@example.com "]).code == 203)
        }
    }

    /// They stand beside everything that somebody writes.
    @Test func namesHaveALength() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let marked = "a" + String(repeating: "\u{301}", count: 2000)
            for name in [String(repeating: "x", count: 61), marked, ".", ".. "] {
                let answer = try await village.stranger.post(
                    "users", ["username": .string(name), "password": "x", "email": "otra@example.com"])
                #expect(answer.code == 142, "\(answer.body)")
                #expect(try await ana.client.put("users/\(ana.id)", ["username": .string(name)]).code == 142)
            }
            let right: [String: Value] = [
                "usuario": .string(String(repeating: "é", count: 60)), "contraseña": "x", "correo": "eva@example.com",
                "nombre": "Eva", "movil": "600100200", "ciudad": "Soria", "apellidos": "Luz",
            ]
            for (field, persona) in [("nombre", "Nombre"), ("apellidos", "Apellidos"), ("ciudad", "ciudad")] {
                let long = Value.string(String(repeating: "x", count: 101))
                let refused = try await village.stranger.post(
                    "functions/registrar", .object(right.merging([field: long]) { _, new in new }))
                #expect(refused.code == 142, "\(refused.body)")
                #expect(refused["error"]?.string?.contains(": \(field).") == true, "\(refused.body)")
                let change = try await ana.client.put("classes/Persona/\(ana.persona)", [persona: long])
                #expect(change.code == 142, "\(change.body)")
            }
            let made = try await village.stranger.post("functions/registrar", .object(right))
            #expect(made.status == 200, "\(made.body)")
        }
    }

    @Test func aBannedMemberChangesNothingThatOthersSee() async throws {
        try await withForum { village in
            let banned = try await village.banned()
            for (path, body) in [
                ("classes/Persona/\(banned.persona)", ["Nombre": "Otro"]), ("users/\(banned.id)", ["username": "otro"]),
            ] as [(String, Value)] {
                let answer = try await banned.client.put(path, body)
                #expect(answer.code == 119, "\(path): \(answer.body)")
            }
            #expect(try await banned.client.put("users/\(banned.id)", ["password": "Otra-8"]).status == 200)
        }
    }

    @Test func othersSeeTheNameAlone() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            let mod = try await village.moderator()
            for client in [village.stranger, bea.client, mod.client] {
                let seen = try await client.get("users/\(ana.id)")
                let names = Set(seen.body.object.map { Array($0.keys) } ?? [])
                #expect(names == ["objectId", "createdAt", "updatedAt", "username", "ACL"], "\(seen.body)")
                let search = try await client.get("users?where=\(#"{"email":"ana@example.com"}"#.inURL)")
                #expect(search.code == 119)
                let key = try await client.get("users?where=\(#"{"clave":"ana"}"#.inURL)")
                #expect(key.code == 119)
                let change = try await client.put("users/\(ana.id)", ["username": "robada"])
                #expect(change.code == 206)
            }
            let own = try await ana.client.get("users/me")
            #expect(own["email"] == "ana@example.com")
        }
    }

    @Test func topicsOfInterestAreOnesOwn() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            let topic = try await bea.open("Islas Cíes").topic
            let liked = try await ana.client.put(
                "users/\(ana.id)",
                ["favoritos": ["__op": "AddRelation", "objects": [.pointer(AnyPointer("Temas", topic))]]])
            #expect(liked.status == 200, "\(liked.body)")
            let condition =
                #"{"$relatedTo":{"object":{"__type":"Pointer","className":"_User","objectId":"\#(ana.id)"},"key":"favoritos"}}"#
            let mine = try await ana.client.get("classes/Temas?where=\(condition.inURL)")
            #expect(mine.results.count == 1, "\(mine.body)")
            for client in [village.stranger, bea.client] {
                let theirs = try await client.get("classes/Temas?where=\(condition.inURL)")
                #expect(theirs.code == 119)
            }
        }
    }

    @Test func registeringIsAllOrNothing() async throws {
        try await withForum { village in
            let bare = try await village.stranger.post("functions/registrar", ["usuario": "ana"])
            #expect(bare.code == 142)
            for name in ["contraseña", "correo", "nombre", "movil", "ciudad"] {
                #expect(bare["error"]?.string?.contains(name) == true, "\(bare.body)")
            }
            let typed = try await village.stranger.post(
                "functions/registrar",
                [
                    "usuario": "ana", "contraseña": "x", "correo": "ana@example.com", "nombre": 7, "movil": "611",
                    "ciudad": "Soria", "idioma": "xx",
                ])
            #expect(typed["error"]?.string?.contains("nombre, movil, idioma") == true, "\(typed.body)")
            let rows = try await village.rows("Persona")
            #expect(rows.isEmpty)
            let ana = try await village.member("ana")
            let roles = try await village.master.get(
                "roles?where=\(#"{"users":{"__type":"Pointer","className":"_User","objectId":"\#(ana.id)"}}"#.inURL)")
            #expect(roles.results.map { $0["name"] } == ["nuevos"])
        }
    }

    @Test func anAnonymousUserAndABannedOneReadAndWriteNothing() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let topic = try await ana.open("Trenes nocturnos").topic
            let banned = try await village.banned()
            for client in [try await village.anonymous(), banned.client] {
                let read = try await client.get("classes/Temas/\(topic)")
                #expect(read["Tema"] == "Trenes nocturnos")
                #expect(read["noLeidos"] == nil)
                for (path, body) in [
                    ("classes/Temas", ["Tema": "Trenes diurnos"]),
                    ("classes/Comentarios", Member.comment(topic, "Hola")),
                    ("classes/Persona", ["Nombre": "X"]),
                    ("functions/abrirTema", ["tema": "Trenes diurnos", "comentario": "Hola"]),
                    ("functions/denunciar", ["comentario": "x"]), ("functions/invitar", ["usuario": "ana"]),
                    ("functions/buscarAmigo", ["correo": "ana@example.com"]), ("functions/amigos", [:]),
                    ("functions/leer", ["tema": .string(topic)]), ("functions/conversar", ["usuario": "ana"]),
                ] as [(String, Value)] {
                    let answer = try await client.post(path, body)
                    #expect(answer.code == 119, "\(path): \(answer.body)")
                }
                let persona = try await client.get("classes/Persona/\(ana.persona)")
                #expect(persona.code == 101)
            }
        }
    }

    @Test func anAnonymousUserBecomesAMember() async throws {
        try await withForum { village in
            let device = try await village.anonymous()
            let me = try await device.get("users/me")
            let change: Value = [
                "username": "eva", "password": "Clave-7", "email": "eva@example.com", "authData": ["anonymous": .null],
            ]
            let without = try await device.put("users/\(me.id)", ["username": "eva", "password": "Clave-7"])
            #expect(without.code == 204)
            let member = try await device.put("users/\(me.id)", change)
            #expect(member.status == 200, "\(member.body)")
            let login = try await village.stranger.post("login", ["username": "eva", "password": "Clave-7"])
            let eva = village.stranger.asSession(login["sessionToken"]?.string ?? "")
            let topic = try await eva.post("classes/Temas", ["Tema": "Ya soy de aquí", "avisar": false])
            #expect(topic.status == 201, "\(topic.body)")
            let bare = try await eva.put("users/\(me.id)", ["email": ["__op": "Delete"]])
            #expect(bare.code == 204)
        }
    }

    @Test func aClosedAccountTakesWhatIsPrivateAndLeavesWhatWasSaid() async throws {
        try await withForum { village in
            let ana = try await village.oldMember("ana")
            let bea = try await village.oldMember("bea")
            let (topic, comment) = try await ana.open("Mi último viaje")
            try await village.befriend(ana, bea)
            let chat = try await ana.chat(with: bea)
            _ = try await ana.write(chat, "Adiós")
            let group = try await ana.call("crearGrupo", ["nombre": "Roma", "miembros": ["bea"]])
            let groupId = group["result"]?["conversacion"]?.string ?? ""
            let invited = try await ana.call("invitar", ["correo": "eva@example.com"])
            #expect(invited.status == 200, "\(invited.body)")
            let (_, theirs) = try await bea.open("Otro viaje")
            let flagged = try await ana.call("denunciar", ["comentario": .string(theirs), "motivo": "Publicidad"])
            #expect(flagged.status == 200, "\(flagged.body)")
            let foreign = try await bea.client.delete("users/\(ana.id)")
            #expect(foreign.code == 206)
            let gone = try await ana.client.delete("users/\(ana.id)")
            #expect(gone.status == 200, "\(gone.body)")
            for className in ["Amistades", "Invitaciones"] {
                #expect(try await village.rows(className).isEmpty, "\(className)")
            }
            #expect(try await village.rows("Persona").count == 1)
            #expect(try await village.rows("Avisos").allSatisfy { $0["para"] == bea.pointer })
            let said = try await village.stranger.get("classes/Comentarios/\(comment)")
            #expect(said["comentario"] == "Sobre Mi último viaje")
            #expect(said["usuario"] == nil)
            let flags = try await village.rows("Denuncias")
            #expect(flags.map { $0["motivo"] } == ["Publicidad"] && flags.allSatisfy { $0["de"] == nil }, "\(flags)")
            let opened = try await village.stranger.get("classes/Temas/\(topic)")
            #expect(opened["comentarios"] == 1)
            #expect(opened["autor"] == nil)
            let messages = try await bea.client.get("classes/Mensajes")
            #expect(messages.results.map { $0["cuerpo"] } == ["Adiós"])
            let left = try await bea.client.get("classes/Conversaciones/\(groupId)")
            #expect(left["miembros"] == [bea.pointer])
        }
    }
}
