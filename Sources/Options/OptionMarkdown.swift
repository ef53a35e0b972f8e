import Wire

extension OptionTable {
    /// docs/configuration.md: every option with its type, default and meaning. A test keeps the file up to date.
    public static var markdown: String {
        var text = """
            # Configuration

            This page is made from the options themselves: `hermes options --markdown > docs/configuration.md`.

            An option can be told in a JSON file (`hermes serve --config FILE`, names as below; a member of an object
            stands after a dot here), in the environment (`HERMES_` and the name in capitals: `masterKeyIps` is
            `HERMES_MASTER_KEY_IPS`), or as a flag (`--master-key-ips`, lists separated by commas). A flag goes before
            the environment, the environment before the file. The names are Parse Server's where it has the option.
            An unknown option ends the start with an error. One that is marked *not effective yet* is taken, and named in
            a warning where its value is not the default. One that is *refused* does nothing yet either, but would
            protect something: a value other than the default ends the start, and the error says what to do. A member of the file whose name begins with `//` is a comment.

            Secrets are better told in the file or in the environment: all users of a machine can read command lines.


            """
        for group in groups {
            text += "## \(group.title)\n\n| Option | Type | Default | Meaning |\n| --- | --- | --- | --- |\n"
            for option in group.options {
                let status =
                    switch option.status {
                    case .effective: ""
                    case .notEffective: " *Not effective yet.*"
                    case .refused: " *Not effective yet: refused.*"
                    }
                let value = option.defaultValue.map { "`\(cell($0.description))`" } ?? ""
                text += "| `\(option.name)` | \(cell(option.kind)) | \(value) | \(cell(option.summary)).\(status) |\n"
            }
            text += "\n"
        }
        while text.hasSuffix("\n\n") { text.removeLast() }
        return text
    }

    /// The options as flags, for a terminal.
    public static var list: String {
        var text = ""
        for group in groups {
            text += "\(group.title)\n"
            for option in group.options {
                let status =
                    switch option.status {
                    case .effective: ""
                    case .notEffective: " [not effective yet]"
                    case .refused: " [not effective yet: refused]"
                    }
                let value = option.defaultValue.map { " (\($0))" } ?? ""
                text +=
                    "  --\(OptionText.flag(option.alias ?? option.name))\(value)\n      \(option.summary).\(status)\n"
            }
            text += "\n"
        }
        return text
    }

    private static func cell(_ text: String) -> String {
        text.split(separator: "|", omittingEmptySubsequences: false).joined(separator: "\\|")
    }
}
