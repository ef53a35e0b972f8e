import Wire

/// Geographic conditions on PostgreSQL's own geometric types: x is the longitude, y the latitude, in degrees.
struct GeoSQL {
    let sql: SQLContext

    func point(_ point: GeoPoint) -> String {
        "point(\(sql.number(point.longitude)), \(sql.number(point.latitude)))"
    }

    func polygon(_ points: [GeoPoint]) -> String {
        let corners = points.map { "(\($0.longitude),\($0.latitude))" }.joined(separator: ",")
        return sql.bind(.text("(\(corners))"), "polygon")
    }

    /// Great-circle distance in radians.
    func distance(_ column: String, _ from: GeoPoint) -> String { "hermes_distance(\(column), \(point(from)))" }

    func condition(_ operand: Operand, _ constraint: Constraint, _ path: FieldPath) throws(ParseError) -> String {
        switch (constraint, operand) {
        case (.geoIntersects(let point), .column(let column, .polygon)):
            return "\(column) @> \(self.point(point))"
        case (.nearSphere(let centre, let maximum), .column(let column, .geoPoint)):
            guard let maximum else { return "\(column) IS NOT NULL" }
            return "\(distance(column, centre)) <= \(sql.number(maximum))"
        case (.withinSphere(let centre, let radius), .column(let column, .geoPoint)):
            return "\(distance(column, centre)) <= \(sql.number(radius))"
        case (.withinBox(let southWest, let northEast), .column(let column, .geoPoint)):
            return "\(column) <@ box(\(point(southWest)), \(point(northEast)))"
        case (.withinPolygon(let corners), .column(let column, .geoPoint)):
            return "\(column) <@ \(polygon(corners))"
        default: return "false"
        }
    }
}
