import Testing

@testable import Schema

/// What a node may still rely on after what it did and heard.
@Suite struct SchemaCacheTests {
    @Test func itsOwnChangeCostsNoReadingInWhicheverOrderItIsHeard() {
        for isHeardFirst in [true, false] {
            let cache = filled(["Temas": 1, "Foros": 2])
            if isHeardFirst { cache.heard(of: "Temas", version: 3) }
            cache.apply([SchemaChange(className: "Temas", version: 3, schema: schema("Temas", 3))])
            if !isHeardFirst { cache.heard(of: "Temas", version: 3) }
            #expect(cache.current?["Temas"]?.version == 3)
            #expect(cache.current?["Foros"]?.version == 2)
        }
    }

    @Test func anothersChangeMakesItAsk() {
        let cache = filled(["Temas": 1, "Foros": 2])
        cache.heard(of: "Temas", version: 4)
        #expect(cache.current == nil)
        // Its own change of the class came before that one, or of another class.
        cache.apply([SchemaChange(className: "Temas", version: 3, schema: schema("Temas", 3))])
        cache.apply([SchemaChange(className: "Foros", version: 5, schema: schema("Foros", 5))])
        #expect(cache.current == nil)
    }

    @Test func aReadingThatBeganBeforeAChangeIsNotKept() {
        let cache = filled(["Temas": 1])
        let (_, generation) = cache.beginning
        cache.apply([SchemaChange(className: "Temas", version: 3, schema: schema("Temas", 3))])
        cache.install(SchemaSnapshot(classes: ["Temas": schema("Temas", 1)]), generation: generation)
        #expect(cache.current?["Temas"]?.version == 3)
        let (_, later) = cache.beginning
        cache.heard(of: "Foros", version: 4)
        cache.install(SchemaSnapshot(classes: ["Temas": schema("Temas", 3)]), generation: later)
        #expect(cache.current == nil)
    }

    @Test func aClassThatMayBeGoneAgainIsLookedFor() {
        let cache = filled(["Temas": 1])
        cache.apply([SchemaChange(className: "Temas", version: 4, schema: nil)])
        #expect(cache.current != nil)
        #expect(cache.current?["Temas"] == nil)
        // The making of it was told later than its end.
        cache.apply([SchemaChange(className: "Temas", version: 3, schema: schema("Temas", 3))])
        #expect(cache.current == nil)
    }

    private func filled(_ versions: [String: Int64]) -> SchemaCache {
        let cache = SchemaCache()
        let classes = Dictionary(uniqueKeysWithValues: versions.map { ($0.key, schema($0.key, $0.value)) })
        cache.install(SchemaSnapshot(classes: classes), generation: cache.beginning.generation)
        return cache
    }

    private func schema(_ name: String, _ version: Int64) -> ClassSchema {
        ClassSchema(
            name: name, version: version, stamp: version, fields: [:], permissions: ClassPermissions(given: nil),
            indexes: [])
    }
}
