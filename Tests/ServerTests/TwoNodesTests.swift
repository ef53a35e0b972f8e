import Core
import Glibc
import Postgres
import TestSupport
import Testing
import Wire

/// Two nodes on one database: what ends on one ends on the other within 100 ms, whatever happens to the connection on
/// which the other hears of it.
@Suite(.serialized) struct TwoNodesTests {
    /// What is done to the second node's listening connection just before the change.
    enum Trouble: CaseIterable { case none, killed, stalled }

    /// How someone loses the right to read.
    enum Change: CaseIterable {
        case logOut, sessionDeleted, sessionDeletedInBatch, passwordChanged, userDeleted
        case memberRemoved, roleDeleted, innerRoleRemoved, classClosed
    }

    @Test(arguments: Trouble.allCases) func aRightThatEndsEndsOnBothNodes(trouble: Trouble) async throws {
        try await withServer(nodes: 2) { server in
            for change in Change.allCases {
                let stage = try await Stage(server, "\(change)")
                // Both nodes know the viewer by now.
                for client in server.clients {
                    let reply = try await stage.read(client)
                    #expect(reply.status == 200, "\(change): \(reply.text)")
                }
                let listeners = try await server.listeners(of: 1)
                var stalled: [StalledBackend] = []
                defer { for backend in stalled { backend.resume() } }
                switch trouble {
                case .none: break
                case .killed:
                    for process in listeners {
                        _ = try await server.sql.write(
                            "SELECT pg_terminate_backend($1::int)", [.int(Int64(process))])
                    }
                case .stalled:
                    for process in listeners { stalled.append(try await StalledBackend(process, server.sql)) }
                }
                try await stage.make(change)
                let here = try await stage.read(server.clients[0])
                #expect(!here.isSuccess, "\(change) on the node that answered")
                // The promise, not a pause for something to settle.
                try await server.loop.sleep(nanoseconds: 100_000_000)
                let there = try await stage.read(server.clients[1])
                #expect(!there.isSuccess, "\(change) on the other node")
                #expect(here.summary == there.summary)
            }
            // Afterwards the node listens again.
            let listens = try await eventually(server.loop) { try await !server.listeners(of: 1).isEmpty }
            #expect(listens)
        }
    }

    /// Sessions end one by one while both nodes are asked about them all the time.
    @Test func noRequestThatBeginsLateIsServedByAnEndedSession() async throws {
        try await withServer(nodes: 2) { server in
            let crowd = 50
            var tokens: [String] = []
            let user = try await server.client.signUp("eva")
            for _ in 0..<crowd {
                let made = try await server.client.must("POST", "/sessions", [:], session: user.token)
                guard let token = made.sessionToken else { throw Client.Unexpected(made) }
                tokens.append(token)
            }
            let all = tokens
            let late = await server.loop.concurrently(crowd) { index -> [String] in
                let token = all[index]
                var random = SplitMix(seed: UInt64(index))
                var faults: [String] = []
                for _ in 0..<Int.random(in: 1...6, using: &random) {
                    for client in server.clients {
                        let reply = try await client.send("GET", "/users/me", session: token)
                        if reply.status != 200 { faults.append("\(index): refused too early: \(reply.text)") }
                    }
                }
                let answering = Int.random(in: 0...1, using: &random)
                try await server.clients[answering].must("POST", "/logout", session: token)
                let ended = Loop.monotonicNow()
                for _ in 0..<8 {
                    for (node, client) in server.clients.enumerated() {
                        let begun = Loop.monotonicNow()
                        let reply = try await client.send("GET", "/users/me", session: token)
                        let bound: UInt64 = node == answering ? 0 : 100_000_000
                        if reply.isSuccess, begun - ended > bound {
                            faults.append("\(index): served by node \(node) after \((begun - ended) / 1000) µs")
                        }
                    }
                    try await server.loop.sleep(nanoseconds: 20_000_000)
                }
                return faults
            }
            for result in late { #expect(try result.get() == []) }
        }
    }
}

/// A user in a role, and an object that only the role may read.
private struct Stage {
    let server: TestServer
    let name: String
    let user: (id: String, token: String)
    let session: String
    let role: String
    let inner: String
    let object: String

    init(_ server: TestServer, _ name: String) async throws {
        self.server = server
        self.name = name
        let client = server.clients[0]
        user = try await client.signUp(name)
        session = try await client.must("GET", "/sessions/me", session: user.token).objectId ?? ""
        inner = try await Stage.makeRole(client, "inner-\(name)", users: user.id, roles: nil)
        // Some are members themselves, others through a role within the role.
        let nested = name == "innerRoleRemoved"
        role = try await Stage.makeRole(
            client, "role-\(name)", users: nested ? nil : user.id, roles: nested ? inner : nil)
        object = try await client.create("Secret_\(name)", ["ACL": ["role:role-\(name)": ["read": true]]])
    }

    private static func makeRole(
        _ client: Client, _ name: String, users: String?, roles: String?
    ) async throws -> String {
        var body: JSONObject = JSONObject([("name", .string(name)), ("ACL", ["*": ["read": true]])])
        if let users { body["users"] = relation("AddRelation", "_User", users) }
        if let roles { body["roles"] = relation("AddRelation", "_Role", roles) }
        return try await client.must("POST", "/roles", .object(body), master: true).objectId ?? ""
    }

    private static func relation(_ operation: JSON, _ className: JSON, _ id: String) -> JSON {
        [
            "__op": operation,
            "objects": [["__type": "Pointer", "className": className, "objectId": .string(id)]],
        ]
    }

    func read(_ client: Client) async throws -> Reply {
        try await client.send("GET", "/classes/Secret_\(name)/\(object)", session: user.token)
    }

    /// On the first node.
    func make(_ change: TwoNodesTests.Change) async throws {
        let client = server.clients[0]
        switch change {
        case .logOut: try await client.must("POST", "/logout", session: user.token)
        case .sessionDeleted: try await client.must("DELETE", "/sessions/\(session)", master: true)
        case .sessionDeletedInBatch:
            let part: JSON = ["method": "DELETE", "path": .string("/parse/sessions/\(session)")]
            try await client.must("POST", "/batch", ["transaction": true, "requests": [part]], master: true)
        case .passwordChanged:
            let reply = try await client.sendPassword("PUT", "/users/\(user.id)", ["password": "another"], master: true)
            guard reply.isSuccess else { throw Client.Unexpected(reply) }
        case .userDeleted: try await client.must("DELETE", "/users/\(user.id)", master: true)
        case .memberRemoved:
            let change: JSON = ["users": Stage.relation("RemoveRelation", "_User", user.id)]
            try await client.must("PUT", "/roles/\(role)", change, master: true)
        case .roleDeleted: try await client.must("DELETE", "/roles/\(role)", master: true)
        case .innerRoleRemoved:
            let change: JSON = ["roles": Stage.relation("RemoveRelation", "_Role", inner)]
            try await client.must("PUT", "/roles/\(role)", change, master: true)
        case .classClosed:
            try await client.must(
                "PUT", "/schemas/Secret_\(name)", ["classLevelPermissions": ["get": [:], "find": [:]]], master: true)
        }
    }
}

extension TestServer {
    /// The backends on which a node listens.
    func listeners(of node: Int) async throws -> [pid_t] {
        let rows = try await sql.write(
            """
            SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1
            AND (query LIKE '%LISTEN%' OR query LIKE '%pg_listening_channels%')
            """, [.text("node\(node)")])
        return (0..<rows.count).map { pid_t(rows.int($0, 0)) }
    }
}
