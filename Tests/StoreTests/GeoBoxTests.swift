import Glibc
import Testing
import Wire

@testable import Store

/// The box that an index looks through holds the whole circle.
@Suite struct GeoBoxTests {
    private static func distance(_ one: GeoPoint, _ other: GeoPoint) -> Double {
        let radians = Double.pi / 180
        let north = sinSquare((other.latitude - one.latitude) * radians / 2)
        let east = sinSquare((other.longitude - one.longitude) * radians / 2)
        let cosines = cos(one.latitude * radians) * cos(other.latitude * radians)
        return 2 * asin(min(1, (north + cosines * east).squareRoot()))
    }

    private static func sinSquare(_ angle: Double) -> Double { (1 - cos(2 * angle)) / 2 }

    @Test func holdsEveryPointOfTheCircle() {
        var chance = Chance(seed: 7)
        let part = { (chance: inout Chance, count: Int) in Double(chance.below(count + 1)) / Double(count) }
        for _ in 0..<2000 {
            let centre = GeoPoint(latitude: part(&chance, 60) * 180 - 90, longitude: part(&chance, 60) * 360 - 180)
            let radius = part(&chance, 500) * (chance.oneIn(2) ? 0.05 : 3.2)
            let box = GeoBox(around: centre, radius: radius)
            for _ in 0..<20 {
                let point = GeoPoint(
                    latitude: max(-90, min(90, centre.latitude + (part(&chance, 1000) - 0.5) * radius * 120)),
                    longitude: part(&chance, 3000) * 360 - 180)
                guard GeoBoxTests.distance(centre, point) <= radius else { continue }
                let isWithin =
                    point.latitude >= box.southWest.latitude && point.latitude <= box.northEast.latitude
                    && point.longitude >= box.southWest.longitude && point.longitude <= box.northEast.longitude
                #expect(isWithin, "\(point) is \(radius) from \(centre), outside of \(box)")
            }
        }
    }

    @Test func isSmallWhereItCanBe() {
        let box = GeoBox(around: GeoPoint(latitude: 60, longitude: 10), radius: 0.01)
        #expect(box.northEast.longitude - box.southWest.longitude < 2.4)
        #expect(box.northEast.latitude - box.southWest.latitude < 1.2)
    }

    @Test func goesAllAroundAtThePolesAndAtTheMeridianOf180Degrees() {
        for (latitude, longitude) in [(89.9, 0.0), (-89.9, 0.0), (0.0, 179.9), (0.0, -179.9)] {
            let box = GeoBox(around: GeoPoint(latitude: latitude, longitude: longitude), radius: 0.01)
            #expect(box.southWest.longitude == -180 && box.northEast.longitude == 180)
        }
    }
}
