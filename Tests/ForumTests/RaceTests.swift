import Hermes
import Testing

/// What many do at once.
@Suite struct RaceTests {
    private func atOnce<Result: Sendable>(
        _ count: Int, _ body: @escaping @Sendable (Int) async throws -> Result
    ) async throws -> [Result] {
        try await withThrowingTaskGroup(of: Result.self) { group in
            for index in 0..<count { group.addTask { try await body(index) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func aHundredCommentsAreAHundred() async throws {
        try await withForum(["workers": 2]) { village in
            let ana = try await village.oldMember("ana")
            let topic = try await ana.open("Todos a la vez").topic
            var members = [ana]
            for name in ["bea", "eva", "leo"] { members.append(try await village.oldMember(name)) }
            let all = members
            let answers = try await atOnce(100) { try await all[$0 % 4].comment(topic, "Número \($0)") }
            #expect(answers.allSatisfy { $0.status == 201 }, "\(answers.first { $0.status != 201 }?.body ?? .null)")
            let read = try await village.stranger.get("classes/Temas/\(topic)")
            #expect(read["comentarios"] == 101)
            let last = try await village.master.get("classes/Comentarios?order=-fecha&limit=1&keys=fecha,usuario")
            #expect(read["ultimo"] == last.results.first?["fecha"])
            // Half of them are taken back, at once again.
            let ids = answers.map(\.id)
            let gone = try await atOnce(50) { try await village.master.delete("classes/Comentarios/\(ids[$0])") }
            #expect(gone.allSatisfy { $0.status == 200 })
            #expect(try await village.stranger.get("classes/Temas/\(topic)")["comentarios"] == 51)
        }
    }

    @Test func aNameIsGivenOnce() async throws {
        try await withForum(["workers": 2]) { village in
            let ana = try await village.oldMember("ana")
            let bea = try await village.oldMember("bea")
            for round in 0..<5 {
                let answers = try await atOnce(8) { index in
                    let who = index % 2 == 0 ? ana : bea
                    let name = index % 3 == 0 ? "Ávila \(round)" : "AVILA  \(round)"
                    return index < 4
                        ? try await who.call(
                            "abrirTema",
                            ["tema": .string(name), "comentario": .string("\(round), \(index)"), "avisar": false])
                        : try await who.client.post("classes/Temas", ["Tema": .string(name), "avisar": false])
                }
                #expect(answers.count { $0.code == nil } == 1)
                #expect(answers.count { $0.code == 137 } == 7, "\(answers.map(\.body))")
                let made = try #require(answers.first { $0.code == nil })
                let id = made["result"]?["tema"]?.string ?? made.id
                for answer in answers where answer.code == 137 {
                    #expect(answer["error"]?.string?.hasSuffix(": \(id)") == true, "\(answer.body)")
                }
            }
            #expect(try await village.rows("Temas").count == 5)
        }
    }

    @Test func aClosedAccountIsInNoGroup() async throws {
        try await withForum(["workers": 2]) { village in
            let ana = try await village.oldMember("ana")
            let bea = try await village.oldMember("bea")
            try await village.befriend(ana, bea)
            for round in 0..<8 {
                let leo = try await village.member("leo\(round)")
                try await village.befriend(ana, leo)
                let old = try await ana.call("crearGrupo", ["nombre": "Antes", "miembros": ["bea"]])
                let group = old["result"]?["conversacion"] ?? .null
                let names: Value = ["bea", .string(leo.name)]
                let answers = try await atOnce(5) { index in
                    switch index {
                    case 0: try await leo.client.delete("users/\(leo.id)")
                    case 1, 2: try await ana.call("crearGrupo", ["nombre": "Ahora", "miembros": names])
                    default: try await ana.call("añadir", ["conversacion": group, "miembros": names])
                    }
                }
                #expect(answers[0...].count { $0.status >= 500 } == 0, "\(answers.map(\.body))")
                let gone = #"{"__type":"Pointer","className":"_User","objectId":"\#(leo.id)"}"#
                #expect(try await village.master.get("users/\(leo.id)").code == 101)
                #expect(try await village.rows("Conversaciones", #"{"miembros":\#(gone)}"#).isEmpty)
                #expect(try await village.rows("Lecturas", #"{"usuario":\#(gone)}"#).isEmpty)
            }
        }
    }

    @Test func twoWhoInviteEachOtherAreFriendsOnce() async throws {
        try await withForum(["workers": 2]) { village in
            for round in 0..<4 {
                let ana = try await village.member("ana\(round)")
                let bea = try await village.member("bea\(round)")
                let answers = try await atOnce(2) { index in
                    index == 0
                        ? try await ana.call("invitar", ["usuario": .string(bea.name)])
                        : try await bea.call("invitar", ["usuario": .string(ana.name)])
                }
                let states = Set(answers.compactMap { $0["result"]?["estado"]?.string })
                #expect(states == ["pendiente", "aceptada"], "\(answers.map(\.body))")
                #expect(try await ana.client.get("classes/Amistades").results.count == 1)
                #expect(try await bea.client.get("classes/Amistades").results.count == 1)
                #expect(try await village.rows("Avisos", #"{"tipo":"amistad"}"#).count == (round + 1) * 2)
            }
        }
    }

    @Test func twoHaveOneConversationAndLimitsHold() async throws {
        try await withForum(["workers": 2]) { village in
            let ana = try await village.member("ana")
            let bea = try await village.member("bea")
            try await village.befriend(ana, bea)
            let chats = try await atOnce(6) { try await $0 % 2 == 0 ? ana.chat(with: bea) : bea.chat(with: ana) }
            #expect(Set(chats).count == 1)
            let chat = chats[0]
            let sent = try await atOnce(20) { try await ana.write(chat, "Número \($0)") }
            #expect(sent.allSatisfy { $0.status == 201 })
            #expect(try await bea.client.get("classes/Conversaciones/\(chat)")["noLeidos"] == 20)
            // A new member opens three topics, not four at once.
            let topics = try await atOnce(6) {
                try await ana.client.post("classes/Temas", ["Tema": .string("Todos a una \($0)"), "avisar": false])
            }
            #expect(topics.count { $0.status == 201 } == 3)
            #expect(topics.count { $0.code == 141 } == 3)
            let same = try await atOnce(5) { _ in
                try await bea.comment(topics.first { $0.code == nil }?.id ?? "", "Eco")
            }
            #expect(same.count { $0.status == 201 } == 1)
        }
    }

    @Test func threeFlagsAtOnceHideOnce() async throws {
        try await withForum(["workers": 2]) { village in
            let bea = try await village.oldMember("bea")
            let (topic, comment) = try await bea.open("Ofertas de hoy")
            var members: [Member] = []
            for index in 0..<5 { members.append(try await village.member("m\(index)")) }
            let all = members
            let answers = try await atOnce(5) { try await all[$0].call("denunciar", ["comentario": .string(comment)]) }
            #expect(answers.count { $0.status == 200 } == 3 && answers.count { $0.code == 101 } == 2)
            #expect(try await village.stranger.get("classes/Temas/\(topic)")["comentarios"] == 0)
        }
    }
}
