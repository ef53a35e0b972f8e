import Testing

@testable import Wire

@Suite struct UpdateTests {
    private func parse(_ text: String, creating: Bool = false) throws -> Update {
        try Update.parse(#require(JSONParser.parse(text).object), creating: creating)
    }

    @Test func operationsAreRead() throws {
        let update = try parse(
            #"""
            {"n": {"__op": "Increment", "amount": -2.5}, "l": {"__op": "Add", "objects": [1, {"a": 2}]},
             "u": {"__op": "AddUnique", "objects": ["x"]}, "r": {"__op": "Remove", "objects": [null]},
             "d": {"__op": "Delete"}, "s": {"__op": "SetOnInsert", "amount": "x"}, "v": null,
             "datos.a.b": {"__op": "Increment", "amount": 1}}
            """#)
        #expect(
            update.changes == [
                Update.Change(FieldPath(field: "n"), .increment(-2.5)),
                Update.Change(FieldPath(field: "l"), .add([1, ["a": 2]])),
                Update.Change(FieldPath(field: "u"), .addUnique(["x"])),
                Update.Change(FieldPath(field: "r"), .remove([nil])),
                Update.Change(FieldPath(field: "d"), .delete),
                Update.Change(FieldPath(field: "s"), .setOnInsert(.string("x"))),
                Update.Change(FieldPath(field: "v"), .set(.null)),
                Update.Change(FieldPath(field: "datos", rest: ["a", "b"]), .increment(1)),
            ])
        #expect(
            update.changes.map(\.fieldType) == [.number, .array, .array, .array, nil, .string, nil, .object])
    }

    @Test func relationsAreAddedAndRemovedAtOnce() throws {
        let update = try parse(
            #"""
            {"g": {"__op": "Batch", "ops": [
                {"__op": "AddRelation", "objects": [{"__type": "Pointer", "className": "P", "objectId": "a"}]},
                {"__op": "RemoveRelation", "objects": []}]}}
            """#)
        #expect(
            update.changes.map(\.operation) == [.relation(add: [Pointer(className: "P", objectId: "a")], remove: [])])
        #expect(update.changes[0].fieldType == .relation("P"))
    }

    @Test func whatTheCallerDecidesIsHandedOn() throws {
        let update = try parse(#"{"objectId":7,"createdAt":"x","updatedAt":null,"a":1}"#)
        #expect(update.objectId == 7)
        #expect(update.createdAt == "x")
        #expect(update.updatedAt == .null)
        #expect(update.changes.count == 1)
    }

    @Test func rightsAreRead() throws {
        let update = try parse(
            #"{"ACL":{"*":{"read":true},"role:m":{"read":true,"write":true},"u":{"write":false,"admin":true}}}"#)
        #expect(
            update.acl
                == .set(
                    ACL([
                        ACL.Entry("*", read: true, write: false), ACL.Entry("role:m", read: true, write: true),
                    ])))
        #expect(try parse(#"{"ACL":{}}"#).acl == .set(ACL()))
        #expect(try parse(#"{"ACL":null}"#).acl == nil)
        #expect(try parse(#"{"ACL":{"__op":"Delete"}}"#).acl == .delete)
        #expect(try parse("{}").acl == nil)
    }

    @Test(arguments: [
        #""x""#, "7", "[]", #"{"*":true}"#, #"{"*":null}"#, #"{"*":{"read":"yes"}}"#, #"{"*":{"read":1}}"#,
        #"{"*":{"write":null}}"#, #"{"":{"read":true}}"#, #"{"role:":{"read":true}}"#, #"{"a\u0000":{"read":true}}"#,
        #"{"__op":"Add","objects":[]}"#,
    ])
    func malformedRightsAreRefused(acl: String) {
        let error = #expect(throws: ParseError.self) { try parse(#"{"ACL":\#(acl)}"#) }
        #expect(error?.code == 123)
    }

    @Test(arguments: [
        (#"{"1campo":1}"#, 105), (#"{"_campo":1}"#, 105), (#"{"mi-campo":1}"#, 105), (#"{"":1}"#, 105),
        (#"{"año":1}"#, 105), (#"{"length":1}"#, 105), (#"{"className":1}"#, 105), (#"{"$set":1}"#, 105),
        (#"{"_rperm":["*"]}"#, 105), (#"{"1mal.a":1}"#, 105), (#"{"a..b":1}"#, 105), (#"{"a.":1}"#, 105),
        (#"{".a":1}"#, 105), (#"{"ACL.x":1}"#, 105), (#"{"objectId.x":1}"#, 105), (#"{"a":{},"a.b":1}"#, 105),
        (#"{"a.b.c":1,"a.b":1}"#, 105), (#"{"a.$b":1}"#, 121), (#"{"a.__op":1}"#, 121), (#"{"a.b\u0000":1}"#, 111),
        (#"{"n":{"__op":"Increment"}}"#, 107), (#"{"n":{"__op":"Increment","amount":"7"}}"#, 107),
        (#"{"n":{"__op":"Increment","amount":null}}"#, 107), (#"{"l":{"__op":"Add"}}"#, 107),
        (#"{"l":{"__op":"Add","objects":"x"}}"#, 107), (#"{"l":{"__op":"AddUnique","objects":{"0":"x"}}}"#, 107),
        (#"{"l":{"__op":"Remove","objects":null}}"#, 107), (#"{"l":{"__op":"Add","objects":[{"$a":1}]}}"#, 121),
        (#"{"l":{"__op":"Add","objects":["\u0000"]}}"#, 111), (#"{"l":{"__op":"Multiply"}}"#, 108),
        (#"{"l":{"__op":7}}"#, 108), (#"{"s":{"__op":"SetOnInsert"}}"#, 107),
        (#"{"g":{"__op":"AddRelation"}}"#, 107), (#"{"g":{"__op":"AddRelation","objects":[]}}"#, 107),
        (#"{"g":{"__op":"AddRelation","objects":["x"]}}"#, 111),
        (#"{"g.h":{"__op":"AddRelation","objects":[]}}"#, 107), (#"{"g":{"__op":"Batch"}}"#, 107),
        (#"{"g":{"__op":"Batch","ops":[1]}}"#, 107),
        (#"{"n":{"__op":"Batch","ops":[{"__op":"Increment","amount":1}]}}"#, 108),
        (
            #"""
            {"g":{"__op":"AddRelation","objects":[{"__type":"Pointer","className":"A","objectId":"a"},
            {"__type":"Pointer","className":"B","objectId":"b"}]}}
            """#, 111
        ),
        (#"{"m":{"x.y":1}}"#, 121), (#"{"m":{"a":[{"__op":"Delete"}]}}"#, 121), (#"{"s":"\u0000"}"#, 111),
    ])
    func impossibleChangesAreRefused(body: String, code: Int) throws {
        for creating in [false, true] {
            let error = #expect(throws: ParseError.self) { try parse(body, creating: creating) }
            #expect(error?.code == code)
        }
    }

    @Test func idIsNoFieldOnCreate() throws {
        let error = #expect(throws: ParseError.self) { try parse(#"{"id":"x"}"#, creating: true) }
        #expect(error?.code == 105)
        #expect(try parse(#"{"id":"x"}"#).changes.count == 1)
    }

    @Test func pathsHaveABound() {
        let long = "a" + String(repeating: ".b", count: Update.maxPathLength)
        #expect(throws: ParseError.self) { try parse(#"{"\#(long)":1}"#) }
        #expect(throws: ParseError.self) { try parse(#"{"a.\#(String(repeating: "b", count: 5000))":1}"#) }
    }

    @Test func theTypeOfAKnownFieldComesFirst() throws {
        let body = try #require(JSONParser.parse(#"{"s":{"$ne":1}}"#).object)
        let mismatch = #expect(throws: ParseError.self) {
            try Update.parse(body, creating: false, typeOf: { _ in .string })
        }
        #expect(mismatch?.code == 111)
        let nested = #expect(throws: ParseError.self) {
            try Update.parse(body, creating: false, typeOf: { _ in .object })
        }
        #expect(nested?.code == 121)
    }
}
