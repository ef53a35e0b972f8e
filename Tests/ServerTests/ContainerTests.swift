import Foundation
import TestSupport
import Testing

/// The image cannot be built where there is no Docker engine; what it installs can be compared with what is needed.
@Suite struct ContainerTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../..")

    private static func text(_ name: String) throws -> String {
        try String(contentsOf: root.appending(path: name), encoding: .utf8)
    }

    /// The names of the packages that each stage installs.
    private static func stages() throws -> [Set<String>] {
        try text("Dockerfile").components(separatedBy: "\nFROM ").dropFirst()
            .map { Set($0.split(whereSeparator: \.isWhitespace).map(String.init)) }
    }

    @Test func theImageIsBuiltWithAllThatThePackageNames() throws {
        let build = try #require(Self.stages().first)
        let named = try Self.text("Package.swift").matches(of: /(?:debian: |\.apt\(\[)"([^"]+)"/).map { String($0.1) }
        #expect(named.count > 5)
        for package in named { #expect(build.contains(package), "\(package)") }
    }

    @Test func theImageHasTheLibrariesThatTheProgramIsLinkedWith() throws {
        let image = try #require(Self.stages().last)
        let libraries = try output("objdump", ["-p", HermesProcess.program])
            .matches(of: /NEEDED\s+(\S+)/).map { String($0.1) }
        #expect(libraries.contains { $0.hasPrefix("libpq") })
        // What every Debian has is not named; Swift's own libraries are of no package.
        let base: Set = ["libc6", "libgcc-s1", "libtinfo6"]
        for library in libraries {
            let owners = try output("dpkg-query", ["-S", "*/\(library)"]).split(separator: "\n")
                .compactMap { $0.split(separator: ":").first.map(String.init) }
            guard let package = owners.first, !base.contains(package) else { continue }
            #expect(image.contains(package), "\(library) of \(package)")
        }
    }

    private func output(_ program: String, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }
}
