import Testing
import Wire

@testable import Cloud

/// What the answers of webhooks come to.
@Suite struct WebhookAnswerTests {
    private func read(_ text: String, _ kind: Webhook.Kind) throws -> JSON? {
        try WebhookAnswer.read(Array(text.utf8), of: kind).body
    }

    private func problem(_ text: String, _ kind: Webhook.Kind) -> WebhookAnswer.Problem? {
        do throws(WebhookAnswer.Problem) {
            _ = try WebhookAnswer.read(Array(text.utf8), of: kind)
            return nil
        } catch { return error }
    }

    private func hook(_ kind: TriggerKind) -> Webhook.Kind { .trigger(Trigger(kind, on: "Temas")) }

    @Test(arguments: ["null", "false", "0", "\"\"", "[]", "{\"a\":[1,null]}", "\"hola\"", "42.5"])
    func aFunctionsSuccessIsItsResult(success: String) throws {
        let result = try read("{\"success\":\(success)}", .function("f"))
        #expect(result == (try JSONParser.parse(success)))
    }

    @Test func withoutSuccessThereIsNoResult() throws {
        for text in ["", "{}", "{\"otra\":1}", "{\"error\":null}", "{\"error\":\"\"}"] {
            for kind in [.function("f"), .job("j"), hook(.beforeSave), hook(.afterFind)] {
                let result = try read(text, kind)
                #expect(result == nil, "\(text) of \(kind)")
            }
        }
    }

    @Test func anErrorGoesBeforeASuccess() {
        let all: [(String, String)] = [
            ("\"no\"", "no"), ("{\"code\":1234,\"message\":\"Cerrado\"}", "Cerrado"),
            ("{\"code\":1234,\"error\":\"Cerrado\"}", "Cerrado"),
            ("{\"code\":5}", "The webhook refused."), ("true", "true"), ("7", "7"),
        ]
        for (error, message) in all {
            for kind in [.function("f"), hook(.beforeSave), hook(.afterSave), hook(.beforeDelete), hook(.beforeFind)] {
                #expect(problem("{\"success\":{},\"error\":\(error)}", kind) == .refused(message))
            }
        }
    }

    @Test(arguments: ["hola", "[]", "null", "7", "\"hola\"", "{\"success\":", "<html></html>", "{} {}", "\u{0}"])
    func anythingElseIsNonsense(text: String) {
        for kind in [.function("f"), .job("j"), hook(.beforeSave), hook(.afterFind)] {
            guard case .nonsense = problem(text, kind) else {
                Issue.record("\(text) was taken for an answer of \(kind)")
                continue
            }
        }
    }

    @Test func whatBeforeSaveAnswersIsWritten() throws {
        let written = try read(
            #"{"success":{"titulo":"Dos","votos":{"__op":"Increment","amount":1},"ACL":{}}}"#, hook(.beforeSave))
        #expect(
            written == ["object": ["titulo": "Dos", "votos": ["__op": "Increment", "amount": 1], "ACL": [:]]])
        for nothing in ["true", "null"] {
            let left = try read("{\"success\":\(nothing)}", hook(.beforeSave))
            #expect(left == nil)
        }
        for nonsense in ["\"x\"", "7", "[]", "false"] {
            #expect(problem("{\"success\":\(nonsense)}", hook(.beforeSave)) != nil)
        }
    }

    @Test func whatAfterSaveAnswersIsTheClientsOrNothing() throws {
        let object = try read(#"{"success":{"aviso":"guardado"}}"#, hook(.afterSave))
        #expect(object == ["object": ["aviso": "guardado"]])
        let text = try read(#"{"success":"texto"}"#, hook(.afterSave))
        #expect(text == nil)
    }

    @Test func findsTakeQueriesAndObjects() throws {
        let query = try read(#"{"success":{"where":{"n":1},"limit":5}}"#, hook(.beforeFind))
        #expect(query == ["query": ["where": ["n": 1], "limit": 5]])
        let objects = #"{"success":[{"objectId":"a","n":1}]}"#
        for kind in [TriggerKind.beforeFind, .afterFind] {
            let found = try read(objects, hook(kind))
            #expect(found == ["objects": [["objectId": "a", "n": 1]]])
            for nonsense in ["[7]", "[null]", "[\"x\"]", "[{}]", "[{\"objectId\":7}]", "[[]]", "\"x\"", "7"] {
                #expect(problem("{\"success\":\(nonsense)}", hook(kind)) != nil, "\(nonsense) of \(kind)")
            }
            let none = try read(#"{"success":{}}"#, hook(kind))
            #expect(none == nil)
        }
        let empty = try read(#"{"success":[]}"#, hook(.afterFind))
        #expect(empty == ["objects": []])
        #expect(problem(#"{"success":{"pipeline":[]}}"#, hook(.beforeFind)) != nil)
        // What SDKs say of a query beside its conditions comes back as it was told.
        let told = #"{"comment":"x","redirectClassNameForKey":"r","readPreference":"SECONDARY","includeAll":true}"#
        #expect(problem("{\"success\":\(told)}", hook(.beforeFind)) == nil)
    }

    @Test func othersChangeNothing() throws {
        for kind in [TriggerKind.beforeDelete, .afterDelete, .beforeLogin, .afterLogin, .afterLogout] {
            for success in ["true", "{\"a\":1}", "\"ok\""] {
                let body = try read("{\"success\":\(success)}", hook(kind))
                #expect(body == nil)
            }
        }
    }
}
