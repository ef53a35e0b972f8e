/// A request's headers as cloud code is told them: one JSON text, `{"accept":"*/*",…}`, by their names in lower case.
/// Every hook is told them and few look, so they are not taken apart before somebody does.
public struct HeaderText: Sendable {
    /// In UTF-8.
    public let json: [UInt8]

    /// - Parameters:
    ///   - headers: in the order they came. One that comes twice is one list:
    ///     https://www.rfc-editor.org/rfc/rfc9110#section-5.2
    ///   - secret: names that are left out.
    public init(_ headers: [(name: String, value: String)], without secret: [String] = []) {
        var names: [String] = []
        var values: [String] = []
        for (name, value) in headers {
            let name = name.lowercased()
            if secret.contains(name) { continue }
            if let index = names.firstIndex(of: name) {
                values[index] += ", \(value)"
            } else {
                names.append(name)
                values.append(value)
            }
        }
        var out = JSONWriter(room: 1024)
        out.raw("{")
        for (index, name) in names.enumerated() {
            if index > 0 { out.raw(",") }
            out.string(name)
            out.raw(":")
            out.string(values[index])
        }
        out.raw("}")
        json = out.finish()
    }

    /// The same of headers as a server got them: of bytes that need not be UTF-8.
    public init(
        raw headers: [(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>)],
        without secret: [String] = []
    ) {
        if let json = HeaderText.plain(headers, without: secret) {
            self.init(json: json)
        } else {
            self.init(
                headers.map { (String(decoding: $0.name, as: UTF8.self), String(decoding: $0.value, as: UTF8.self)) },
                without: secret)
        }
    }

    private init(json: [UInt8]) { self.json = json }

    /// Of headers in ASCII none of which comes twice, which most are: written as they lie there. nil of others.
    private static func plain(
        _ headers: [(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>)], without secret: [String]
    ) -> [UInt8]? {
        var out = JSONWriter(room: 512)
        out.raw("{")
        for (index, header) in headers.enumerated() {
            guard isASCII(header.name), isASCII(header.value) else { return nil }
            for other in headers[..<index] where isSame(other.name, header.name) { return nil }
            if secret.contains(where: { isNamed(header.name, $0) }) { continue }
            if out.count > 1 { out.raw(",") }
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: header.name.count) { name in
                for (place, byte) in header.name.enumerated() { name[place] = lowercase(byte) }
                out.string(UnsafeRawBufferPointer(name))
            }
            out.raw(":")
            out.string(UnsafeRawBufferPointer(header.value))
        }
        out.raw("}")
        return out.finish()
    }

    private static func isASCII(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var all: UInt8 = 0
        for byte in bytes { all |= byte }
        return all < 0x80
    }

    private static func isSame(_ one: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard one.count == other.count else { return false }
        for index in one.indices where lowercase(one[index]) != lowercase(other[index]) { return false }
        return true
    }

    private static func isNamed(_ name: UnsafeBufferPointer<UInt8>, _ wanted: String) -> Bool {
        var wanted = wanted
        return wanted.withUTF8 { isSame($0, name) }
    }

    private static func lowercase(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }

    public var members: JSONObject { (try? JSONParser.parse(json))?.object ?? JSONObject() }
}
