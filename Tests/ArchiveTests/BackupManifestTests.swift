import Testing
import Wire

@testable import Archive

/// What is read of a file that may be damaged, or no backup at all.
@Suite struct BackupManifestTests {
    private let manifest = BackupManifest(
        createdAt: Timestamp(milliseconds: 1_700_000_000_000), hermes: "0.1.0", migration: 3, postgres: "15.14",
        pgDump: "15.14", databaseSize: 8_000_000, classes: ["Temas": 2], tables: ["Temas": 2], indexes: 4)

    private func fault(_ member: String, _ value: JSON) throws -> String? {
        var json = try #require(try JSONParser.parse(Array(manifest.text.utf8)).object)
        json[member] = value
        do {
            _ = try BackupManifest(Array(JSON.object(json).description.utf8), of: "a.tar")
            return nil
        } catch { return "\(error)" }
    }

    @Test func whatIsWrittenIsRead() throws {
        let read = try BackupManifest(Array(manifest.text.utf8), of: "a.tar")
        #expect(read.migration == 3 && read.classes == ["Temas": 2] && read.databaseSize == 8_000_000)
    }

    @Test(arguments: ["version", "migration", "databaseSize", "indexes"])
    func aCountThatIsNoneIsRefused(_ member: String) throws {
        for value: JSON in [1e300, -1e300, 1.5, "1", .null] {
            #expect(try fault(member, value)?.contains("is not a backup made by hermes backup") == true, "\(value)")
        }
    }

    @Test func aNewerFormIsLeftToANewerHermes() throws {
        #expect(try fault("version", 1000)?.contains("made by a newer Hermes") == true)
    }
}
