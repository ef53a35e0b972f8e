import Wire

/// An index that was asked for through the schema API.
///
/// A definition names fields, each with a direction or a kind:
///
///     {"por_foro": {"foro": 1, "createdAt": -1}}          ordered, ascending and descending
///     {"nombre": {"nombre": "unique"}}                    no two objects with one value
///     {"nombre": {"foro": 1, "nombre": "uniqueNoCase"}}   …whatever their case, within one forum
///     {"nombre": {"nombre": "uniqueNoCaseNoAccents"}}     …nor their accents: `José`, `jose`
///     {"etiquetas": {"etiquetas": "gin"}}                 finds objects by elements of an Array; `1` means the same
///     {"quien": {"ACL": "gin"}}                           finds objects by who may read them
///     {"palabras": {"titulo": "text", "texto": "text"}}   full text, in English as `$text` without `$language`
///     {"palabras": {"texto": "text:es"}}                  …in another language of `$text`
///     {"palabras": {"texto": "text:es+en"}}               …in two languages at once, whatever the accents
///     {"donde": {"lugar": "2dsphere"}}                    places; `2d`, and `1` on such a field, mean the same
///
/// `"kind": -1` is not told from 1 where there is no order. Objects without a value never collide. A value in an
/// ordered or unique index can have about 2,700 bytes.
public struct ClassIndex: Sendable {
    public let name: String
    /// As it was asked for.
    public let definition: JSON
    /// What PostgreSQL calls it, in errors too.
    public let relation: String
    public let isUnique: Bool
    public let fields: [String]
}

/// What makes an index: everything behind its class and before its state.
struct IndexPlan {
    /// As the schema API names it; nil where the server makes it by itself.
    var name: String?
    var definition: JSON?
    var relation: String
    var isUnique = false
    /// What stands behind the table's name in CREATE INDEX.
    var recipe: String
    var fields: [String]

    /// How many indexes can be asked for in one class, as in MongoDB.
    static let maximum = 64

    // MARK: what the server makes by itself

    /// The index that a field of this type gets without being asked for.
    init?(field: String, _ type: FieldType, of className: String) {
        switch type {
        // Who asks for what points at an object asks for the newest first.
        case .pointer: recipe = "(\(quoted(field)), \"createdAt\", \"objectId\")"
        case .geoPoint: recipe = "USING gist (\(quoted(field)))"
        default: return nil
        }
        relation = IndexPlan.relation(className, ":", field)
        fields = [field]
    }

    // MARK: what is asked for

    /// Reads a definition; see `ClassIndex`. Throws 102 for what can't be an index.
    init(
        name: String, _ definition: JSON, of className: String, _ fields: [String: ClassSchema.Field]
    ) throws(ParseError) {
        guard !name.isEmpty, name.utf8.count <= 128, !name.utf8.contains(0), name != "_id_" else {
            throw ParseError(102, "An index needs a name of 1 to 128 bytes, other than _id_.")
        }
        guard case .object(let keys) = definition else {
            throw ParseError(102, "Index \(name) must be an object of fields and directions.")
        }
        guard !keys.isEmpty else { throw ParseError(102, "Index \(name) names no field.") }
        var parts: [IndexPart] = []
        for (field, value) in keys.members {
            guard let type = fields[field]?.type else {
                throw ParseError(102, "Field \(field) does not exist, cannot add index.")
            }
            parts.append(try IndexPart(field, type, value, index: name, className: className))
        }
        let methods = Set(parts.map(\.method))
        guard let method = methods.first, methods.count == 1 else {
            throw ParseError(102, "Index \(name) mixes kinds that cannot be in one index.")
        }
        guard parts.count <= 32 else { throw ParseError(102, "Index \(name) names more than 32 fields.") }
        self.name = name
        self.definition = definition
        relation = IndexPlan.relation(className, ".", name)
        isUnique = parts.contains { $0.isUnique }
        recipe = "USING \(method.rawValue) (\(parts.map(\.sql).joined(separator: ", ")))"
        self.fields = parts.map(\.field)
    }

    var index: ClassIndex? {
        guard let name, let definition else { return nil }
        return ClassIndex(name: name, definition: definition, relation: relation, isUnique: isUnique, fields: fields)
    }

