import HTTP
import Options
import Server

extension Doctor {
    /// Whether the certificate can be used, and for how long.
    mutating func checkCertificate(_ options: ServerOptions) {
        guard let file = options.tlsCertificate else { return }
        guard let key = options.tlsKey else {
            return bad("certificate", "\(file) has no key", "tell the key's file as tlsKey")
        }
        let certificate: Certificate
        do { certificate = try Certificate(TLS(certificateFile: file, keyFile: key)) } catch {
            return bad("certificate", "\(error)", "see to tlsCertificate and tlsKey")
        }
        switch certificate.state() {
        case .notYet:
            bad(
                "certificate", "\(file) is good from \(certificate.firstDay) on only: clients refuse it",
                "look at this machine's clock, or put another certificate there")
        case .ended:
            bad(
                "certificate", "\(file) ended on \(certificate.lastDay): clients refuse it",
                "put a new one there, then systemctl reload hermes, or kill -HUP")
        case .good(let days) where days < Certificate.daysOfWarning:
            doubtful(
                "certificate", "\(file) is good until \(certificate.lastDay) only", "see to the next one in time")
        case .good(let days): good("certificate", "\(file) is good until \(certificate.lastDay), \(days) days yet")
        }
    }
}
