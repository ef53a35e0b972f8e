import Foundation
import Options
import Testing
import Wire

@Suite struct KeysTests {
    private let folder =
        FileManager.default.temporaryDirectory.path + "/hermes-keys-\(UInt64.random(in: 0...UInt64.max))"

    @Test func theFirstStartMakesKeysAndTheNextOnesFindThem() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var first = try ServerOptions(flags: [("data", folder + "/deep/er")])
        try Keys.complete(&first)
        #expect(first.keysAreNew && first.keysFile == folder + "/deep/er/keys.json")
        #expect(first.appId.count == 20 && first.masterKey?.count == 40)
        #expect(Set([first.masterKey, first.maintenanceKey, first.readOnlyMasterKey]).count == 3)
        let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/deep/er/keys.json")
        #expect(attributes[.posixPermissions] as? Int == 0o600)

        var second = try ServerOptions(flags: [("data", folder + "/deep/er"), ("maintenance-key", "told")])
        try Keys.complete(&second)
        #expect(!second.keysAreNew && second.appId == first.appId && second.masterKey == first.masterKey)
        #expect(second.maintenanceKey == "told")
    }

    @Test func startsAtTheSameTimeEndWithTheSameKeys() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let options = try ServerOptions(flags: [("data", folder)])
        let keys = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    var options = options
                    try Keys.complete(&options)
                    return options.masterKey
                }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(keys.count == 1)
    }

    @Test func whereTheKeysAreToldNoFileIsMade() throws {
        var options = try ServerOptions(flags: [("data", folder), ("app-id", "a"), ("master-key", "m")])
        try Keys.complete(&options)
        #expect(options.keysFile == nil && options.maintenanceKey == nil && options.readOnlyMasterKey == nil)
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    @Test func aFileThatOthersMayReadIsRefused() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var options = try ServerOptions(flags: [("data", folder)])
        try Keys.complete(&options)
        chmod(folder + "/keys.json", 0o644)
        let fault = #expect(throws: OptionFault.self) { try Keys.read(folder + "/keys.json") }
        #expect(fault?.description.contains("chmod 600") == true)
    }

    @Test func aDamagedFileIsSaidToBe() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (content, said) in [("{", "put it right"), (#"{"appId": "x"}"#, "no masterKey")] {
            _ = FileManager.default.createFile(
                atPath: folder + "/keys.json", contents: Data(content.utf8), attributes: [.posixPermissions: 0o600])
            var options = try ServerOptions(flags: [("data", folder)])
            let fault = #expect(throws: OptionFault.self) { try Keys.complete(&options) }
            #expect(fault?.description.contains(said) == true)
        }
    }
}
