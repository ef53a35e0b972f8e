import Postgres
import Testing

@testable import Store

/// Pieces of SQL: parameters stay with their text.
@Suite struct SQLTests {
    private func rendered(_ sql: SQL) -> Built {
        let (statement, parameters) = sql.rendered()
        return Built(text: statement.text, parameters: parameters)
    }

    @Test func parametersAreNumberedWhereTheyStand() {
        let first = SQL.text("a")
        let second = SQL.number(1)
        let sql: SQL = "x = \(second) AND y = \(first)"
        #expect(
            rendered(sql)
                == Built(text: "x = $1::double precision AND y = $2::text", parameters: [.double(1), .text("a")]))
    }

    @Test func aParameterThatStandsTwiceHasOneNumber() {
        let one = SQL.text("a")
        let sql: SQL = "\(one), \(SQL.text("a")), \(one)"
        #expect(rendered(sql) == Built(text: "$1::text, $2::text, $1::text", parameters: [.text("a"), .text("a")]))
    }

    @Test func soItIsAmongMany() {
        let parameters = (0..<50).map { SQL.number(Double($0)) }
        let sql: SQL = "\(parameters), \(parameters)"
        let numbers = (1...50).map { "$\($0)::double precision" }.joined(separator: ", ")
        #expect(
            rendered(sql)
                == Built(text: "\(numbers), \(numbers)", parameters: (0..<50).map { .double(Double($0)) }))
    }

    @Test func whatIsLeftOutTakesItsParametersAlong() {
        let dropped = Condition.when("x = \(SQL.text("gone"))")
        let kept = Condition.when("y = \(SQL.text("kept"))")
        #expect(rendered(Condition.all([.any([dropped, .always]), kept]).sql).parameters == [.text("kept")])
        #expect(rendered(Condition.any([.all([dropped, .never]), kept]).sql).parameters == [.text("kept")])
    }

    @Test func constantsSimplify() {
        let some = Condition.when("x")
        #expect(rendered(Condition.all([]).sql).text == "true")
        #expect(rendered(Condition.any([]).sql).text == "false")
        #expect(rendered(Condition.all([some, .always]).sql).text == "x")
        #expect(rendered(Condition.all([some, .never]).sql).text == "false")
        #expect(rendered(Condition.any([some, some]).isNotTrue.sql).text == "((x OR x)) IS NOT TRUE")
        #expect(rendered(Condition.clause([.always, .always])).text == "")
        #expect(rendered(Condition.clause([some, .any([some, some])])).text == " WHERE x AND (x OR x)")
    }

    @Test func identifiersAreQuoted() {
        let hostile = #"a" FROM b; --"#
        #expect(rendered("SELECT \(name: hostile)").text == #"SELECT "a"" FROM b; --""#)
    }
}
