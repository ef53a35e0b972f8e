/// Something that the code uses and that is not there.
public struct MissingFeature: Sendable, Hashable, CustomStringConvertible {
    /// `Parse.Cloud.httpRequest`, `module "fs"`.
    public let name: String
    /// Where it is used, as far as known: `cloud/main.js:12`.
    public let place: String

    public var description: String { place.isEmpty ? name : "\(place): \(name)" }

    /// For people: by file, and in a file by line.
    static func isBefore(_ one: MissingFeature, _ other: MissingFeature) -> Bool {
        let (here, there) = (one.position, other.position)
        return here.file == there.file ? here.line < there.line : here.file < there.file
    }

    private var position: (file: Substring, line: Int) {
        guard let colon = place.lastIndex(of: ":"), let line = Int(place[place.index(after: colon)...]) else {
            return (place[...], 0)
        }
        return (place[..<colon], line)
    }
}
