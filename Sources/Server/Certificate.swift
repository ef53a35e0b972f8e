import CCrypto
import Core
import Glibc
import HTTP

/// For how long a server's certificate is good, and whether its key belongs to it.
public struct Certificate: Sendable {
    /// Milliseconds since 1970, of the certificate that stands first: the server's own.
    public let begins: Int64
    public let ends: Int64

    /// Whether clients take it, and for how long yet.
    public enum State: Equatable, Sendable {
        case notYet
        /// Days left, rounded down.
        case good(days: Int)
        case ended
    }

    /// - Throws: `HTTPServerError.unusableCertificate` where one of the two is no PEM, the key has a password, or they do
    ///   not belong together.
    public init(_ tls: TLS) throws {
        guard let certificate = Certificate.certificate(tls.certificateChain),
            let key = Certificate.key(tls.privateKey)
        else { throw HTTPServerError.unusableCertificate }
        defer {
            X509_free(certificate)
            EVP_PKEY_free(key)
        }
        guard X509_check_private_key(certificate, key) == 1,
            let begins = Certificate.milliseconds(X509_get0_notBefore(certificate)),
            let ends = Certificate.milliseconds(X509_get0_notAfter(certificate))
        else { throw HTTPServerError.unusableCertificate }
        self.begins = begins
        self.ends = ends
    }

    public func state(at now: Int64 = Timestamp.millisecondsNow()) -> State {
        if now < begins { return .notYet }
        return now > ends ? .ended : .good(days: Int((ends - now) / 86_400_000))
    }

    /// Its first and its last day, as 2026-01-01.
    public var firstDay: String { Certificate.day(begins) }
    public var lastDay: String { Certificate.day(ends) }

    /// So many days before its end somebody should see to the next one: what renews by itself has done so by then.
    public static let daysOfWarning = 14

    private static func day(_ milliseconds: Int64) -> String {
        var text: [UInt8] = []
        Timestamp.append(milliseconds: milliseconds, to: &text)
        return String(decoding: text.prefix(10), as: UTF8.self)
    }

    private static func certificate(_ text: String) -> OpaquePointer? {
        read(text) { PEM_read_bio_X509($0, nil, nil, nil) }
    }

    private static func key(_ text: String) -> OpaquePointer? {
        // Nobody is asked for a password.
        read(text) { PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in -1 }, nil) }
    }

    private static func read(_ text: String, _ parse: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
        var text = text
        return text.withUTF8 { bytes in
            guard let buffer = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(buffer) }
            let found = parse(buffer)
            ERR_clear_error()
            return found
        }
    }

    private static func milliseconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var parts = tm()
        guard ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return Int64(timegm(&parts)) * 1000
    }
}
