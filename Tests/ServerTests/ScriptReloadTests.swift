import Foundation
import Glibc
import TestSupport
import Testing
import Wire

/// Cloud code in JavaScript is loaded anew on SIGHUP, by a server that goes on serving.
@Suite struct ScriptReloadTests {
    @Test func aChangedFileIsLoadedWithoutARequestLost() async throws {
        let folder = HermesProcess.makeFolder("reload")
        defer { removeFolder(folder) }
        let main = folder + "/main.js"
        @Sendable func write(_ script: String) throws { try Data(script.utf8).write(to: URL(fileURLWithPath: main)) }
        try write("Parse.Cloud.define('cual', () => 'uno');")
        let database = try await TestDatabase.make(template: .migrated)
        let server = try HermesProcess(
            folder: folder, conninfo: database.conninfo, options: [("cloud", .string(main))])
        try await onWorker { loop in
            try await server.waitUntilReady(loop)
            let client = Client(loop, port: server.port)
            defer { client.close() }
            func call() async throws -> Reply { try await client.send("POST", "/functions/cual", [:]) }
            let first = try await call()
            #expect(first.json["result"] == "uno")

            try write("Parse.Cloud.define('cual', () => 'dos');")
            server.child.signal(SIGHUP)
            let answers = await loop.concurrently(8) { _ -> [Reply] in
                var replies: [Reply] = []
                for _ in 0..<10_000 where replies.last?.json["result"] != "dos" { replies.append(try await call()) }
                return replies
            }
            for answer in answers {
                let replies = try answer.get()
                #expect(replies.last?.json["result"] == "dos")
                #expect(replies.allSatisfy { $0.status == 200 })
            }

            // What can't be loaded changes nothing.
            try write("Parse.Cloud.define('cual', () => 'tres');\nthrow new Error('se ha roto');")
            server.child.signal(SIGHUP)
            try await until(loop) { server.printed.contains("se ha roto") }
            let last = try await call()
            #expect(last.json["result"] == "dos")
            #expect(server.printed.contains("main.js:2"))
        }
        server.child.signal(SIGTERM)
        let exit = try await server.exit(within: 60)
        #expect(exit == 0)
        withExtendedLifetime(database) {}
    }

    @Test func whatCodeAsksByItselfMeetsTheNewCodeThoughNoClientHasAskedYet() async throws {
        let folder = HermesProcess.makeFolder("reload-idle")
        defer { removeFolder(folder) }
        let main = folder + "/main.js"
        @Sendable func write(_ script: String) throws { try Data(script.utf8).write(to: URL(fileURLWithPath: main)) }
        try write("")
        let database = try await TestDatabase.make(template: .migrated)
        let server = try HermesProcess(
            folder: folder, conninfo: database.conninfo, options: [("cloud", .string(main))])
        try await onWorker { loop in
            try await server.waitUntilReady(loop)
            try write(
                """
                Parse.Cloud.define('saludo', () => 'buenas');
                const ask = () => Parse.Cloud.run('saludo').then(late, () => setTimeout(ask, 20));
                // By then this is the code that answers; whatever it registers does too.
                const late = async () => {
                  Parse.Cloud.define('tardia', () => 'hecho');
                  console.log('told: ' + await Parse.Cloud.run('tardia').catch(error => error.message));
                };
                ask();
                """)
            server.child.signal(SIGHUP)
            try await until(loop) { server.printed.contains("told: ") }
            #expect(server.printed.contains("told: hecho"))
        }
        server.child.signal(SIGTERM)
        let exit = try await server.exit(within: 60)
        #expect(exit == 0)
        withExtendedLifetime(database) {}
    }
}
