import Testing

@testable import Wire

@Suite struct PredicateTests {
    static let now = Timestamp(milliseconds: 1_704_067_200_000)

    private func parse(_ text: String, internalKeys: Bool = false) throws -> Predicate {
        try Predicate.parse(#require(JSONParser.parse(text).object), now: Self.now, internalKeys: internalKeys)
    }

    /// The one constraint of `{"a": …}`.
    private func constraint(_ text: String) throws -> Constraint? {
        guard case .field(FieldPath(field: "a"), let constraint) = try parse(#"{"a":\#(text)}"#) else { return nil }
        return constraint
    }

    private let point = GeoPoint(latitude: 40, longitude: -3)
    private let pointText = #"{"__type":"GeoPoint","latitude":40,"longitude":-3}"#

    @Test func conditionsAreJoined() throws {
        #expect(try parse("{}") == .always)
        let a = Predicate.field(FieldPath(field: "a"), .equal(.number(1)))
        let b = Predicate.field(FieldPath(field: "b", rest: ["c"]), .exists(true))
        #expect(try parse(#"{"a":1}"#) == a)
        #expect(try parse(#"{"a":1,"b.c":{"$exists":true}}"#) == .and([a, b]))
        #expect(try parse(#"{"$or":[{"a":1},{"b.c":{"$exists":1}}]}"#) == .or([a, b]))
        #expect(try parse(#"{"$nor":[{}],"$and":[{"a":1}]}"#) == .and([.nor([.always]), .and([a])]))
        #expect(
            try parse(#"{"a":{"$gt":1,"$lte":5}}"#)
                == .and([
                    .field(FieldPath(field: "a"), .greater(.number(1))),
                    .field(FieldPath(field: "a"), .lessOrEqual(.number(5))),
                ]))
    }

    @Test func valuesAreCompared() throws {
        #expect(try constraint("null") == .equal(.null))
        #expect(try constraint(#"{"x":{"$gt":1}}"#) == .equal(.object(JSONObject([("x", ["$gt": 1])]))))
        #expect(try constraint(#"[1,"b"]"#) == .equal(.array([1, "b"])))
        #expect(try constraint(#"{"$eq":null}"#) == .equal(.null))
        #expect(try constraint(#"{"$ne":"x"}"#) == .notEqual(.string("x")))
        #expect(try constraint(#"{"$in":["x",null]}"#) == .isIn([.string("x"), .null]))
        #expect(try constraint(#"{"$nin":[]}"#) == .notIn([]))
        #expect(try constraint(#"{"$in":[["x",1],null]}"#) == .isIn([.string("x"), .number(1), .null]))
        #expect(try constraint(#"{"$nin":[[["x"]],[]]}"#) == .notIn([.array(["x"])]))
        #expect(try constraint(#"{"$exists":false}"#) == .exists(false))
        #expect(try constraint(#"{"$all":["x"]}"#) == .all([.string("x")]))
        #expect(try constraint(#"{"$containedBy":[1]}"#) == .containedBy([.number(1)]))
        #expect(
            try constraint(#"{"$lt":{"__type":"Date","iso":"2024-01-01"}}"#) == .less(.date(Self.now)))
    }

    @Test func beginningsAreRecognised() throws {
        #expect(
            try constraint(#"{"$all":[{"$regex":"^\\Qma\\E"},{"$regex":"^\\Q#\\E\\\\E\\Q.\\E"},{"$regex":"^ab"}]}"#)
                == .allPrefixes(["ma", "#\\E.", "ab"]))
        #expect(RegexPattern.parts("a.\\Qb.c\\E$\\\\Q").map(\.text) == ["a.", "b.c", "$\\\\Q"])
        #expect(RegexPattern.parts("\\Qno end").map(\.isLiteral) == [true])
    }

    @Test func textIsSearched() throws {
        #expect(
            try constraint(#"{"$regex":"^a","$options":"imsux"}"#)
                == .regex(
                    pattern: "^a", options: [.ignoreCase, .multiline, .dotMatchesNewline, .extended]))
        #expect(
            try constraint(#"{"$text":{"$search":{"$term":"x","$language":"es","$caseSensitive":false}}}"#)
                == .text(TextSearch(term: "x", language: "es")))
    }

    @Test func distancesHaveUnits() throws {
        func distance(_ members: String) throws -> Double? {
            guard case .nearSphere(point, let distance) = try constraint(#"{"$nearSphere":\#(pointText)\#(members)}"#)
            else { return -1 }
            return distance
        }
        #expect(try distance("") == nil)
        #expect(try distance(#","$maxDistance":0.5"#) == 0.5)
        #expect(try distance(#","$maxDistanceInRadians":0.5"#) == 0.5)
        #expect(try distance(#","$maxDistanceInKilometers":6371"#) == 1)
        #expect(try distance(#","$maxDistanceInMiles":7917.6"#) == 2)
    }

    @Test func areasAreRead() throws {
        #expect(
            try constraint(#"{"$within":{"$box":[\#(pointText),\#(pointText)]}}"#)
                == .withinBox(southWest: point, northEast: point))
        let triangle = [point, GeoPoint(latitude: 1, longitude: 2), GeoPoint(latitude: 3, longitude: 4)]
        #expect(try constraint(#"{"$geoWithin":{"$polygon":[[-3,40],[2,1],[4,3]]}}"#) == .withinPolygon(triangle))
        #expect(
            try constraint(
                #"{"$geoWithin":{"$polygon":{"__type":"Polygon","coordinates":[[-3,40],[2,1],[4,3]]}}}"#)
                == .withinPolygon(triangle))
        #expect(
            try constraint(#"{"$geoWithin":{"$centerSphere":[[-3,40],0.07]}}"#)
                == .withinSphere(center: point, radius: 0.07))
        #expect(try constraint(#"{"$geoIntersects":{"$point":\#(pointText)}}"#) == .geoIntersects(point))
    }

    @Test func queriesWithinQueriesAreRead() throws {
        let inner = Subquery(
            className: "P", predicate: .field(FieldPath(field: "b"), .equal(.number(1))),
            order: [Order(FieldPath(field: "c"), descending: true)], skip: 2, limit: 3)
        let text = #"{"className":"P","where":{"b":1},"order":"-c","skip":2,"limit":3}"#
        #expect(try constraint(#"{"$inQuery":\#(text)}"#) == .inQuery(inner))
        #expect(try constraint(#"{"$notInQuery":\#(text)}"#) == .notInQuery(inner))
        #expect(
            try constraint(#"{"$select":{"query":\#(text),"key":"d.e"}}"#)
                == .select(inner, key: FieldPath(field: "d", rest: ["e"])))
        #expect(
            try constraint(#"{"$dontSelect":{"query":{"className":"P"},"key":"d"}}"#)
                == .notSelect(Subquery(className: "P", predicate: .always), key: FieldPath(field: "d")))
        #expect(
            try parse(#"{"$relatedTo":{"object":{"__type":"Pointer","className":"P","objectId":"x"},"key":"r"}}"#)
                == .relatedTo(object: Pointer(className: "P", objectId: "x"), key: "r"))
    }

    @Test(arguments: [
        ("now", 0), ("in 1 day", 86_400), ("in 3 days 2 hrs", 266_400), ("1 wk ago", -604_800),
        ("2 YEARS ago", -63_072_000),
        ("in  5 min 1 sec", 301), ("in -1 hour", -3600),
    ])
    func relativeTimesCountFromNow(text: String, seconds: Int64) throws {
        #expect(
            try constraint(#"{"$lt":{"$relativeTime":"\#(text)"}}"#)
                == .less(.date(Timestamp(milliseconds: Self.now.milliseconds + seconds * 1000))))
    }

    @Test func fieldsWithRelativeTimesAreTold() throws {
        let text: JSON =
            #"{"a":{"$gt":{"$relativeTime":"now"}},"b":{"$inQuery":{"className":"P","where":{"c":{"$lt":{"$relativeTime":"now"}}}}}}"#
        let query = try Query.parse(className: "T", parameters: [("where", text)], now: Self.now)
        #expect(query.relativeTimeFields == ["a"])
        guard case .and(let parts) = query.predicate, case .field(_, .inQuery(let inner)) = parts[1] else {
            Issue.record("no subquery")
            return
        }
        #expect(inner.relativeTimeFields == ["c"])
    }

    @Test(arguments: [
        (#"{"$x":1}"#, 105), (#"{"mi-campo":1}"#, 105), (#"{"":1}"#, 105), (#"{"a..b":1}"#, 105), (#"{"a.":1}"#, 105),
        (#"{".a":1}"#, 105), (#"{"perfil.$a":1}"#, 105), (#"{"perfil.a'b":1}"#, 105), (#"{"perfil.año":1}"#, 105),
        (#"{"_rperm":1}"#, 105), (#"{"_hashed_password":1}"#, 105), (#"{"_perishable_token":1}"#, 105),
        (#"{"ACL":{}}"#, 102), (#"{"ACL.x":1}"#, 102), (#"{"$or":[]}"#, 102), (#"{"$and":{}}"#, 102),
        (#"{"$nor":"x"}"#, 102), (#"{"$or":["a"]}"#, 102), (#"{"$or":[{"$x":1}]}"#, 105),
        (#"{"a":{"$inventado":1}}"#, 102), (#"{"a":{"$not":{"$gt":1}}}"#, 102), (#"{"a":{"$gt":1,"b":2}}"#, 102),
        (#"{"a":{"$in":"x"}}"#, 107), (#"{"a":{"$nin":null}}"#, 107), (#"{"a":{"$containedBy":3}}"#, 107),
        (#"{"a":{"$all":"x"}}"#, 107), (#"{"a":{"$all":[{"$regex":"^\\Qa\\E"},"b"]}}"#, 107),
        (#"{"a":{"$all":[{"$regex":"^a.b"}]}}"#, 107), (#"{"a":{"$all":[{"$regex":"a"}]}}"#, 107),
        (#"{"a":{"$regex":5}}"#, 102), (#"{"a":{"$regex":"a\u0000"}}"#, 111), (#"{"a":{"$options":"i"}}"#, 102),
        (#"{"a":{"$regex":"a","$options":""}}"#, 102), (#"{"a":{"$regex":"a","$options":"g"}}"#, 102),
        (#"{"a":{"$regex":"a","$options":null}}"#, 102), (#"{"a":{"$text":{"$search":"x"}}}"#, 107),
        (#"{"a":{"$text":{"$search":{"$term":""}}}}"#, 107),
        (#"{"a":{"$text":{"$search":{"$term":"x","$language":5}}}}"#, 107),
        (#"{"a":{"$text":{"$search":{"$term":"x","$caseSensitive":true}}}}"#, 107),
        (#"{"a":{"$text":{"$search":{"$term":"x","$diacriticSensitive":false}}}}"#, 107),
        (#"{"a":{"$nearSphere":[1,2]}}"#, 107), (#"{"a":{"$maxDistance":1}}"#, 102),
        (#"{"a":{"$nearSphere":{"__type":"GeoPoint","latitude":1,"longitude":2},"$maxDistance":-1}}"#, 107),
        (#"{"a":{"$nearSphere":{"__type":"GeoPoint","latitude":91,"longitude":2}}}"#, 107),
        (#"{"a":{"$within":{}}}"#, 107), (#"{"a":{"$within":{"$box":[1,2]}}}"#, 107), (#"{"a":{"$within":"x"}}"#, 107),
        (#"{"a":{"$geoWithin":{}}}"#, 107), (#"{"a":{"$geoWithin":{"$polygon":[[0,0],[1,1]]}}}"#, 107),
        (#"{"a":{"$geoWithin":{"$polygon":[1,2,3]}}}"#, 107), (#"{"a":{"$geoWithin":{"$polygon":{"a":1}}}}"#, 107),
        (#"{"a":{"$geoWithin":{"$centerSphere":[]}}}"#, 107),
        (#"{"a":{"$geoWithin":{"$centerSphere":[[0,0],-1]}}}"#, 107),
        (#"{"a":{"$geoWithin":{"$centerSphere":[[1],1]}}}"#, 107), (#"{"a":{"$geoIntersects":{"$point":[5,5]}}}"#, 107),
        (#"{"a":{"$inQuery":"x"}}"#, 102), (#"{"a":{"$inQuery":{"className":"P"}}}"#, 102),
        (#"{"a":{"$inQuery":{"where":{}}}}"#, 102), (#"{"a":{"$inQuery":{"where":{"$x":1},"className":"P"}}}"#, 105),
        (#"{"a":{"$inQuery":{"where":{},"className":"a b"}}}"#, 103),
        (#"{"a":{"$inQuery":{"where":{},"className":"P","limit":-1}}}"#, 102),
        (#"{"a":{"$select":{"key":"k"}}}"#, 102),
        (#"{"a":{"$select":{"query":{"className":"P"},"key":"k","x":1}}}"#, 102),
        (#"{"a":{"$dontSelect":[]}}"#, 102), (#"{"a":{"$select":{"query":{"className":"P"},"key":"$k"}}}"#, 105),
        (#"{"$relatedTo":{}}"#, 102), (#"{"$relatedTo":{"object":"x","key":"k"}}"#, 102),
        (#"{"a":{"$lt":{"$relativeTime":"ayer"}}}"#, 107), (#"{"a":{"$lt":{"$relativeTime":"in 3 days ago"}}}"#, 107),
        (#"{"a":{"$lt":{"$relativeTime":"-12 bananas ago"}}}"#, 107), (#"{"a":{"$lt":{"$relativeTime":"in 3"}}}"#, 107),
        (#"{"a":{"$lt":{"$relativeTime":"in 1.5 days"}}}"#, 107), (#"{"a":{"$lt":{"$relativeTime":5}}}"#, 107),
        (#"{"a":{"$lt":{"$relativeTime":"in 9223372036854775807 years"}}}"#, 107),
        (#"{"a":{"$lt":{"$relativeTime":"in 999999 years"}}}"#, 107), (#"{"a":{"$eq":{"$relativeTime":"now"}}}"#, 107),
        (#"{"a":{"$exists":{"$relativeTime":"now"}}}"#, 107), (#"{"a":"\u0000"}"#, 111),
        (#"{"a":{"$in":["\u0000"]}}"#, 111),
        (#"{"a":{"$gt":{"__type":"Date"}}}"#, 111), (#"{"a":{"__type":"Pointer"}}"#, 111),
    ])
    func impossibleConditionsAreRefused(text: String, code: Int) {
        let error = #expect(throws: ParseError.self) { try parse(text) }
        #expect(error?.code == code)
    }

    @Test func theMasterKeyMayAskByAFewInternalFields() throws {
        #expect(throws: Never.self) { try parse(#"{"_perishable_token":{"$exists":false}}"#, internalKeys: true) }
        #expect(throws: ParseError.self) { try parse(#"{"_hashed_password":"x"}"#, internalKeys: true) }
        #expect(throws: ParseError.self) { try parse(#"{"_rperm":"x"}"#, internalKeys: true) }
    }

    @Test(arguments: [
        (#"{"a":1,"b":2}"#, 0, 0, false), (#"{"$or":[{"$and":[{"a":1}]},{"b":1}]}"#, 2, 0, false),
        (#"{"a":{"$inQuery":{"className":"P","where":{"$or":[{"b":{"$regex":"x"}}]}}}}"#, 1, 1, true),
        (
            #"{"a":{"$select":{"query":{"className":"P","where":{"b":{"$notInQuery":{"where":{}}}}},"key":"k"}}}"#, 0,
            2, false
        ),
        (#"{"$or":[{"a":{"$inQuery":{"className":"P","where":{"$and":[{"$nor":[{}]}]}}}}]}"#, 2, 1, false),
        (#"{"n":{"$elemMatch":{"$or":[{"$or":[]}]}}}"#, 2, 0, false),
    ])
    func complexityIsMeasured(text: String, queryDepth: Int, subqueryDepth: Int, usesRegex: Bool) throws {
        let complexity = Complexity(where: try #require(JSONParser.parse(text).object))
        #expect(complexity.queryDepth == queryDepth)
        #expect(complexity.subqueryDepth == subqueryDepth)
        #expect(complexity.usesRegex == usesRegex)
    }

    @Test(arguments: [
        ("{}", 0, 0), (#"{"a":1,"b":{"$gt":1,"$lt":3}}"#, 3, 0),
        (#"{"$or":[{"a":1},{"$nor":[{"b":1},{"c":1}]}]}"#, 3, 0),
        (#"{"a":{"$in":[1,2,3]}}"#, 1, 0), (#"{"a":{"$all":[{"$regex":"^\\Qx\\E"},{"$regex":"^\\Qy\\E"}]}}"#, 2, 0),
        (
            #"{"a":{"$inQuery":{"className":"P","where":{"b":1,"c":{"$notInQuery":{"className":"Q","where":{}}}}}}}"#,
            3, 2
        ),
        (#"{"a":{"$select":{"query":{"className":"P","where":{"b":1}},"key":"k"}}}"#, 2, 1),
        (#"{"$relatedTo":{"object":{"__type":"Pointer","className":"P","objectId":"x"},"key":"k"}}"#, 1, 0),
    ])
    func partsAreCounted(text: String, conditions: Int, subqueries: Int) throws {
        let query = try Query.parse(className: "C", parameters: [("where", .string(text))])
        #expect(query.complexity.conditionCount == conditions)
        #expect(query.complexity.subqueryCount == subqueries)
    }
}
