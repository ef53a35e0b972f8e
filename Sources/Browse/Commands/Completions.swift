/// What shells know of the commands.
public enum Completions {
    public static let shells = ["bash", "zsh", "fish"]

    public static func script(for shell: String) -> String? {
        switch shell {
        case "bash": bash
        case "zsh": zsh
        case "fish": fish
        default: nil
        }
    }

    private static func flags(_ command: CommandDescription) -> [CommandDescription.Flag] {
        command.flags + (command.takesServerOptions ? CommandTable.serverFlags : [])
            + [CommandDescription.Flag("help", nil, "what the command is told")]
    }

    private static var bash: String {
        var cases = ""
        for command in CommandTable.all {
            let letters = command.flags.compactMap { $0.short.map { "-\($0)" } }
            let words = command.actions + letters + flags(command).map { "--" + $0.name }
            cases += "        \(command.name)) words=\"\(words.joined(separator: " "))\" ;;\n"
        }
        let names = CommandTable.all.map(\.name).joined(separator: " ")
        return """
            # Completions of hermes for bash: source <(hermes completion bash)
            _hermes() {
                local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=
                COMPREPLY=()
                if [[ $COMP_CWORD -eq 1 ]]; then
                    mapfile -t COMPREPLY < <(compgen -W "\(names)" -- "$current")
                    return
                fi
                case $previous in
                    --data) mapfile -t COMPREPLY < <(compgen -d -- "$current"); return ;;
                    --config) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
                esac
                case ${COMP_WORDS[1]} in
            \(cases)    esac
                mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
                if [[ ${#COMPREPLY[@]} -eq 0 ]]; then mapfile -t COMPREPLY < <(compgen -f -- "$current"); fi
            }
            complete -F _hermes hermes

            """
    }

    private static var zsh: String {
        func quoted(_ text: String) -> String {
            text.map { "'[]:\\".contains($0) ? ($0 == "'" ? "'\\''" : "\\\($0)") : "\($0)" }.joined()
        }
        let names = CommandTable.all.map { "        '\($0.name):\(quoted($0.summary))'\n" }.joined()
        var cases = ""
        for command in CommandTable.all {
            let flags = flags(command).map { flag in
                let value = flag.value.map { ":\(quoted($0)):\(["DIR", "FILE"].contains($0) ? "_files" : "")" } ?? ""
                let meaning = "[\(quoted(flag.meaning))]\(value)'"
                guard let short = flag.short else { return "'--\(flag.name)\(meaning)" }
                return "'(-\(short) --\(flag.name))'{-\(short),--\(flag.name)}'\(meaning)"
            }
            let action =
                command.actions.isEmpty
                ? "'*: :_files'" : "'1: :(\(command.actions.joined(separator: " ")))' '*: :_files'"
            cases += "        \(command.name)) _arguments \((flags + [action]).joined(separator: " ")) ;;\n"
        }
        return """
            #compdef hermes
            # Completions of hermes for zsh: hermes completion zsh > "${fpath[1]}/_hermes"
            _hermes() {
                local -a commands
                commands=(
            \(names)    )
                if (( CURRENT == 2 )); then
                    _describe command commands
                    return
                fi
                local command=$words[2]
                shift words
                (( CURRENT-- ))
                case $command in
            \(cases)    esac
            }
            if [[ $funcstack[1] = _hermes ]]; then _hermes "$@"; else compdef _hermes hermes; fi

            """
    }

    private static var fish: String {
        func quoted(_ text: String) -> String {
            "'" + text.map { $0 == "'" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "'"
        }
        var text = "# Completions of hermes for fish: hermes completion fish > ~/.config/fish/completions/hermes.fish\n"
        for command in CommandTable.all {
            text += "complete -c hermes -n __fish_use_subcommand -f -a \(command.name) -d \(quoted(command.summary))\n"
            let seen = "-n '__fish_seen_subcommand_from \(command.name)'"
            if !command.actions.isEmpty {
                text += "complete -c hermes \(seen) -f -a \(quoted(command.actions.joined(separator: " ")))\n"
            }
            for flag in flags(command) {
                let value = flag.value == nil ? "" : ["DIR", "FILE"].contains(flag.value) ? " -r" : " -x"
                let short = flag.short.map { " -s \($0)" } ?? ""
                text += "complete -c hermes \(seen) -l \(flag.name)\(short)\(value) -d \(quoted(flag.meaning))\n"
            }
        }
        return text
    }
}
