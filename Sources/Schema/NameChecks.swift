import Wire

extension Names {
    /// PostgreSQL cuts longer identifiers in silence (NAMEDATALEN); these are refused instead.
    public static let maximumBytes = 63

    /// How many fields a class can have, those of every class included. PostgreSQL's own bound is 1,600 columns, of
    /// which those that were deleted count too.
    public static let maximumFields = 1000

    /// Throws 103 for a name that no class can have.
    public static func checkClass(_ name: String) throws(ParseError) {
        guard isClass(name) else { throw invalidClass(name) }
        guard name.utf8.count <= maximumBytes else {
            throw ParseError(103, "Invalid classname: \(name), classnames can have at most \(maximumBytes) characters.")
        }
    }

    /// Throws 105 for a name that no field can have.
    public static func checkField(_ name: String) throws(ParseError) {
        guard isField(name) else { throw ParseError(105, "Invalid field name: \(name).") }
        guard name.utf8.count <= maximumBytes else {
            throw ParseError(105, "Invalid field name: \(name). Names can have at most \(maximumBytes) characters.")
        }
    }

    public static func isJoinClass(_ name: String) -> Bool { name.hasPrefix("_Join:") }
}
