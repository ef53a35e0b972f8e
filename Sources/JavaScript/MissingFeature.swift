/// Something that the code uses and that is not there.
public struct MissingFeature: Sendable, Hashable, CustomStringConvertible {
    /// `Parse.Cloud.httpRequest`, `module "fs"`.
    public let name: String
    /// Where it is used, as far as known: `cloud/main.js:12`.
    public let place: String

    public var description: String { place.isEmpty ? name : "\(place): \(name)" }
}
