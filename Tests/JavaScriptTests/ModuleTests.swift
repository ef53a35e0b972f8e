import Cloud
import Core
import Foundation
import HTTP
import Testing
import Wire

@testable import JavaScript

/// What cloud code takes for granted beside Parse: packages, Node's modules, the web's globals.
@Suite struct ModuleTests {
    /// Runs a body in an isolate; it answers what it returns.
    private func run(_ body: String, files: [String: String] = [:], _ params: JSONObject = JSONObject()) async throws
        -> JSON?
    {
        let script = try Script(
            "Parse.Cloud.define('prueba', async ({ params }) => { \(body) });", files: files)
        var options = JavaScriptOptions()
        // Debian's packages, where scripts/setup has put them.
        options.packageFolders = ["/usr/share/nodejs"]
        options.environment = ["LUGAR": "Lisboa"]
        // Compiling a large package takes a slow machine its time.
        options.turnLimit = 10_000_000_000
        options.callLimit = 60_000_000_000
        return try await script.load(options).call("prueba", params).body
    }

    @Test func filesFoldersAndPackagesAreRequired() async throws {
        let answer = try await run(
            """
            const uno = require('./uno');
            return [uno.nombre, uno === require('./uno.js'), require('./datos.json').n, require('./carpeta').desde, require('paquete')(),
              require('paquete/otro'), require('@grupo/parte').x, require('./circulo/a').b.a.listo];
            """,
            files: [
                "uno.js": "exports.nombre = 'uno';",
                "datos.json": "{\"n\": 3}",
                "carpeta/index.js": "exports.desde = require('path').basename(__dirname);",
                "node_modules/paquete/package.json": #"{"main": "lib/principal"}"#,
                "node_modules/paquete/lib/principal.js": "module.exports = () => 'paquete';",
                "node_modules/paquete/otro.js": "module.exports = 'otro';",
                "node_modules/@grupo/parte/package.json":
                    #"{"exports": {".": {"import": "./no.mjs", "require": "./si.cjs"}}}"#,
                "node_modules/@grupo/parte/si.cjs": "exports.x = 'si';",
                "circulo/a.js": "exports.listo = true; exports.b = require('./b');",
                "circulo/b.js": "exports.a = require('./a');",
            ])
        #expect(answer == ["uno", true, 3, "carpeta", "paquete", "otro", "si", true])
    }

