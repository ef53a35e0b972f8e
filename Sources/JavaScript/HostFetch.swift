import Core
import HTTP

/// `fetch`, over the HTTP client of the isolate's loop.
extension IsolateThread {
    func addFetch(_ add: (String, @escaping Engine.HostBody) -> Void) {
        // fetch(number, owner, method, url, headers as name, value, name, value…, body, milliseconds, redirects)
        add("fetch") { [unowned self] arguments in
            let (number, owner) = (arguments.int(0), arguments.int(1))
            var headers: [(String, String)] = []
            let lines = arguments.text(4).split(separator: "\n", omittingEmptySubsequences: false)
            for index in stride(from: 0, to: lines.count - 1, by: 2) {
                headers.append((String(lines[index]), String(lines[index + 1])))
            }
            // NaN is neither more nor less than anything.
            let milliseconds = arguments.number(6) >= 1 ? min(arguments.number(6), 600_000) : 1
            let request = HTTPClientRequest(
                method: arguments.text(2), url: arguments.text(3), headers: headers, body: arguments.bytes(5),
                timeout: UInt64(milliseconds * 1e6), maxRedirects: arguments.int(7))
            begin(owner)
            fetches[number] = loop.spawn {
                await self.fetch(number, owner, request)
                self.done(owner)
            }
            return nil
        }
        add("cancelFetch") { [unowned self] in
            fetches.removeValue(forKey: $0.int(0))?.cancel()
            return nil
        }
    }

    private func fetch(_ number: Int, _ owner: Int, _ request: HTTPClientRequest) async {
        do {
            let response = try await client.send(request)
            guard fetches.removeValue(forKey: number) != nil else { return }
            let headers = response.headers.map { "\($0.name)\n\($0.value)" }.joined(separator: "\n")
            enter(
                "fetched", owner: owner,
                [.int(number), .int(response.status), .text(headers), .bytes(response.body)])
        } catch {
            guard fetches.removeValue(forKey: number) != nil else { return }
            enter("fetched", owner: owner, [.int(number), .int(0), .text(sentence(error))])
        }
    }

    private func sentence(_ error: any Error) -> String {
        switch error as? HTTPClientError {
        case .timedOut: "timed out"
        case .responseTooLarge: "the answer is too large"
        case .badURL: "not a URL of http or https"
        case .badHeader(let name): "a header that can't be sent: \(name)"
        case .failed(let words): words
        case .addressRefused: "the address is not one to connect to"
        case nil: "cancelled"
        }
    }
}
