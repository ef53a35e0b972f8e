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

    static func condition(_ operand: Operand, _ constraint: Constraint) -> Condition {
        switch (constraint, operand) {
        case (.geoIntersects(let point), .column(let column, .polygon)):
            .when("\(column) @> \(self.point(point))")
        case (.nearSphere(let centre, let maximum), .column(let column, .geoPoint)):
            maximum.map { .when("\(distance(column, centre)) <= \(SQL.number($0))") }
                ?? .when("\(column) IS NOT NULL")
        case (.withinSphere(let centre, let radius), .column(let column, .geoPoint)):
            .when("\(distance(column, centre)) <= \(SQL.number(radius))")
        case (.withinBox(let southWest, let northEast), .column(let column, .geoPoint)):
            .when("\(column) <@ box(\(point(southWest)), \(point(northEast)))")
        case (.withinPolygon(let corners), .column(let column, .geoPoint)):
            .when("\(column) <@ \(polygon(corners))")
        default: .never
        }
    }
}
