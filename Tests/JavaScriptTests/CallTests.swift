import Cloud
import Core
import Foundation
import Synchronization
import Testing
import Wire

@testable import JavaScript

@Suite struct CallTests {
    @Test func noKeyOfAClientsIsMoreThanAKey() async throws {
        let script = try Script(
            """
            Parse.Cloud.define('quien', ({ params }) => [params.jefe === undefined, params.datos.jefe === undefined, Object.keys(params)]);
            """)
        let code = try await script.load()
        let trick: JSON = ["jefe": true]
        let answer = try await code.call("quien", ["__proto__": trick, "datos": ["__proto__": trick]])
        #expect(answer.body == [true, true, ["__proto__", "datos"]])
    }

    @Test func aFunctionAnswersWhatItReturns() async throws {
        let script = try Script(
            """
            Parse.Cloud.define('hola', ({ params }) => `hola, ${params.nombre}`);
            Parse.Cloud.define('nada', () => undefined);
            Parse.Cloud.define('luego', async () => { await new Promise(done => setTimeout(done, 5)); return { fecha: new Date(0) }; });
            """)
        let code = try await script.load()
        let greeting = try await code.call("hola", JSONObject([("nombre", "Ñusta\u{0}🙂")]))
        #expect(greeting.body == "hola, Ñusta\u{0}🙂")
        let nothing = try await code.call("nada")
        #expect(nothing.body == nil)
        let later = try await code.call("luego")
        #expect(later.body == ["fecha": ["__type": "Date", "iso": "1970-01-01T00:00:00.000Z"]])
    }

