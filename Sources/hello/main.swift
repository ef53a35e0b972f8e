import Core
import Glibc
import HTTP

// Answers every request with 13 bytes: `hello [port] [workers]`. What the HTTP room costs by itself; with `/wait`, what a
// request costs that waits a millisecond, as for a database; `/hook` answers what a webhook does that leaves all as it
// is.

signal(SIGPIPE, SIG_IGN)
OpenFiles.allow(HTTPServer.Limits().connections + 1000)
let arguments = CommandLine.arguments
let port = arguments.count > 1 ? Int(arguments[1]) ?? 8080 : 8080
let count = arguments.count > 2 ? Int(arguments[2]) ?? 1 : 1
let listener = try Listener(port: port)
let workers = (0..<count).map { Worker(index: $0) }
let body = Array("Hello, world!".utf8)
for worker in workers {
    try await worker.run { _, loop in
        let server = try HTTPServer(loop: loop) { request, responder in
            if request.path == "/wait" { try? await loop.sleep(nanoseconds: 1_000_000) }
            let isHook = request.path == "/hook"
            responder.respond(
                headers: [("Content-Type", isHook ? "application/json" : "text/plain")],
                body: isHook ? Array("{}".utf8) : body)
        }
        listener.add(server)
    }
}
await workers[0].run { _, loop in listener.start(on: loop) }
print("http://127.0.0.1:\(listener.port) on \(count) workers")
while true { pause() }
