import Cloud
import Core
import Foundation
import Testing
import Wire

@testable import JavaScript

/// Code that does what it must not: others are unharmed, and it gets a clear error.
@Suite(.serialized) struct LimitTests {
    @Test func aLoopWithoutEndIsStopped() async throws {
        let script = try Script(
            """
            let vueltas = 0;
            Parse.Cloud.define('sinFin', () => { for (;;) vueltas++; });
            Parse.Cloud.define('sinFinLuego', async () => { await null; for (;;) vueltas++; });
            Parse.Cloud.define('otra', () => vueltas > 0);
            """)
        var options = JavaScriptOptions()
        options.turnLimit = 200_000_000
        let code = try await script.load(options)
        for name in ["sinFin", "sinFinLuego"] {
            let error = await fault { try await code.call(name) }
            #expect(error?.code == 141)
            #expect(error?.message.contains("main.js function \(name)") == true, "\(error?.message ?? "")")
        }
        // The same isolate: its globals are as they were left.
        let other = try await code.call("otra")
        #expect(other.body == true)
    }

    @Test func aPromiseThatNeverEndsIsGivenUp() async throws {
        let script = try Script(
            """
            Parse.Cloud.define('nunca', () => new Promise(() => {}));
            Parse.Cloud.define('otra', () => 1);
            """)
        let code = try await script.load()
        let handler = try #require(code.code.functions["nunca"])
        let call = CloudCall(payload: ["context": [:], "params": [:]], sessionToken: nil, caller: FakeServer())
        async let never = fault { try await handler.run(call) }
        let other = try await code.call("otra")
        #expect(other.body == 1)
        // As whoever calls does at the limit.
        call.waiter.resume(throwing: ParseError(141, "hasta aquí"))
        let error = await never
        #expect(error?.message == "hasta aquí")
        let another = try await code.call("otra")
        #expect(another.body == 1)
    }

    @Test func allocatingWithoutEndRenewsTheIsolate() async throws {
        let script = try Script(
            """
            const todo = [];
            Parse.Cloud.define('traga', () => { for (;;) todo.push(new Array(1000).fill(todo.length)); });
            Parse.Cloud.define('tragaPocoAPoco', async () => {
              for (;;) {
                for (let i = 0; i < 500; i++) todo.push('x'.repeat(1000) + i);
                await new Promise(done => setTimeout(done, 0));
              }
            });
            Parse.Cloud.define('cuantos', () => todo.length);
            """)
        var options = JavaScriptOptions()
        options.memoryLimit = 64 << 20
        options.turnLimit = 20_000_000_000
        options.callLimit = 60_000_000_000
        let code = try await script.load(options)
        for name in ["traga", "tragaPocoAPoco"] {
            let error = await fault { try await code.call(name) }
            #expect(error?.code == 141)
            #expect(error?.message.contains("64 MB") == true, "\(error?.message ?? "")")
            let left = try await code.call("cuantos")
            #expect(left.body == 0)
        }
    }

    @Test func aTurnThatRegistersAndOutgrowsItsMemoryEndsTheCallsThatWaitForIt() async throws {
        let script = try Script(
            """
            let todo;
            setTimeout(() => {
              Parse.Cloud.define('tarde', () => 1);
              todo = Array.from({ length: 1e6 }, (_, i) => ({ numero: i, texto: 'x' + i }));
            }, 300);
            """)
        var options = JavaScriptOptions()
        options.memoryLimit = 32 << 20
        options.turnLimit = 20_000_000_000
        options.callLimit = 60_000_000_000
        let (registered, registration) = AsyncStream.makeStream(of: Void.self)
        let code = try await script.load(options) { code in
            if code.code.functions["tarde"] != nil { registration.finish() }
        }
        for await _ in registered {}
        // It is known from the first isolate. The second one registers it in its last turn, too.
        for _ in 0..<3 {
            let error = await fault { try await code.call("tarde") }
            #expect(error?.code == 141)
            #expect(error?.message.contains("32 MB") == true, "\(error?.message ?? "")")
        }
    }

    @Test func anIsolateThatNoLongerAnswersIsRenewed() async throws {
        let script = try Script(
            """
            // The engine does not look at its clock within a regular expression; this one takes some seconds.
            Parse.Cloud.define('duerme', () => /^(a|a)+$/.test('a'.repeat(29) + '!'));
            Parse.Cloud.define('otra', () => 1);
            """)
        var options = JavaScriptOptions()
        options.turnLimit = 100_000_000
        options.callLimit = 200_000_000
        let code = try await script.load(options)
        let error = await fault { try await code.call("duerme") }
        #expect(error?.code == 141)
        #expect(error?.message.contains("no longer answered") == true, "\(error?.message ?? "")")
        let other = try await code.call("otra")
        #expect(other.body == 1)
    }

