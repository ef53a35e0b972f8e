import Testing

@testable import Wire

@Suite struct QueryTests {
    private func parse(_ parameters: [(key: String, value: JSON)]) throws -> Query {
        try Query.parse(className: "Temas", parameters: parameters)
    }

    private func paths(_ names: String...) -> [FieldPath] { names.map { FieldPath(text: $0) } }

    @Test func parametersOfAURLAreJSONOrText() {
        let parameters = Query.parameters(fromURL: [
            ("where", #"{"a":1}"#), ("order", "-a,b"), ("limit", "5"), ("keys", "tema"), ("x", "-b"), ("y", "true"),
            ("z", ""), ("w", "\"2\""),
        ])
        #expect(parameters.map(\.value) == [["a": 1], "-a,b", 5, "tema", "-b", true, "", "2"])
    }

    @Test func orderIsRead() throws {
        #expect(
            try parse([("order", " ciudad , -edad ,datos.x")]).order == [
                Order(FieldPath(field: "ciudad")), Order(FieldPath(field: "edad"), descending: true),
                Order(FieldPath(field: "datos", rest: ["x"])),
            ])
        #expect(try parse([("order", ["a", "b"])]).order.count == 2)
        #expect(
            try parse([("order", "-_created_at")]).order == [Order(FieldPath(field: "createdAt"), descending: true)])
        #expect(try parse([("order", "$score")]).order == [Order(FieldPath(field: "$score"))])
        #expect(try parse([("order", "")]).order.isEmpty)
    }

    @Test func aParameterThatStandsSeveralTimesIsAList() throws {
        #expect(try parse([("keys", "a"), ("keys", "b,c")]).keys == paths("a", "b", "c"))
        #expect(try parse([("include", "a"), ("include", "b")]).include == [["a"], ["b"]])
        #expect(try parse([("excludeKeys", ["a"]), ("excludeKeys", "b")]).excludeKeys == paths("a", "b"))
    }

    @Test func aNestedKeyThatIsLeftOutIncludesItsParent() throws {
        #expect(try parse([("excludeKeys", "autor.correo")]).include == [["autor"]])
    }

    @Test func aNameInAQueryIsChecked() throws {
        #expect(try FieldPath(queried: "datos.a") == FieldPath(field: "datos", rest: ["a"]))
        for text in ["a'", "datos.a' || '", "1a", "a..b"] {
            #expect(throws: ParseError.self) { try FieldPath(queried: text) }
        }
    }

    @Test func countsAreRead() throws {
        #expect(try parse([("limit", 0)]).limit == 0)
        #expect(try parse([("limit", "7")]).limit == 7)
        #expect(try parse([("limit", "")]).limit == nil)
        #expect(try parse([]).limit == nil)
        #expect(try parse([("limit", 1e300)]).limit == 9_007_199_254_740_991)
        #expect(try parse([("skip", "3")]).skip == 3)
        #expect(try parse([("skip", "")]).skip == 0)
        for (value, counts) in [(1, true), (true, true), ("1", true), (0, false), (false, false), ("", false)]
            as [(JSON, Bool)]
        {
            #expect(try parse([("count", value)]).count == counts)
        }
    }

    @Test func keysIncludeByThemselves() throws {
        let query = try parse([("keys", "titulo, autor.nombre ,objectId,,titulo"), ("include", "foro")])
        #expect(query.keys == paths("titulo", "autor.nombre"))
        #expect(query.include == [["foro"], ["autor"]])
        #expect(try parse([("keys", "")]).keys == [])
        #expect(try parse([("keys", .null)]).keys == nil)
        #expect(try parse([("excludeKeys", ["a", "createdAt"])]).excludeKeys == paths("a"))
    }

    @Test func includesComeParentsFirst() throws {
        let query = try parse([("include", "a.b.c,d,a.b,p.q")])
        #expect(query.include == [["a"], ["d"], ["p"], ["a", "b"], ["p", "q"], ["a", "b", "c"]])
        #expect(query.includeDepth == 3)
        #expect(query.includeCount == 6)
        #expect(try parse([("include", "*")]).includeAll)
        #expect(try parse([("includeAll", "true")]).includeAll)
        #expect(try parse([("include", "n'; --")]).include == [["n'; --"]])
    }

    @Test func theRestIsRead() throws {
        let query = try parse([
            ("redirectClassNameForKey", "autor"), ("explain", true), ("hint", ["n": 1]), ("comment", "portada"),
            ("readPreference", "SECONDARY"), ("where", #"{"$or":[{"a":1}]}"#),
        ])
        #expect(query.redirectClassNameForKey == "autor")
        #expect(query.explain)
        #expect(query.hint == #"{"n":1}"#)
        #expect(query.complexity.queryDepth == 1)
    }

    @Test(
        arguments: [
            ("foo", 1, 102), ("Limit", 1, 102), ("limit", -1, 102), ("limit", "x", 102), ("limit", 1.5, 102),
            ("limit", true, 102), ("skip", -1, 102), ("skip", [1], 102), ("where", "{n", 107), ("where", "", 107),
            ("where", "\"texto\"", 107), ("where", "[1]", 107), ("where", 7, 107), ("where", [["a": 1]], 107),
            ("order", "1nombre", 105), ("order", "nom bre", 105), ("order", "--nombre", 105), ("order", "nombre,", 105),
            ("order", "_rperm", 105), ("order", "$nombre", 105), ("order", 7, 105), ("order", "a\" DESC; --", 105),
        ] as [(String, JSON, Int)])
    func impossibleParametersAreRefused(key: String, value: JSON, code: Int) {
        let error = #expect(throws: ParseError.self) { try parse([(key, value)]) }
        #expect(error?.code == code)
    }

    @Test func aGetTakesKeysAndIncludesOnly() throws {
        let query = try Query.parseGet(
            className: "Temas", objectId: "x", parameters: [("keys", "a.b"), ("readPreference", "NEAREST")])
        #expect(query.predicate == .field(FieldPath(field: "objectId"), .equal(.string("x"))))
        #expect(query.include == [["a"]])
        for key in ["where", "limit", "order", "count", "includeAll", "foo"] {
            let error = #expect(throws: ParseError.self) {
                try Query.parseGet(className: "Temas", objectId: "x", parameters: [(key, "{}")])
            }
            #expect(error?.code == 102)
        }
    }

    @Test func includeAndOrderHaveBounds() {
        let many = JSON.string((0..<2000).map { "k\($0)" }.joined(separator: ","))
        #expect(throws: ParseError.self) { try parse([("include", many)]) }
        #expect(throws: ParseError.self) { try parse([("order", many)]) }
        let deep = JSON.string(Array(repeating: "a", count: 100).joined(separator: "."))
        #expect(throws: ParseError.self) { try parse([("include", deep)]) }
    }
}
