import Schema
import Testing
import Wire

@testable import Store

/// SQL text depends on what is asked, not on the values: values travel as parameters.
@Suite struct ShapeTests {
    private static let same: [(String, String)] = [
        (#"{"titulo": "a"}"#, #"{"titulo": "'; DROP TABLE \"Temas\"; --"}"#),
        (#"{"votos": {"$gt": 1}}"#, #"{"votos": {"$gt": 1e300}}"#),
        (#"{"cerrado": true}"#, #"{"cerrado": false}"#),
        (#"{"votos": {"$in": [1]}}"#, #"{"votos": {"$in": [1, 2, 3, 4]}}"#),
        (#"{"etiquetas": {"$in": ["a"]}}"#, #"{"etiquetas": {"$in": ["b", 7]}}"#),
        (#"{"etiquetas": {"$in": [{"a": 1}]}}"#, #"{"etiquetas": {"$in": ["b", 7, {"c": 1}]}}"#),
        (#"{"etiquetas": {"$all": ["a", "b"]}}"#, #"{"etiquetas": {"$all": ["c", "d"]}}"#),
        (#"{"etiquetas": {"$containedBy": ["a"]}}"#, #"{"etiquetas": {"$containedBy": []}}"#),
        (#"{"datos.a.b": 1}"#, #"{"datos.x.y": 2}"#),
        (#"{"titulo": {"$regex": "^a"}}"#, #"{"titulo": {"$regex": "b$"}}"#),
        (
            #"{"foro": {"$inQuery": {"className": "Foros", "where": {"nombre": "a"}, "limit": 11}}}"#,
            #"{"foro": {"$inQuery": {"className": "Foros", "where": {"nombre": "b"}, "limit": 99}}}"#
        ),
        (
            #"{"lugar": {"$nearSphere": {"__type": "GeoPoint", "latitude": 1, "longitude": 2}, "$maxDistance": 1}}"#,
            #"{"lugar": {"$nearSphere": {"__type": "GeoPoint", "latitude": 3, "longitude": 4}, "$maxDistance": 2}}"#
        ),
        (
            #"{"lugar": {"$geoWithin": {"$polygon": [[0, 0], [0, 1], [1, 1]]}}}"#,
            #"{"lugar": {"$geoWithin": {"$polygon": [[0, 0], [0, 2], [2, 2], [2, 0]]}}}"#
        ),
    ]

    @Test(arguments: same) func conditionsOfOneShapeHaveOneText(_ one: String, _ other: String) throws {
        let (one, other) = (try Built.condition(one), try Built.condition(other))
        #expect(one.text == other.text)
        #expect(one.parameters != other.parameters)
    }

    @Test func aFindsTextDependsOnNeitherPageNorViewer() throws {
        let one = try Built.find(#"{"where": {"titulo": "a"}, "limit": 26, "skip": 2}"#, as: .anonymous)
        let other = try Built.find(
            #"{"where": {"titulo": "b"}, "limit": 51, "skip": 100}"#, as: Viewer(userId: "u", roles: ["a", "b"]))
        #expect(one.text == other.text)
    }

    @Test func anUpdatesTextDependsOnTheFieldsAlone() throws {
        let one = try Built.update(
            #"{"titulo": "a", "etiquetas": {"__op": "Add", "objects": [1]}, "ACL": {"*": {"read": true}}}"#)
        let other = try Built.update(
            #"{"titulo": "b", "etiquetas": {"__op": "Add", "objects": ["x", {}]}, "ACL": {"role:a": {"write": true}}}"#)
        #expect(one.text == other.text)
        #expect(try Built.create(#"{"titulo": "a"}"#).text == Built.create(#"{"titulo": "$1"}"#).text)
    }

    /// Each level once doubled the text of the levels within it.
    @Test(arguments: ["etiquetas", "datos", "datos.a", "autor"], ["$inQuery", "$notInQuery"])
    func aChainOfSubqueriesGrowsTheTextByEach(_ key: String, _ word: String) throws {
        func length(_ levels: Int) throws -> Int {
            let chain = (0..<levels).reduce(#"{"titulo": "a"}"#) { inner, _ in
                #"{"\#(key)": {"\#(word)": {"className": "Temas", "where": \#(inner)}}}"#
            }
            return try Built.condition(chain).text.utf8.count
        }
        #expect(try length(10) < 11 * length(1))
    }

    @Test func everyPlaceholderHasItsParameter() throws {
        for condition in QueriesPage.conditions.flatMap(\.conditions) {
            let built = try Built.condition(condition)
            for number in 1..<(built.parameters.count + 2) {
                #expect(
                    built.text.contains("$\(number)::") == (number <= built.parameters.count),
                    "$\(number) of \(condition)")
            }
        }
    }

    @Test func noValueEverStandsInTheText() throws {
        let hostile = #"x' OR '1'='1"#
        for condition in [
            #"{"titulo": "\#(hostile)"}"#, #"{"etiquetas": {"$all": ["\#(hostile)"]}}"#, #"{"datos.a": "\#(hostile)"}"#,
            #"{"titulo": {"$regex": "\#(hostile)"}}"#, #"{"autor": {"$in": ["\#(hostile)"]}}"#,
        ] {
            let text = try Built.condition(condition).text
            #expect(!text.contains("OR '1'"), "\(text)")
        }
    }

    @Test func aQuoteInAnIdentifierIsDoubled() {
        #expect(quoted(#"a"b"#) == #""a""b""#)
    }

    @Test func whatIsSetOnInsertIsThereBehindAnotherKeyOfTheSameField() throws {
        let body = #"{"datos.a": 1, "datos.b": {"__op": "SetOnInsert", "amount": 2}}"#
        #expect(try Built.create(body).parameters.contains(.textArray(["b"])))
        #expect(try !Built.update(body).parameters.contains(.textArray(["b"])))
    }
}
