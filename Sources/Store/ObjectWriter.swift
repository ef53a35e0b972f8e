import Glibc
import Postgres
import Schema
import Wire

/// Writes objects as clients read them, straight from the rows. One for each piece of text, part of which it may write
/// again.
struct ObjectWriter {
    private let fileURLPrefix: String
    /// What was written last, of an object of the answer and of one that is included.
    private var acl: WrittenACL?
    private var includedACL: WrittenACL?

    /// Where objects that are included stand already, by their rows: many pointers may lead to one, and lists of
    /// pointers multiply from depth to depth.
    private var written: [ObjectIdentifier: [Int: Range<Int>]] = [:]

    private struct WrittenACL {
        let readers: UnsafeRawBufferPointer
        let writers: UnsafeRawBufferPointer
        let text: Range<Int>
    }

    private init(fileURLPrefix: String) { self.fileURLPrefix = fileURLPrefix }

    /// `{…},{…}`: all that are shown.
    static func write(_ set: ResultSet, _ fileURLPrefix: String, to out: inout JSONWriter) {
        out.reserve(set.rows.memorySize)
        var writer = ObjectWriter(fileURLPrefix: fileURLPrefix)
        for row in 0..<set.count {
            if row > 0 { out.raw(",") }
            writer.write(set, row, to: &out)
        }
    }

    /// `{…}`, and whatever `extra` adds before the closing brace.
    static func write(
        _ set: ResultSet, _ row: Int, _ fileURLPrefix: String, extra: ((inout JSONWriter) -> Void)? = nil,
        to out: inout JSONWriter
    ) {
        var writer = ObjectWriter(fileURLPrefix: fileURLPrefix)
        writer.write(set, row, extra: extra, to: &out)
    }

    /// With `asIncluded`, it begins with `__type` and `className`.
    private mutating func write(
        _ set: ResultSet, _ row: Int, asIncluded: Bool = false, extra: ((inout JSONWriter) -> Void)? = nil,
        to out: inout JSONWriter
    ) {
        let first = set.first
        out.raw("{\"objectId\":")
        out.string(set.rows.bytes(row, first))
        if asIncluded {
            out.raw(",\"__type\":\"Object\",\"className\":")
            out.string(set.className)
        } else if set.showsClassName {
            out.raw(",\"className\":")
            out.string(set.className)
        }
        var created: (moment: Int64, text: Range<Int>)?
        if !set.rows.isNull(row, first + 1) {
            let moment = set.rows.timestampMilliseconds(row, first + 1)
            out.raw(",\"createdAt\":\"")
            let start = out.count
            out.timestamp(moment)
            created = (moment, start..<out.count)
            out.raw("\"")
        }
        if set.showsUpdate, !set.rows.isNull(row, first + 2) {
            let moment = set.rows.timestampMilliseconds(row, first + 2)
            out.raw(",\"updatedAt\":\"")
            // Most were never changed.
            if let created, created.moment == moment { out.again(created.text) } else { out.timestamp(moment) }
            out.raw("\"")
        }
        // Where they lie: a copy of each for each row would take as long as writing it.
        set.columns.withUnsafeBufferPointer { columns in
            for index in columns.indices where !set.rows.isNull(row, columns[index].index) {
                if set.holdsTokens, columns[index].name == "sessionToken" {
                    guard let token = SessionToken.shown(set.rows.string(row, columns[index].index), set.tokenSeal)
                    else { continue }
                    out.raw(columns[index].label)
                    out.string(token)
                    continue
                }
                write(columns[index], set.inclusions[index], set.rows, row, to: &out)
            }
        }
        for relation in set.relations {
            out.raw(relation.label)
            out.raw("{\"__type\":\"Relation\",\"className\":")
            out.string(relation.target)
            out.raw("}")
        }
        writeACL(set.rows, row, first + 3, asIncluded: asIncluded, to: &out)
        extra?(&out)
        out.raw("}")
    }

