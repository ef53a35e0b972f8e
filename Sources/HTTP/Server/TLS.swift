import Foundation

/// A server's certificate chain and private key, as PEM text.
public struct TLS: Sendable {
    public var certificateChain: String
    public var privateKey: String
    /// GnuTLS's priorities. The default leaves TLS 1.2 and 1.3.
    public var priorities = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

    public init(certificateChain: String, privateKey: String) {
        self.certificateChain = certificateChain
        self.privateKey = privateKey
    }

    /// Reads both from files.
    ///
    /// - Throws: `HTTPServerError.unreadable`.
    public init(certificateFile: String, keyFile: String) throws {
        certificateChain = try TLS.contents(certificateFile)
        privateKey = try TLS.contents(keyFile)
    }

    private static func contents(_ file: String) throws -> String {
        do { return try String(contentsOfFile: file, encoding: .utf8) } catch {
            throw HTTPServerError.unreadable("\(file): \(error.localizedDescription)")
        }
    }
}
