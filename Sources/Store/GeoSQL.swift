import Glibc
import Postgres
import Wire

/// Geographic conditions on PostgreSQL's own geometric types: x is the longitude, y the latitude, in degrees.
enum GeoSQL {
    static func point(_ point: GeoPoint) -> SQL {
        "point(\(SQL.number(point.longitude)), \(SQL.number(point.latitude)))"
    }

    static func polygon(_ points: [GeoPoint]) -> SQL {
        .bind(.polygon(points.map { Point(x: $0.longitude, y: $0.latitude) }), "polygon")
    }

    /// Great-circle distance in radians.
    static func distance(_ column: SQL, _ from: GeoPoint) -> SQL { "hermes_distance(\(column), \(point(from)))" }

    /// At most `radius` radians away. The box comes first, because an index can serve it.
    private static func within(_ column: SQL, _ centre: GeoPoint, _ radius: Double) -> Condition {
        let box = GeoBox(around: centre, radius: radius)
        return .all([
            .when("\(column) <@ box(\(point(box.southWest)), \(point(box.northEast)))"),
            .when("\(distance(column, centre)) <= \(SQL.number(radius))"),
        ])
    }

    static func condition(_ operand: Operand, _ constraint: Constraint) -> Condition {
        switch (constraint, operand) {
        case (.geoIntersects(let point), .column(let column, .polygon)):
            .when("\(column) @> \(self.point(point))")
        case (.nearSphere(let centre, let maximum), .column(let column, .geoPoint)):
            maximum.map { within(column, centre, $0) } ?? .when("\(column) IS NOT NULL")
        case (.withinSphere(let centre, let radius), .column(let column, .geoPoint)):
            within(column, centre, radius)
        case (.withinBox(let southWest, let northEast), .column(let column, .geoPoint)):
            .when("\(column) <@ box(\(point(southWest)), \(point(northEast)))")
        case (.withinPolygon(let corners), .column(let column, .geoPoint)):
            .when("\(column) <@ \(polygon(corners))")
        default: .never
        }
    }
}

/// A box of degrees.
struct GeoBox: Equatable {
    let southWest: GeoPoint
    let northEast: GeoPoint

    /// Holds every point at most `radius` radians from `centre`, and a little more, for the sake of rounding.
    ///
    /// Where the circle holds a pole, or crosses the meridian of 180 degrees, the box goes all around the Earth.
    init(around centre: GeoPoint, radius: Double) {
        let margin = 1e-7
        let degrees = 180 / Double.pi
        let south = centre.latitude - radius * degrees - margin
        let north = centre.latitude + radius * degrees + margin
        var west = -180.0
        var east = 180.0
        if south > -90, north < 90 {
            // The circle's widest place lies nearer to the pole than its centre.
            let width = asin(min(1, sin(radius) / cos(centre.latitude / degrees))) * degrees + margin
            if centre.longitude - width >= -180, centre.longitude + width <= 180 {
                west = centre.longitude - width
                east = centre.longitude + width
            }
        }
        southWest = GeoPoint(latitude: max(-90, south), longitude: west)
        northEast = GeoPoint(latitude: min(90, north), longitude: east)
    }
}
