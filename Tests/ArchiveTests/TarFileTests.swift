import Foundation
import Testing

@testable import Archive

/// The outer form of backups.
@Suite struct TarFileTests {
    private func withFolder(_ body: (String) throws -> Void) rethrows {
        let folder = NSTemporaryDirectory() + "hermes-tar-\(UUID().uuidString)"
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    private func make(_ path: String, dump: [UInt8]) throws {
        let file = try TarWriter(path, seconds: 1_700_000_000)
        try file.add("manifest.json", Array("{}\n".utf8))
        try file.begin("database.dump")
        try dump.withUnsafeBytes { try file.append($0) }
        try file.end()
        try file.commit()
    }

    @Test func anybodyCanTakeItApartAndCheckIt() throws {
        try withFolder { folder in
            try make(folder + "/b", dump: Array("abc".utf8))
            let shell = Process()
            shell.executableURL = URL(fileURLWithPath: "/bin/sh")
            shell.arguments = [
                "-c", "cd '\(folder)' && tar -xf b && sha256sum --status -c SHA256SUMS && cat database.dump",
            ]
            let output = Foundation.Pipe()
            shell.standardOutput = output
            try shell.run()
            shell.waitUntilExit()
            #expect(shell.terminationStatus == 0)
            #expect(output.fileHandleForReading.readDataToEndOfFile() == Data("abc".utf8))
            let mode = try FileManager.default.attributesOfItem(atPath: folder + "/b")[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test(arguments: [0, 1, 511, 512, 513, 100_000])
    func whatWasWrittenIsRead(_ size: Int) throws {
        try withFolder { folder in
            let dump = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            try make(folder + "/b", dump: dump)
            let file = try TarReader(folder + "/b")
            try file.check { _ in }
            let member = try #require(file["database.dump"])
            #expect(try file.content(member) == dump)
            #expect(file.members.map(\.name) == ["manifest.json", "database.dump", "SHA256SUMS"])
        }
    }

    @Test func alteredBytesAndCutOffEndsAreNoticed() throws {
        try withFolder { folder in
            try make(folder + "/b", dump: Array("the dump".utf8))
            let whole = try Data(contentsOf: URL(fileURLWithPath: folder + "/b"))
            func isWhole(_ data: Data) throws -> Bool {
                let path = folder + "/c"
                try data.write(to: URL(fileURLWithPath: path))
                do {
                    try TarReader(path).check { _ in }
                    return true
                } catch is ArchiveFailure { return false }
            }
            #expect(try isWhole(whole))
            for index in stride(from: 0, to: whole.count, by: 7) {
                var altered = whole
                altered[index] ^= 1 << (index % 8)
                #expect(try !isWhole(altered), "byte \(index)")
            }
            for length in stride(from: 0, to: whole.count, by: 100) {
                #expect(try !isWhole(whole.prefix(length)), "\(length) bytes")
            }
            #expect(try !isWhole(whole + Data([0])))
        }
    }

    @Test func sizesPastEightGigabytesFitIntoAHeader() throws {
        for size in [(1 << 33) - 1, 1 << 33, 123_456_789_012] {
            let header = TarFile.header("database.dump", size: size, seconds: 1_700_000_000)
            let read = try #require(TarFile.read(header))
            #expect(read == ("database.dump", size, 1_700_000_000))
        }
    }

    @Test func whatIsNotCommittedLeavesNothing() throws {
        try withFolder { folder in
            do {
                let file = try TarWriter(folder + "/b", seconds: 0)
                try file.add("manifest.json", Array("{}\n".utf8))
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
    }
}
