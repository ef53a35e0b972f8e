import Options
import Testing

@testable import Server

/// What a server prints at its start.
@Suite struct BannerTests {
    private func banner(_ configure: (inout ServerOptions) -> Void = { _ in }) -> String {
        var options = ServerOptions()
        options.appId = "myApp"
        options.masterKey = "the master key"
        options.maintenanceKey = "the maintenance key"
        configure(&options)
        return Banner.text(options, port: 4711, workers: 2, database: "15.14")
    }

    @Test func itsCallsCarryTheRealAddressAndIdAndNoSecret() {
        let text = banner()
        #expect(text.contains("-H 'X-Parse-Application-Id: myApp'"))
        #expect(text.contains("'http://127.0.0.1:4711/parse/users'"))
        #expect(text.contains(#"Parse.initialize("myApp");"#))
        #expect(text.contains(#"Parse.serverURL = "http://127.0.0.1:4711/parse";"#))
        #expect(!text.contains("the master key") && !text.contains("the maintenance key"))
    }

    @Test func keysOfClientsAreAmongThem() {
        let both = banner { options in
            options.restAPIKey = "rest"
            options.javascriptKey = "js"
        }
        #expect(both.contains("-H 'X-Parse-REST-API-Key: rest'"))
        #expect(both.contains(#"Parse.initialize("myApp", "js");"#))
        // Only .NET clients are let in: no JavaScript.
        let dotNet = banner { $0.dotNetKey = "windows" }
        #expect(dotNet.contains("-H 'X-Parse-Windows-Key: windows'") && !dotNet.contains("Parse.initialize"))
    }

    @Test func quotesDoNotEndTheCommand() {
        let text = banner { $0.appId = #"it's "mine""# }
        #expect(text.contains(#"-H 'X-Parse-Application-Id: it'\''s "mine"'"#))
        #expect(text.contains(#"Parse.initialize("it's \"mine\"");"#))
    }

    @Test func itsLastLineLeadsPeopleToTheForum() {
        func lastLine(_ configure: (inout ServerOptions) -> Void) -> String {
            banner(configure).split(separator: "\n").last.map(String.init) ?? ""
        }
        let words = "The forum is open: go to http://127.0.0.1:4711/ in your browser, sign up, and write."
        #expect(lastLine { $0.app = .forum } == words)
        let everywhere = lastLine { options in
            options.app = .forum
            options.host = "0.0.0.0"
        }
        #expect(everywhere.contains(" http://localhost:4711/ "))
        let known = lastLine { options in
            options.app = .forum
            options.publicServerURL = "https://foro.example.com:8443/parse"
        }
        #expect(known.contains(" https://foro.example.com:8443/ "))
        #expect(!lastLine { _ in }.contains("browser"))
    }
}
