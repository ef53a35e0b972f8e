import Testing
import Wire

@testable import Cloud

/// What webhooks are told, and what they are not.
@Suite struct WebhookPayloadTests {
    private struct Nobody: CloudCaller {
        func send(_ request: CloudRequest) async throws -> CloudResponse { CloudResponse(status: 404, body: [:]) }
    }

    private func body(
        _ payload: JSONObject, _ kind: Webhook.Kind, token: String? = nil, tokens: Bool = true, result: String? = nil
    ) -> JSONObject {
        var call = CloudCall(payload: payload, sessionToken: token, caller: Nobody())
        call.result = result.map { Array($0.utf8) }
        return WebhookPayload(sendsSessionTokens: tokens).body(of: call, kind)
    }

    private static let user: JSON = ["objectId": "u1", "username": "ana"]
    private static let headers: JSON = [
        "x-parse-application-id": "hermes", "x-parse-session-token": "r:1", "X-Parse-Master-Key": "master",
        "x-parse-maintenance-key": "maintenance", "authorization": "Basic aGVybWVzOm1hc3Rlcg==", "cookie": "a=b",
        "X-Parse-REST-API-Key": "rest", "x-parse-client-key": "c", "x-parse-javascript-key": "j",
        "x-parse-windows-key": "w", "proxy-authorization": "Basic YTpi",
    ]

    @Test func keysAreNeverSent() {
        let sent = body(JSONObject([("headers", Self.headers)]), .function("f"))
        #expect(sent["headers"] == ["x-parse-application-id": "hermes", "x-parse-session-token": "r:1"])
        let closed = body(JSONObject([("headers", Self.headers)]), .function("f"), tokens: false)
        #expect(closed["headers"] == ["x-parse-application-id": "hermes"])
    }

    @Test func theUserCarriesTheSessionsToken() {
        let payload = JSONObject([("user", Self.user), ("params", ["password": "a parameter of the application's"])])
        let sent = body(payload, .function("f"), token: "r:1")
        #expect(sent["user"] == ["objectId": "u1", "username": "ana", "sessionToken": "r:1"])
        #expect(sent["params"] == ["password": "a parameter of the application's"])
        let closed = body(payload, .function("f"), token: "r:1", tokens: false)
        #expect(closed["user"] == Self.user)
        let nobody = body(JSONObject([("params", [:])]), .function("f"), token: "r:1")
        #expect(nobody["user"] == nil)
    }

    @Test func passwordsOfUsersAreNeverSent() {
        let object: JSON = ["className": "_User", "username": "ana", "password": "secreto", "sessionToken": "r:1"]
        let payload = JSONObject([("object", object), ("original", object), ("className", "_User")])
        let kind = Webhook.Kind.trigger(Trigger(.beforeSave, on: "_User"))
        let sent = body(payload, kind)
        #expect(sent["object"] == ["className": "_User", "username": "ana", "sessionToken": "r:1"])
        #expect(sent["object"] == sent["original"])
        #expect(sent["className"] == nil)
        #expect(body(payload, kind, tokens: false)["object"] == ["className": "_User", "username": "ana"])
        let behind = body(
            JSONObject([("className", "_User")]), .trigger(Trigger(.afterSave, on: "_User")),
            result: object.description)
        #expect(behind["object"] == sent["object"])
        let other = body(payload, .trigger(Trigger(.beforeSave, on: "Cerraduras")))
        #expect(other["object"] == object, "fields of an application's class are its own affair")
    }

    @Test func findsLookAsTheyAlwaysHave() {
        let payload = JSONObject([
            ("triggerName", "afterFind"), ("className", "Temas"), ("isGet", false),
            ("objects", [["className": "Temas", "objectId": "t1"]]),
        ])
        let sent = body(payload, .trigger(Trigger(.afterFind, on: "Temas")))
        #expect(
            sent
                == JSONObject([
                    ("triggerName", "afterFind"), ("isGet", false), ("objects", [["objectId": "t1"]]),
                ]))
    }
}
