import Wire

/// Values as they stand in tables, on one line; still to be made safe where they go to a terminal.
public enum Cells {
    /// A missing value is `-`, an empty text `""`.
    ///
    /// - Parameter label: the field of an included object that it is known by.
    public static func text(_ value: JSON?, label: String? = nil) -> String {
        switch value {
        case nil, .null: "-"
        case .string(""): "\"\""
        case .string(let text): text
        case .object(let object): Cells.object(object, label: label)
        case .some(let value): value.description
        }
    }

    private static func object(_ object: JSONObject, label: String?) -> String {
        func number(_ name: String) -> String { object[name]?.description ?? "?" }
        let className = object["className"]?.string ?? ""
        switch object["__type"]?.string {
        case "Date": return date(object["iso"]?.string ?? "")
        case "Pointer": return "\(className):\(object["objectId"]?.string ?? "")"
        case "Object":
            let id = object["objectId"]?.string ?? ""
            guard let label, let text = object[label]?.string, !text.isEmpty else { return "\(className):\(id)" }
            return className == "_User" ? "@" + text : text
        case "GeoPoint": return "\(number("latitude")),\(number("longitude"))"
        case "File": return object["name"]?.string ?? ""
        case "Relation": return "-> \(className)"
        case "Bytes": return "\((object["base64"]?.string?.utf8.count ?? 0) * 3 / 4) bytes"
        case "Polygon": return "\(object["coordinates"]?.array?.count ?? 0) points"
        default: return JSON.object(object).description
        }
    }

    /// `2026-11-19 08:02:31`; what is no date stays as it is.
    public static func date(_ iso: String) -> String {
        guard iso.utf8.count == 24, iso.hasSuffix("Z") else { return iso }
        return iso.prefix(10) + " " + iso.dropFirst(11).prefix(8)
    }

    /// As a field of a row: the server shows createdAt and updatedAt as bare texts.
    public static func field(_ name: String, of row: JSONObject, label: String? = nil) -> String {
        if name == "createdAt" || name == "updatedAt", let iso = row[name]?.string { return date(iso) }
        if name == "ACL" { return access(row[name]) }
        return text(row[name], label: label)
    }

    /// `everybody reads; role moderadores writes`
    public static func access(_ acl: JSON?) -> String {
        guard let acl = acl?.object else { return "everybody reads and writes" }
        let parts = acl.members.compactMap { who, rights -> String? in
            let name = who == "*" ? "everybody" : who.hasPrefix("role:") ? "role " + who.dropFirst(5) : who
            let can = [("read", "reads"), ("write", "writes")].filter { rights.object?[$0.0] == true }.map(\.1)
            return can.isEmpty ? nil : "\(name) \(can.joined(separator: " and "))"
        }
        return parts.isEmpty ? "master key only" : parts.joined(separator: "; ")
    }

    // MARK: for other programs

    /// Missing is empty, the empty text `""`; a pointer `Class:id`; what has no plain form is JSON.
    public static func csv(_ value: JSON?) -> String {
        switch value {
        case nil, .null: return ""
        case .string(let text): return quoted(text)
        case .object(let object):
            switch object["__type"]?.string {
            case "Date": return object["iso"]?.string ?? ""
            case "Pointer", "Object":
                return quoted("\(object["className"]?.string ?? ""):\(object["objectId"]?.string ?? "")")
            case "GeoPoint", "File": return quoted(Cells.object(object, label: nil))
            default: return quoted(JSON.object(object).description)
            }
        case .array: return quoted(value?.description ?? "")
        case .some(let value): return value.description
        }
    }

    private static func quoted(_ text: String) -> String {
        let isPlain = !text.isEmpty && !text.unicodeScalars.contains { "\",\n\r".unicodeScalars.contains($0) }
        return isPlain
            ? text
            : "\"" + text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// JSON in which nothing acts on a terminal: such characters stand as `\u202e`, which means the same.
    public static func safeJSON(_ json: JSON) -> String {
        let text = json.description
        guard text.unicodeScalars.contains(where: { $0.value > 0x7E && $0.isHidden }) else { return text }
        var safe = ""
        for scalar in text.unicodeScalars {
            guard scalar.value > 0x7E, scalar.isHidden else {
                safe.unicodeScalars.append(scalar)
                continue
            }
            for unit in String(Character(scalar)).utf16 {
                let digits = String(unit, radix: 16)
                safe += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return safe
    }
}

/// A table for people: columns as wide as what stands in them.
public struct TextTable {
    public var titles: [String]
    public var rows: [[String]] = []
    /// The columns in which numbers stand, to the right.
    public var numeric: Set<Int> = []

    public init(_ titles: [String]) { self.titles = titles }

    /// - Parameter width: columns of the terminal; nil: as wide as it gets. No cell takes more than `widest`.
    public func text(width: Int?, widest: Int = 40) -> String {
        let cells = ([titles] + rows).map { $0.map { SafeText($0, width: width == nil ? 10_000 : widest) } }
        let widths = titles.indices.map { column in
            cells.map { column < $0.count ? $0[column].width : 0 }.max() ?? 0
        }
        var lines = ""
        for row in cells {
            var line = ""
            var used = 0
            for (column, cell) in row.enumerated() {
                let room = (width ?? .max) - used
                guard room > 3 else { break }
                if cell.width > room {
                    line += SafeText(cell.text, width: room).text
                    break
                }
                let isLast = column == row.count - 1
                let isNumber = numeric.contains(column)
                line += isLast && !isNumber ? cell.text : cell.padded(to: widths[column], atStart: isNumber)
                if !isLast { line += "  " }
                used += widths[column] + 2
            }
            while line.last == " " { line.removeLast() }
            lines += line + "\n"
        }
        return lines
    }
}
