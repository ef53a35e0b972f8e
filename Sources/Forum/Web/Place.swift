import Hermes

/// A place among a topic's comments: a page that begins there is found at once, however many comments are before it, and
/// begins there still when some of those are gone. Numbers of pages had to be counted off, and what they named moved.
struct Place {
    private let date: Date
    private let id: String

    init?(_ comment: Record<Comentario>) {
        guard let date = comment.fecha, let id = comment.objectId else { return nil }
        self.date = date
        self.id = id
    }

    /// As it stands in an address: `1795350528594-JyXsrbHQPI`.
    init?(_ text: String) {
        let parts = text.split(separator: "-", maxSplits: 1)
        guard parts.count == 2, let milliseconds = Int64(parts[0]), abs(milliseconds) < 8_640_000_000_000_000 else {
            return nil
        }
        date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
        id = String(parts[1])
    }

    var text: String { "\(Int64((date.timeIntervalSince1970 * 1000).rounded()))-\(id)" }

    // The date by itself comes first: by it an index finds the place.
    fileprivate var condition: Condition<Comentario> {
        \.fecha >= date && (\.fecha > date || Name("objectId") >= .string(id))
    }
    fileprivate var before: Condition<Comentario> {
        \.fecha <= date && (\.fecha < date || Name("objectId") < .string(id))
    }
}

extension Query<Comentario> {
    static func of(_ topic: String) -> Query {
        Query(Comentario.self).where(Name("Tema") == Value(Pointer<Tema>(topic)))
    }

    /// From a place on, or from the first one, the oldest first.
    func from(_ place: Place?) -> Query {
        (place.map { self.where($0.condition) } ?? self).order(.ascending(\.fecha), .ascending("objectId"))
    }

    /// Those before a place, or all of them, the latest first.
    func before(_ place: Place?) -> Query {
        (place.map { self.where($0.before) } ?? self).order(.descending(\.fecha), .descending("objectId"))
    }
}

/// A page of a topic's comments.
struct Stretch {
    let comments: [Record<Comentario>]
    /// Where it is found; nil for the last comments, whichever they are.
    let path: String?
    let previous: String?
    let next: String?
    let first: String?
}

extension Visit {
    static let commentsOnPage = 20
    /// Instead of a place: the last twenty.
    static let end = "final"

    static func path(_ topic: String, from place: Place? = nil) -> String {
        "/tema/\(topic)" + (place.map { "?desde=\($0.text.inURL)" } ?? "")
    }

    static func endPath(_ topic: String) -> String { "/tema/\(topic)?desde=\(end)" }

    private var noPage: Fault { Fault(404, say("No hay esa página.", "There is no such page.")) }

    /// - Parameters:
    ///   - place: as an address says it; nil: the first page.
    /// - Throws: a ``Fault`` (404) for a place that nothing comes after.
    func comments(of topic: String, from place: String?) async throws -> Stretch {
        let count = Visit.commentsOnPage
        let all = Query.of(topic)
        var comments: [Record<Comentario>]
        var next: Place?
        if place == Visit.end {
            comments = try await database.find(all.before(nil).limit(count)).reversed()
        } else {
            let start = place.flatMap(Place.init)
            guard place == nil || start != nil else { throw noPage }
            comments = try await database.find(all.from(start).limit(count + 1))
            if comments.count > count { next = Place(comments.removeLast()) }
        }
        guard place == nil || place == Visit.end || !comments.isEmpty else { throw noPage }
        var previous: String?
        if place != nil, let start = comments.first.flatMap(Place.init) {
            let earlier = try await database.find(all.before(start).select(\.fecha).limit(count + 1))
            if !earlier.isEmpty {
                previous = Visit.path(topic, from: earlier.count > count ? Place(earlier[count - 1]) : nil)
            }
        }
        let isFirst = previous == nil
        let path = Visit.path(topic, from: isFirst ? nil : comments.first.flatMap(Place.init))
        return Stretch(
            comments: comments, path: place == Visit.end && !isFirst ? nil : path, previous: previous,
            next: next.map { Visit.path(topic, from: $0) },
            first: isFirst || previous == Visit.path(topic) ? nil : Visit.path(topic))
    }

    /// Where a comment is read: the first page, or one that ends with it.
    func path(of comment: Record<Comentario>) async throws -> String {
        guard let topic = comment.Tema?.objectId, let place = Place(comment), let id = comment.objectId else {
            return "/"
        }
        let count = Visit.commentsOnPage
        let earlier = try await database.find(Query.of(topic).before(place).select(\.fecha).limit(count))
        return Visit.path(topic, from: earlier.count < count ? nil : Place(earlier[count - 2])) + "#c\(id)"
    }

    /// Where a page begins that an older address names by its number.
    ///
    /// - Throws: a ``Fault`` (404) for one that is none.
    func path(of topic: String, page number: String) async throws -> String {
        guard let number = Int(number), (1...100_000).contains(number) else { throw noPage }
        guard number > 1 else { return Visit.path(topic) }
        let skipped = (number - 1) * Visit.commentsOnPage
        let found = try await database.first(Query.of(topic).from(nil).select(\.fecha).skip(skipped))
        guard let place = found.flatMap(Place.init) else { throw noPage }
        return Visit.path(topic, from: place)
    }
}
