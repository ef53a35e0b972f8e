import Testing
import Wire

@testable import Cloud

@Suite struct WebhookTests {
    private func code(_ kind: Webhook.Kind, _ url: String = "http://localhost/nube") -> Int? {
        do throws(ParseError) {
            _ = try Webhook(kind, url: url)
            return nil
        } catch { return error.code }
    }

    @Test(arguments: [
        "http://localhost", "https://example.com:8443/nube?a=b", "HTTP://EXAMPLE.com", "http://ana:secreto@[::1]:80/",
    ]) func urls(url: String) { #expect(code(.function("f"), url) == nil) }

    @Test(arguments: [
        "", "example.com", "ftp://example.com", "file:///etc/passwd", "http://", "http:///nube", "http://:80/",
        "http://a b", "http://a\n", "gopher://a", "http://" + String(repeating: "a", count: 2048),
    ]) func noURLs(url: String) { #expect(code(.function("f"), url) == 143) }

    @Test func hostsAreWhatIsOutOfOrder() throws {
        let one = try Webhook(.function("f"), url: "http://ana:secreto@Example.com:80/a?b@c")
        #expect(one.host == "http://example.com:80")
        let other = try Webhook(.function("f"), url: "https://example.com/a")
        #expect(other.host == "https://example.com")
    }

    @Test func names() {
        for name in ["abrirTema", "abrir.tema", "abrir\"tema", "año", "a b", String(repeating: "a", count: 255)] {
            #expect(code(.function(name)) == nil)
            #expect(code(.job(name)) == nil)
        }
        for name in ["", "a\u{0}b", "a\nb", String(repeating: "a", count: 256)] {
            #expect(code(.function(name)) == 143)
        }
    }

    @Test func eachClassHasItsEvents() {
        let table: [(String, Set<TriggerKind>)] = [
            ("Temas", WebhookTests.ofObjects), ("_Role", WebhookTests.ofObjects), ("_Session", [.afterLogout]),
            (
                "_User",
                WebhookTests.ofObjects.union([.beforeLogin, .afterLogin, .beforePasswordResetRequest, .accountExport])
            ),
            ("@Config", [.beforeSave, .afterSave]), ("@Connect", [.beforeConnect]),
            ("@File", [.beforeSave, .afterSave, .beforeDelete, .afterDelete, .beforeFind, .afterFind]),
            ("@Otra", []), ("9Temas", []), ("", []), ("_Otra", []),
        ]
        for (className, events) in table {
            for kind in TriggerKind.allCases {
                let expected = events.contains(kind) ? nil : 143
                #expect(code(.trigger(Trigger(kind, on: className))) == expected, "\(kind) of \(className)")
            }
        }
    }

    private static let ofObjects: Set<TriggerKind> = [
        .beforeSave, .afterSave, .beforeDelete, .afterDelete, .beforeFind, .afterFind, .beforeSubscribe, .afterEvent,
    ]
}
