import Core
import Glibc
import HTTP
import TestSupport
import Testing

@Suite struct StreamTests {
    @Test func aStreamedBodyReachesTheHandlerPieceByPiece() async throws {
        try await serve { server in
            server.bodyMode = { _ in .streamed(limit: nil) }
        } _: { request, responder in
            var sum = 0
            while let piece = try? await request.nextChunk() { sum += piece.count }
            responder.respond(body: Array("\(sum)".utf8))
        } test: { served in
            let client = try served.client()
            for size in [0, 1, 300_000] {
                try await client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: \(size)\r\n\r\n")
                try await client.send([UInt8](repeating: 120, count: size))
                #expect(try await client.response().text == "\(size)")
            }
            try await client.send("POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n")
            try await client.send("3\r\nabc\r\n0\r\n\r\n")
            #expect(try await client.response().text == "3")
        }
    }

    @Test func aHandlerThatDoesNotReadHoldsTheClientBack() async throws {
        let proceed = Event()
        try await serve { server in
            server.bodyMode = { _ in .streamed(limit: 100 << 20) }
        } _: { request, responder in
            try? await proceed.wait(responder.loop)
            var sum = 0
            while let piece = try? await request.nextChunk() { sum += piece.count }
            responder.respond(body: Array("\(sum)".utf8))
        } test: { served in
            let size = 60 << 20
            let client = try served.client()
            try await client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: \(size)\r\n\r\n")
            // As much as the kernel's buffers and the stream's take.
            let block = [UInt8](repeating: 120, count: 1 << 16)
            var sent = 0
            var stalls = 0
            while stalls < 20 && sent + block.count <= size {
                let count = client.sendSome(block)
                sent += count
                stalls = count == 0 ? stalls + 1 : 0
                try await served.loop.sleep(nanoseconds: milliseconds)
            }
            #expect(sent < 30 << 20)
            proceed.happen()
            while sent < size {
                let next = min(block.count, size - sent)
                try await client.send(Array(block[..<next]))
                sent += next
            }
            #expect(try await client.response().text == "\(size)")
        }
    }

    @Test func aStreamedBodyOverItsLimitFailsAndIsA413() async throws {
        try await serve { server in
            server.bodyMode = { _ in .streamed(limit: 10) }
        } _: { request, responder in
            do { while try await request.nextChunk() != nil {} } catch {
                #expect(error as? HTTPServerError == .bodyTooLarge)
                return
            }
            responder.respond()
        } test: { served in
            let client = try served.client()
            try await client.send("POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n")
            try await client.send("b\r\nhello world\r\n0\r\n\r\n")
            #expect(try await client.response().status == 413)
        }
    }

    @Test func anAnswerBeforeTheBodysEndLetsTheRestThrough() async throws {
        try await serve { server in
            server.bodyMode = { _ in .streamed(limit: nil) }
        } _: { request, responder in
            responder.respond(status: request.path == "/no" ? 403 : 200)
        } test: { served in
            let client = try served.client()
            try await client.send("POST /no HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\n")
            try await client.send([UInt8](repeating: 120, count: 1_000_000))
            #expect(try await client.response().status == 403)
            #expect(try await client.get("/yes").status == 200)
        }
    }

    @Test func aClientThatLeavesWithinItsBodyFailsTheReader() async throws {
        let failed = Event()
        try await serve { server in
            server.bodyMode = { _ in .streamed(limit: nil) }
        } _: { request, responder in
            do { while try await request.nextChunk() != nil {} } catch {
                #expect(error as? HTTPServerError == .clientGone)
                failed.happen()
            }
            responder.respond()
        } test: { served in
            let client = try served.client()
            try await client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\nhalf")
            try await until(served.loop) { served.server.requestCount > 0 }
            client.close()
            try await failed.wait(served.loop)
        }
    }

