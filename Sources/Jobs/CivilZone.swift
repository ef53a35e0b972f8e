import Dates
import Foundation

/// A time zone: what clocks show in one place, and which moment is meant by what they show.
///
/// Foundation brings the rules of all zones with it, so that a machine without tzdata knows them too.
public struct CivilZone: Sendable {
    public let name: String
    private let zone: TimeZone

    public static let utc = CivilZone(name: "UTC", zone: .gmt)

    /// - Parameter name: of the IANA database, such as `Europe/Madrid`; nil for one that is not there.
    public init?(_ name: String) {
        guard let zone = TimeZone(identifier: name) else { return nil }
        self.init(name: name, zone: zone)
    }

    private init(name: String, zone: TimeZone) {
        self.name = name
        self.zone = zone
    }

    /// Milliseconds that clocks are ahead of UTC at a moment, given in milliseconds since 1970.
    func offset(at moment: Int64) -> Int64 {
        Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(moment) / 1000))) * 1000
    }

    /// What clocks show at a moment, as milliseconds since their own 1970-01-01 00:00.
    public func clock(at moment: Int64) -> Int64 { moment + offset(at: moment) }

    /// The moment at which clocks show something: of two, when they are set back, the first; where they skip it,
    /// the moment when they are set forward.
    public func moment(clock: Int64) -> Int64 {
        let day: Int64 = 86_400_000
        let (one, other) = (offset(at: clock - day), offset(at: clock + day))
        for offset in [max(one, other), min(one, other)] where self.offset(at: clock - offset) == offset {
            return clock - offset
        }
        // Skipped: the clocks change between these two.
        var (before, after) = (clock - max(one, other), clock - min(one, other))
        let old = offset(at: before)
        while after - before > 1 {
            let middle = before + (after - before) / 2
            if offset(at: middle) == old { before = middle } else { after = middle }
        }
        return after
    }
}