    /// An object that other pointers may lead to as well.
    private mutating func writeIncluded(_ set: ResultSet, _ row: Int, to out: inout JSONWriter) {
        let id = ObjectIdentifier(set)
        if let text = written[id]?[row] { return out.again(text) }
        let start = out.count
        write(set, row, asIncluded: true, to: &out)
        written[id, default: [:]][row] = start..<out.count
    }

    private mutating func write(
        _ column: ResultSet.Column, _ included: Included?, _ rows: Rows, _ row: Int, to out: inout JSONWriter
    ) {
        switch column.type {
        case .pointer(let target):
            if let included {
                if let joined = included.joined {
                    guard !rows.isNull(row, joined.first) else { return }
                    out.raw(column.label)
                    write(joined, row, asIncluded: true, to: &out)
                    return
                }
                guard
                    let (found, at) = included.find(
                        Pointer(className: target, objectId: rows.string(row, column.index)))
                else { return }
                out.raw(column.label)
                writeIncluded(found, at, to: &out)
                return
            }
            out.raw(column.label)
            out.raw("{\"__type\":\"Pointer\",\"className\":")
            out.string(target)
            out.raw(",\"objectId\":")
            out.string(rows.bytes(row, column.index))
            out.raw("}")
        case .array, .object:
            out.raw(column.label)
            if let included, let json = try? JSONParser.parse(rows.json(row, column.index)) {
                write(json, included, to: &out)
            } else {
                out.jsonText(rows.json(row, column.index))
            }
        default:
            out.raw(column.label)
            ObjectWriter.scalar(rows, row, column.index, column.type, fileURLPrefix, to: &out)
        }
    }

    /// A value that needs nothing but its column.
    static func scalar(
        _ rows: Rows, _ row: Int, _ index: Int, _ type: FieldType, _ fileURLPrefix: String, to out: inout JSONWriter
    ) {
        switch type {
        case .string: out.string(rows.bytes(row, index))
        case .number: out.number(rows.double(row, index))
        case .boolean: out.raw(rows.bool(row, index) ? "true" : "false")
        case .date:
            out.raw("{\"__type\":\"Date\",\"iso\":\"")
            out.timestamp(rows.timestampMilliseconds(row, index))
            out.raw("\"")
            out.raw("}")
        case .object, .array: out.jsonText(rows.json(row, index))
        case .geoPoint:
            let point = rows.point(row, index)
            out.raw("{\"__type\":\"GeoPoint\",\"latitude\":")
            out.number(point.y)
            out.raw(",\"longitude\":")
            out.number(point.x)
            out.raw("}")
        case .polygon:
            out.raw("{\"__type\":\"Polygon\",\"coordinates\":[")
            for (index, corner) in rows.polygon(row, index).enumerated() {
                out.raw(index > 0 ? ",[" : "[")
                out.number(corner.y)
                out.raw(",")
                out.number(corner.x)
                out.raw("]")
            }
            out.raw("]}")
        case .file:
            let name = rows.string(row, index)
            out.raw("{\"__type\":\"File\",\"name\":")
            out.string(name)
            out.raw(",\"url\":")
            out.string(FileURL.url(name, prefix: fileURLPrefix))
            out.raw("}")
        case .bytes:
            out.value(.bytes(Array(rows.bytes(row, index))))
        case .pointer(let target):
            out.raw("{\"__type\":\"Pointer\",\"className\":")
            out.string(target)
            out.raw(",\"objectId\":")
            out.string(rows.bytes(row, index))
            out.raw("}")
        case .relation, .acl: out.raw("null")
        }
    }

