import Testing

@testable import Server

@Suite struct MountPathTests {
    @Test(
        arguments: [
            ("/parse", "/parse/classes/Note", ["classes", "Note"]), ("/parse", "/parse", []),
            ("/parse", "//parse//classes/", ["classes"]), ("/", "/classes/Note", ["classes", "Note"]),
            ("/a/b", "/a/b/health", ["health"]), ("/a/b", "/a/health", nil), ("/parse", "/parser/health", nil),
            ("/parse", "/parse/classes/a%2Fb", ["classes", "a/b"]), ("/parse", "/parse/classes/%zz", nil),
            ("/parse", "/parse/../parse/health", ["..", "parse", "health"]),
        ] as [(String, String, [String]?)])
    func aPathIsSplitBehindTheMountPath(_ mount: String, _ path: String, _ parts: [String]?) {
        #expect(MountPath(mount).split(path) == parts)
    }

    /// Dots in a batch lead to the route that they name, and so to its checks; never past the mount path.
    @Test(
        arguments: [
            ("/parse/classes/x/../../schemas", ["schemas"]), ("/parse/./classes/Note", ["classes", "Note"]),
            ("/parse/../health", nil), ("/../../parse/health", ["health"]), ("/otra/../parse/health", ["health"]),
            ("/parse/classes/%2e%2e/x", ["classes", "..", "x"]),
        ] as [(String, [String]?)])
    func dotsInABatchAreResolvedFirst(_ path: String, _ parts: [String]?) {
        #expect(MountPath("/parse").split(batchPath: path) == parts)
    }
}
