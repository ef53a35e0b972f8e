import Options

/// What is typed after a command beside the server's options: words, and flags of the command's own.
struct OwnArguments {
    private let flags: Set<String>
    private let switches: Set<String>
    private let letters: [Character: String]
    var words: [String] = []
    /// Of the flags, what was told.
    var told: [String: String] = [:]

    /// - Parameters:
    ///   - flags: those with a value.
    ///   - switches: those that may stand without.
    ///   - letters: what stands for a switch behind one dash.
    init(flags: Set<String>, switches: Set<String>, letters: [Character: String] = [:]) {
        self.flags = flags
        self.switches = switches
        self.letters = letters
    }

    func isOn(_ name: String) -> Bool { told[name].map { $0 != "false" } ?? false }

    /// Takes an argument that is its own, and from `rest` its value; false for one of the server's options.
    mutating func take(_ argument: String, _ rest: inout ArraySlice<String>) throws(OptionFault) -> Bool {
        // A bare dash is a word too: standard input or output.
        guard argument.hasPrefix("-"), argument != "-" else {
            words.append(argument)
            return true
        }
        if argument.count == 2, let letter = argument.last, let name = letters[letter] {
            told[name] = "true"
            return true
        }
        let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard argument.hasPrefix("--"), let name = parts.first.map(String.init) else { return false }
        let isSwitch = switches.contains(name)
        guard isSwitch || flags.contains(name) else { return false }
        var value = parts.count == 2 ? String(parts[1]) : nil
        if value == nil, !isSwitch || rest.first == "true" || rest.first == "false" { value = rest.popFirst() }
        guard value != nil || isSwitch else { throw OptionFault("--\(name) needs a value") }
        told[name] = value ?? "true"
        return true
    }
}
