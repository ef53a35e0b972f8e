import Cloud
import Testing
import Wire

@testable import JavaScript

@Suite struct ValidatorTests {
    /// The validator is asked of the master key too where it says so, and what it puts in stays; the hook is not run.
    @Test func aHookThatIsSkippedIsValidatedAllTheSame() async throws {
        let script = try Script(
            """
            const nunca = () => { throw 'no se llama'; };
            Parse.Cloud.beforeSave('Temas', nunca, {
              fields: { titulo: { required: true }, votos: { default: 3 } }, validateMasterKey: true, skipWithMasterKey: true });
            Parse.Cloud.beforeSave('Notas', nunca, { fields: ['titulo'], skipWithMasterKey: true });
            """)
        let code = try await script.load()
        let master = JSONObject([("master", true)])
        let refused = await fault { try await code.trigger(.beforeSave, on: "Temas", master, changes: ["a": 1]) }
        #expect(refused == ParseError(142, "Validation failed. Please specify data for titulo."))
        let saved = try await code.trigger(.beforeSave, on: "Temas", master, changes: ["titulo": "Roma"])
        #expect(saved.body?.object?["object"] == ["titulo": "Roma", "votos": 3])
        let bare = try await code.trigger(.beforeSave, on: "Notas", master, changes: ["a": 1])
        #expect(bare.body == nil)
        let called = await fault {
            try await code.trigger(.beforeSave, on: "Notas", JSONObject(), changes: ["titulo": "Roma"])
        }
        #expect(called == ParseError(141, "no se llama"))
    }

    @Test func anOptionsFunctionThatThrowsIsARefusalInTheFieldsWords() async throws {
        let script = try Script(
            """
            const campo = { options: valor => { if (valor === 'mal') throw new Parse.Error(4711, 'mal'); return valor.length > 2 ? null : 0; } };
            Parse.Cloud.define('sinPalabras', () => 1, { fields: { clave: campo } });
            Parse.Cloud.define('conPalabras', () => 1, { fields: { clave: { ...campo, error: 'Clave corta' } } });
            """)
        let code = try await script.load()
        func said(_ name: String, _ value: JSON) async -> ParseError? {
            await fault { try await code.call(name, ["clave": value]) }
        }
        #expect(await said("conPalabras", .null) == ParseError(142, "Clave corta"))
        #expect(await said("conPalabras", "mal") == ParseError(142, "Clave corta"))
        #expect(await said("conPalabras", "ab") == ParseError(142, "Clave corta"))
        #expect(await said("sinPalabras", "mal") == ParseError(142, "mal"))
        #expect(await said("sinPalabras", "ab") == ParseError(142, "Validation failed. Invalid value for clave."))
        #expect(await said("sinPalabras", "abc") == nil)
    }

    @Test(arguments: [
        ("{ requiereUsuario: true }", "requiereUsuario is not a supported parameter"),
        ("{ requireUser: [] }", "key requireUser. Expected boolean, actual array"),
        ("{ requireMaster: 'sí' }", "key requireMaster. Expected boolean, actual string"),
        ("{ requireAnyUserRoles: true }", "key requireAnyUserRoles. Expected array|function, actual boolean"),
        ("{ fields: true }", "key fields. Expected array|object, actual boolean"),
        ("{ fields: { edad: { requerido: true } } }", "requerido is not a supported parameter"),
        ("{ fields: { edad: { required: 1 } } }", "key required. Expected boolean, actual number"),
        ("{ requireUserKeys: { edad: { error: [] } } }", "key error. Expected string, actual array"),
    ]) func aRuleThatIsWrittenWrongIsRefusedAtLoad(validator: String, said: String) async throws {
        let script = try Script("Parse.Cloud.define('ver', () => 1, \(validator));")
        do {
            _ = try await script.load()
            Issue.record("it was loaded")
        } catch {
            #expect("\(error)".contains(said))
        }
    }
}
