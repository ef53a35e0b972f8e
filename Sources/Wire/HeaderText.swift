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

    public var members: JSONObject { (try? JSONParser.parse(json))?.object ?? JSONObject() }
}
