import Hermes
import Testing
import Viajes

/// The application over HTTP, as its clients meet it.
@Suite struct ViajesTests {
    private func pointer(_ answer: TestAnswer) -> Value {
        .pointer(AnyPointer("Viajes", answer["objectId"]?.string ?? ""))
    }

    @Test func aJourneyIsToldDayByDay() async throws {
        try await viajes().test { client in
            let ana = try await client.signUp("ana")
            let berta = try await client.signUp("berta")
            let stranger = try await client.post("classes/Viajes", ["titulo": "A Roma"])
            #expect(stranger.code == 142)
            let short = try await ana.post("classes/Viajes", ["titulo": "  A  "])
            #expect(short.code == 142)
            let viaje = try await ana.post("classes/Viajes", ["titulo": "  A   Roma ", "etapas": 7])
            #expect(viaje["titulo"] == "A Roma")
            #expect(viaje["etapas"] == 0)
            let path = "classes/Viajes/\(viaje["objectId"]?.string ?? "")"
            let day: Value = [
                "viaje": pointer(viaje), "lugar": "Siena", "kilometros": 32.5,
                "punto": .geoPoint(GeoPoint(latitude: 43.3, longitude: 11.3)),
            ]
            let told = try await ana.post("classes/Etapas", day)
            #expect(told.status == 201, "\(told.body)")
            let foreign = try await berta.post("classes/Etapas", day)
            #expect(foreign.code == 119)
            let read = try await client.get(path)
            #expect(read["etapas"] == 1)
            #expect(read["kilometros"] == 32.5)
            let cheat = try await ana.put(path, ["kilometros": 1000])
            #expect(cheat.code == 119)

            let near = try await client.post(
                "functions/cerca", ["punto": .geoPoint(GeoPoint(latitude: 43.4, longitude: 11.3))])
            #expect(near["result"]?[0]?["titulo"] == "A Roma")
            let nowhere = try await client.post("functions/cerca")
            #expect(nowhere.code == 142)

            let follows = try await berta.post("functions/seguir", ["viaje": pointer(viaje)])
            #expect(follows["result"] == ["sigue": true])
            let stops = try await berta.post("functions/seguir", ["viaje": pointer(viaje)])
            #expect(stops["result"] == ["sigue": false])

            let gone = try await ana.delete(path)
            #expect(gone.status == 200)
            let days = try await client.get("classes/Etapas")
            #expect(days["results"] == [])
        }
    }

    @Test func forgottenJourneysEnd() async throws {
        try await viajes().test { client in
            let ana = try await client.signUp("ana")
            let viaje = try await ana.post("classes/Viajes", ["titulo": "A Roma"])
            _ = try await client.asMaster.post("jobs/terminar", ["dias": -1])
            var hasEnded = false
            for _ in 0..<600 where !hasEnded {
                let read = try await client.get("classes/Viajes/\(viaje["objectId"]?.string ?? "")")
                hasEnded = read["terminado"] == true
                if !hasEnded { try await Task.sleep(for: .milliseconds(100)) }
            }
            #expect(hasEnded)
        }
    }
}
