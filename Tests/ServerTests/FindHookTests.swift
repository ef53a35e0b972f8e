import Cloud
import TestSupport
import Testing
import Wire

@testable import Server

/// How an application's hooks stand around finds: of the objects that are asked for, of those that are included, and of
/// those that a condition asks for.
@Suite struct FindHookTests {
    /// The query that a hook was told, for those alone who are not hidden.
    private func withoutTheHidden(_ call: CloudCall) -> JSONObject {
        var query = call.payload["query"]?.object ?? JSONObject()
        var condition = query["where"]?.object ?? JSONObject()
        condition["oculta"] = ["$ne": true]
        query["where"] = .object(condition)
        return query
    }

    /// Parse-Swift sends lists of names; what code is told is Parse's text of them.
    @Test(arguments: [TriggerKind.beforeFind, .afterFind])
    func namesInListsAreToldAsText(_ kind: TriggerKind) async throws {
        let calls = CloudCalls()
        let code = CloudCode(kind) { call in
            calls.add(call)
            return CloudAnswer()
        }
        try await withServer(cloud: code) { server in
            for n in 1...3 { _ = try await server.client.create("Temas", ["n": .number(Double(n)), "m": 0]) }
            let body: JSON = [
                "_method": "GET", "order": ["m", "-n"], "keys": ["n"], "include": ["autor", "foro"],
                "excludeKeys": ["m"], "limit": 2,
            ]
            let found = try await server.client.send("POST", "/classes/Temas", body)
            #expect(found.json["results"]?.array?.compactMap { $0.object?["n"] } == [3, 2], "\(found.text)")
            let told = calls.last["query"]?.object
            #expect(told?["order"] == "m,-n")
            #expect(told?["keys"] == "n")
            #expect(told?["include"] == "autor,foro")
            #expect(told?["excludeKeys"] == "m")
        }
    }

    @Test func beforeFindMayNarrowRefuseOrBringObjects() async throws {
        let calls = CloudCalls()
        let code = CloudCode(.beforeFind) { call in
            calls.add(call)
            var query = call.payload["query"]?.object ?? JSONObject()
            switch query["where"]?.object?["n"] {
            case 0: throw ParseError(4803, "Eso no.")
            case 1:
                query["where"] = ["n": ["$gt": 1]]
                query["limit"] = 1
                query["order"] = "-n"
                return CloudAnswer(["query": .object(query)])
            case 2: return CloudAnswer(["objects": [["objectId": "inventado", "n": 7]]])
            default: return CloudAnswer()
            }
        }
        try await withServer(cloud: code) { server in
            let client = server.client
            for n in 1...3 { _ = try await client.create("Temas", ["n": .number(Double(n))]) }
            func find(_ n: Int, master: Bool = false) async throws -> Reply {
                try await client.send("GET", "/classes/Temas?where=%7B%22n%22%3A\(n)%7D", master: master)
            }
            let refused = try await find(0)
            #expect(refused.json["code"] == 4803)
            let narrowed = try await find(1)
            #expect(narrowed.json["results"]?.array?.compactMap { $0.object?["n"] } == [3])
            // The rights bind those whom they bind: an invented object is not there.
            let invented = try await find(2)
            #expect(invented.json["results"] == [])
            let above = try await find(2, master: true)
            #expect(above.json["results"]?.array?.count == 1)
            let plain = try await find(3)
            #expect(plain.json["results"]?.array?.count == 1)
            #expect(calls.last["query"] == ["where": ["n": 3]])
            #expect(calls.last["isGet"] == false)
        }
    }

    /// A plan tells of rows that the viewer may not see: it is the master key's, whoever has asked for it.
    @Test func aHookGivesNoPlanToThoseWhoMayHaveNone() async throws {
        let code = CloudCode(.beforeFind) { call in
            var query = call.payload["query"]?.object ?? JSONObject()
            query["explain"] = true
            return CloudAnswer(["query": .object(query)])
        }
        try await withServer(cloud: code) { server in
            _ = try await server.client.create("Temas", ["n": 1])
            let client = try await server.client.send("GET", "/classes/Temas")
            #expect(client.summary == "400/102", "\(client.text)")
            let master = try await server.client.send("GET", "/classes/Temas", master: true)
            #expect(master.json["results"]?.array?.first?.object?["QUERY PLAN"] != nil, "\(master.text)")
        }
    }