    @Test func headersAreThereForWhoeverLooks() async throws {
        let script = try Script(
            """
            Parse.Cloud.define('leer', ({ headers }) => headers);
            Parse.Cloud.define('claves', request => [Object.keys(request).includes('headers'), { ...request }.headers['x-viaje']]);
            Parse.Cloud.define('cambiar', request => {
              request.headers['x-viaje'] += '!';
              const uno = request.headers['x-viaje'];
              request.headers = { otra: 1 };
              return [uno, request.headers];
            });
            Parse.Cloud.define('tarde', async request => {
              await new Promise(done => setTimeout(done, 5));
              return request.headers['x-viaje'];
            });
            Parse.Cloud.define('sin', request => ['headers' in request, request.headers === undefined]);
            """)
        let code = try await script.load()
        let headers = [("X-Viaje", "Ñandú \"a\""), ("Accept", "*/*"), ("accept", "text/html")]
        #expect(
            try await code.call("leer", headers: headers).body
                == ["x-viaje": "Ñandú \"a\"", "accept": "*/*, text/html"])
        #expect(try await code.call("leer", headers: []).body == [:])
        #expect(try await code.call("claves", headers: headers).body == [true, "Ñandú \"a\""])
        #expect(try await code.call("cambiar", headers: headers).body == ["Ñandú \"a\"!", ["otra": 1]])
        #expect(try await code.call("tarde", headers: headers).body == "Ñandú \"a\"")
        #expect(try await code.call("sin").body == [false, true])
    }

    /// What answers at once and what answers later, by a value or by an error, end the same way.
    @Test func promisedOrNotAnAnswerIsTheSame() async throws {
        let script = try Script(
            """
            Parse.Cloud.define('ya', () => 7);
            Parse.Cloud.define('luego', async () => 7);
            Parse.Cloud.define('ajena', () => ({ then(done) { done(7); } }));
            Parse.Cloud.define('lanza', () => { throw new Parse.Error(4801, 'no'); });
            Parse.Cloud.define('rechaza', async () => { throw new Parse.Error(4801, 'no'); });
            Parse.Cloud.define('ajenaNo', () => ({ then(done, no) { no(new Parse.Error(4801, 'no')); } }));
            Parse.Cloud.define('vale', () => 7, async () => {});
            Parse.Cloud.define('noVale', () => 7, () => { throw new Parse.Error(4801, 'no'); });
            for (const [name, handler] of Object.entries({
              Ya: ({ object }) => { object.set('a', 1); },
              Luego: async ({ object }) => { await null; object.set('a', 1); },
              Lanza: () => { throw new Parse.Error(4801, 'no'); },
              Rechaza: async () => { throw new Parse.Error(4801, 'no'); },
            })) Parse.Cloud.beforeSave(name, handler);
            """)
        let code = try await script.load()
        for name in ["ya", "luego", "ajena", "vale"] { #expect(try await code.call(name).body == 7, "\(name)") }
        for name in ["lanza", "rechaza", "ajenaNo"] {
            #expect(await fault { try await code.call(name) }?.code == 4801, "\(name)")
        }
        #expect(await fault { try await code.call("noVale") } != nil)
        for name in ["Ya", "Luego"] {
            let answer = try await code.trigger(.beforeSave, on: name, JSONObject(), changes: ["b": 2])
            #expect(answer.body?.object?["object"]?.object?["a"] == 1, "\(name)")
        }
        for name in ["Lanza", "Rechaza"] {
            let error = await fault { try await code.trigger(.beforeSave, on: name, JSONObject(), changes: ["b": 2]) }
            #expect(error?.code == 4801, "\(name)")
        }
    }

    @Test func manyCallsAtOnceAreToldApart() async throws {
        let script = try Script(
            """
            Parse.Cloud.define('doble', async ({ params }) => {
              await new Promise(done => setTimeout(done, params.n % 7));
              return (await new Parse.Query('Numeros').get(String(params.n))).get('valor');
            });
            """)
        var options = JavaScriptOptions()
        options.isolates = 2
        let code = try await script.load(options)
        let server = FakeServer { request in
            let id = request.body["where"]?.object?["objectId"]?.string ?? ""
            return ["results": [["objectId": .string(id), "valor": .number((Double(id) ?? 0) * 2)]]]
        }
        try await withThrowingTaskGroup(of: (Int, JSON?).self) { group in
            for number in 0..<200 {
                group.addTask {
                    (
                        number,
                        try await code.call("doble", JSONObject([("n", .number(Double(number)))]), server: server).body
                    )
                }
            }
            for try await (number, answer) in group { #expect(answer == .number(Double(number * 2))) }
        }
        #expect(server.received.count == 200)
    }

    @Test func errorsReachTheClientWithTheirCodes() async throws {
        let script = try Script(
            """
            Parse.Cloud.define('fallar', ({ params }) => {
              if (params.como === 'parse') throw new Parse.Error(4711, 'Sin plazas');
              if (params.como === 'texto') throw 'un texto';
              if (params.como === 'objeto') throw { motivo: 'ninguno' };
              if (params.como === 'nulo') return Promise.reject(null);
              return params.nada.nada;
            });
            """)
        let code = try await script.load()
        let cases: [(String, Int, String)] = [
            ("parse", 4711, "Sin plazas"), ("texto", 141, "un texto"), ("objeto", 141, #"{"motivo":"ninguno"}"#),
            ("nulo", 141, "Script failed."),
        ]
        for (how, number, message) in cases {
            let error = await fault { try await code.call("fallar", JSONObject([("como", .string(how))])) }
            #expect(error?.code == number)
            #expect(error?.message == message)
            #expect(error?.thrown == (how == "objeto" ? ["motivo": "ninguno"] : nil))
        }
        let own = await fault { try await code.call("fallar") }
        #expect(own?.code == 141)
    }

    @Test func anIdThatTheClientHasChosenIsTheNewObjectsOne() async throws {
        let script = try Script(
            """
            Parse.Cloud.beforeSave('Temas', ({ object, original }) => { object.set('visto', [object.id ?? 0, object.existed(), !original]); });
            """)
        let code = try await script.load()
        let chosen = JSONObject([("objectId", "mio")])
        let cases: [(JSONObject, JSON)] = [(chosen, ["mio", false, true]), (JSONObject(), [0, false, true])]
        for (fields, seen) in cases {
            let answer = try await code.trigger(.beforeSave, on: "Temas", fields, changes: ["a": 1])
            #expect(answer.body?.object?["object"] == ["a": 1, "visto": seen])
        }
    }

    @Test func howAUserLogsInCanBeAsked() async throws {
        let script = try Script(
            """
            Parse.Cloud.beforeSave(Parse.User, ({ object }) => {
              object.set('visto', [Parse.AnonymousUtils, Parse.FacebookUtils].map(utils => utils.isLinked(object)));
            });
            """)
        let code = try await script.load()
        for (logins, seen): (JSON?, JSON) in [
            (["anonymous": ["id": "a"]], [true, false]), (["facebook": ["id": "a"]], [false, true]),
            (nil, [false, false]),
        ] {
            var changes: JSONObject = ["nombre": "Ana"]
            changes["authData"] = logins
            let answer = try await code.trigger(.beforeSave, on: "_User", JSONObject(), changes: changes)
            #expect(answer.body?.object?["object"]?.object?["visto"] == seen)
        }
    }

    @Test func aTriggerThatThrowsNothingRefusesInTheReferencesWords() async throws {
        let script = try Script("Parse.Cloud.beforeSave('Temas', () => { throw null; });")
        let code = try await script.load()
        let error = await fault { try await code.trigger(.beforeSave, on: "Temas", JSONObject(), changes: ["a": 1]) }
        #expect(error == ParseError(141, "Script failed. Unknown error."))
    }

    /// The engine quotes the line in its errors: the log has all of it, the client only what happened.
    @Test func noLineOfTheSourceReachesTheClient() async throws {
        let script = try Script(
            """
            const casos = {
              nulo: () => null['clave-7'],
              llamada: () => { const o = {}; return o.metodo('clave-7'); },
              tabla: () => ({ clave: 'clave-7' })['otra'](),
              suyo: () => { throw new TypeError('no vale (evaluating poco)'); },
            };
            Parse.Cloud.define('fallar', ({ params }) => casos[params.como]());
            """)
        let code = try await script.load()
        for (how, message) in [
            ("nulo", "null is not an object"), ("llamada", "o.metodo is not a function"),
            ("tabla", "a value is not a function"), ("suyo", "no vale (evaluating poco)"),
        ] {
            let error = await fault { try await code.call("fallar", JSONObject([("como", .string(how))])) }
            #expect(error?.code == 141)
            #expect(error?.message == message)
        }
    }

    @Test func aHookThatLeavesWhatCannotBeStoredIsToldOf() async throws {
        let script = try Script(
            """
            Parse.Cloud.beforeSave('Temas', ({ object }) => {
              let hondo = 1;
              for (let i = 0; i < 600; i++) hondo = { hondo };
              object.set('datos', object.get('hondo') ? hondo : '\\ud800');
            });
            """)
        let code = try await script.load()
        for deep in [true, false] {
            let error = await fault {
                try await code.trigger(.beforeSave, on: "Temas", JSONObject(), changes: ["hondo": .bool(deep)])
            }
            #expect(error?.code == 141)
            #expect(error?.message.hasPrefix("main.js beforeSave Temas leaves what cannot be stored") == true)
        }
    }

    @Test func triggersThatNothingWouldCallAreRefused() async throws {
        for (main, said) in [
            ("Parse.Cloud.beforeSave(Parse.Session, () => {});", "only the afterLogout trigger"),
            ("Parse.Cloud.afterFind('_Session', () => {});", "only the afterLogout trigger"),
            ("Parse.Cloud.beforeLogin('Temas', () => {});", "beforeLogin is allowed for the _User class only"),
        ] {
            let script = try Script(main)
            do {
                _ = try await script.load()
                Issue.record("it was loaded: \(main)")
            } catch {
                #expect("\(error)".contains(said), "\(main)")
            }
        }
        let allowed = try Script(
            """
            Parse.Cloud.afterLogout(() => {}); Parse.Cloud.beforeLogin(Parse.User, () => {});
            Parse.Cloud.afterLogin('_User', () => {});
            """)
        #expect(
            try await allowed.load().description.handlers
                == ["afterLogin _User", "afterLogout _Session", "beforeLogin _User"])
    }

    @Test func aFaultAtLoadNamesFileAndLine() async throws {
        let cases: [(String, [String: String], String)] = [
            ("const a = 1;\nnoHay();\n", [:], "main.js:2"),
            ("const a = 1;\n\nlet = ;\n", [:], "main.js:3"),
            ("require('./partes/rota');\n", ["partes/rota.js": "\n\nthrow new Error('rota');\n"], "partes/rota.js:3"),
            ("const x = 1;\nconst red = require('net');\n", [:], "main.js:2"),
            ("require('./datos.json');", ["datos.json": "{"], "datos.json"),
            (
                "import { f } from './f.js';\nawait f();\nnoHay();\n", ["f.js": "export const f = async () => 1;"],
                "main.js:3"
            ),
        ]
        for (main, files, place) in cases {
            let script = try Script(main, files: files)
            do {
                _ = try await script.load()
                Issue.record("it was loaded: \(main)")
            } catch {
                #expect("\(error)".contains(place), "\(error)")
            }
        }
        do {
            _ = try await JavaScriptCode(mainFile: "/no/hay/main.js")
            Issue.record("a file that is not there was loaded")
        } catch { #expect("\(error)".contains("/no/hay/main.js")) }
    }

    @Test func requestsGoByTheRightsThatTheCodeNames() async throws {
        let script = try Script(
            """
            Parse.Cloud.define('pedir', async () => {
              const tema = new Parse.Object('Temas');
              await tema.save({ titulo: 'Lisboa' }, { useMasterKey: true, context: { de: 'prueba' } });
              await tema.fetch({ sessionToken: 'r:abc' });
              await tema.destroy();
              return [tema.id, tema.get('titulo')];
            });
            """)
        let code = try await script.load()
        let server = FakeServer { request in
            request.method == "GET" ? ["objectId": "x1", "titulo": "Oporto"] : ["objectId": "x1"]
        }
        let answer = try await code.call("pedir", server: server)
        #expect(answer.body == ["x1", "Oporto"])
        let requests = server.received
        #expect(requests.map(\.method) == ["POST", "GET", "DELETE"])
        #expect(requests.map(\.path) == ["classes/Temas", "classes/Temas/x1", "classes/Temas/x1"])
        #expect(requests.map(\.authority) == [.master, .session("r:abc"), .nobody])
        #expect(requests[0].body == ["titulo": "Lisboa"])
        #expect(requests[0].context == ["de": "prueba"])
        #expect(requests[0].installationId == "cloud")
    }

    @Test func anErrorOfTheServerIsAParseError() async throws {
        let script = try Script(
            """
            Parse.Cloud.define('pedir', async () => {
              try { await new Parse.Query('Temas').get('x'); return 'bien'; } catch (error) {
                return [error instanceof Parse.Error, error.code, error.message];
              }
            });
            """)
        let code = try await script.load()
        let server = FakeServer { _ in throw ParseError(119, "Permission denied") }
        let answer = try await code.call("pedir", server: server)
        #expect(answer.body == [true, 119, "Permission denied"])
    }

    @Test func theContextComesBack() async throws {
        let script = try Script(
            """
            Parse.Cloud.define('cambia', ({ context }) => { context.dos = 2; });
            Parse.Cloud.define('deja', () => {});
            """)
        let code = try await script.load()
        let changed = try await code.call("cambia", context: JSONObject([("uno", 1)]))
        #expect(changed.context == JSONObject([("uno", 1), ("dos", 2)]))
        let left = try await code.call("deja", context: JSONObject([("uno", 1)]))
        #expect(left.context == nil)
    }

    @Test func whatIsRegisteredLaterCounts() async throws {
        let script = try Script(
            """
            Parse.Cloud.define('luego', () => {
              setTimeout(() => Parse.Cloud.define('tardia', () => 1), 10);
            });
            """)
        let (changes, continuation) = AsyncStream.makeStream(of: Bool.self)
        let code = try await script.load { code in
            continuation.yield(code.code.functions["tardia"] != nil)
            continuation.finish()
        }
        // What the file registers while it is loaded is no change.
        _ = try await code.call("luego")
        var seen: [Bool] = []
        for await change in changes { seen.append(change) }
        #expect(seen == [true])
        let answer = try await code.call("tardia")
        #expect(answer.body == 1)
    }

    @Test func workThatACallLeavesBehindGoesOn() async throws {
        let script = try Script(
            """
            Parse.Cloud.define('deja', () => {
              setTimeout(() => new Parse.Object('Notas').save({ n: 1 }), 5);
              return 'ya';
            });
            """)
        let code = try await script.load()
        let (saves, continuation) = AsyncStream.makeStream(of: CloudRequest.self)
        let server = FakeServer { request in
            continuation.yield(request)
            continuation.finish()
            return ["objectId": "n1"]
        }
        let answer = try await code.call("deja", server: server)
        #expect(answer.body == "ya")
        var paths: [String] = []
        for await save in saves { paths.append(save.path) }
        #expect(paths == ["classes/Notas"])
    }

    @Test func whatTheCodeRegistersAndLacksIsToldToPeople() async throws {
        let script = try Script(
            """
            Parse.Cloud.define('abrir', () => {});
            Parse.Cloud.beforeSave('Temas', () => {});
            Parse.Cloud.afterSave(Parse.User, () => {});
            Parse.Cloud.job('resumen', () => {});
            try { require('net'); } catch {}
            """)
        let code = try await script.load()
        let description = code.description
        #expect(description.handlers == ["afterSave _User", "beforeSave Temas", "function abrir", "job resumen"])
        #expect(description.missing.map(\.name) == [#"module "net""#])
        #expect(description.missing.first?.place.hasSuffix("main.js:5") == true)
    }

    @Test(arguments: ["Temas ", "1Temas", "Mis temas", ""])
    func aRuleForAClassThatCannotBeIsToldOf(name: String) async throws {
        let script = try Script(
            "Parse.Cloud.beforeSave('\(name)', () => {});\nParse.Cloud.beforeSave('Temas_2', () => {});")
        let told = try await script.load().description.missing
        #expect(told.map(\.name) == ["class \"\(name)\" of beforeSave: there can be none of that name"])
        #expect(told.first?.place.hasSuffix("main.js:1") == true)
    }

    @Test func theServersOwnClassesAreExtendedLikeAnyOther() async throws {
        let script = try Script(
            """
            const classes = ['User', '_User', '_Role', '_Session', '_Installation'].map(name => Parse.Object.extend(name));
            const Persona = Parse.User.extend({ saludo() { return `hola ${this.get('username')}`; } });
            Parse.Cloud.beforeSave(classes[0], () => {});
            Parse.Cloud.define('nombres', () => [...classes.map(one => one.className), new Parse.Query(classes[1]).className,
              new Persona({ username: 'ana' }).saludo(), new Persona() instanceof Parse.User]);
            """)
        let code = try await script.load()
        #expect(code.description.handlers == ["beforeSave _User", "function nombres"])
        let names: JSON = [
            "_User", "_User", "_Role", "_Session", "_Installation", "_User", "hola ana", true,
        ]
        #expect(try await code.call("nombres").body == names)
    }

    @Test func whoRegistersNothingForAnEventListensToNothing() async throws {
        let script = try Script(
            """
            const clase = { nombre: 'Temas', beforeSave: () => {} };
            for (const kind of ['beforeSave', 'afterSave', 'beforeFind']) Parse.Cloud[kind](clase.nombre, clase[kind]);
            """)
        #expect(try await script.load().description.handlers == ["beforeSave Temas"])
        let wrong = try Script("Parse.Cloud.beforeSave('Temas', 'texto');")
        await #expect { _ = try await wrong.load() } throws: { "\($0)".contains("the handler is no function") }
    }

    @Test func aJobsMessagesComeInTheirOrderAndBeforeItsEnd() async throws {
        let script = try Script(
            """
            Parse.Cloud.job('prisa', ({ message }) => { message('uno'); message(2); message('dos'); return 'fin'; });
            """)
        let code = try await script.load()
        let job = try #require(code.code.jobs["prisa"])
        let told = Mutex<[String]>([])
        let call = CloudCall(
            payload: ["jobName": "prisa", "params": [:]], sessionToken: nil, caller: FakeServer(),
            report: { text in
                // The first one takes longer than the second.
                if text == "uno" { try await Task.sleep(for: .milliseconds(100)) }
                told.withLock { $0.append(text) }
            })
        let answer = try await job.run(call)
        told.withLock { $0.append(answer.body?.string ?? "nothing") }
        #expect(told.withLock { $0 } == ["uno", "dos", "fin"])
    }

    @Test func whatLimitsHowOftenNamesTheRoutesBehindIt() async throws {
        let script = try Script(
            """
            const rateLimit = { requestTimeWindow: 60000, requestCount: 3 };
            const { user } = Parse.Server.RateLimitZone;
            Parse.Cloud.define('abrir', () => {}, { rateLimit: { ...rateLimit, zone: user, redisUrl: 'redis://none' } });
            Parse.Cloud.beforeSave('Temas', () => {}, { rateLimit });
            Parse.Cloud.beforeFind(Parse.User, () => {}, { rateLimit: { ...rateLimit, errorResponseMessage: 'despacio' } });
            Parse.Cloud.beforeLogin(() => {}, { rateLimit });
            Parse.Cloud.afterSave('Temas', () => {}, { rateLimit });
            """)
        let code = try await script.load()
        let limits = code.code.rateLimits.map { limit in
            "\(limit.requestPath) \(limit.requestMethods.joined(separator: "|")) \(limit.requestCount ?? 0) "
                + "\(limit.requestTimeWindow ?? 0) \(limit.zone.rawValue) \(limit.errorResponseMessage)"
        }
        #expect(
            limits.sorted() == [
                "/classes/Temas/:id? POST|PUT 3 60000.0 ip Too many requests.",
                "/classes/_User/:id? GET 3 60000.0 ip despacio", "/functions/abrir  3 60000.0 user Too many requests.",
                "/login  3 60000.0 ip Too many requests.",
            ])
        #expect(code.description.missing.map(\.name) == ["rateLimit of afterSave"])

        let wrong = "Parse.Cloud.define('abrir', () => {}, { rateLimit: { requestCounts: 3 } });"
        let package = "node_modules/@casa/reglas/index.js"
        for (script, place) in [
            (try Script(wrong), "/main.js:1: "),
            (try Script("require('@casa/reglas');", files: [package: "\n" + wrong]), "/\(package):2: "),
        ] {
            await #expect { _ = try await script.load() } throws: { error in
                "\(error)".contains(place) && "\(error)".contains("did you mean \"requestCount\"?")
            }
        }
    }

    @Test func mailGoesToTheServersQueueOneForEachAddress() async throws {
        let script = try Script(
            """
            Parse.Cloud.define('escribir', async () => {
                await Parse.Cloud.sendEmail({ to: 'ana@example.com', subject: 'Hola', text: 'Ya estás' });
                await Parse.Cloud.sendEmail({ to: ['b@example.com', 'c@example.com'], subject: 'Y', html: '<p>Y</p>' });
            });
            """)
        let server = FakeServer()
        _ = try await script.load().call("escribir", server: server)
        #expect(server.received.map(\.method) == ["MAIL", "MAIL", "MAIL"])
        #expect(server.received.map { $0.body["to"]?.string } == ["ana@example.com", "b@example.com", "c@example.com"])
        #expect(server.received.first?.body["text"] == "Ya estás")
        #expect(server.received.allSatisfy { if case .master = $0.authority { true } else { false } })
        let refusing = FakeServer { request in
            ["outcome": request.body["to"] == "ana@example.com" ? "unmailable" : "queued"]
        }
        let refused = await fault { try await script.load().call("escribir", server: refusing) }
        #expect(refused?.code == 125)
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self.init(elements.map { (key: $0.0, value: $0.1) })
    }
}
