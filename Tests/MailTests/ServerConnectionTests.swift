import Core
import Foundation
import HTTP
import Postgres
import TestSupport
import Testing
import Wire

@testable import Jobs
@testable import Mail

/// How the SMTP server is reached: TLS, authentication, time limits, and a server that is not there.
@Suite struct ServerConnectionTests {
    /// Why sending fails; nil where it does not.
    private func failing(_ bench: MailBench, _ server: SMTPServer) async throws -> SMTPFailure? {
        let mail = MailMessage(
            from: try MailSender("foro@example.com"), to: try #require(MailAddress("ana@example.com")), subject: "Hola",
            text: "Hola", html: nil, id: "1.a", date: Wire.Timestamp(milliseconds: 0), unsubscribe: nil)
        let error = await failure {
            try await SMTPDelivery.send(mail.bytes, from: "foro@example.com", to: "ana@example.com", by: server)
        }
        if let error { return try #require(error as? SMTPFailure) }
        return nil
    }

    private func withCertificate(
        _ arguments: [String], _ body: @Sendable (MailBench, String) async throws -> Void
    ) async throws {
        let folder = NSTemporaryDirectory() + "hermes-certificate-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let certificate = try await Postbox.makeCertificate(in: folder)
        try await withMail(["--certificate", certificate] + arguments) { bench in try await body(bench, certificate) }
    }

    @Test func aPasswordIsSentOverTLSOnly() async throws {
        try await withMail { bench in
            let server = try SMTPServer("smtp://foro:clave@127.0.0.1:\(bench.postbox.port)")
            #expect(server.encryption == .startTLS)
            let failure = try await failing(bench, server)
            #expect(failure?.kind == .server)
            #expect(bench.postbox.letters.isEmpty)
        }
    }

    @Test func startTLSWithAPassword() async throws {
        try await withCertificate(["--auth", "foro:cla:ve@1/2"]) { bench, certificate in
            let url = { (password: String) in "smtp://foro:\(password)@localhost:\(bench.postbox.port)" }
            let right = try await failing(
                bench, SMTPServer(url("cla%3Ave%401%2F2"), certificateAuthorities: certificate))
            #expect(right == nil)
            let letter = try #require(bench.postbox.letters.first)
            #expect(letter.json["tls"] == true)
            #expect(letter.json["user"] == "foro")
            let wrong = try await failing(bench, SMTPServer(url("otra"), certificateAuthorities: certificate))
            // That is the set-up's fault: no mail is lost for it.
            #expect(wrong?.kind == .server)
            #expect(wrong?.description.contains("otra") == false)
            let unknown = try await failing(bench, SMTPServer(url("cla%3Ave%401%2F2")))
            #expect(unknown?.kind == .server)
            #expect(unknown?.description.contains("certificate") == true)
            let none = try await failing(
                bench, SMTPServer("smtp://localhost:\(bench.postbox.port)", certificateAuthorities: certificate))
            #expect(none?.kind == .server)
            #expect(bench.postbox.letters.count == 1)
        }
    }

    @Test func tlsFromTheFirstByte() async throws {
        try await withCertificate(["--smtps", "--auth", "foro:clave"]) { bench, certificate in
            let url = "smtps://foro:clave@localhost:\(bench.postbox.port)"
            let right = try await failing(bench, SMTPServer(url, certificateAuthorities: certificate))
            #expect(right == nil)
            let unknown = try await failing(bench, SMTPServer(url))
            #expect(unknown?.description.contains("certificate") == true)
            // Which of a certificate's faults it is, not only that there is one.
            #expect(unknown?.description.contains("self-signed certificate") == true, "\(unknown?.description ?? "")")
            #expect(bench.postbox.letters.map { $0.json["user"] } == ["foro"])
        }
    }

    /// As Debian's Postfix is set up: STARTTLS with a certificate that nobody knows.
    @Test func withoutAPasswordAnyCertificateWill() async throws {
        try await withCertificate([]) { bench, _ in
            let server = try SMTPServer(bench.postbox.url)
            #expect(server.encryption == .opportunistic)
            let failure = try await failing(bench, server)
            #expect(failure == nil)
            #expect(bench.postbox.letters.map { $0.json["tls"] } == [true])
        }
    }

    @Test func aServerThatTakesTooLong() async throws {
        try await withMail { bench in
            var server = try SMTPServer(bench.postbox.url)
            server.timeout = 1_000_000_000
            let error = await failure {
                try await SMTPDelivery.send(
                    Array("Subject: x\r\n\r\nx\r\n".utf8), from: "foro@example.com", to: "hold-rcpt.1.ana@example.com",
                    by: server)
            }
            #expect((error as? SMTPFailure)?.kind == .server)
        }
    }

    @Test func aDeliveryEndsSoonAfterItsTask() async throws {
        try await withMail { bench in
            let server = try SMTPServer(bench.postbox.url)
            var ending: (any Error)?
            let task = bench.loop.spawn {
                do {
                    _ = try await SMTPDelivery.send(
                        Array("Subject: x\r\n\r\nx\r\n".utf8), from: "foro@example.com",
                        to: "hold-rcpt.1.ana@example.com", by: server)
                } catch { ending = error }
            }
            let isHeld = try await eventually(bench.loop) { !bench.postbox.events("held-rcpt").isEmpty }
            #expect(isHeld)
            task.cancel()
            await task.value
            #expect(ending is CancellationError)
            let isGone = try await eventually(bench.loop) { !bench.postbox.events("gone-rcpt").isEmpty }
            #expect(isGone)
        }
    }

    @Test(arguments: ["421 4.3.2 closing", "554 5.3.2 no mail here"])
    func aGreetingThatSendsAwayIsNoFaultOfTheMail(greeting: String) async throws {
        try await withMail(["--greeting", greeting]) { bench in
            let failure = try await failing(bench, SMTPServer(bench.postbox.url))
            #expect(failure?.kind == .server)
            #expect(failure?.description.contains(greeting) == true)
        }
    }

    @Test func mailsWaitForAServerThatIsDown() async throws {
        try await withMail { bench in
            let (folder, port) = (bench.postbox.folder, bench.postbox.port)
            try await bench.postbox.stop()
            let mailer = try bench.mailer()
            try bench.node(mailer)
            var ids: [Int64] = []
            for number in 0..<5 {
                ids.append(try await bench.send(.verification(to: "ana\(number)@example.com"), by: mailer))
            }
            let areTried = try await eventually(bench.loop) {
                try await JobQueue.list(in: bench.database).allSatisfy { $0.failures >= 2 && $0.reason != nil }
            }
            #expect(areTried)
            bench.postbox = try await Postbox.open(bench.loop, folder: folder, port: port)
            for id in ids {
                let job = try await bench.ended(id)
                #expect(job.state == "done")
            }
            #expect(bench.postbox.letters.count == 5)
            #expect(Set(bench.postbox.letters.flatMap(\.recipients)).count == 5)
        }
    }

    @Test func whatIsTooOldIsGivenUpWithARecord() async throws {
        try await withMail { bench in
            let mailer = try bench.mailer()
            #expect(mailer.jobKind.givesUpAfter == .seconds(2 * 86_400))
            #expect(mailer.jobKind.attempts == nil)
            let id = try await bench.send(.verification(to: "rcpt4.999.ana@example.com"), by: mailer)
            try await bench.test.execute(
                "UPDATE \"_Job\" SET \"createdAt\" = now() - interval '2 days 1 second', \"attempts\" = 50")
            try bench.node(mailer)
            let job = try await bench.ended(id)
            #expect(job.state == "dead")
            #expect(job.reason == "451 4.3.0 come back later")
        }
    }

    @Test(arguments: [
        "http://example.com", "smtp://", "example.com:25", "smtp://example.com:0", "smtp://example.com:70000",
        "smtp://example.com/ana", "smtp://a b@example.com", "smtp://u:p@h@example.com:25", "smtp://example.com:25\r\n",
    ])
    func whatIsNoServerIsRefused(url: String) {
        #expect(throws: SMTPServer.BadURL.self) { try SMTPServer(url) }
    }
}
