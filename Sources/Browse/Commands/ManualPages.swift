/// The man pages, as roff.
public enum ManualPages {
    /// `hermes.1` and `hermes-NAME.1`, each with its text.
    public static func all(version: String) -> [(file: String, text: String)] {
        [("hermes.1", overview(version))]
            + CommandTable.all.map { ("hermes-\($0.name).1", page($0, version)) }
    }

    /// Nothing in it is taken for a command of roff.
    private static func plain(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            var safe = ""
            for character in line {
                switch character {
                case "\\": safe += "\\e"
                case "-": safe += "\\-"
                case "'": safe += "\\(aq"
                case "^": safe += "\\(ha"
                case "~": safe += "\\(ti"
                case "`": safe += "\\(ga"
                default: safe.append(character)
                }
            }
            return safe.hasPrefix(".") ? "\\&" + safe : safe
        }.joined(separator: "\n")
    }

    private static func head(_ name: String, _ summary: String, _ version: String) -> String {
        let sentence = summary.hasSuffix(".") ? String(summary.dropLast()) : summary
        return """
            .TH "\(name.uppercased())" "1" "" "Hermes \(plain(version))" "Hermes"
            .SH NAME
            \(plain(name)) \\- \(plain(sentence))

            """
    }

    private static func page(_ command: CommandDescription, _ version: String) -> String {
        var text = head("hermes-\(command.name)", command.summary, version) + ".SH SYNOPSIS\n"
        for form in command.forms {
            text += ".B hermes \(plain(command.name))\n\(form.isEmpty ? "" : plain(form) + "\n").br\n"
        }
        text += ".SH DESCRIPTION\n\(plain(command.summary))\n"
        if !command.details.isEmpty { text += ".PP\n\(plain(command.details))\n" }
        let flags = command.flags + (command.takesServerOptions ? CommandTable.serverFlags : [])
        if !flags.isEmpty {
            text += ".SH OPTIONS\n"
            for flag in flags {
                let name = plain((flag.short.map { "-\($0), " } ?? "") + "--" + flag.name)
                text += ".TP\n.B \(name)\(flag.value.map { " \\fI\(plain($0))\\fR" } ?? "")\n"
                text += plain(flag.meaning) + "\n"
            }
        }
        text += ".SH EXAMPLE\n.nf\n$ \(plain(command.example.line))\n"
        if !command.example.output.isEmpty { text += plain(command.example.output) + "\n" }
        return text + ".fi\n" + exitStatus + ".SH SEE ALSO\n.BR hermes (1)\n"
    }

    private static var exitStatus: String {
        ".SH EXIT STATUS\n"
            + CommandTable.exitCodes.map { ".TP\n.B \($0.code)\n\(plain($0.meaning))\n" }.joined()
    }

    private static func overview(_ version: String) -> String {
        var text = head("hermes", "a backend that speaks the Parse protocol, over PostgreSQL", version)
        text += ".SH SYNOPSIS\n.B hermes\n.I COMMAND\n[...]\n.SH COMMANDS\n"
        for command in CommandTable.all { text += ".TP\n.BR hermes\\-\(command.name) (1)\n\(plain(command.summary))\n" }
        return text + """
            .SH ENVIRONMENT
            .TP
            .B HERMES_URL
            the server that commands ask
            .TP
            .B HERMES_DATA
            the data folder, with keys.json
            .TP
            .B HERMES_APP_ID, HERMES_MASTER_KEY, HERMES_READ_ONLY_MASTER_KEY
            the application id and the keys, where keys.json does not hold them; never told as arguments, which others see

            """ + exitStatus
    }
}