    /// SDKs that have only the owner of a relation ask for the owner's class.
    @Test(arguments: [TriggerKind.beforeFind, .afterFind])
    func whatARelationLeadsToIsShownToTheHooksOfItsClass(kind: TriggerKind) async throws {
        let code = CloudCode(kind, on: "Personas") { call in
            guard kind == .beforeFind else {
                // As SDKs write objects: without their class.
                let objects = (call.payload["objects"]?.array ?? []).compactMap { json -> JSON? in
                    guard case .object(var object) = json, object["oculta"] != true else { return nil }
                    object["className"] = nil
                    return .object(object)
                }
                return CloudAnswer(["objects": .array(objects)])
            }
            return CloudAnswer(["query": .object(withoutTheHidden(call))])
        }
        try await withServer(cloud: code) { server in
            let client = server.client
            let ana = try await client.create("Personas", ["nombre": "Ana"])
            let hidden = try await client.create("Personas", ["nombre": "Oculta", "oculta": true])
            let pointers: [JSON] = [ana, hidden].map { id in
                ["__type": "Pointer", "className": "Personas", "objectId": .string(id)]
            }
            let id = try await client.create(
                "Equipos", ["gente": ["__op": "AddRelation", "objects": .array(pointers)]])
            let body: JSON = [
                "_method": "GET", "redirectClassNameForKey": "gente",
                "where": [
                    "$relatedTo": [
                        "object": ["__type": "Pointer", "className": "Equipos", "objectId": .string(id)],
                        "key": "gente",
                    ]
                ],
            ]
            let found = try await client.send("POST", "/classes/Equipos", body)
            let shown = found.json["results"]?.array?.compactMap(\.object) ?? []
            #expect(shown.map { $0["nombre"] } == ["Ana"], "\(found.text)")
            #expect(shown.map { $0["className"] } == ["Personas"], "\(found.text)")
        }
    }

    @Test func afterFindSeesObjectsThatAreFoundGotOrIncluded() async throws {
        let calls = CloudCalls()
        let code = CloudCode(.afterFind, on: "Personas") { call in
            calls.add(call)
            let objects = (call.payload["objects"]?.array ?? []).compactMap { json -> JSON? in
                guard case .object(var object) = json, object["nombre"] != "Oculta" else { return nil }
                object["visto"] = true
                return .object(object)
            }
            return CloudAnswer(["objects": .array(objects)])
        }
        try await withServer(cloud: code) { server in
            let client = server.client
            let ana = try await client.create("Personas", ["nombre": "Ana"])
            let hidden = try await client.create("Personas", ["nombre": "Oculta"])
            for id in [ana, hidden] {
                _ = try await client.create(
                    "Temas", ["autor": ["__type": "Pointer", "className": "Personas", "objectId": .string(id)]])
            }
            let found = try await client.send("GET", "/classes/Personas")
            #expect(found.json["results"]?.array?.count == 1)
            #expect(found.json["results"]?.array?.first?.object?["visto"] == true)
            let got = try await client.send("GET", "/classes/Personas/\(ana)")
            #expect(got.json["visto"] == true)
            #expect(calls.last["isGet"] == true)
            let gone = try await client.send("GET", "/classes/Personas/\(hidden)")
            #expect(gone.json["code"] == 101)
            let included = try await client.send("GET", "/classes/Temas?include=autor&order=createdAt")
            let authors = included.json["results"]?.array?.map { $0.object?["autor"]?.object?["visto"] }
            #expect(authors == [true, nil])
        }
    }

