import Hermes
import Testing

@Suite struct ChatTests {
    @Test func whatAMessageMayBe() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            try await village.befriend(ana, bea)
            let chat = try await ana.chat(with: bea)
            let file: Value = .file(File(name: "nota.m4a"))
            func send(_ fields: [String: Value]) async throws -> TestAnswer {
                var body = fields
                body["conversacion"] = .pointer(AnyPointer("Conversaciones", chat))
                return try await ana.client.post("classes/Mensajes", .object(body))
            }
            for good: [String: Value] in [
                ["tipo": "texto", "cuerpo": "Hola"], ["tipo": "voz", "archivo": file, "segundos": 600],
                ["tipo": "foto", "archivo": file], ["tipo": "video", "archivo": file],
                ["tipo": "localizacion", "lugar": .geoPoint(GeoPoint(latitude: 41.7, longitude: -2.4))],
                ["tipo": "contacto", "contacto": ["nombre": "Eva", "movil": "611000222"]],
            ] {
                let answer = try await send(good)
                #expect(answer.status == 201, "\(good): \(answer.body)")
                let standing = try await bea.client.get("classes/Conversaciones/\(chat)")
                #expect(standing["ultimoTipo"] == good["tipo"])
                #expect(standing["ultimoMensaje"] == (good["tipo"] == "texto" ? "Hola" : ""))
            }
            for bad: [String: Value] in [
                ["tipo": "texto"], ["tipo": "texto", "cuerpo": " \u{3000}"], ["tipo": "texto", "cuerpo": 7],
                ["tipo": "voz", "archivo": file, "segundos": 601], ["tipo": "voz", "segundos": 5],
                ["tipo": "voz", "archivo": file], ["tipo": "foto"], ["tipo": "foto", "archivo": "x.png"],
                ["tipo": "video"], ["tipo": "localizacion"], ["tipo": "localizacion", "lugar": "Soria"],
                ["tipo": "contacto"], ["tipo": "contacto", "contacto": "Eva"], ["tipo": "saludo"], ["cuerpo": "Hola"],
            ] {
                let answer = try await send(bad)
                #expect(answer.code == 142, "\(bad): \(answer.body)")
            }
            let nowhere = try await ana.client.post("classes/Mensajes", ["tipo": "texto", "cuerpo": "Hola"])
            #expect(nowhere.code == 142)
            let long = try await ana.write(chat, String(repeating: "é", count: 150))
            #expect(long.status == 201)
            let preview = try await bea.client.get("classes/Conversaciones/\(chat)")
            #expect(preview["ultimoMensaje"]?.string?.count == 100)
        }
    }

    @Test func twoHaveOneConversationThatIsTheirs() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            let mod = try await village.moderator()
            #expect(try await ana.call("conversar", ["usuario": "bea"]).code == 119)
            #expect(try await ana.call("conversar", ["usuario": "nadie"]).code == 101)
            #expect(try await ana.call("conversar").code == 142)
            #expect(try await village.stranger.post("functions/conversar", ["usuario": "bea"]).code == 142)
            try await village.befriend(ana, bea)
            let chat = try await ana.chat(with: bea)
            let other = try await bea.call("conversar", ["usuario": "ANA"])
            #expect(other["result"] == ["conversacion": .string(chat), "nueva": false])
            let message = try await ana.write(chat, "Secreto")
            let path = "classes/Mensajes/\(message.id)"
            #expect(try await village.stranger.get("classes/Mensajes").code == 101)
            #expect(try await mod.client.get(path).code == 101)
            #expect(try await mod.client.get("classes/Mensajes").results.isEmpty)
            #expect(try await mod.client.get("classes/Conversaciones/\(chat)").code == 101)
            #expect(try await mod.client.get("classes/Conversaciones").results.isEmpty)
            #expect(try await mod.write(chat, "¿De qué habláis?").code == 101)
            for function in ["leer", "salir", "borrarConversacion", "eliminarGrupo"] {
                #expect(try await mod.call(function, ["conversacion": .string(chat)]).code == 101, "\(function)")
                #expect(try await ana.call(function).code == 142, "\(function)")
            }
            #expect(try await mod.call("añadir", ["conversacion": .string(chat), "miembros": ["ana"]]).code == 101)
            #expect(try await ana.call("añadir", ["conversacion": .string(chat), "miembros": ["bea"]]).code == 141)
            for function in ["salir", "eliminarGrupo"] {
                #expect(try await ana.call(function, ["conversacion": .string(chat)]).code == 141)
            }
            for change: Value in [["noLeidos": 0], ["nombre": "Dos"], ["miembros": [ana.pointer]]] {
                #expect(try await ana.client.put("classes/Conversaciones/\(chat)", change).code == 119)
            }
            #expect(try await ana.client.post("classes/Conversaciones", ["nombre": "x"]).code == 119)
            #expect(try await ana.client.delete("classes/Conversaciones/\(chat)").code == 119)
            #expect(try await ana.client.put(path, ["cuerpo": "Otro"]).code == 119)
            #expect(try await bea.client.delete(path).code == 101)
            _ = try await bea.call("dejarAmistad", ["usuario": "ana"])
            #expect(try await ana.write(chat, "¿Sigues ahí?").code == 119)
            #expect(try await bea.client.get("classes/Mensajes").results.count == 1)
            #expect(try await bea.call("conversar", ["usuario": "ana"]).code == 119)
        }
    }

    @Test func unreadCountsAreRightAlsoWhenOneIsTakenBack() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            let eva = try await village.member("eva")
            for other in [bea, eva] { try await village.befriend(ana, other) }
            let made = try await ana.call(
                "crearGrupo", ["nombre": " Roma ", "miembros": ["bea", "EVA", "bea", "ana"]])
            let group = made["result"]?["conversacion"]?.string ?? ""
            func unread(_ member: Member) async throws -> Int? {
                try await member.client.get("classes/Conversaciones/\(group)")["noLeidos"]?.int
            }
            func counts() async throws -> [Int?] {
                [try await unread(ana), try await unread(bea), try await unread(eva)]
            }
            let first = try await ana.write(group, "Uno").id
            #expect(try await counts() == [0, 1, 1])
            let second = try await bea.write(group, "Dos").id
            #expect(try await counts() == [1, 0, 2])
            #expect(try await eva.call("leer", ["conversacion": .string(group)])["result"] == ["noLeidos": 0])
            let third = try await ana.write(group, "Tres").id
            #expect(try await counts() == [0, 1, 1])
            #expect(try await ana.client.delete("classes/Mensajes/\(third)").status == 200)
            #expect(try await counts() == [0, 0, 0])
            let standing = try await eva.client.get("classes/Conversaciones/\(group)")
            #expect(standing["ultimoMensaje"] == "Dos" && standing["ultimoAutor"] == bea.pointer)
            _ = try await bea.write(group, "Cuatro")
            #expect(try await counts() == [1, 0, 1])
            // One that was read is gone: nobody has less to read.
            #expect(try await ana.client.delete("classes/Mensajes/\(first)").status == 200)
            #expect(try await counts() == [1, 0, 1])
            #expect(try await bea.client.get("classes/Mensajes").results.map { $0["cuerpo"] } == ["Cuatro", "Dos"])
            #expect(try await eva.client.delete("classes/Mensajes/\(second)").code == 101)
            let list = try await eva.client.get("classes/Conversaciones")
            #expect(list.results.map { $0["noLeidos"] } == [1])
        }
    }

    /// Their ids alone would put those of one millisecond in any order.
    @Test func theLastOfOneMillisecondIsTheOneBeforeToo() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            try await village.befriend(ana, bea)
            let chat = try await ana.chat(with: bea)
            var ids: [String] = []
            for number in 1...6 { ids.append(try await ana.write(chat, "Mensaje \(number)").id) }
            try await village.database?.execute(
                "UPDATE \"Mensajes\" SET \"createdAt\" = '2026-01-02 03:04:05.678+00'")
            for number in (1...5).reversed() {
                #expect(try await ana.client.delete("classes/Mensajes/\(ids[number])").status == 200)
                let left = try await bea.client.get("classes/Conversaciones/\(chat)")
                #expect(left["ultimoMensaje"] == .string("Mensaje \(number)"))
            }
        }
    }

    @Test func aGroupAndItsMembers() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            let eva = try await village.member("eva")
            try await village.befriend(ana, bea)
            for (parameters, code) in [
                (["nombre": "Roma", "miembros": ["eva"]], 119), (["nombre": "Roma", "miembros": ["nadie"]], 101),
                (["nombre": "  ", "miembros": ["bea"]], 142), (["nombre": "Roma", "miembros": []], 142),
                (["nombre": "Roma"], 142), (["nombre": "Roma", "miembros": ["ana"]], 142),
                (["nombre": .string(String(repeating: "x", count: 101)), "miembros": ["bea"]], 142),
                (["nombre": "Roma", "miembros": "bea"], 142),
                (["nombre": "Roma", "miembros": ["bea"], "foto": "x"], 142),
            ] as [(Value, Int)] {
                let answer = try await ana.call("crearGrupo", parameters)
                #expect(answer.code == code, "\(parameters): \(answer.body)")
            }
            let made = try await ana.call("crearGrupo", ["nombre": "Roma", "miembros": ["bea"]])
            let group = made["result"]?["conversacion"]?.string ?? ""
            let path = "classes/Conversaciones/\(group)"
            let parameters: Value = ["conversacion": .string(group)]
            _ = try await ana.write(group, "Antes de Eva")
            #expect(try await bea.client.put(path, ["nombre": "Pisa"]).status == 200)
            #expect(try await bea.client.put(path, ["nombre": " "]).code == 142)
            #expect(try await bea.client.put(path, ["creador": bea.pointer]).code == 119)
            #expect(try await eva.client.put(path, ["nombre": "Milán"]).code == 101)
            #expect(try await bea.call("eliminarGrupo", parameters).code == 119)
            let adding: Value = ["conversacion": .string(group), "miembros": ["eva"]]
            #expect(try await bea.call("añadir", adding).code == 119)
            try await village.befriend(bea, eva)
            #expect(try await bea.call("añadir", adding)["result"] == ["miembros": 3])
            #expect(try await bea.call("añadir", adding)["result"] == ["miembros": 3])
            #expect(try await eva.client.get("classes/Mensajes").results.map { $0["cuerpo"] } == ["Antes de Eva"])
            #expect(try await eva.client.get(path)["noLeidos"] == 0)
            #expect(try await bea.call("salir", parameters)["result"] == [:])
            #expect(try await bea.call("salir", parameters).code == 101)
            _ = try await eva.write(group, "Se fue")
            #expect(try await bea.client.get("classes/Mensajes").results.isEmpty)
            #expect(try await bea.client.get(path).code == 101)
            #expect(try await bea.write(group, "¿Me oís?").code == 101)
            _ = try await eva.call("salir", parameters)
            _ = try await ana.call("salir", parameters)
            for className in ["Conversaciones", "Mensajes", "Lecturas"] {
                #expect(try await village.rows(className).isEmpty, "\(className)")
            }
            let other = try await ana.call("crearGrupo", ["nombre": "Pisa", "miembros": ["bea"]])
            let ended = try await ana.call("eliminarGrupo", ["conversacion": other["result"]?["conversacion"] ?? .null])
            #expect(ended["result"] == [:])
            #expect(try await village.rows("Conversaciones").isEmpty)
        }
    }

    @Test func oneEmptiesAConversationForOneself() async throws {
        try await withForum { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            try await village.befriend(ana, bea)
            let chat = try await ana.chat(with: bea)
            _ = try await ana.write(chat, "Viejo")
            #expect(try await bea.call("borrarConversacion", ["conversacion": .string(chat)])["result"] == [:])
            #expect(try await bea.client.get("classes/Mensajes").results.isEmpty)
            #expect(try await bea.client.get("classes/Conversaciones").results.isEmpty)
            #expect(try await ana.client.get("classes/Mensajes").results.count == 1)
            #expect(try await ana.client.get("classes/Conversaciones").results.count == 1)
            _ = try await ana.write(chat, "Nuevo")
            #expect(try await bea.client.get("classes/Mensajes").results.map { $0["cuerpo"] } == ["Nuevo"])
            #expect(try await bea.client.get("classes/Conversaciones").results.map { $0["noLeidos"] } == [1])
        }
    }
}
