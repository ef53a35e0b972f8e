import Testing
import Wire

/// The headers that cloud code is told: of bytes, as a server gets them, the same as of texts.
@Suite struct HeaderTextTests {
    /// As a server has them, in memory of its own.
    private func text(
        _ headers: [(name: String, value: [UInt8])], without secret: [String] = []
    ) -> String {
        let bytes = headers.map { header in
            (name: copy(Array(header.name.utf8)), value: copy(header.value))
        }
        defer {
            for (name, value) in bytes {
                name.deallocate()
                value.deallocate()
            }
        }
        return String(decoding: HeaderText(raw: bytes, without: secret).json, as: UTF8.self)
    }

    private func copy(_ bytes: [UInt8]) -> UnsafeBufferPointer<UInt8> {
        let room = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, bytes.count))
        _ = room.initialize(from: bytes)
        return UnsafeBufferPointer(rebasing: room[..<bytes.count])
    }

    @Test func namesAreInLowerCaseAndValuesAsTheyCame() {
        let headers: [(name: String, value: [UInt8])] = [
            ("Content-Type", Array("application/json".utf8)), ("X-Vacio", []),
            ("x-raro", Array("a\"b\\c\u{1}d".utf8)),
        ]
        #expect(
            text(headers)
                == #"{"content-type":"application/json","x-vacio":"","x-raro":"a\"b\\c\u0001d"}"#)
        #expect(text([]) == "{}")
    }

    @Test func oneThatComesTwiceIsOneList() {
        #expect(
            text([("X-A", Array("1".utf8)), ("B", Array("2".utf8)), ("x-a", Array("3".utf8))])
                == #"{"x-a":"1, 3","b":"2"}"#)
    }

    @Test func whatIsNoUTF8IsMended() {
        #expect(
            text([("X-Nombre", Array("Núria".utf8)), ("X-Roto", [0x61, 0xff])])
                == "{\"x-nombre\":\"Núria\",\"x-roto\":\"a\u{fffd}\"}")
    }

    @Test(arguments: [[UInt8](), Array("ñ".utf8)])
    func secretsAreLeftOut(_ other: [UInt8]) {
        let headers: [(name: String, value: [UInt8])] = [
            ("X-Llave", Array("s".utf8)), ("x-LLAVE", Array("t".utf8)), ("X-Otra", other),
            ("X-Llave2", Array("u".utf8)),
        ]
        for headers in [headers, Array(headers.dropFirst())] {
            let told = text(headers, without: ["x-llave"])
            #expect(told == "{\"x-otra\":\"\(String(decoding: other, as: UTF8.self))\",\"x-llave2\":\"u\"}")
        }
    }
}