    @Test func whatBeforeFindKeepsFromAFindNoConditionTells() async throws {
        let calls = CloudCalls()
        let code = CloudCode(.beforeFind, on: "Personas") { call in
            calls.add(call)
            return CloudAnswer(["query": .object(withoutTheHidden(call))])
        }
        try await withServer(cloud: code) { server in
            let client = server.client
            for (name, isHidden) in [("Ana", false), ("Oculta", true)] {
                let id = try await client.create("Personas", ["nombre": .string(name), "oculta": .bool(isHidden)])
                let author: JSON = ["__type": "Pointer", "className": "Personas", "objectId": .string(id)]
                let topic = try await client.create("Temas", ["titulo": .string(name), "autor": author])
                let pointer: JSON = ["__type": "Pointer", "className": "Temas", "objectId": .string(topic)]
                _ = try await client.create("Notas", ["de": .string(name), "tema": pointer])
            }
            func titles(_ className: String, _ field: String, _ condition: JSON) async throws -> [JSON?] {
                let found = try await client.send(
                    "POST", "/classes/\(className)", ["_method": "GET", "where": condition, "order": "createdAt"])
                return (found.json["results"]?.array ?? []).map { $0.object?[field] }
            }
            let anybody: JSON = ["className": "Personas", "where": ["nombre": ["$exists": true]]]
            let selected: JSON = ["key": "nombre", "query": anybody]
            #expect(try await titles("Temas", "titulo", ["autor": ["$inQuery": anybody]]) == ["Ana"])
            #expect(calls.last["query"] == ["where": ["nombre": ["$exists": true]]])
            #expect(try await titles("Temas", "titulo", ["autor": ["$notInQuery": anybody]]) == ["Oculta"])
            #expect(try await titles("Temas", "titulo", ["titulo": ["$select": selected]]) == ["Ana"])
            #expect(try await titles("Temas", "titulo", ["titulo": ["$dontSelect": selected]]) == ["Oculta"])
            // Deeper, and in one part of many.
            let nested: JSON = ["className": "Temas", "where": ["autor": ["$inQuery": anybody]]]
            let either: JSON = ["$or": [["tema": ["$inQuery": nested]], ["de": "nadie"]]]
            let before = calls.count
            #expect(try await titles("Notas", "de", either) == ["Ana"])
            #expect(calls.count == before + 1)
            // Of what calls hooks there may be so many.
            for (count, status) in [(100, 200), (101, 400)] {
                let many = JSON.array(Array(repeating: ["autor": ["$inQuery": anybody]], count: count))
                let found = try await client.send(
                    "POST", "/classes/Temas", ["_method": "GET", "where": ["$or": many]])
                #expect(found.status == status, "\(found.text)")
            }
        }
    }

    @Test func whatBeforeFindKeepsFromAFindNoIncludeShows() async throws {
        let calls = CloudCalls()
        let code = CloudCode(.beforeFind, on: "Personas") { call in
            calls.add(call)
            guard call.payload["context"]?.object?["cerrado"] == nil else { throw ParseError(4805, "Cerrado.") }
            var query = withoutTheHidden(call)
            query["keys"] = "nombre"
            return CloudAnswer(["query": .object(query)])
        }
        try await withServer(cloud: code) { server in
            let client = server.client
            let ana = try await client.create("Personas", ["nombre": "Ana", "edad": 30])
            let hidden = try await client.create("Personas", ["nombre": "Oculta", "oculta": true])
            let people: [JSON] = [ana, hidden].map { id in
                ["__type": "Pointer", "className": "Personas", "objectId": .string(id)]
            }
            var topics: [String] = []
            for person in people {
                topics.append(try await client.create("Temas", ["autor": person, "lectores": .array(people)]))
            }
            _ = try await client.create(
                "Notas", ["tema": ["__type": "Pointer", "className": "Temas", "objectId": .string(topics[1])]])
            let plain = try await client.send("GET", "/classes/Temas?order=createdAt")
            #expect(plain.json["results"]?.array?.last?.object?["autor"] == people[1])
            #expect(calls.count == 0)

            let found = try await client.send("GET", "/classes/Temas?include=autor,lectores&order=createdAt")
            let results = found.json["results"]?.array?.compactMap(\.object) ?? []
            #expect(results.map { $0["autor"]?.object?["nombre"] } == ["Ana", nil])
            #expect(results.map { $0["autor"]?.object?["edad"] } == [nil, nil])
            #expect(results.map { $0["lectores"]?.array?.count } == [1, 1])
            #expect(calls.count == 1 && calls.last["isGet"] == false)
            let ids = calls.last["query"]?.object?["where"]?.object?["objectId"]?.object?["$in"]?.array
            #expect(Set(ids?.compactMap(\.string) ?? []) == [ana, hidden])

            let got = try await client.send("GET", "/classes/Temas/\(topics[0])?include=autor")
            #expect(got.json["autor"]?.object?["nombre"] == "Ana")
            #expect(calls.last["isGet"] == true)
            #expect(calls.last["query"]?.object?["where"] == ["objectId": .string(ana)])

            let nested = try await client.send("GET", "/classes/Notas?include=tema.autor")
            let topic = nested.json["results"]?.array?.first?.object?["tema"]?.object
            #expect(topic?["objectId"] == .string(topics[1]) && topic?["autor"] == nil)

            let refused = try await client.send(
                "GET", "/classes/Temas?include=autor", headers: [("X-Parse-Cloud-Context", #"{"cerrado":true}"#)])
            #expect(refused.summary == "400/4805")
        }
    }
}
