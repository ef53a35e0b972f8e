import Foundation
import Testing
import Wire

@testable import JavaScript

/// `hermes cloud check`: one run tells all that an application uses and does not get.
@Suite struct CheckTests {
    /// What is missing, with the places' files by their names.
    private func missing(_ main: String, files: [String: String] = [:]) async throws -> JavaScriptDescription {
        let script = try Script(main, files: files)
        var options = JavaScriptOptions()
        options.checks = true
        return try await script.load(options).description
    }
    private func lines(_ description: JavaScriptDescription) -> [String] {
        description.missing.map { feature in
            let place = feature.place.split(separator: "/").last.map(String.init) ?? ""
            return "\(place) \(feature.name.prefix(while: { $0 != ":" }))"
        }.sorted()
    }

    @Test func whatToDoAboutAModuleIsTold() async throws {
        let description = try await missing(
            "require('@/servicios'); require('@de/paquete/parte'); require('cloud/otro');")
        let told = description.missing.map(\.name)
        #expect(told.contains { $0.contains("@/servicios") && $0.contains("write it as a path") })
        #expect(told.contains { $0.contains("npm install @de/paquete`") })
        #expect(told.contains { $0.contains("'./otro'") })
    }

    @Test func triggersOfFilesAreToldTheirNewNames() async throws {
        let description = try await missing(
            "Parse.Cloud.beforeSaveFile(() => {}); Parse.Cloud.define('uno', () => {});")
        #expect(
            description.missing.map(\.name)
                == ["Parse.Cloud.beforeSaveFile: use Parse.Cloud.beforeSave(Parse.File, …)"])
        #expect(description.handlers == ["function uno"])
    }

    @Test func everythingThatIsMissingIsToldInOneGo() async throws {
        let description = try await missing(
            """
            // require('none'), Parse.Nothing
            const axios = require('axios');
            const { Router } = require('express').static('x');
            class Servicio extends require('base') {}
            const texto = "require('none') Parse.Nothing";
            Parse.Cloud.afterNothing('Temas', () => {});
            Parse.Cloud.define('uno', async () => {
              const net = require('net');
              return Parse.Cloud.httpRequest({ url: `${Parse.Promise.as(1)}` });
            });
            Parse.Cloud.beforeSave('Temas', (request, response) => { response.success(); });
            require('./otro');
            Parse.Cloud.define('dos', () => require('./tarde').f());
            """,
            files: [
                "otro.js": """
                Parse.Cloud.useMasterKey();
                new Parse.Query('Temas').find({ success: function (found) {} });
                Parse.Propio = { hecho: 1 };
                Parse.Propio.hecho += Parse.Propio.nada;
                nada();
                Parse.Cloud.define('nunca', () => {});
                """,
                "tarde.js": "const dgram = require('dgram'); require('con-red'); exports.f = 1;",
                "node_modules/con-red/package.json": #"{"main": "red.js"}"#,
                "node_modules/con-red/red.js": "try { require('opcional'); } catch {} require('net');",
            ])
        #expect(description.handlers == ["beforeSave Temas", "function dos", "function uno"])
        #expect(
            lines(description) == [
                #"main.js:11 second parameter of beforeSave Temas"#, #"main.js:2 module "axios""#,
                #"main.js:3 module "express""#,
                #"main.js:4 module "base""#, "main.js:6 Parse.Cloud.afterNothing", #"main.js:8 module "net""#,
                "main.js:9 Parse.Cloud.httpRequest", "main.js:9 Parse.Promise", "otro.js:1 Parse.Cloud.useMasterKey",
                #"otro.js:2 callback "success""#, "otro.js:5 what follows, for the file ends here with ReferenceError",
                #"tarde.js:1 module "con-red""#, #"tarde.js:1 module "dgram""#,
            ])
    }

    @Test func whatIsThereIsNotTold() async throws {
        let description = try await missing(
            """
            import _ from './paquete.js';
            import Parse2 from 'parse/node.js';
            const { x } = await import('./paquete.js');
            Parse.Cloud.define('uno', ({ params }, response) => response.success(Parse.Error.OBJECT_NOT_FOUND), { fields: ['a'] });
            Parse.Cloud.job('dos', async ({ message }) => message(/require('x')/.source));
            const nombre = './paq' + 'uete.js'; import(nombre);
            Parse.serverURL = Parse.serverURL || 'x';
            Parse.Cloud.propia = () => 1; Parse.Cloud.propia();
            """, files: ["paquete.js": "export default {}; export const x = 1;"])
        #expect(description.missing == [])
        #expect(description.handlers == ["function uno", "job dos"])
    }
}
