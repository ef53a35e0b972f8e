import Wire

/// A value of one type meets a field of another.
public enum SchemaMismatch {
    public static func error(_ className: String, _ field: String, _ expected: FieldType, _ got: FieldType)
        -> ParseError
    {
        ParseError(111, "schema mismatch for \(className).\(field); expected \(expected) but got \(got)")
    }
}

enum CatalogueChecks {
    /// The table of a relation is made and filled by writes to the relation, never as a class of its own.
    static func isNoJoinTable(_ className: String) throws(ParseError) {
        guard Names.isJoinClass(className) else { return }
        throw ParseError(103, "\(className) cannot be written to. Add to the relation, or remove from it, instead.")
    }

    static func notTooMany(_ className: String, _ fields: [String: ClassSchema.Field]) throws(ParseError) {
        guard fields.count > Names.maximumFields else { return }
        throw ParseError(
            105,
            "The class \(className) would have \(fields.count) fields. A class can have at most "
                + "\(Names.maximumFields), those that every class has included.")
    }

    static func newFieldName(_ name: String, of className: String) throws(ParseError) {
        if DefaultFields.of(className)[name] != nil {
            throw ParseError(136, "field \(name) cannot be added")
        }
        try Names.checkField(name)
    }

    static func mayDelete(_ name: String, of className: String) throws(ParseError) {
        if DefaultFields.of(className)[name] != nil { throw ParseError(136, "field \(name) cannot be changed") }
    }

    static func oneGeoPoint(
        _ className: String, _ fields: [String: ClassSchema.Field], added: [String]
    ) throws(ParseError) {
        let points = fields.filter { $0.value.type == .geoPoint }.map(\.key)
        guard points.count > 1 else { return }
        let newest = added.last { points.contains($0) } ?? points[0]
        let other = points.sorted().first { $0 != newest } ?? newest
        throw ParseError(
            111,
            "currently, only one GeoPoint field may exist in an object. Adding \(newest) when \(other) already exists.")
    }
}
