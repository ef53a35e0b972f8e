import Wire

/// Which fields of a class a read brings, and of what it includes: from `keys` and `excludeKeys`.
struct FieldSelection {
    /// nil: all.
    var keys: Set<String>?
    var excluded: Set<String> = []
    /// The selections within included fields.
    var nested: [String: FieldSelection] = [:]

    static let everything = FieldSelection(keys: nil)

    init(keys: Set<String>?) { self.keys = keys }

    init(keys: [[String]]?, excluded: [[String]]) {
        if let keys {
            self.keys = Set(keys.compactMap(\.first))
        }
        for path in excluded where path.count == 1 { self.excluded.insert(path[0]) }
        let heads = Set(
            (keys ?? []).filter { $0.count > 1 }.map { $0[0] } + excluded.filter { $0.count > 1 }.map { $0[0] })
        for head in heads {
            let inner = (keys ?? []).filter { $0.first == head }
            // `autor` beside `autor.nombre` does not widen it: the narrower one says what is meant.
            let narrowed = inner.filter { $0.count > 1 }.map { Array($0.dropFirst()) }
            nested[head] = FieldSelection(
                keys: narrowed.isEmpty ? nil : narrowed,
                excluded: excluded.filter { $0.first == head && $0.count > 1 }.map { Array($0.dropFirst()) })
        }
    }

    /// Whether it leaves nothing of the class itself out.
    var isEverything: Bool { keys == nil && excluded.isEmpty }

    func shows(_ field: String) -> Bool { (keys?.contains(field) ?? true) && !excluded.contains(field) }
}