    /// A list or an object with the pointers in it that are included replaced; those that are gone are left out.
    private mutating func write(_ json: JSON, _ included: Included, to out: inout JSONWriter) {
        switch json {
        case .array(let elements):
            out.raw("[")
            var first = true
            for element in elements {
                if let pointer = ObjectWriter.pointer(element) {
                    guard let (set, row) = included.find(pointer) else { continue }
                    if !first { out.raw(",") }
                    writeIncluded(set, row, to: &out)
                } else {
                    if !first { out.raw(",") }
                    out.json(element)
                }
                first = false
            }
            out.raw("]")
        case .object(let object):
            if let pointer = ObjectWriter.pointer(json), !included.objects.isEmpty {
                if let (set, row) = included.find(pointer) {
                    writeIncluded(set, row, to: &out)
                } else {
                    out.raw("null")
                }
                return
            }
            out.raw("{")
            var first = true
            for (key, value) in object.members {
                if let inner = included.within[key], let pointer = ObjectWriter.pointer(value),
                    inner.find(pointer) == nil
                {
                    continue
                }
                if !first { out.raw(",") }
                first = false
                out.string(key)
                out.raw(":")
                if let inner = included.within[key] { write(value, inner, to: &out) } else { out.json(value) }
            }
            out.raw("}")
        default:
            out.json(json)
        }
    }

    static func pointer(_ json: JSON) -> Pointer? {
        guard case .object(let object) = json, object["__type"] == .string("Pointer"),
            case .string(let className)? = object["className"], case .string(let id)? = object["objectId"]
        else { return nil }
        return Pointer(className: className, objectId: id)
    }

    /// A list of objects spends much of its time here: an ACL like the last one is copied, and principals are compared
    /// and written where they lie.
    private mutating func writeACL(
        _ rows: Rows, _ row: Int, _ column: Int, asIncluded: Bool, to out: inout JSONWriter
    ) {
        guard !rows.isNull(row, column) || !rows.isNull(row, column + 1) else { return }
        let acl = (readers: rows.bytes(row, column), writers: rows.bytes(row, column + 1))
        if let last = asIncluded ? includedACL : self.acl, ObjectWriter.isSame(last.readers, acl.readers),
            ObjectWriter.isSame(last.writers, acl.writers)
        {
            return out.again(last.text)
        }
        let start = out.count
        let readers = rows.elements(row, column)
        let writers = rows.elements(row, column + 1)
        let reading = Principals(readers, bytes: acl.readers.count)
        let writing = Principals(writers, bytes: acl.writers.count)
        out.raw(",\"ACL\":{")
        var first = true
        for principal in readers {
            if !first { out.raw(",") }
            first = false
            out.string(principal)
            let writes = writing.contains(principal)
            out.raw(writes ? ":{\"read\":true,\"write\":true}" : ":{\"read\":true}")
        }
        for principal in writers where !reading.contains(principal) {
            if !first { out.raw(",") }
            first = false
            out.string(principal)
            out.raw(":{\"write\":true}")
        }
        out.raw("}")
        let written = WrittenACL(readers: acl.readers, writers: acl.writers, text: start..<out.count)
        if asIncluded { includedACL = written } else { self.acl = written }
    }

    /// Whom a permission names. Few are compared one by one; any client may write an ACL of 100,000.
    private struct Principals {
        private struct Name: Hashable {
            let bytes: UnsafeRawBufferPointer
            static func == (one: Name, other: Name) -> Bool { ObjectWriter.isSame(one.bytes, other.bytes) }
            func hash(into hasher: inout Hasher) { hasher.combine(bytes: bytes) }
        }

        private let elements: ArrayElements
        private let names: Set<Name>?

        init(_ elements: ArrayElements, bytes: Int) {
            self.elements = elements
            names = bytes <= 1024 ? nil : Set(elements.map { Name(bytes: $0) })
        }

        func contains(_ principal: UnsafeRawBufferPointer) -> Bool {
            if let names { return names.contains(Name(bytes: principal)) }
            return elements.contains { ObjectWriter.isSame($0, principal) }
        }
    }

    private static func isSame(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        guard one.count == other.count, let first = one.baseAddress, let second = other.baseAddress else {
            return one.count == other.count
        }
        return memcmp(first, second, one.count) == 0
    }
}

/// Where a stored file is fetched.
enum FileURL {
    /// A name that is a whole URL (a file stored elsewhere) is its own.
    static func url(_ name: String, prefix: String) -> String {
        if name.hasPrefix("http://") || name.hasPrefix("https://") { return name }
        return prefix + name.urlEncoded
    }
}
