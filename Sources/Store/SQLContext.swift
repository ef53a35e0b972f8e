import Postgres
import Schema
import Wire

/// The one owner of a statement's parameters and aliases while its text is built.
///
/// Text is made of the builder's own words, identifiers from the catalogue and `$n`: never of a client's strings.
final class SQLContext {
    private(set) var parameters: [Parameter] = []
    private var aliases = 0

    /// A placeholder for `parameter`, cast to `type`.
    func bind(_ parameter: Parameter, _ type: StaticString) -> String {
        parameters.append(parameter)
        return "$\(parameters.count)::\(type)"
    }

    /// Takes back what `fragment` has bound when it turned out a constant: PostgreSQL refuses statements with
    /// parameters that stand nowhere in the text.
    func fragment(_ fragment: () throws(ParseError) -> String) throws(ParseError) -> String {
        let before = parameters.count
        let text = try fragment()
        if parameters.count > before, !text.utf8.contains(UInt8(ascii: "$")) {
            parameters.removeLast(parameters.count - before)
        }
        return text
    }

    func text(_ string: String) -> String { bind(.text(string), "text") }
    func texts(_ strings: [String]) -> String { bind(.textArray(strings), "text[]") }
    func number(_ number: Double) -> String { bind(.double(number), "double precision") }

    /// A new table alias: `t0`, `t1`…
    func alias() -> String {
        defer { aliases += 1 }
        return "t\(aliases)"
    }
}

/// A class within a statement, under its alias.
struct TableReference {
    let schema: ClassSchema
    let alias: String
    /// A query may not ask for what lets users in: their authData is as if it were not there.
    var hidesCredentials = false

    func column(_ name: String) -> String { "\(alias).\(quoted(name))" }
}
