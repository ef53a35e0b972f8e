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
    public init(certificateFile: String, keyFile: String) throws {
        certificateChain = try String(contentsOfFile: certificateFile, encoding: .utf8)
        privateKey = try String(contentsOfFile: keyFile, encoding: .utf8)
    }
}
