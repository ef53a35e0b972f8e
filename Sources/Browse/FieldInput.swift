import Wire

/// What somebody typed as a field's new value.
public enum FieldInput: Sendable, Equatable {
    case value(JSON)
    /// A pointer to the user of this name, which the server must be asked for.
    case user(String)
    /// A File or Bytes: what the file at this path holds.
    case path(String)

    /// Reads a text as the field's type asks.
    ///
    /// String as it stands; Number; `true`, `false`; Date as `2026-11-01`, `2026-11-01T08:00`, `-7d`, `now`; GeoPoint
    /// `latitude,longitude`; Pointer an id, `Class:id` or `@username`; File its name, Bytes base64, both `<path` too;
    /// Array, Object, Polygon as JSON.
    /// - Throws: `FilterFault` with the place in the text.
    public init(_ text: String, for field: ClassShape.Field, now: Timestamp = .now) throws(FilterFault) {
        func fault(_ reason: String, at position: Int = 0) -> FilterFault {
            FilterFault(position, max(0, text.count - position), reason)
        }
        if text.unicodeScalars.contains("\0") { throw fault("a text cannot hold the character U+0000") }
        switch field.type {
        case .string: self = .value(.string(text))
        case .number:
            guard let number = Double(text), number.isFinite else {
                throw fault("a Number, as 9 or -1.5", at: FieldInput.numberEnd(text))
            }
            self = .value(.number(number))
        case .boolean:
            guard text == "true" || text == "false" else { throw fault("true or false") }
            self = .value(.bool(text == "true"))
        case .date:
            guard let date = Timestamp(typed: text, now: now) else {
                throw fault("a Date, as 2026-11-01, 2026-11-01T08:00, -7d or now")
            }
            self = .value(FilterValues.json(date))
        case .geoPoint:
            let parts = text.split(separator: ",", omittingEmptySubsequences: false)
                .map { Double($0.filter { $0 != " " }) }
            guard parts.count == 2, let latitude = parts[0], let longitude = parts[1], abs(latitude) <= 90,
                abs(longitude) <= 180
            else { throw fault("a GeoPoint, as 40.4,-3.7: latitude -90 to 90, longitude -180 to 180") }
            self = .value(["__type": "GeoPoint", "latitude": .number(latitude), "longitude": .number(longitude)])
        case .pointer(let target):
            if text.hasPrefix("@"), text.count > 1 {
                guard target == "_User" else { throw fault("@ names a user; \(field.name) leads to \(target)") }
                self = .user(String(text.dropFirst()))
                return
            }
            let id = text.hasPrefix(target + ":") ? String(text.dropFirst(target.count + 1)) : text
            guard !id.isEmpty, !id.contains(":"), !id.contains(" ") else {
                throw fault("an objectId of \(target)" + (target == "_User" ? ", or @username" : ""))
            }
            self = .value(FilterValues.pointer(target, id))
        case .file where text.hasPrefix("<"), .bytes where text.hasPrefix("<"):
            let path = text.dropFirst().drop { $0 == " " }
            guard !path.isEmpty else { throw fault("the path of a file behind <", at: text.count) }
            self = .path(String(path))
        case .file:
            guard !text.isEmpty else { throw fault("the name of a stored file, or <path of one to be stored") }
            self = .value(["__type": "File", "name": .string(text)])
        case .bytes:
            guard !text.isEmpty, Base64.decode(text) != nil else { throw fault("Bytes as base64, or <path of a file") }
            self = .value(["__type": "Bytes", "base64": .string(text)])
        case .array, .object, .polygon: self = .value(try FieldInput.json(text, field))
        case .relation: throw fault("objects are linked with += and unlinked with -=")
        case .acl: self = .value(try FieldInput.json(text, field))
        }
    }

    private static func numberEnd(_ text: String) -> Int {
        var end = text.count
        while end > 0, Double(text.prefix(end)) == nil { end -= 1 }
        return end
    }

    private static func json(_ text: String, _ field: ClassShape.Field) throws(FilterFault) -> JSON {
        let json: JSON
        do { json = try JSONParser.parse(text) } catch { throw FilterFault(0, text.count, error.message) }
        switch (field.type, json) {
        case (.array, .array), (.object, .object), (.polygon, .object), (.acl, .object): return json
        case (.polygon, .array): return ["__type": "Polygon", "coordinates": json]
        default: throw FilterFault(0, text.count, "\(field.name) is of type \(field.type.name)")
        }
    }

    /// The text that would be typed to get this value; nil where nothing can be typed for it.
    public static func typed(_ value: JSON?, for field: ClassShape.Field) -> String {
        guard let value, value != .null else { return "" }
        switch field.type {
        case .string: return value.string ?? value.description
        case .pointer: return value.object?["objectId"]?.string ?? ""
        case .date: return value.object?["iso"]?.string ?? value.string ?? ""
        // Nobody goes on typing behind a picture.
        case .bytes: return value.object?["base64"]?.string.flatMap { $0.utf8.count > 4096 ? nil : $0 } ?? ""
        case .polygon: return value.object?["coordinates"]?.description ?? ""
        case .geoPoint, .file: return Cells.text(value)
        default: return value.description
        }
    }
}

extension Timestamp {
    /// An ISO date, `now`, or so long ago or ahead: `-7d`, `+2h`, of s, m, h, d, w.
    init?(typed text: String, now: Timestamp) {
        if text == "now" {
            self = now
            return
        }
        if let sign = text.first, sign == "-" || sign == "+", let unit = text.last,
            let count = Int64(text.dropFirst().dropLast()), (0...100_000).contains(count),
            text.dropFirst().first?.isNumber == true
        {
            let lengths: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
            guard let length = lengths[unit] else { return nil }
            self.init(milliseconds: now.milliseconds + (sign == "-" ? -1 : 1) * count * length * 1000)
            return
        }
        self.init(iso: text)
    }
}
