import Postgres
import Schema
import Wire

/// Turns objects of one class into rows of COPY's text format, for the class as it is at one moment.
struct RowEncoder {
    /// Fields that an object has and the class does not.
    struct Missing: Error {
        let fields: [String: FieldType]
    }

    private struct Target {
        let type: FieldType
        /// Where it stands in a row; nil where it has no column.
        let column: Int?
    }

    let schema: ClassSchema
    /// The columns of each row, as SQL.
    let columns: String
    private let hidden: [String: Int]
    private let targets: [String: Target]
    /// What objects without dates get.
    private let now: Timestamp
    private let hashesTokens: Bool
    private let isNew: Bool
    private var values: [Value]
    private var hiddenValues: [JSON?]
    /// The last object's names, in their order: mostly the next one's too.
    private var lastNames: [(name: String, target: Target)] = []

    private static let rowColumns = ["objectId", "createdAt", "updatedAt", "_rperm", "_wperm"]
    private static let hiddenColumns: [String: [String]] = [
        "_User": [
            "_hashed_password", "_password_changed_at", "_password_history", "_account_lockout_expires_at",
        ],
        "_Session": ["_token_digest"],
    ]

    /// - Parameter isNew: there is no such class yet: every object needs it to be made first.
    init(_ schema: ClassSchema, isNew: Bool, now: Timestamp, hashesTokens: Bool) {
        self.schema = schema
        self.isNew = isNew
        self.now = now
        self.hashesTokens = hashesTokens && schema.name == "_Session"
        let own = Self.hiddenColumns[schema.name] ?? []
        hidden = Dictionary(own.enumerated().map { ($1, $0) }, uniquingKeysWith: { one, _ in one })
        var targets: [String: Target] = [:]
        for (index, column) in schema.columns.enumerated() {
            targets[column.name] = Target(type: column.field.type, column: index)
        }
        for (name, field) in schema.fields where targets[name] == nil && !ClassSchema.rowFields.contains(name) {
            targets[name] = Target(type: field.type, column: nil)
        }
        self.targets = targets
        columns = (Self.rowColumns + own + schema.columns.map(\.name)).map { quoted($0) }.joined(separator: ", ")
        values = Array(repeating: .null, count: schema.columns.count)
        hiddenValues = Array(repeating: nil, count: own.count)
    }

    /// Appends the row of an object.
    ///
    /// - Throws: `Missing` where the class must grow first, `Refusal` where it can't be imported; nothing is appended
    ///   then.
    ///
    /// - Parameter line: its line, for a last column of its own.
    mutating func append(_ object: ImportedObject, line: Int?, to out: inout CopyText) throws {
        for index in values.indices { values[index] = .null }
        for index in hiddenValues.indices { hiddenValues[index] = nil }
        for (name, value) in object.hidden { if let index = hidden[name] { hiddenValues[index] = value } }
        var missing: [String: FieldType] = [:]
        for (position, (name, given)) in object.fields.enumerated() {
            let target: Target
            if position < lastNames.count, lastNames[position].name == name {
                target = lastNames[position].target
            } else if let known = targets[name] {
                target = known
                if position < lastNames.count {
                    lastNames[position] = (name, known)
                } else if position == lastNames.count {
                    lastNames.append((name, known))
                }
            } else {
                let value = try parse(given, name)
                guard let type = value.fieldType else { continue }
                guard Names.isField(name) else { throw Refusal("\(name) can't be the name of a field") }
                missing[name] = type
                continue
            }
            guard given != .null else { continue }
            var value = try parse(ExtendedJSON.typed(given, as: target.type), name)
            guard let type = value.fieldType else { continue }
            guard type == target.type else {
                throw Refusal("\(name) is of the type \(type), and in \(schema.name) it is \(target.type)")
            }
            guard let column = target.column else { continue }
            if hashesTokens, name == "sessionToken", case .string(let token) = value,
                let digest = hidden["_token_digest"]
            {
                hiddenValues[digest] = .string(SHA256.of(Array(token.utf8)))
                value = .null
            }
            values[column] = value
        }
        guard missing.isEmpty, !isNew else { throw Missing(fields: missing) }
        let created = object.createdAt ?? object.updatedAt ?? now
        out.field(object.objectId)
        out.field(created)
        out.field(object.updatedAt ?? created)
        out.field(list: object.readers)
        out.field(list: object.writers)
        for value in hiddenValues {
            switch value {
            case nil, .null?: out.field(nil)
            case .string(let text)?: out.field(text)
            case .object(let date)?:
                if let moment = date["iso"]?.string.flatMap({ Timestamp(iso: $0) }) {
                    out.field(moment)
                } else {
                    out.field(nil)
                }
            case let json?: out.field(json: json)
            }
        }
        for value in values { out.field(value) }
        if let line { out.field(String(line)) }
        out.endRow()
    }

    private func parse(_ json: JSON, _ name: String) throws(Refusal) -> Value {
        do {
            switch json {
            case .object, .array: return try Value.parse(ExtendedJSON.plain(json))
            default: return try Value.parse(json)
            }
        } catch { throw Refusal("\(name): \(error.message)") }
    }
}

extension CopyText {
    mutating func field(_ moment: Timestamp) { field(milliseconds: moment.milliseconds) }

    mutating func field(json: JSON) {
        var writer = JSONWriter(room: 128)
        writer.json(json)
        writer.bytes.withUnsafeBytes { field(utf8: $0) }
    }

    /// An array of texts; nil is NULL.
    mutating func field(list: [String]?) {
        guard let list else { return field(nil) }
        var text: [UInt8] = [UInt8(ascii: "{")]
        for (index, element) in list.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text.append(UInt8(ascii: "\""))
            for byte in element.utf8 {
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { text.append(UInt8(ascii: "\\")) }
                text.append(byte)
            }
            text.append(UInt8(ascii: "\""))
        }
        text.append(UInt8(ascii: "}"))
        text.withUnsafeBytes { field(utf8: $0) }
    }

    mutating func field(_ value: Value) {
        switch value {
        case .null, .relation: field(nil)
        case .bool(let bool): field(bool ? "t" : "f")
        case .number(let number): field(number.description)
        case .string(let text): field(text)
        case .date(let moment): field(moment)
        case .bytes(let bytes):
            let digits = Array("0123456789abcdef".utf8)
            var text = Array("\\x".utf8)
            for byte in bytes { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
            text.withUnsafeBytes { field(utf8: $0) }
        case .geoPoint(let point): field("(\(point.longitude),\(point.latitude))")
        case .polygon(let corners):
            field("(" + corners.map { "(\($0.longitude),\($0.latitude))" }.joined(separator: ",") + ")")
        // One that lies elsewhere is known by its address.
        case .file(let file): field(file.url.flatMap { $0.hasPrefix("http") ? $0 : nil } ?? file.name)
        case .pointer(let pointer): field(pointer.objectId)
        case .array(let list): field(json: .array(list))
        case .object(let object): field(json: .object(object))
        }
    }
}
