import Foundation
import Testing

@Suite struct QueriesPageTests {
    /// The page tells what the builder does now. With HERMES_WRITE_DOCS=1 it is written anew.
    @Test func thePageIsUpToDate() throws {
        let file = URL(filePath: #filePath).appending(path: "../../../docs/queries.md").standardized
        let text = try QueriesPage.text()
        if ProcessInfo.processInfo.environment["HERMES_WRITE_DOCS"] == "1" {
            try Data(text.utf8).write(to: file)
        }
        let written = try String(contentsOf: file, encoding: .utf8)
        #expect(written == text, "docs/queries.md is out of date: run with HERMES_WRITE_DOCS=1")
    }
}
