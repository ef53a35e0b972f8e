import Foundation
import TestSupport
import Testing
import Wire

/// What the server promises of cloud code in JavaScript that does not come to an end.
@Suite struct ScriptLimitTests {
    /// Its client is told that it was stopped; so it writes nothing later either.
    @Test func whatTakesTooLongIsStoppedAndWritesNothingAnyMore() async throws {
        let folder = HermesProcess.makeFolder("limit")
        defer { removeFolder(folder) }
        let main = folder + "/main.js"
        try Data(
            """
            let dicho;
            Parse.Cloud.define('lenta', async () => {
              await new Promise(resolve => setTimeout(resolve, 600));
              try { await new Parse.Object('Notas').save(null, { useMasterKey: true }); dicho = 'escrito'; } catch (error) { dicho = error.message; }
            });
            Parse.Cloud.define('nunca', () => new Promise(() => {}));
            Parse.Cloud.define('dicho', () => dicho);
            """.utf8
        ).write(to: URL(fileURLWithPath: main))
        let database = try await TestDatabase.make(template: .migrated)
        let server = try HermesProcess(
            folder: folder, conninfo: database.conninfo, options: [("cloud", .string(main)), ("cloudTimeLimit", 0.3)])
        try await onWorker { loop in
            try await server.waitUntilReady(loop)
            let client = Client(loop, port: server.port)
            defer { client.close() }
            for name in ["nunca", "lenta"] {
                let reply = try await client.send("POST", "/functions/\(name)", [:])
                #expect(reply.json["code"] == 141)
                let sentence = "main.js function \(name) took longer than 0.3 s and was stopped."
                #expect(reply.json["error"] == .string(sentence))
            }
            var told = try await client.send("POST", "/functions/dicho", [:])
            for _ in 0..<10_000 where told.json["result"] == nil {
                told = try await client.send("POST", "/functions/dicho", [:])
            }
            #expect(told.json["result"]?.string?.contains("was stopped") == true, "\(told.json)")
            let notes = try await client.send("GET", "/classes/Notas", master: true)
            #expect(notes.json["results"] == [])
        }
        server.child.signal(SIGTERM)
        let exit = try await server.exit(within: 60)
        #expect(exit == 0)
        withExtendedLifetime(database) {}
    }

    /// An engine that waits long before it collects, as it has been seen to do under load.
    @Test func garbageIsCollectedWhereTheEngineFallsBehind() async throws {
        let folder = HermesProcess.makeFolder("garbage")
        defer { removeFolder(folder) }
        let main = folder + "/main.js"
        try Data(
            """
            Parse.Cloud.define('basura', () => {
              const list = [];
              for (let i = 0; i < 20000; i++) list.push({ text: 'x'.repeat(300) + i });
              return list.length;
            });
            """.utf8
        ).write(to: URL(fileURLWithPath: main))
        let database = try await TestDatabase.make(template: .migrated)
        let server = try HermesProcess(
            folder: folder, conninfo: database.conninfo, options: [("cloud", .string(main)), ("workers", 1)],
            // As this version of the engine calls it, and as older ones did.
            variables: [
                "JSC_heapGrowthMaxIncrease": "400", "JSC_smallHeapGrowthFactor": "400",
                "JSC_mediumHeapGrowthFactor": "400", "JSC_largeHeapGrowthFactor": "400",
            ])
        try await onWorker { loop in
            try await server.waitUntilReady(loop)
            let client = Client(loop, port: server.port)
            defer { client.close() }
            try await until(loop) {
                let reply = try await client.send("POST", "/functions/basura", [:])
                #expect(reply.json["result"] == 20_000)
                return server.printed.contains("its garbage was collected")
            }
        }
        server.child.signal(SIGTERM)
        let exit = try await server.exit(within: 60)
        #expect(exit == 0)
        withExtendedLifetime(database) {}
    }
}
