import Foundation
import Hermes
import Testing

@testable import Forum

/// What the server refuses, as people are told.
@Suite struct ServerWordsTests {
    /// Codes that members meet. Those of the forum's own rules are among them, whose words are taken for the forum's.
    private static let codes: Set<String> = [
        "-1", "1", "100", "101", "108", "119", "125", "137", "141", "142", "155", "200", "201", "202", "203", "204",
        "205", "207", "208", "209", "252",
    ]
    private static let rooms = ["Accounts", "Hermes", "Schema", "Server", "Store", "Wire"]

    /// Whom nobody meets who uses a page or calls a function of the forum: beginnings of sentences.
    private static let others = [
        // Who signs up by another site's account, which the forum does not offer.
        "X: the id is not the one", "code or access_token is missing", "GitHub does not know", "id_token is missing",
        "The id_token is not valid", "authData", "You provided username or email", "Nothing to challenge.",
        "challengeData",
        // Who writes rules.
        "There is no role", "This takes the master's rights", "An object can be locked",
        "A name can be locked", "Objects of X",
        "Hooks call one another", "El tema es demasiado corto.",
        // Who runs the server, with the master key.
        "X is kept by the server itself", "The route /", "master key is required", "Cannot run an aggregation",
        "No job with this id", "Cannot Schedule a job", "Invalid job.", "There is no time zone", "startAfter", "cron:",
        "repeatMinutes", "timeOfDay", "daysOfWeek", "A parameter can be", "Cloud code cannot take",
        "Aggregation pipelines",
        "X cannot be used with this version", "The catalogue's entry", "Cannot perform this operation",
        "updatedAt cannot occur",
    ]

    /// Every literal sentence of a `ParseError` with one of these codes, X in the place of what is put into it.
    private func sentences() throws -> [String] {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let sources = tests.appendingPathComponent("../../Sources").standardizedFileURL
        var found: [String] = []
        for room in ServerWordsTests.rooms {
            let folder = sources.appendingPathComponent(room)
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where name.hasSuffix(".swift")
            {
                let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
                for match in text.matches(of: /ParseError\(\s*(-?\d+),\s*(?:[\w.()]*refusal\(\s*)?"/)
                where ServerWordsTests.codes.contains(String(match.output.1)) {
                    found.append(literal(text[match.range.upperBound...]))
                }
            }
        }
        return found
    }

    private func literal(_ text: Substring) -> String {
        var sentence = ""
        var depth = 0
        var before: Character = " "
        for character in text {
            if depth > 0 {
                depth += character == "(" ? 1 : character == ")" ? -1 : 0
            } else if character == "(", before == "\\" {
                sentence.removeLast()
                sentence.append("X")
                depth = 1
            } else if character == "\"" {
                break
            } else {
                sentence.append(character)
            }
            before = character
        }
        return sentence
    }

    @Test func everySentenceThatMembersMayMeetHasSpanishWords() throws {
        let sentences = try sentences()
        #expect(sentences.count > 60, "only \(sentences.count) were found")
        let strange = sentences.filter { sentence in
            !ServerWordsTests.others.contains { sentence.hasPrefix($0) }
                && ServerWords.known(sentence, in: .spanish) == nil
        }
        #expect(strange == [])
        // A sentence that has gone is excused no longer.
        let idle = ServerWordsTests.others.filter { other in !sentences.contains { $0.hasPrefix(other) } }
        #expect(idle == [])
    }

    @Test func whatIsToldAlongStandsInTheWords() {
        let locked =
            "Your account is locked due to multiple failed login attempts. Please try again after 7 minute(s)"
        #expect(ServerWords.known(locked, in: .spanish)?.contains("dentro de 7 minutos") == true)
        #expect(ServerWords.known(locked, in: .english) == locked)
        #expect(ServerWords.known("motivo is required", in: .spanish) == "Falta: motivo.")
        #expect(
            ServerWords.known("denunciar took longer than 5 s and was stopped.", in: .english)
                == "It took too long. Try again.")
        #expect(ServerWords.known("Ya lo has denunciado.", in: .spanish) == nil)
    }

    @Test func functionsSayThemInTheCallersLanguage() async throws {
        try await withSite(["passwordPolicy": ["validatorPattern": "-[0-9]"]]) { site in
            for (language, words) in [("es", "demasiado fácil"), ("en", "too simple")] {
                let refused = try await site.client.with(header: "Accept-Language", language).post(
                    "functions/registrar",
                    [
                        "usuario": "luz", "contraseña": "facil", "correo": "luz@example.com", "nombre": "Luz",
                        "movil": "600100200", "ciudad": "Jaca",
                    ])
                #expect(refused.code == 142 && refused["error"]?.string?.contains(words) == true, "\(refused.body)")
            }
        }
    }
}
