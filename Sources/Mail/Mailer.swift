import Core
import HTTP
import Jobs
import Postgres
import Store
import Wire

/// How a server sends mail.
public struct MailOptions: Sendable {
    public var server: SMTPServer
    public var from: MailSender
    public var appName: String
    /// Where a mail's own is not told, or has no words.
    public var language = "en"
    public var templates: MailTemplates
    /// Never in the database: what mails say is sealed there with it.
    public var masterKey: String
    /// Mails to one address within an hour; those past it are dropped.
    public var hourlyPerAddress = 10
    /// Mails that one account causes within an hour.
    public var hourlyPerAccount = 30

    public init(server: SMTPServer, from: MailSender, appName: String, templates: MailTemplates, masterKey: String) {
        self.server = server
        self.from = from
        self.appName = appName
        self.templates = templates
        self.masterKey = masterKey
    }
}

/// Sends mail through the queue of jobs: what is asked for stands with what caused it, and goes out soon after, however
/// often that has to be tried.
public struct Mailer: Sendable {
    /// The kind of the jobs that are mails.
    public static let kind = "mail"

    public enum Outcome: Sendable, Equatable {
        /// The job's id.
        case queued(Int64)
        /// Too many have gone to the address, or come from the account, within an hour.
        case dropped
        /// Mail cannot go to such an address.
        case unmailable
    }

    let options: MailOptions
    let seal: Seal

    public init(_ options: MailOptions) {
        self.options = options
        seal = Seal(.mail, masterKey: options.masterKey)
    }

    /// Asks for a mail: kept or undone with the operation, in its transaction where it is in one.
    ///
    /// Whether it was dropped, or cannot be sent, is nothing that a client may learn from the answer: it would tell who
    /// has an account.
    ///
    /// - Throws: `MailFault` where the mail lacks a value or its link is none, whatever the database throws.
    @discardableResult
    public func send(_ mail: Mail, in operation: Operation) async throws -> Outcome {
        try Mailer.check(mail)
        guard let address = MailAddress(mail.to) else {
            Log.shared.warning(
                "a mail was not sent: its address is none that mail can go to", ["mail": .text(mail.name)])
            return .unmailable
        }
        let payload = payload(mail, to: address)
        return try await operation.inTransaction { operation in
            guard try await isWithinBounds(mail, operation) else {
                Log.shared.warning("a mail was dropped: too many within an hour", ["mail": .text(mail.name)])
                return .dropped
            }
            var job = NewJob(Mailer.kind, payload)
            // Somebody waits for it.
            if case .template = mail.content { job.priority = .high }
            guard let id = try await operation.enqueue(job) else { return .dropped }
            return .queued(id)
        }
    }

    static func check(_ mail: Mail) throws(MailFault) {
        // It must fit on one line of a header.
        if let url = mail.unsubscribe, !MailLink.isOne(url) || url.utf8.count > 900 {
            throw MailFault("unsubscribe is no URL of at most 900 characters")
        }
        switch mail.content {
        case .template(let template, let values):
            for name in template.needed where values[name]?.isEmpty ?? true {
                throw MailFault("a mail \(template.rawValue) needs \(name)")
            }
            guard MailLink.isOne(values["link"] ?? "") else { throw MailFault("the link of a mail is no URL") }
        case .written(let subject, let text, let html):
            guard subject.utf8.count + text.utf8.count + (html?.utf8.count ?? 0) <= 2 << 20 else {
                throw MailFault("a mail of more than 2 MB is not sent")
            }
        }
    }

    // MARK: what a job holds

    /// In clear only what the queue is looked at for: to whom, and which template.
    private func payload(_ mail: Mail, to address: MailAddress) -> JSONObject {
        var secret = JSONObject()
        let text = { (text: String?) -> JSON in text.map { .string($0) } ?? .null }
        switch mail.content {
        case .template(_, let values): secret["values"] = .object(JSONObject(values.map { ($0, .string($1)) }))
        case .written(let subject, let words, let html):
            secret["subject"] = .string(subject)
            secret["text"] = .string(words)
            secret["html"] = text(html)
        }
        secret["language"] = text(mail.language)
        secret["unsubscribe"] = text(mail.unsubscribe)
        let id = ObjectIdentifiers.make(20)
        let sealed = seal.seal(JSON.object(secret).bytes, for: "\(id) \(mail.name) \(address.text)")
        return JSONObject([
            ("id", .string(id)), ("mail", .string(mail.name)), ("to", .string(address.text)),
            ("at", .number(Double(Core.Timestamp.millisecondsNow()))), ("sealed", .string(Base64.encode(sealed))),
        ])
    }

