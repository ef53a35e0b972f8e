import Hermes
import Testing

@Suite struct RecordTests {
    @Test func propertiesAndNamesReachTheSameField() {
        var tema = Record(Tema(Tema: "Roma", comentarios: 3, estado: .abierto))
        #expect(tema["Tema"] == "Roma")
        #expect(tema["estado"] == "abierto")
        #expect(tema.Tema == "Roma")
        #expect(tema.isNew)
        tema["comentarios"] = 7
        #expect(tema.comentarios == 7)
        tema.autor = Pointer("u1")
        #expect(tema["autor"] == .pointer(AnyPointer("_User", "u1")))
        tema.lugar = GeoPoint(latitude: 41.9, longitude: 12.5)
        tema.cierre = Date(timeIntervalSince1970: 1_700_000_000.5)
        tema.etiquetas = ["a", "b"]
        tema.datos = ["ciudad": ["nombre": "Roma"], "n": 1]
        #expect(tema.lugar == GeoPoint(latitude: 41.9, longitude: 12.5))
        #expect(tema.cierre == Date(timeIntervalSince1970: 1_700_000_000.5))
        #expect(tema.etiquetas == ["a", "b"])
        #expect(tema["datos"]?["ciudad"]?["nombre"] == "Roma")
        #expect(tema.changedFields.count == 8)
    }

    @Test func aValueOfAnotherTypeReadsAsNothing() {
        var tema = Record(Tema.self)
        tema["Tema"] = 7
        tema["comentarios"] = 1.5
        tema["estado"] = "volando"
        tema["autor"] = .pointer(AnyPointer("Temas", "t1"))
        tema["etiquetas"] = ["a", 1]
        #expect(tema.Tema == nil)
        #expect(tema.comentarios == nil)
        #expect(tema.estado == nil)
        #expect(tema.autor == nil)
        #expect(tema.etiquetas == nil)
        #expect(tema["etiquetas"] == ["a", 1])
    }

    @Test func operationsAddUp() {
        var tema = Record(Tema(comentarios: 3, etiquetas: ["a"]))
        tema.increment(\.comentarios, by: 2)
        #expect(tema.comentarios == 5)
        tema.append("b", to: \.etiquetas)
        #expect(tema.etiquetas == ["a", "b"])
        var known = Record(Tema.self, "t1")
        known.increment(\.comentarios)
        known.increment(\.comentarios, by: 2)
        known.appendUnique("x", to: \.etiquetas)
        known.appendUnique("x", "y", to: \.etiquetas)
        #expect(known.comentarios == 3)
        #expect(known.etiquetas == ["x", "y"])
        known.removeAll("x", from: \.etiquetas)
        #expect(known.etiquetas == ["y"])
        known.comentarios = nil
        #expect(known.comentarios == nil)
        #expect(known.isChanged(\.comentarios))
        known.revert(\.comentarios)
        #expect(!known.isChanged(\.comentarios))
        #expect(known.objectId == "t1")
    }

    @Test func anACLKnowsWhoMay() {
        var acl = ACL(publicRead: true)
        acl.allow(.user("u1"), write: true)
        acl.allow(.role("moderadores"), read: true, write: true)
        var tema = Record(Tema.self)
        tema.acl = acl
        #expect(
            tema["ACL"] == [
                "*": ["read": true], "u1": ["write": true], "role:moderadores": ["read": true, "write": true],
            ])
        #expect(tema.acl?.canWrite(.user("u1")) == true)
        #expect(tema.acl?.canRead(.user("u1")) == false)
        acl.forbid(.everybody)
        #expect(acl.canRead(.everybody) == false)
    }

    @Test func aRecordOfAnotherClassIsNotTakenForThis() throws {
        let object = Object("Temas", ["Tema": "Roma"])
        #expect(object.typed(Tema.self)?.Tema == "Roma")
        #expect(object.typed(Nota.self) == nil)
        #expect(throws: ParseError.self) { try object.pointer }
    }
}
