import Jobs
import Mail
import Options
import Server
import Wire

/// `hermes mail`: the mails of the queue as an operator sees them, and templates as a reader does.
struct MailCommand {
    var arguments = OwnArguments(flags: ["state", "limit", "language"], switches: ["json", "html"])

    /// Does it; answers what is to be printed.
    func run(_ options: ServerOptions) async throws -> String {
        var arguments = arguments
        switch arguments.words.first ?? "list" {
        case "list", "show", "retry": break
        case "give-up": arguments.words[0] = "cancel"
        case "preview": return try preview(options)
        case let word:
            throw OptionFault("hermes mail can list, show, retry, give-up or preview, not \"\(word)\"")
        }
        let mails = JobsCommand(
            arguments: arguments, only: (Mailer.kind, "mail"),
            column: ("MAIL", { "\($0.payload["mail"]?.string ?? "") \($0.payload["to"]?.string ?? "")" }))
        return try await mails.run(options)
    }

    /// A template with made-up values.
    private func preview(_ options: ServerOptions) throws -> String {
        guard arguments.words.count == 2, let template = MailTemplate(rawValue: arguments.words[1]) else {
            let names = MailTemplate.allCases.map(\.rawValue).joined(separator: ", ")
            throw OptionFault("hermes mail preview needs one of \(names)")
        }
        let (subject, text, html) = try options.makeMailTemplates().preview(
            template, languages: [arguments.told["language"], options.email.language], appName: options.appName)
        if arguments.isOn("json") {
            let members: [(key: String, value: JSON)] = [
                ("subject", .string(subject)), ("text", .string(text)), ("html", .string(html)),
            ]
            return JSON.object(JSONObject(members)).description + "\n"
        }
        return arguments.isOn("html") ? html : "Subject: \(subject)\n\n\(text)\n"
    }
}
