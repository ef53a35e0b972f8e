import Foundation
import Testing
import Wire

@testable import JavaScript

/// Cloud code as modules of ECMAScript.
@Suite struct ESModuleTests {
    @Test func importAndExportWorkAsInNode() async throws {
        let script = try Script(
            """
            // import is a word here, too
            import './primero.js';
            import uno, { dos, tres as tercero } from './partes.js';
            import * as partes from './partes.js';
            import datos from './datos.json' with { type: 'json' };
            import {
              join,
            } from 'path';
            import clasico, { campo } from './clasico.cjs';
            import { reexportado, todo } from './otra.mjs';
            Parse.Cloud.define('prueba', async () => {
              const tarde = await import('./tarde.js');
              return [uno(), dos, tercero.a, Object.keys(partes).sort(), datos.n, join('a', 'b'), clasico.campo, campo,
                reexportado, todo.dos, tarde.default, import.meta.url.startsWith('file:///'), import.meta.filename.endsWith('main.js'), globalThis.orden];
            });
            """,
            files: [
                "package.json": #"{"type": "module"}"#,
                "primero.js": "globalThis.orden = ['primero'];",
                "partes.js": """
                orden.push('partes');
                export default function () { return `uno ${ultimo}`; }
                export const dos = 2, { tres, resto: [cuatro, ...cinco] } = { tres: { a: 3 }, resto: [4, 5, 6] };
                export class Seis {}
                export async function* siete() {}
                let ultimo = 'antes';
                export { ultimo as ocho };
                ultimo = 'ahora';
                """,
                "datos.json": #"{"n": 7}"#,
                "clasico.cjs": "exports.campo = 'c';",
                "otra.mjs": """
                export { dos as reexportado } from './partes.js'; export * as todo from './partes.js';
                export * from './clasico.cjs';
                """,
                "tarde.js": "export default { import: 1 }.import + 1;",
            ])
        let answer = try await script.load().call("prueba").body
        #expect(
            answer == [
                "uno ahora", 2, 3,
                ["Seis", "cinco", "cuatro", "default", "dos", "ocho", "siete", "tres"], 7, "a/b", "c", "c", 2, 2, 2,
                true,
                true, ["primero", "partes"],
            ])
    }

    @Test func modulesOfBothKindsNeedOneAnother() async throws {
        let script = try Script(
            """
            const { nombre } = require('./nuevo.mjs');
            Parse.Cloud.define('prueba', async () => {
              const solo = await import('solo');
              return [nombre(), require('solo').default, solo.default, require('./par').impar(3)];
            });
            """,
            files: [
                "nuevo.mjs": """
                import { createRequire } from 'module';
                const require = createRequire(import.meta.url);
                export const nombre = () => require('./viejo').x;
                """,
                "viejo.js": "exports.x = 'viejo';",
                "node_modules/solo/package.json": #"{"type": "module", "exports": {"import": "./index.js"}}"#,
                "node_modules/solo/index.js": "export default 'solo';",
                "par.js": """
                import * as otro from './impar.js'; export { impar } from './impar.js';
                export function par(n) { return n === 0 || otro.impar(n - 1); }
                """,
                "impar.js": """
                import * as otro from './par.js';
                export function impar(n) { return n !== 0 && otro.par(n - 1); }
                """,
            ])
        #expect(try await script.load().call("prueba").body == ["viejo", "solo", "solo", true])
    }

    @Test func theMainFileMayWaitAndErrorsHaveTheirLines() async throws {
        let waiting = try Script(
            """
            import { nombre } from './a.js';
            await import('./b.js');
            Parse.Cloud.define(nombre, () => 'ya');
            """, files: ["a.js": "export const nombre = 'tarde';", "b.js": ""])
        let code = try await waiting.load()
        while code.code.functions["tarde"] == nil { try await Task.sleep(for: .milliseconds(5)) }
        #expect(try await code.call("tarde").body == "ya")

        let failing = try Script(
            "import './a.js';", files: ["a.js": "import path\n  from 'path';\nexport const x = 1;\nnada();"])
        await #expect { _ = try await failing.load() } throws: { "\($0)".contains("a.js:4: ReferenceError") }
        let wrong = try Script("const a = 1;\nconst = 2;")
        await #expect { _ = try await wrong.load() } throws: { error in
            let text = "\(error)"
            return text.contains("main.js:2: SyntaxError") && !text.contains("hermes:")
        }
    }
}