    @Test func codeThatOutgrowsItsMemoryWhileItIsLoadedIsNotServed() async throws {
        let script = try Script("const todo = []; for (;;) todo.push(new Array(1000).fill(todo.length));")
        var options = JavaScriptOptions()
        options.memoryLimit = 64 << 20
        options.callLimit = 60_000_000_000
        let error = await #expect(throws: JavaScriptFault.self) { _ = try await script.load(options) }
        #expect(error?.description.contains("64 MB") == true, "\(error?.description ?? "")")
    }

    @Test func codeThatCanNotBeLoadedAgainIsTriedAgain() async throws {
        let text = """
            const todo = [];
            Parse.Cloud.define('traga', () => { for (;;) todo.push(new Array(1000).fill(todo.length)); });
            Parse.Cloud.define('otra', () => 1);
            """
        let script = try Script(text)
        var options = JavaScriptOptions()
        options.memoryLimit = 64 << 20
        options.turnLimit = 20_000_000_000
        options.callLimit = 60_000_000_000
        let code = try await script.load(options)
        try "throw new Error('rota');".write(toFile: script.main, atomically: true, encoding: .utf8)
        _ = await fault { try await code.call("traga") }
        // It was made while the code was being loaded.
        let error = await fault { try await code.call("otra") }
        #expect(error?.code == 141)
        #expect(error?.message.contains("could not be loaded") == true, "\(error?.message ?? "")")
        // The next ones wait until it is there.
        try text.write(toFile: script.main, atomically: true, encoding: .utf8)
        var answer: CloudAnswer?
        for _ in 0..<100_000 where answer == nil { answer = try? await code.call("otra") }
        #expect(answer?.body == 1)
    }

    @Test func deepRecursionIsAnOrdinaryError() async throws {
        let script = try Script(
            """
            const hondo = n => hondo(n + 1) + 1;
            Parse.Cloud.define('hondo', () => hondo(0));
            Parse.Cloud.define('atrapado', () => { try { return hondo(0); } catch (error) { return error instanceof RangeError; } });
            Parse.Cloud.define('anidado', () => { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a; });
            """)
        let code = try await script.load()
        let error = await fault { try await code.call("hondo") }
        #expect(error?.code == 141)
        let caught = try await code.call("atrapado")
        #expect(caught.body == true)
        let nested = await fault { try await code.call("anidado") }
        #expect(nested != nil)
        let again = try await code.call("atrapado")
        #expect(again.body == true)
    }

    /// It would wait for its time limit otherwise.
    @Test func whatIsNoJSONFailsAtOnce() async throws {
        let script = try Script(
            """
            Parse.Cloud.define('grande', () => 1n);
            Parse.Cloud.define('anillo', ({ context }) => { context.ella = context; return 1; });
            Parse.Cloud.define('lanzaGrande', () => { throw 1n; });
            Parse.Cloud.define('lanzaAnillo', () => { const message = {}; message.ella = message; throw { message }; });
            Parse.Cloud.define('lanzaTrampa', () => { throw { get message() { throw null; } }; });
            """)
        let code = try await script.load()
        for name in ["grande", "anillo", "lanzaGrande", "lanzaAnillo", "lanzaTrampa"] {
            let error = await fault { try await code.call(name) }
            #expect(error?.code == 141)
            #expect(error?.message.contains("took longer") == false, "\(error?.message ?? "")")
        }
    }

    @Test func aCancelledCallEndsAtOnce() async throws {
        let script = try Script(
            """
            let pedidos = 0;
            Parse.Cloud.define('espera', async () => { pedidos++; await new Promise(() => {}); });
            Parse.Cloud.define('pedidos', () => pedidos);
            """)
        let code = try await script.load()
        let task = Task { try await code.call("espera") }
        for _ in 0..<10_000 {
            let count = try await code.call("pedidos")
            if count.body == 1 { break }
            try await Task.sleep(for: .milliseconds(1))
        }
        task.cancel()
        let result = await task.result
        #expect(throws: CancellationError.self) { try result.get() }
    }

    @Test func oldCodeEndsWithItsLastCall() async throws {
        let script = try Script(
            "Parse.Cloud.define('espera', async () => { await new Parse.Query('Temas').find(); return 'viejo'; });")
        var code: JavaScriptCode? = try await script.load()
        let handler = try #require(code?.code.functions["espera"])
        let (arrived, arrival) = AsyncStream.makeStream(of: Void.self)
        let (gate, opening) = AsyncStream.makeStream(of: Void.self)
        let server = FakeServer { _ in
            arrival.finish()
            for await _ in gate {}
            return ["results": []]
        }
        let call = CloudCall(payload: ["context": [:], "params": [:]], sessionToken: nil, caller: server)
        let running = Task { [handler] in try await handler.run(call) }
        for await _ in arrived {}
        code = nil
        opening.finish()
        let answer = try await running.value
        #expect(answer.text == Array(#""viejo""#.utf8))
    }
}
