/// An answer as a value, for code that decides what to answer in one place and sends it in another.
public struct HTTPAnswer {
    public enum Content {
        /// All of it at once.
        case whole([UInt8])
        /// Piece by piece: `write` is called once the head is on its way, and the body is complete when it returns. Where
        /// it throws, the answer is broken off, which the client notices. `length`: bytes, where they are known.
        case stream(length: Int?, write: (ResponseWriter) async throws -> Void)
        /// Another protocol from here on: `run` has the connection, which is closed when it returns. `status` plays no
        /// part. Where the client can't have it (HTTP/1.0), 426 is answered.
        case upgrade(to: String, run: (UpgradedConnection) async -> Void)
    }

    public var status: Int
    public var headers: [(String, String)]
    public var content: Content

    public init(status: Int = 200, headers: [(String, String)] = [], _ content: Content) {
        self.status = status
        self.headers = headers
        self.content = content
    }
}

extension HTTPResponder {
    /// Sends an answer, and returns when the handler's part in it is over: at once for a whole one, after the last
    /// write of a stream, at the end of an upgraded connection.
    public func send(_ answer: HTTPAnswer) async {
        switch answer.content {
        case .whole(let body): respond(status: answer.status, headers: answer.headers, body: body)
        case .stream(let length, let write):
            let writer = respondStreaming(status: answer.status, headers: answer.headers, length: length)
            // Not finished is broken off.
            do { try await write(writer) } catch { return }
            writer.finish()
        case .upgrade(let name, let run):
            do {
                let connection = try await upgrade(to: name, headers: answer.headers)
                defer { connection.close() }
                await run(connection)
            } catch HTTPServerError.cannotUpgrade where !hasAnswered {
                respond(status: 426, headers: [("Upgrade", name)])
            } catch {
                // The client has gone.
            }
        }
    }
}
