import Foundation
import Testing

@testable import Browse

/// What the shells themselves make of the completions.
@Suite struct CompletionTests {
    private static func has(_ shell: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/\(shell)")
    }

    /// Runs a shell on a script that is beside the completions, and answers what it printed.
    private func run(_ shell: String, _ name: String, _ script: (_ folder: String) -> String) async throws -> String {
        let folder = NSTemporaryDirectory() + "completion-\(shell)-\(getpid())"
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let completions = try #require(Completions.script(for: shell))
        try completions.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
        _ = FileManager.default.createFile(atPath: "\(folder)/export.json", contents: nil)
        try script(folder).write(toFile: "\(folder)/run", atomically: true, encoding: .utf8)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
        process.arguments = ["60", "/usr/bin/\(shell)", shell == "fish" ? "--no-config" : "-f", "\(folder)/run"]
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        process.environment = ["PATH": "/usr/bin:/bin", "HOME": folder, "TERM": "dumb", "LC_ALL": "C.UTF-8"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text
    }

    @Test(.enabled(if: has("fish"), "fish is not here (apt install fish)"))
    func fishCompletes() async throws {
        let asked = [
            "hermes sch", "hermes schema d", "hermes query --wh", "hermes logs -", "hermes import ex", "hermes user l",
        ]
        let text = try await run("fish", "hermes.fish") { folder in
            "source \(folder)/hermes.fish\n"
                + asked.map { "echo '== \($0)'\ncomplete -C '\($0)'\n" }.joined()
        }
        func offered(_ line: String) -> [String] {
            let part = text.components(separatedBy: "== ").first { $0.hasPrefix(line + "\n") } ?? ""
            return part.split(separator: "\n").dropFirst().map { String($0.prefix { $0 != "\t" }) }
        }
        #expect(offered("hermes sch") == ["schema"], "\(text)")
        #expect(Set(offered("hermes schema d")) == ["diff", "dump"], "\(text)")
        #expect(offered("hermes query --wh") == ["--where"], "\(text)")
        #expect(Set(offered("hermes logs -")).isSuperset(of: ["-f", "--follow", "--level"]), "\(text)")
        #expect(offered("hermes import ex") == ["export.json"], "\(text)")
        #expect(Set(offered("hermes user l")) == ["lock", "logout"], "\(text)")
        #expect(text.contains("schema\tShows and changes classes."), "\(text)")
    }

    @Test(.enabled(if: has("zsh"), "zsh is not here (apt install zsh)"))
    func zshCompletes() async throws {
        // A shell of its own on a pseudo-terminal; ^T shows what the line has become.
        let asked = [
            "hermes sch", "hermes schema di", "hermes query --wh", "hermes logs --fol", "hermes import ex",
            "hermes user unl",
        ]
        let text = try await run("zsh", "_hermes") { folder in
            """
            zmodload zsh/zpty
            zpty -b shell zsh -f -i
            line() { zpty -w shell "$1"; }
            line 'PS1= PS2=; unset zle_bracketed_paste; fpath=(\(folder) $fpath); setopt no_beep'
            line 'autoload -Uz compinit; compinit -u -d \(folder)/.dump'
            line 'show() { print -r -- "== $BUFFER =="; zle kill-whole-line }; zle -N show; bindkey "^T" show'
            line 'echo re''ady'
            until [[ $seen == *ready* ]]; do zpty -r shell piece; seen+=$piece; done
            for text in \(asked.map { "'\($0)'" }.joined(separator: " ")); do
                zpty -n -w shell "$text"$'\\t\\x14'
                seen=
                until [[ $seen == *'== '*' =='* ]]; do zpty -r shell piece; seen+=$piece; done
                print -r -- $seen
            done
            """
        }
        for whole in [
            "hermes schema", "hermes schema diff", "hermes query --where", "hermes logs --follow",
            "hermes import export.json", "hermes user unlock",
        ] { #expect(text.contains("== \(whole)  =="), "\(text)") }
    }
}
