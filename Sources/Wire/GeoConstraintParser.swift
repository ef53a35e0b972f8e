/// The operators on points. In `$geoWithin` pairs have the longitude first, in fields and `$geoIntersects` the latitude.
enum Geo {
    // Mean radius of the Earth as Parse's client libraries have it.
    private static let kilometersInRadian = 6371.0
    private static let milesInRadian = 3958.8

    static func nearSphere(_ json: JSON, _ members: JSONObject) throws(ParseError) -> Constraint {
        guard let point = GeoPoint(json: json) else { throw .json("bad $nearSphere value; it should be a GeoPoint") }
        var distance: Double?
        for (key, unit) in [
            ("$maxDistance", 1), ("$maxDistanceInRadians", 1), ("$maxDistanceInKilometers", kilometersInRadian),
            ("$maxDistanceInMiles", milesInRadian),
        ] {
            guard let value = members[key] else { continue }
            guard let number = value.number, number >= 0 else { throw .json("bad \(key) value; it should be a number") }
            distance = min(distance ?? .infinity, number / unit)
        }
        return .nearSphere(point, maxDistance: distance)
    }

    static func within(_ json: JSON) throws(ParseError) -> Constraint {
        guard let box = json.object?["$box"] else { throw .json("bad $within value; it should hold a $box") }
        guard let corners = box.array, corners.count == 2, let southWest = GeoPoint(json: corners[0]),
            let northEast = GeoPoint(json: corners[1])
        else { throw .json("bad $within value; $box should be two GeoPoints") }
        return .withinBox(southWest: southWest, northEast: northEast)
    }

    static func geoWithin(_ json: JSON) throws(ParseError) -> Constraint {
        guard let members = json.object else { throw .json("bad $geoWithin value") }
        if let polygon = members["$polygon"] { return .withinPolygon(try self.polygon(polygon)) }
        guard let sphere = members["$centerSphere"] else {
            throw .json("bad $geoWithin value; it should hold $polygon or $centerSphere")
        }
        guard let parts = sphere.array, parts.count == 2 else {
            throw .json("bad $geoWithin value; $centerSphere should be an array of Parse.GeoPoint and distance")
        }
        guard let center = point(parts[0]) else {
            throw .json("bad $geoWithin value; $centerSphere geo point invalid")
        }
        guard let radius = parts[1].number, radius >= 0 else {
            throw .json("bad $geoWithin value; $centerSphere distance invalid")
        }
        return .withinSphere(center: center, radius: radius)
    }

    private static func polygon(_ json: JSON) throws(ParseError) -> [GeoPoint] {
        let elements: [JSON]
        if let members = json.object, members["__type"] == .string("Polygon") {
            guard let coordinates = members["coordinates"]?.array, coordinates.count >= 3 else {
                throw .json(
                    "bad $geoWithin value; Polygon.coordinates should contain at least 3 lon/lat pairs")
            }
            elements = coordinates
        } else if let array = json.array {
            guard array.count >= 3 else {
                throw .json("bad $geoWithin value; $polygon should contain at least 3 GeoPoints")
            }
            elements = array
        } else {
            throw .json("bad $geoWithin value; $polygon should be Polygon object or Array of Parse.GeoPoint's")
        }
        var points: [GeoPoint] = []
        for element in elements {
            guard let point = point(element) else { throw .json("bad $geoWithin value") }
            points.append(point)
        }
        return points
    }

    /// A GeoPoint, or a pair with the longitude first.
    private static func point(_ json: JSON) -> GeoPoint? {
        if let pair = json.array {
            guard pair.count == 2, let longitude = pair[0].number, let latitude = pair[1].number else { return nil }
            return GeoPoint(checked: latitude, longitude)
        }
        return GeoPoint(json: json)
    }

    static func geoIntersects(_ json: JSON) throws(ParseError) -> Constraint {
        guard let value = json.object?["$point"], let point = GeoPoint(json: value) else {
            throw .json("bad $geoIntersect value; $point should be GeoPoint")
        }
        return .geoIntersects(point)
    }
}
