import Foundation
import Testing
import Wire

@testable import Browse

@Suite struct CommandTableTests {
    @Test func everyCommandTellsOfItself() {
        for command in CommandTable.all {
            #expect(command.help.contains("hermes \(command.name)") && command.help.contains("Example:"))
            #expect(command.example.line.contains("hermes \(command.name)"))
            #expect(command.help.split(separator: "\n").allSatisfy { $0.count <= 120 }, "\(command.name)")
            for flag in command.flags + CommandTable.serverFlags {
                let count = command.help.split(separator: "\n").count { $0.hasPrefix("  --\(flag.name) ") }
                #expect(count <= 1, "\(command.name) --\(flag.name)")
            }
            for flag in command.flags { #expect(command.help.contains("--\(flag.name)")) }
        }
        #expect(Set(CommandTable.all.map(\.name)).count == CommandTable.all.count)
    }

    @Test func bashTakesTheCompletions() throws {
        let script = try #require(Completions.script(for: "bash"))
        let check = """
            \(script)
            ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hermes; echo "${COMPREPLY[@]}"; }
            ask hermes sch; ask hermes schema d; ask hermes query --wh
            """
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/bash")
        shell.arguments = ["-c", check]
        let output = Pipe()
        shell.standardOutput = output
        try shell.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        shell.waitUntilExit()
        #expect(text == "schema\ndump diff\n--where\n")
        for shell in Completions.shells {
            let script = try #require(Completions.script(for: shell))
            #expect(CommandTable.all.allSatisfy { script.contains($0.name) })
        }
    }

    @Test func noLineOfAManPageIsTakenForARequest() {
        let requests: Set<Substring> = ["TH", "SH", "TP", "B", "BR", "I", "PP", "br", "nf", "fi"]
        let pages = ManualPages.all(version: "1.2.3")
        #expect(pages.count == CommandTable.all.count + 1)
        for page in pages {
            for line in page.text.split(separator: "\n") where line.hasPrefix(".") {
                #expect(requests.contains(line.dropFirst().prefix { $0 != " " }), "\(page.file): \(line)")
            }
        }
    }
}

@Suite struct SchemaChangeTests {
    private func changes(_ there: String, _ wanted: String, deleting: Bool = false) throws -> [String] {
        let there = try SchemaChange.classes(of: JSONParser.parse(there))
        let wanted = try SchemaChange.classes(of: JSONParser.parse(wanted))
        return SchemaChange.between(there, wanted, deleting: deleting).map(\.line)
    }

    private let temas = #"""
        {"className":"Temas","fields":{"objectId":{"type":"String"},"Tema":{"type":"String"},"n":{"type":"Number"}},
        "indexes":{"_id_":{"_id":1},"por_n":{"n":1}},"classLevelPermissions":{"find":{"*":true}}}
        """#

    @Test func differencesAreNamed() throws {
        #expect(try changes("[\(temas)]", #"{"results":[\#(temas)]}"#) == [])
        let wanted = #"""
            {"className":"Temas","fields":{"Tema":{"type":"String","required":true},"n":{"type":"String"},
            "fijado":{"type":"Boolean"},"autor":{"type":"Pointer","targetClass":"_User"}},
            "indexes":{"por_tema":{"Tema":1}},"classLevelPermissions":{"find":{}}}
            """#
        let expected = [
            "~ Temas.Tema String required or default", "! Temas.n Number -> String", "+ Temas.fijado Boolean",
            "+ Temas.autor Pointer _User", "+ Temas index por_tema (Tema)", "~ Temas permissions",
        ]
        #expect(try changes("[\(temas)]", wanted) == expected)
        #expect(try changes("[\(temas)]", wanted, deleting: true).contains("- Temas index por_n"))
        let none = #"[{"className":"Temas","fields":{"Tema":{"type":"String"}}}]"#
        #expect(try changes("[\(temas)]", none) == [])
        #expect(try changes("[\(temas)]", none, deleting: true) == ["- Temas.n Number"])
        #expect(
            try changes("[\(temas)]", #"{"className":"Normas","fields":{"orden":{"type":"Number"}}}"#, deleting: true)
                == ["+ Normas (orden Number)", "- Temas"])
        #expect(throws: ParseError.self) { try changes("[\(temas)]", "{}") }
    }
}
