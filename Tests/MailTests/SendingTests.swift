import Core
import Foundation
import HTTP
import Postgres
import Store
import TestSupport
import Testing
import Wire

@testable import Jobs
@testable import Mail

/// Mails on their way, to a real SMTP server that fails where it is told to.
@Suite struct SendingTests {
    @Test func aMailArrives() async throws {
        try await withMail { bench in
            let mailer = try bench.mailer()
            try bench.node(mailer)
            let id = try await bench.send(.verification(to: "ana@example.com", language: "es-ES"), by: mailer)
            let job = try await bench.ended(id)
            #expect(job.state == "done")
            #expect(job.message == "250 2.0.0 OK: queued as TEST")
            let letter = try #require(bench.postbox.letters.first)
            #expect(bench.postbox.letters.count == 1)
            #expect(letter.recipients == ["ana@example.com"])
            #expect(letter.json["sender"] == "foro@example.com")
            #expect(letter.header("Subject") == "Confirma tu dirección para Foro de viajes")
            #expect(letter.header("From") == "Foro de viajes <foro@example.com>")
            #expect(letter.header("Auto-Submitted") == "auto-generated")
            #expect(letter.header("List-Unsubscribe") == nil)
            #expect(letter.text.split(whereSeparator: \.isWhitespace).contains { $0 == Mail.link })
            #expect(letter.html.contains("<html lang=\"es\">"))
            #expect(letter.html.contains("href=\"\(Mail.link)\""))
            #expect(letter.json["defects"]?.array?.isEmpty == true)
        }
    }

    @Test func aMailStandsOrFallsWithItsTransaction() async throws {
        try await withMail { bench in
            struct Undone: Error {}
            let mailer = try bench.mailer()
            let undone = await failure {
                try await bench.store.operation(as: .master).inTransaction { operation in
                    try await mailer.send(.verification(to: "eva@example.com"), in: operation)
                    throw Undone()
                }
            }
            #expect(undone is Undone)
            var queued: Mailer.Outcome?
            try await bench.store.operation(as: .master).inTransaction { operation in
                queued = try await mailer.send(.verification(to: "ana@example.com"), in: operation)
            }
            guard case .queued(let id) = queued else { throw Postbox.Failure("not queued") }
            try bench.node(mailer)
            let job = try await bench.ended(id)
            #expect(job.state == "done")
            let jobs = try await JobQueue.list(in: bench.database)
            #expect(jobs.count == 1)
            #expect(bench.postbox.letters.map(\.recipients) == [["ana@example.com"]])
        }
    }

    @Test(arguments: ["rcpt4", "data4", "dot4", "cut-rcpt", "cut-data"])
    func whatFailsForNowIsTriedAgainAndArrivesOnce(fault: String) async throws {
        try await withMail { bench in
            let mailer = try bench.mailer()
            try bench.node(mailer)
            let id = try await bench.send(.verification(to: "\(fault).2.ana@example.com"), by: mailer)
            let job = try await bench.ended(id)
            #expect(job.state == "done")
            #expect(job.run == 3)
            #expect(bench.postbox.letters.count == 1)
        }
    }

    @Test(
        arguments: [
            (fault: "rcpt5", reply: "550 5.1.1 nobody of that name"), (fault: "data5", reply: "554 5.5.1 never"),
            (fault: "dot5", reply: "554 5.7.1 that is no mail for us"),
        ], ["ana", "bye.ana"])
    func whatIsRefusedForGoodIsGivenUpAtOnce(_ refusal: (fault: String, reply: String), name: String) async throws {
        try await withMail { bench in
            let mailer = try bench.mailer()
            try bench.node(mailer)
            let id = try await bench.send(.verification(to: "\(refusal.fault).1.\(name)@example.com"), by: mailer)
            let job = try await bench.ended(id)
            #expect(job.state == "dead")
            #expect(job.reason == refusal.reply)
            #expect(job.run == 1)
            #expect(bench.postbox.letters.isEmpty)
            // An operator may think otherwise.
            let again = try await JobQueue.retry(id, in: bench.database)
            #expect(again)
            let isDone = try await eventually(bench.loop) {
                try await JobQueue.entry(id, in: bench.database)?.state == "done"
            }
            #expect(isDone)
            #expect(bench.postbox.letters.count == 1)
        }
    }

    /// The server has the mail and could not say so: it is sent again, and receivers see that it is the same.
    @Test func aSecondCopyHasTheSameIdentity() async throws {
        try await withMail { bench in
            let mailer = try bench.mailer()
            try bench.node(mailer)
            let id = try await bench.send(.verification(to: "cut-dot.2.ana@example.com"), by: mailer)
            let job = try await bench.ended(id)
            #expect(job.state == "done")
            let identities = bench.postbox.events("dot").map { $0["id"]?.string }
            #expect(identities.count == 3)
            #expect(Set(identities).count == 1)
            #expect(identities.first??.contains("<\(id).") == true)
            #expect(bench.postbox.letters.count == 1)
        }
    }
}