    @Test func anAnswerOfUnknownLengthIsChunked() async throws {
        try await serve { _, responder in
            let writer = responder.respondStreaming(headers: [("Content-Type", "text/plain")])
            for number in 0..<1000 {
                try? await writer.write(Array("\(number),".utf8))
                if number % 100 == 0 { try? await responder.loop.sleep(nanoseconds: milliseconds) }
            }
            writer.finish()
        } test: { served in
            let client = try served.client()
            for _ in 0..<3 {
                let answer = try await client.get("/")
                #expect(answer.header("Transfer-Encoding") == "chunked")
                #expect(answer.text == (0..<1000).map { "\($0)," }.joined())
            }
            // Nothing but the head for HEAD.
            try await client.send("HEAD / HTTP/1.1\r\nHost: test\r\n\r\n")
            #expect(try await client.response(hasBody: false).status == 200)
            #expect(try await client.rest() == "")
        }
    }

    @Test func anAnswerOfKnownLengthSaysSo() async throws {
        try await serve { _, responder in
            let writer = responder.respondStreaming(length: 300_000)
            for _ in 0..<30 { try? await writer.write([UInt8](repeating: 120, count: 10_000)) }
            writer.finish()
        } test: { served in
            let client = try served.client()
            let answer = try await client.get("/")
            #expect(answer.header("Content-Length") == "300000")
            #expect(answer.body.count == 300_000)
            #expect(try await client.get("/").body.count == 300_000)
        }
    }

    @Test func aClientThatDoesNotReadHoldsTheWriterBack() async throws {
        let written = Tally()
        let size = 60 << 20
        try await serve { _, responder in
            let writer = responder.respondStreaming()
            for _ in 0..<(size >> 16) {
                try? await writer.write([UInt8](repeating: 120, count: 1 << 16))
                written.add(1 << 16)
            }
            writer.finish()
        } test: { served in
            let client = try served.client(receiveBuffer: 65536)
            try await client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
            var before = -1
            while before != written.value {
                before = written.value
                try await served.loop.sleep(nanoseconds: 30 * milliseconds)
            }
            #expect(before < 30 << 20)
            #expect(try await client.response().body.count == size)
            #expect(written.value == size)
        }
    }

    @Test func aHandlerThatEndsWithoutFinishingBreaksTheAnswerOff() async throws {
        try await serve { _, responder in
            let writer = responder.respondStreaming()
            try? await writer.write(Array("half".utf8))
        } test: { served in
            let client = try served.client()
            try await client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
            #expect(!(try await client.rest().hasSuffix("0\r\n\r\n")))
        }
    }

    @Test func anUpgradedConnectionIsARawSocket() async throws {
        try await serve { _, responder in
            let loop = responder.loop
            guard let upgraded = try? await responder.upgrade(to: "shout", headers: [("X-Extra", "1")]) else { return }
            upgraded.received.withUnsafeBytes { _ = write(upgraded.descriptor, $0.baseAddress, $0.count) }
            let closed = Waiter()
            let watch = loop.watch(upgraded.descriptor, .read) { _ in
                var buffer = [UInt8](repeating: 0, count: 100)
                let count = read(upgraded.descriptor, &buffer, 100)
                guard count > 0 else { return closed.resume() }
                _ = write(upgraded.descriptor, String(decoding: buffer[..<count], as: UTF8.self).uppercased(), count)
            }
            try? await closed.wait()
            watch.cancel()
            upgraded.close()
        } test: { served in
            let client = try served.client()
            try await client.send("GET / HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\nearly")
            let answer = try await client.response()
            #expect(answer.status == 101)
            #expect(answer.header("Upgrade") == "shout")
            #expect(answer.header("X-Extra") == "1")
            #expect(String(decoding: try await client.take(5), as: UTF8.self) == "early")
            for word in ["hello", "world"] {
                try await client.send(word)
                #expect(String(decoding: try await client.take(5), as: UTF8.self) == word.uppercased())
            }
            #expect(served.server.connectionCount == 1)
            client.close()
            try await until(served.loop) { served.server.connectionCount == 0 }
        }
    }
}