    /// Names of indexes are global in PostgreSQL, of a class in Parse: the class goes into the name, and both are
    /// shortened by a digest where they would be cut. `.` and `:` are in no class's name.
    private static func relation(_ className: String, _ separator: String, _ name: String) -> String {
        let full = className + separator + name
        guard full.utf8.count > Names.maximumBytes else { return full }
        // FNV-1a, twice: 128 bits.
        var (one, two): (UInt64, UInt64) = (0xcbf2_9ce4_8422_2325, 0x9ae1_6a3b_2f90_404f)
        for byte in full.utf8 {
            one = (one ^ UInt64(byte)) &* 0x100_0000_01b3
            two = (two ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return className.prefix(32) + separator + String(one, radix: 36) + String(two, radix: 36)
    }
}

/// One field of an index.
private struct IndexPart {
    enum Method: String {
        case btree, gin, gist
    }

    let field: String
    let method: Method
    let sql: String
    var isUnique = false

    init(
        _ field: String, _ type: FieldType, _ value: JSON, index: String, className: String
    ) throws(ParseError) {
        self.field = field
        let column = quoted(field)
        func refused(_ why: String) -> ParseError { ParseError(102, "Index \(index): \(why)") }
        if case .relation = type { throw refused("the relation \(field) has an index already, and can have no other.") }
        if className == "_User", field == "password" { throw refused("passwords cannot be indexed.") }
        switch (value, type) {
        case (.string("gin"), .acl):
            (method, sql) = (.gin, "\"_rperm\"")
        case (_, .acl):
            throw refused("ACL can only have the kind gin.")
        case (.number(1), .array), (.number(-1), .array), (.string("gin"), .array), (.number(1), .object),
            (.number(-1), .object), (.string("gin"), .object):
            (method, sql) = (.gin, "\(column) jsonb_path_ops")
        case (.number(1), .geoPoint), (.number(-1), .geoPoint), (.string("2dsphere"), .geoPoint),
            (.string("2d"), .geoPoint), (.number(1), .polygon), (.number(-1), .polygon),
            (.string("2dsphere"), .polygon):
            (method, sql) = (.gist, column)
        case (.number(1), _):
            (method, sql) = (.btree, column)
        case (.number(-1), _):
            (method, sql) = (.btree, "\(column) DESC")
        case (.string("unique"), .string), (.string("unique"), .number), (.string("unique"), .boolean),
            (.string("unique"), .date), (.string("unique"), .pointer), (.string("unique"), .file),
            (.string("unique"), .bytes):
            (method, sql, isUnique) = (.btree, column, true)
        case (.string("uniqueNoCase"), .string):
            // Compared by the C collation: the order does not count, and no library's release changes it.
            (method, sql) = (.btree, "(lower(\(column) COLLATE \"und-x-icu\")) COLLATE \"C\"")
            isUnique = true
        case (.string("uniqueNoCaseNoAccents"), .string):
            (method, sql, isUnique) = (.btree, "(hermes_fold(\(column))) COLLATE \"C\"", true)
        case (.string(let kind), .string) where kind == "text" || kind.hasPrefix("text:"):
            let languages = kind == "text" ? "en" : String(kind.dropFirst(5))
            guard let dictionaries = TextDictionary.pair(languages) else {
                throw refused("the language \(languages) is not known.")
            }
            let literals = dictionaries.map(\.literal).joined(separator: ", ")
            (method, sql) = (
                .gin,
                dictionaries.count == 2
                    ? "hermes_words(\(column), \(literals))" : "to_tsvector(\(literals), \(column))"
            )
        case (.string(let kind), _) where IndexPart.kinds.contains(kind) || kind.hasPrefix("text:"):
            throw refused("\(field) is of the type \(type), which cannot have the kind \(kind).")
        default:
            throw refused("the value of \(field) must be 1, -1 or one of \(IndexPart.kinds.joined(separator: ", ")).")
        }
    }

    private static let kinds = ["unique", "uniqueNoCase", "uniqueNoCaseNoAccents", "gin", "text", "2dsphere", "2d"]
}

/// PostgreSQL's dictionaries as `$text` and the indexes of the kind `text` name them.
public enum TextDictionary: String, Sendable {
    case spanish, english, french, german, italian, portuguese, simple

    /// The dictionary of a language: its name, or the two letters of ISO 639-1; `none` for none.
    public static func named(_ language: String) -> TextDictionary? {
        let name = language.lowercased()
        switch name {
        case "es": return .spanish
        case "en": return .english
        case "fr": return .french
        case "de": return .german
        case "it": return .italian
        case "pt": return .portuguese
        case "none": return .simple
        default: return TextDictionary(rawValue: name)
        }
    }

    /// `es`, or two of them: `es+en`.
    public static func pair(_ languages: String) -> [TextDictionary]? {
        let parts = languages.split(separator: "+", omittingEmptySubsequences: false)
        let known = parts.compactMap { named(String($0)) }
        return known.count == parts.count && known.count <= 2 ? known : nil
    }

    /// As a literal of SQL; an index serves only those who write the same one.
    public var literal: String { "'\(rawValue)'" }
}
