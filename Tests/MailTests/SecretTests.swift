import Core
import Foundation
import Postgres
import Store
import TestSupport
import Testing
import Wire

@testable import Jobs
@testable import Mail

/// What mails say is in clear in the mail alone; and no address is flooded.
@Suite struct SecretTests {
    @Test func aDumpOfTheDatabaseTellsNothing() async throws {
        try await withMail { bench in
            let mailer = try bench.mailer()
            let secret = "Xz9secretoToken12"
            var own = Mail(to: "ana@example.com", subject: "asuntoSecreto", text: "textoSecreto", html: "htmlSecreto")
            own.unsubscribe = "https://example.com/bajaSecreta"
            let never = [secret, "asuntoSecreto", "textoSecreto", "htmlSecreto", "bajaSecreta", "apodoSecreto"]
            var ids: [Int64] = []
            for mail in [
                .verification(to: "ana@example.com"), .verification(to: "rcpt5.1.ana@example.com"), own,
                Mail(to: "eva@example.com", .invitation, values: ["link": Mail.link, "name": "apodoSecreto"]),
            ] { ids.append(try await bench.send(mail, by: mailer)) }
            let waiting = try await dump(bench)
            #expect(waiting.contains("eva@example.com"))
            for word in never { #expect(!waiting.contains(word)) }
            try bench.node(mailer)
            for id in ids { _ = try await bench.ended(id) }
            let sent = try await dump(bench)
            for word in never { #expect(!sent.contains(word)) }
            // Of those that have gone nothing is left to be opened; the one that was given up can be sent again.
            let jobs = try await JobQueue.list(in: bench.database)
            #expect(jobs.filter { $0.payload["sealed"] != nil }.map(\.id) == [ids[1]])
            #expect(bench.postbox.letters.count == 3)
            // The search finds what is there.
            #expect(bench.postbox.letters.contains { $0.text.contains(secret) })
        }
    }

    private func dump(_ bench: MailBench) async throws -> String {
        let program = try PostgresBinaries.find(majorVersion: nil).folder + "/pg_dump"
        let conninfo = bench.test.conninfo
        let (exit, output) = try await blocking {
            try ChildProcess.run([program, "--inserts", conninfo], environment: ProcessInfo.processInfo.environment)
        }
        try #require(exit == 0, "\(output.prefix(1000))")
        return output
    }

    @Test func whatIsSealedOpensOnlyWhereItBelongs() {
        let seal = Seal(.mail, masterKey: "una")
        let words = Array("¡Hola, Ana!".utf8)
        let sealed = seal.seal(words, for: "ana@example.com")
        #expect(seal.open(sealed, for: "ana@example.com") == words)
        #expect(Seal(.mail, masterKey: "una").open(sealed, for: "ana@example.com") == words)
        #expect(seal.open(sealed, for: "eva@example.com") == nil)
        #expect(Seal(.mail, masterKey: "otra").open(sealed, for: "ana@example.com") == nil)
        #expect(seal.seal(words, for: "ana@example.com") != sealed)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(seal.open(changed, for: "ana@example.com") == nil)
        }
        for count in 0..<sealed.count { #expect(seal.open(Array(sealed.prefix(count)), for: "ana@example.com") == nil) }
    }

    @Test func underAnotherMasterKeyAMailIsGivenUpWithARecord() async throws {
        try await withMail { bench in
            let id = try await bench.send(.verification(to: "ana@example.com"), by: try bench.mailer())
            try bench.node(try bench.mailer { $0.masterKey = "otra" })
            let job = try await bench.ended(id)
            #expect(job.state == "dead")
            #expect(job.reason == "What the mail says was sealed under another master key.")
        }
    }

    private func isQueued(
        _ address: String, _ account: String?, _ bench: MailBench, _ mailer: Mailer
    ) async throws -> Bool {
        var mail = Mail.verification(to: address)
        mail.account = account
        return try await mailer.send(mail, in: bench.store.operation(as: .master)) != .dropped
    }

    @Test func anAddressAndAnAccountGetNoMoreThanTheirBound() async throws {
        try await withMail { bench in
            let mailer = try bench.mailer {
                $0.hourlyPerAddress = 3
                $0.hourlyPerAccount = 5
            }
            var sent: [Bool] = []
            for address in ["ana@example.com", "Ana@Example.com", "ana@example.com", "ANA@example.com"] {
                sent.append(try await isQueued(address, nil, bench, mailer))
            }
            #expect(sent == [true, true, true, false])
            sent = []
            for number in 0..<7 {
                sent.append(try await isQueued("eva\(number)@example.com", "cuentaDeEva", bench, mailer))
            }
            #expect(sent == [true, true, true, true, true, false, false])
            let other = try await isQueued("luz@example.com", "cuentaDeLuz", bench, mailer)
            #expect(other)
            let jobs = try await JobQueue.list(in: bench.database)
            #expect(jobs.count == 9)
            // An hour later.
            try await bench.test.execute("UPDATE \"_hermes_rate_limits\" SET resets_at = now() - interval '1 second'")
            let later = try await isQueued("ana@example.com", nil, bench, mailer)
            #expect(later)
        }
    }

    /// All at once, on connections of their own: not one too many.
    @Test func manyAtOnceStayWithinTheBound() async throws {
        try await withMail { bench in
            let mailer = try bench.mailer { $0.hourlyPerAddress = 7 }
            let outcomes = await bench.loop.concurrently(40) { _ in
                try await mailer.send(.verification(to: "ana@example.com"), in: bench.store.operation(as: .master))
            }
            let queued = try outcomes.filter { try $0.get() != .dropped }
            #expect(queued.count == 7)
            let jobs = try await JobQueue.list(in: bench.database)
            #expect(jobs.count == 7)
        }
    }

    @Test func whatCannotBeSentIsSaidToTheProgramNotToItsClient() async throws {
        try await withMail { bench in
            let mailer = try bench.mailer()
            let operation = bench.store.operation(as: .master)
            let outcome = try await mailer.send(
                .verification(to: "ana@example.com\r\nBcc: eva@example.com"), in: operation)
            #expect(outcome == .unmailable)
            for values in [
                [:], ["link": ""], ["link": "javascript:alert(1)"], ["link": "https://a b"], ["link": "https://a/\r\n"],
            ] {
                let error = await failure {
                    try await mailer.send(Mail(to: "ana@example.com", .verifyEmail, values: values), in: operation)
                }
                #expect(error is MailFault)
            }
            let jobs = try await JobQueue.list(in: bench.database)
            #expect(jobs.isEmpty)
        }
    }
}