    @Test func packagesOfTheWorldWork() async throws {
        let answer = try await run(
            """
            const _ = require('lodash'), moment = require('moment'), semver = require('semver'), uuid = require('uuid');
            return {
              lodash: [_.chunk([1, 2, 3], 2), _.camelCase('hola mundo'), _.get({ a: [{ b: 5 }] }, 'a[0].b'), _.cloneDeep({ d: new Date(0) }).d.getTime()],
              moment: [moment.utc('2024-02-28').add(2, 'days').format('YYYY-MM-DD'), moment.utc(0).isValid()],
              semver: [semver.satisfies('1.2.3', '^1.0.0'), semver.inc('1.2.3', 'minor')],
              uuid: [uuid.validate(uuid.v4()), uuid.v5('viaje', uuid.v5.URL)],
            };
            """)
        #expect(
            answer == [
                "lodash": [[[1, 2], [3]], "holaMundo", 5, 0],
                "moment": ["2024-03-01", true],
                "semver": [true, "1.3.0"],
                "uuid": [true, "59af9564-be44-593e-95b8-ce3adda77c1a"],
            ])
    }

    @Test func nodesModulesThatNeedNoSystemAreThere() async throws {
        let answer = try await run(
            """
            const path = require('node:path'), qs = require('querystring'), util = require('util'), url = require('url');
            const EventEmitter = require('events'), assert = require('assert');
            const emisor = new EventEmitter(); const oidos = [];
            emisor.once('x', v => oidos.push(v)); emisor.emit('x', 1); emisor.emit('x', 2);
            let refused; try { assert.strictEqual(1, 2); } catch (error) { refused = error.code; }
            return [path.join('/a', '../b', 'c.js'), path.relative('/a/b', '/a/c'), path.extname('x.tar.gz'), qs.parse('a=1&a=2&b=%C3%B1'), qs.stringify({ a: [1, 'ñ'] }),
              util.format('%s %d %j', 'a', 2, { b: 1 }), util.inspect({ a: [1, { b: new Map([[1, 2]]) }] }), util.isDeepStrictEqual({ a: [1] }, { a: [1] }),
              await util.promisify((x, done) => done(null, x + 1))(1), url.parse('http://u:p@a.es:80/x?y=1#z').pathname, oidos, refused,
              await require('timers/promises').setTimeout(1, 'ya'), process.env.LUGAR];
            """)
        #expect(
            answer == [
                "/b/c.js", "../c", ".gz", ["a": ["1", "2"], "b": "ñ"], "a=1&a=%C3%B1", #"a 2 {"b":1}"#,
                "{ a: [ 1, { b: [Map] } ] }", true, 2, "/x", [1], "ERR_ASSERTION", "ya", "Lisboa",
            ])
    }

    @Test func filesBesideTheCodeAreReadAndNoneWritten() async throws {
        let answer = try await run(
            """
            const fs = require('fs'), path = require('path'), os = require('os');
            const file = path.join(__dirname, 'plantillas', 'hola.html');
            const told = await new Promise(resolve => fs.readFile(file, 'utf8', (error, text) => resolve([error, text])));
            const refusals = [() => fs.readFileSync('/no/such'), () => fs.readFileSync(__dirname), () => fs.writeFileSync(file, 'x')]
              .map(body => { try { return body(); } catch (error) { return error.code; } });
            return [fs.readFileSync(file, 'utf8'), fs.readFileSync(file).length, await require('fs/promises').readFile(file, { encoding: 'utf-8' }),
              ...told, fs.existsSync(file), fs.existsSync('/no/such'), fs.readdirSync(path.dirname(file)), fs.statSync(file).isFile(),
              fs.statSync(__dirname).isDirectory(), fs.statSync(file).size, ...refusals, os.EOL, typeof os.hostname()];
            """,
            files: ["plantillas/hola.html": "<p>ñ</p>", "plantillas/adios.html": ""])
        #expect(
            answer == [
                "<p>ñ</p>", 9, "<p>ñ</p>", nil, "<p>ñ</p>", true, false, ["adios.html", "hola.html"], true, true, 9,
                "ENOENT", "EISDIR", "EROFS", "\n", "string",
            ])
    }

    @Test func digestsAndRandomNumbers() async throws {
        let answer = try await run(
            """
            const crypto = require('crypto');
            const bytes = crypto.randomBytes(16);
            return [crypto.createHash('sha256').update('vi').update('aje').digest('hex'), crypto.createHash('md5').update('').digest('base64'),
              crypto.createHmac('sha1', 'clave').update('texto').digest('hex'), bytes.length, Buffer.isBuffer(bytes),
              /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()),
              crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('a')), crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('b')),
              globalThis.crypto.getRandomValues(new Uint32Array(4).subarray(1)).length];
            """)
        #expect(
            answer == [
                "990bfdda5c7ba811c7d66e29894eb974600c40cd83ed1f818be5d59f511a44db",
                "1B2M2Y8AsgTpgAmY7PhCfg==", "692bb3330fe99ee7a9184a1ca1e271fc6571d57a", 16, true, true, true, false, 3,
            ])
    }

    @Test func addressesTextsAndBytes() async throws {
        let answer = try await run(
            """
            const url = new URL('../b?q=ñ&x=1#h', 'HTTPS://Usuario:c@EXAMPLE.es:443/a/c/d');
            url.searchParams.append('y', 'a b');
            const buffer = Buffer.concat([Buffer.from('ñ'), Buffer.from('ff00', 'hex'), Buffer.from('aG9sYQ==', 'base64')]);
            const copia = structuredClone({ d: new Date(0), m: new Map([[1, { a: 1 }]]) });
            return [url.href, url.origin, url.hostname, new URL('http://[::1]:8080/').host, new URL('http://España.es/').hostname, URL.canParse('x'),
              buffer.toString('hex'), buffer.readUInt16BE(2), buffer.slice(4).toString(), new TextDecoder().decode(new Uint8Array([0xc3, 0xb1, 0xff])),
              [...new TextEncoder().encode('🙂')], atob(btoa('hola')), copia.d.getTime(), copia.m.get(1).a, Buffer.from('x').toJSON(), typeof performance.now()];
            """)
        #expect(
            answer == [
                "https://Usuario:c@example.es/a/b?q=%C3%B1&x=1&y=a+b#h", "https://example.es", "example.es",
                "[::1]:8080",
                "xn--espaa-rta.es", false, "c3b1ff00686f6c61", 65280, "hola", "ñ\u{FFFD}", [240, 159, 153, 130], "hola",
                0, 1,
                ["type": "Buffer", "data": [120]], "number",
            ])
    }

    @Test func fetchReadsWritesAndGivesUp() async throws {
        let worker = Worker(name: "fetched")
        let port = try await worker.run { _, loop in
            let server = try HTTPServer(loop: loop, limits: HTTPServer.Limits()) { request, responder in
                switch request.path {
                case "/lento":
                    try? await responder.loop.sleep(nanoseconds: 60_000_000_000)
                    responder.respond()
                case "/otra":
                    responder.respond(status: 302, headers: [("Location", "/eco?x=1")])
                default:
                    let type = request.header("Content-Type") ?? "-"
                    responder.respond(
                        status: 201, headers: [("X-Tipo", type)], body: Array("\(request.method) ".utf8) + request.body)
                }
            }
            let listener = try Listener(host: "127.0.0.1", port: 0, limits: HTTPServer.Limits())
            listener.add(server)
            listener.start(on: loop)
            loop.keep(server)
            loop.keep(listener)
            return listener.port
        }
        let answer = try await run(
            """
            const base = `http://127.0.0.1:${params.puerto}`;
            const uno = await fetch(`${base}/eco`, { method: 'POST', body: JSON.stringify({ a: 'ñ' }), headers: { 'Content-Type': 'application/json' } });
            const dos = await fetch(`${base}/eco`, { method: 'POST', body: new URLSearchParams({ a: 'b c' }) });
            const tres = await fetch(`${base}/otra`);
            const cuatro = await fetch(`${base}/otra`, { redirect: 'manual' });
            const cinco = await fetch(`${base}/lento`, { signal: AbortSignal.timeout(20) }).catch(error => error.name);
            const seis = await fetch(`${base}/lento`, { timeout: 20 }).catch(error => [error instanceof TypeError, error.cause.code]);
            const siete = await fetch('http://127.0.0.1:1/').catch(error => error.message);
            return [uno.status, uno.headers.get('x-tipo'), await uno.text(), dos.headers.get('x-tipo'), await dos.text(), await tres.text(),
              cuatro.status, cuatro.headers.get('location'), cinco, seis, siete];
            """, ["puerto": .number(Double(port))])
        await worker.stop()
        #expect(
            answer == [
                201, "application/json", "POST {\"a\":\"ñ\"}", "application/x-www-form-urlencoded;charset=UTF-8",
                "POST a=b+c", "GET ", 302, "/eco?x=1", "TimeoutError", [true, "ETIMEDOUT"], "fetch failed",
            ])
    }

    @Test func aTextInPartsIsDecodedAcrossThem() async throws {
        let answer = try await run(
            """
            const bytes = new TextEncoder().encode('\\ufeffañ🙂\\ufeff'), decoder = new TextDecoder();
            const parts = [...bytes].map(byte => decoder.decode(Uint8Array.of(byte), { stream: true }));
            const utf16 = new TextDecoder('utf-16le');
            const { StringDecoder } = require('string_decoder');
            const old = new StringDecoder();
            return [parts.join(''), decoder.decode(), new TextDecoder().decode(Uint8Array.of(0xc3)),
              utf16.decode(Uint8Array.of(0x61), { stream: true }) + utf16.decode(Uint8Array.of(0)),
              old.write(Buffer.from([0xc3])) + old.write(Buffer.from([0xb1])) + old.end()];
            """)
        #expect(answer == ["añ🙂\u{FEFF}", "", "\u{FFFD}", "a", "ñ"])
    }

    @Test func streamsBringBytesAlong() async throws {
        let answer = try await run(
            """
            const stream = require('stream'), { Readable, Transform, Writable, pipeline } = stream, util = require('util');
            const got = [];
            const up = new Transform({ transform(chunk, encoding, done) { done(null, String(chunk).toUpperCase()); }, flush(done) { done(null, '!'); } });
            const sink = new Writable({ write(chunk, encoding, done) { got.push(String(chunk)); setTimeout(done, 1); } });
            await require('stream/promises').pipeline(Readable.from(['a', 'ñ']), up, sink);
            const fails = new Transform({ transform(chunk, encoding, done) { done(new Error('roto')); } });
            const error = await new Promise(done => pipeline(Readable.from(['a']), fails, new stream.PassThrough(), done));
            function Vieja() { stream.Readable.call(this); this.left = 2; }
            util.inherits(Vieja, stream.Readable);
            Vieja.prototype._read = function () { this.push(this.left-- > 0 ? Buffer.from([0xc3, 0xb1].slice(1 - this.left, 2 - this.left)) : null); };
            let text = '';
            for await (const part of new Vieja().setEncoding('utf8')) text += part;
            return [got, error.message, text, up instanceof Writable, up.writableFinished];
            """)
        #expect(answer == [["A", "Ñ", "!"], "roto", "ñ", true, true])
    }

    @Test func httpAsksOtherServers() async throws {
        let worker = Worker(name: "asked")
        let port = try await worker.run { _, loop in
            let server = try HTTPServer(loop: loop, limits: HTTPServer.Limits()) { request, responder in
                if request.path == "/lento" { try? await responder.loop.sleep(nanoseconds: 60_000_000_000) }
                let told = ["Authorization", "X-Tipo"].map { request.header($0) ?? "-" }.joined(separator: " ")
                responder.respond(
                    status: request.path == "/otra" ? 302 : 201, headers: [("Location", "/eco"), ("X-Eco", told)],
                    body: Array("\(request.method) \(request.path) ".utf8) + request.body)
            }
            let listener = try Listener(host: "127.0.0.1", port: 0, limits: HTTPServer.Limits())
            listener.add(server)
            listener.start(on: loop)
            loop.keep(server)
            loop.keep(listener)
            return listener.port
        }
        let answer = try await run(
            """
            const http = require('http'), base = `http://127.0.0.1:${params.puerto}`;
            const read = request => new Promise((resolve, reject) => request.on('error', reject).on('response', answer => {
              let text = '';
              answer.setEncoding('utf8').on('data', part => { text += part; });
              answer.on('end', () => resolve([answer.statusCode, text, answer.headers['x-eco']]));
            }));
            const post = () => {
              const headers = { 'X-Tipo': 't', 'Content-Length': 4 };
              const request = http.request({ hostname: '127.0.0.1', port: params.puerto, path: '/eco', method: 'post', auth: 'u:c', headers });
              request.write('a');
              return request.end('ñb');
            };
            const late = () => {
              const request = http.get(`${base}/lento`);
              return request.setTimeout(10, () => request.destroy());
            };
            return [await read(http.get(`${base}/uno`)), await read(post()), (await read(http.get(new URL('/otra', base))))[0],
              await read(late()).catch(error => error.code), await read(http.get('http://127.0.0.1:1/')).catch(error => error.code),
              await new Promise(done => http.get(base, async answer => { for await (const part of answer) done(String(part)); }))];
            """, ["puerto": .number(Double(port))])
        await worker.stop()
        #expect(
            answer == [
                [201, "GET /uno ", "- -"], [201, "POST /eco añb", "Basic dTpj t"], 302, "ECONNRESET", "ECONNREFUSED",
                "GET / ",
            ])
    }

    @Test func packagesMayNameWhatTheyDoNotUse() async throws {
        let answer = try await run(
            """
            const refused = name => { try { require(name); return 'there'; } catch (error) { return error.code; } };
            return [require('curioso'), refused('child_process'), Object.prototype.toString.call(process)];
            """,
            files: [
                "node_modules/curioso.js":
                    "const { exec } = require('child_process'); try { exec('ls'); } catch (error) { module.exports = error.message; }"
            ])
        #expect(
            answer == [
                "child_process.exec is not there: cloud code runs without Node", "MODULE_NOT_FOUND", "[object process]",
            ])
    }

    @Test func aScriptOfTheRuntimeIsInTheProgram() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources/JavaScript/Runtime").standardizedFileURL
        let files = try #require(FileManager.default.enumerator(atPath: folder.path)).compactMap { $0 as? String }
        let names = files.filter { $0.hasSuffix(".js") }.map { String($0.dropLast(3)) }
            .map { $0 == "parse/index" ? "parse" : $0 }
        #expect(names.sorted() == RuntimeScripts.names)
    }
}
