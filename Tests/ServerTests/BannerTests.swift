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
}
