import Core
import Options
import TestSupport
import Testing

@testable import Server

/// A server whose mails go to a postbox.
func withMails(
    _ configure: @escaping @Sendable (inout ServerOptions) -> Void = { _ in },
    _ body: @escaping @Sendable (TestServer, Postbox) async throws -> Void
) async throws {
    try await onWorker { loop in
        let postbox = try await Postbox.open(loop)
        let url = postbox.url
        try await withServer { options in
            options.email.smtp = url
            options.email.from = "foro@example.com"
            configure(&options)
        } _: { server in
            try await body(server, postbox)
        }
        try await postbox.stop()
        postbox.remove()
    }
}

extension Postbox {
    /// The text of the last of so many mails, once they are there.
    func text(_ count: Int, _ server: TestServer) async throws -> String {
        try await until(server.loop) { letters.count >= count }
        return try #require(letters.last).text
    }

    /// The token that the link in it ends with.
    func token(_ count: Int, _ server: TestServer) async throws -> String {
        let text = try await text(count, server)
        let link = try #require(text.split(whereSeparator: \.isWhitespace).first { $0.contains("token=") })
        let value = try #require(link.split(separator: "token=").last?.prefix { $0 != "&" })
        return String(value)
    }
}