    /// The mail of a job, with the words that its template has now.
    func message(_ job: Job) throws(MailFault) -> MailMessage {
        let payload = job.payload
        guard let id = payload["id"]?.string, let name = payload["mail"]?.string, let to = payload["to"]?.string,
            let address = MailAddress(to), let at = payload["at"]?.number,
            let sealed = payload["sealed"]?.string.flatMap(Base64.decode)
        else { throw MailFault("The job is not as a mail's must be.") }
        guard let opened = seal.open(sealed, for: "\(id) \(name) \(to)"),
            let secret = try? JSONParser.parse(opened).object
        else { throw MailFault("What the mail says was sealed under another master key.") }
        let subject: String, text: String, html: String?
        if let template = MailTemplate(rawValue: name) {
            let values = secret["values"]?.object?.members.map { ($0.key, $0.value.string ?? "") } ?? []
            let filled = try options.templates.filled(
                template, Dictionary(values) { $1 }, to: address,
                languages: [secret["language"]?.string, options.language], appName: options.appName)
            (subject, text, html) = (filled.subject, filled.text, filled.html)
        } else {
            subject = secret["subject"]?.string ?? ""
            text = secret["text"]?.string ?? ""
            html = secret["html"]?.string
        }
        return MailMessage(
            from: options.from, to: address, subject: subject, text: text, html: html, id: "\(job.id).\(id)",
            date: Timestamp(milliseconds: Int64(at)), unsubscribe: secret["unsubscribe"]?.string)
    }

    // MARK: sending

    /// How a node does the jobs that are mails.
    public var jobKind: JobKind {
        var kind = JobKind(Mailer.kind) { run in try await deliver(run.job) }
        kind.attempts = nil
        kind.givesUpAfter = .seconds(2 * 86_400)
        kind.backoff = JobBackoff(first: .seconds(10), longest: .seconds(3600))
        kind.timeLimit = nil
        // A server that does not answer must not hold up other jobs.
        kind.atOnce = 4
        kind.ended = { job, ending, operation in
            // What was said is of no use any more; a mail that was given up can still be tried again.
            guard case .done = ending else { return }
            _ = try await operation.write(Mailer.forget, [.int(job.id)])
        }
        return kind
    }

    private static let forget = Statement("UPDATE \"_Job\" SET \"payload\" = \"payload\" - 'sealed' WHERE \"id\" = $1")

    private func deliver(_ job: Job) async throws -> String? {
        let message: MailMessage
        do throws(MailFault) { message = try self.message(job) } catch {
            throw JobFailure(error.description, retry: .never)
        }
        do {
            return try await SMTPDelivery.send(
                message.bytes, from: message.from.address.text, to: message.to.text, by: options.server)
        } catch let failure as SMTPFailure {
            throw JobFailure(failure.description, retry: failure.kind == .refused ? .never : .usual)
        }
    }

    // MARK: bounds

    /// Counts it, for all nodes together.
    private func isWithinBounds(_ mail: Mail, _ operation: Operation) async throws -> Bool {
        // The name before the @ is the receiver's server's to understand, but none takes case for a difference.
        var bounds = ["mail to \(mail.to.lowercased())": options.hourlyPerAddress]
        if let account = mail.account { bounds["mail of \(account)"] = options.hourlyPerAccount }
        let counts = try await RateCount.add(to: Array(bounds.keys), within: 3600, in: operation)
        return bounds.allSatisfy { thing, bound in counts[thing].map { $0.count <= bound } ?? false }
    }
}

extension Mail {
    /// What the queue and the log call it.
    var name: String {
        switch content {
        case .template(let template, _): template.rawValue
        case .written: "written"
        }
    }
}
