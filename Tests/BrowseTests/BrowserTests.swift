import TestSupport
import Testing
import Wire

@testable import Browse

@Suite struct BrowserTests {
    @Test func theClassesComeFirstAndNothingIsCounted() {
        let stage = Stage()
        #expect(stage.lines[0].hasPrefix(" forum@127.0.0.1:1337") && stage.lines[0].hasSuffix("READ 00:00Z"))
        #expect(stage.holds("> Comentarios") && stage.holds("Temas") && stage.lines.count == 24)
        #expect(stage.sent.map(\.path) == ["/schemas"] && stage.sent.allSatisfy { $0.key == .readOnly })
    }

    @Test func aClassIsCountedWhenItIsAsked() {
        var stage = Stage()
        stage.type("#")
        #expect(stage.sent.last?.body["count"] == 1 && stage.sent.last?.body["limit"] == 0)
        stage.answer(["results": [], "count": 10_000_000])
        #expect(stage.holds("> Comentarios") && stage.holds("10,000,000"))
        #expect(stage.lines.filter { $0.contains("Temas") && $0.contains("0,000") }.count == 1)
    }

    @Test func aWrongKeyEndsIt() {
        var browser = Browser(Browser.Options(place: "x", url: "x", appId: "x", hasReadOnlyKey: false, mayWrite: true))
        _ = browser.update(.start, now: 0)
        _ = browser.update(.answer(2, .failure(.notMaster)), now: 0)
        #expect(browser.hasQuit && browser.failure?.code == 4)
    }

    @Test func objectsComePageByPageWithoutSkip() {
        var stage = Stage()
        stage.type("j<Enter>")
        #expect(stage.sent.last?.body["order"] == "-createdAt,-objectId" && stage.sent.last?.body["limit"] == 200)
        stage.answer(Stage.page((0..<30).map { Stage.topic($0) }))
        #expect(stage.holds("Tema 0") && stage.holds("@lucia") && stage.holds("more below"))
        // The next page is asked for a screen early.
        #expect(stage.sent.last?.body["where"]?.object?["createdAt"]?.object?["$lte"] != nil)
        stage.answer(Stage.page([]))
        stage.type("G")
        #expect(stage.lines.last { $0.hasPrefix(">") }?.contains("id1029") == true)
        #expect(!stage.sent.contains { $0.body["skip"] != nil } && stage.requests.isEmpty)
        stage.type("g")
        #expect(stage.requests.isEmpty && stage.holds("row 1,"))
    }

    @Test func sortingWithoutAnIndexAsksFirst() {
        var stage = Stage()
        stage.openTopics()
        let columns = stage.lines[1].split(separator: " ").map(String.init)
        let (autor, votos) = (columns.firstIndex(of: "autor") ?? 0, columns.firstIndex(of: "votos") ?? 0)
        // The second column is the chosen one. A pointer has an index that nobody asked for.
        stage.type(String(repeating: "l", count: autor - 1) + "s")
        #expect(stage.sent.last?.body["order"] == "autor,objectId")
        stage.answer(Stage.page([Stage.topic(0)]))
        let before = stage.sent.count
        stage.type(String(repeating: "l", count: votos - autor) + "s")
        #expect(stage.holds("votos has no index") && stage.sent.count == before)
        stage.type("y")
        #expect(stage.sent.last?.body["order"] == "votos,objectId")
    }

    @Test func theEndIsTheOppositeOrdersBeginning() {
        var stage = Stage()
        stage.type("j<Enter>")
        stage.answer(Stage.page((0..<200).map { Stage.topic($0) }))
        stage.type("G")
        #expect(stage.sent.last?.body["order"] == "createdAt,objectId")
        // Esc: what was there is there again.
        stage.type("<Esc>")
        #expect(stage.holds("Tema 0") && stage.holds("cancelled") && stage.requests.isEmpty)
        stage.type("G")
        stage.answer(Stage.page([Stage.topic(400), Stage.topic(399)]))
        #expect(stage.holds("Tema 400") && stage.holds("counted from the end"))
        #expect(stage.lines.last { $0.hasPrefix(">") }?.contains("Tema 400") == true)
    }

    @Test func aWrongFilterIsInertUntilItIsMended() {
        var stage = Stage()
        stage.openTopics()
        let before = stage.sent.count
        stage.type("/cerado = true")
        #expect(stage.lines[22].hasPrefix("Filter> cerado = true"))
        #expect(stage.lines[23] == "        ^ no field cerado in Temas; Tab: cerrado")
        stage.type("<Enter>")
        #expect(stage.sent.count == before)
        stage.type("<Tab>")
        #expect(stage.lines[22] == "Filter> cerrado = true")
        stage.type("<Enter>")
        #expect(stage.sent.last?.body["where"] == ["cerrado": true])
        #expect(stage.holds("[cerrado = true]"))
    }

    @Test func backIsTheVeryRowAndAsksNothing() {
        var stage = Stage()
        stage.openTopics()
        stage.type("j")
        let row = stage.lines.first { $0.hasPrefix(">") }
        stage.type("<Enter>")
        stage.answer(Stage.page([Stage.topic(1)]))
        #expect(stage.lines[0].contains("Temas:id1001"))
        // Into the author, and back twice.
        stage.type("j<Enter>")
        #expect(stage.sent.last?.body["where"] == ["objectId": "u1"])
        #expect(stage.sent.last?.body["excludeKeys"]?.string?.contains("password") == true)
        stage.answer(Stage.page([["objectId": "u1", "username": "lucia"]]))
        let asked = stage.sent.count
        stage.type("qq")
        #expect(stage.lines.first { $0.hasPrefix(">") } == row && stage.sent.count == asked)
    }

    @Test func referrersAreAList() {
        var stage = Stage()
        stage.openTopic()
        #expect(stage.holds("<- Comentarios.Tema"))
        stage.type("f<Enter>")
        #expect(stage.lines[0].contains("Comentarios [Tema = Temas:id1000]"))
        #expect(
            stage.sent.last?.body["where"]
                == ["Tema": ["__type": "Pointer", "className": "Temas", "objectId": "id1000"]])
    }

    @Test func aDanglingPointerIsGone() {
        var stage = Stage()
        let pointer: JSON = ["__type": "Pointer", "className": "_User", "objectId": "weg"]
        stage.openTopics([Stage.topic(0, JSONObject([("autor", pointer)]))])
        #expect(stage.holds("(gone)"))
        // As the server answers: with the object to come along, it leaves the pointer out.
        var missing = Stage()
        var row = Stage.topic(0).object ?? JSONObject()
        row["autor"] = nil
        missing.openTopics([.object(row), Stage.topic(1)])
        let asked = missing.sent.last { $0.body["where"]?.object?["objectId"]?.object?["$in"] != nil }
        #expect(asked?.body["where"] == ["objectId": ["$in": ["id1000"]]] && asked?.body["include"] == nil)
        missing.answerPointers(Stage.page([["objectId": "id1000", "autor": pointer]]))
        #expect(missing.holds("(gone)"))
        stage.type(":_User:weg<Enter>")
        stage.answer(Stage.page([]))
        #expect(stage.holds("(gone): there is no _User weg"))
    }

    @Test func nothingIsChangedWhileReading() {
        var stage = Stage()
        stage.openTopic()
        let before = stage.sent.count
        for key in ["e", "n", "D"] {
            stage.type(key)
            #expect(stage.holds("W to write"))
        }
        #expect(stage.sent.count == before)
        var locked = Stage(mayWrite: false)
        locked.type("W")
        #expect(locked.holds("nothing can be changed"))
    }

    @Test func onlyWhatChangedTravels() {
        var stage = Stage()
        stage.openTopic()
        stage.write()
        #expect(stage.lines[0].contains("WRITE"))
        stage.type("e<Enter> en bici<Enter>")
        #expect(stage.holds("Tema 0 en bici  changed"))
        stage.type("e")
        // Read once more before the question.
        #expect(stage.sent.last?.method == "GET" && !stage.holds("Save"))
        stage.answer(Stage.page([Stage.topic(0)]))
        #expect(stage.holds("Save 1 change to Temas id1000?") && stage.holds("Tema + Tema 0 en bici"))
        stage.type("y")
        let put = stage.sent.last
        #expect(put?.method == "PUT" && put?.body == JSONObject([("Tema", "Tema 0 en bici")]) && put?.key == .master)
        stage.answer(["updatedAt": "2026-11-20T00:00:00.000Z"])
        stage.answer(Stage.page([Stage.topic(0, JSONObject([("Tema", "Tema 0 en bici"), ("votos", 7)]))]))
        #expect(stage.holds("saved; hooks changed votos") && stage.holds("Tema 0 en bici"))

        stage.type("u")
        #expect(stage.holds("Undo in Temas id1000?") && stage.holds("Tema + Tema 0"))
        stage.type("y")
        #expect(stage.sent.last?.body == JSONObject([("Tema", "Tema 0")]))
    }

    @Test func whatSomebodyElseChangedIsNotOverwritten() {
        var stage = Stage()
        stage.openTopic()
        stage.write()
        stage.type("e<Enter>!<Enter>e")
        stage.answer(Stage.page([Stage.topic(0, JSONObject([("Tema", "de otro")]))]))
        #expect(
            stage.holds("Tema was   Tema 0") && stage.holds("Tema is    de otro") && stage.holds("Tema yours Tema 0!"))
        #expect(!stage.sent.contains { $0.method == "PUT" })
        stage.type("k")
        #expect(stage.holds("Tema - de otro"))
        stage.type("<Esc>")
        #expect(!stage.sent.contains { $0.method == "PUT" })
    }

    @Test func aWrongNumberIsNoDraft() {
        var stage = Stage()
        stage.openTopic()
        stage.write()
        stage.type("ejj")
        #expect(stage.lines.first { $0.hasPrefix(">") }?.contains("cerrado") == true)
        stage.type("<Space>")
        #expect(stage.holds("true  changed"))
        stage.type("j<Enter>l<Enter>")
        #expect(stage.lines[23].contains("^ a Number, as 9 or -1.5"))
        #expect(!stage.sent.contains { $0.method == "PUT" })
        stage.type("<Esc>q")
        #expect(stage.holds("1 unsaved") && stage.holds("s save  d drop  Esc stay"))
        stage.type("d")
        #expect(stage.lines[0].contains("Temas:id1000"))
    }

    @Test func whatAFileHoldsBecomesTheValue() {
        var stage = Stage()
        stage.write()
        stage.type("<Enter>n")
        func chosen() -> String { String(stage.lines.first { $0.hasPrefix("> ") } ?? "") }
        func go(to name: String) {
            stage.type("<Home>")
            for _ in 0..<10 where !chosen().hasPrefix("> \(name)") { stage.type("j") }
        }
        go(to: "datos")
        stage.type("<Enter><")
        #expect(stage.holds("^ the path of a file behind <"))
        stage.type("/tmp/a b.bin<Enter>")
        #expect(stage.wanted == ["/tmp/a b.bin"])
        stage.give(.fileRead(path: "/tmp/a b.bin", .failure(CommandFailure(1, "/tmp/a b.bin is not a file"))))
        #expect(stage.holds("is not a file") && !chosen().contains("changed"))
        stage.type("<Enter></tmp/a b.bin<Enter>")
        stage.give(.fileRead(path: "/tmp/a b.bin", .success([0, 1, 2])))
        #expect(stage.holds("3 bytes of /tmp/a b.bin") && chosen().contains("changed"))

        // A File is stored first; where the server stores none, it is said, and nothing is changed.
        go(to: "foto")
        for isStored in [false, true] {
            stage.type("<Enter><~/mi foto.png<Enter>")
            stage.give(.fileRead(path: "~/mi foto.png", .success([7])))
            let upload = stage.sent.last
            #expect(upload?.method == "POST" && upload?.path == "/files/mi_foto.png" && upload?.key == .master)
            #expect(upload?.body == JSONObject([("base64", "Bw==")]))
            stage.requests.removeAll { $0.request != upload }
            if isStored {
                stage.answer(["name": "x_mi_foto.png", "url": "http://127.0.0.1/x"])
                #expect(stage.holds("the file is stored") && chosen().contains("changed"))
            } else {
                stage.fail(.refused(code: 108, message: "Files cannot be used", status: 400))
                #expect(stage.holds("does not do that (108)") && !chosen().contains("changed"))
            }
        }
        stage.type("ey")
        #expect(
            stage.sent.last?.body
                == JSONObject([
                    ("datos", ["__type": "Bytes", "base64": "AAEC"]),
                    ("foto", ["__type": "File", "name": "x_mi_foto.png", "url": "http://127.0.0.1/x"]),
                ]))
        // Nothing comes of a file that no form waits for.
        stage.give(.fileRead(path: "/tmp/x", .success([1])))
    }

    @Test func keysAreFoundByWhatTheyDo() {
        var stage = Stage()
        stage.type("?")
        #expect(stage.holds("copy: i objectId") && stage.holds("Keys>"))
        stage.type("sort col")
        #expect(stage.holds("> s S") && !stage.holds("copy:"))
        stage.type("xyz")
        #expect(stage.holds("no key does that"))
        stage.type("<Back><Back><Back>")
        #expect(stage.holds("> s S"))
        stage.type("<Back><Back><Back><Back><Back><Back><Back><Back>go to<Enter>")
        #expect(stage.holds("Go: class"))
        stage.type("<Esc>?quit<Esc>")
        #expect(!stage.holds("Keys>") && !stage.hasQuit)
        stage.type("?quit<Enter>")
        #expect(stage.hasQuit)
    }

    @Test func aLongTextIsTypedAsQuicklyAsAShortOne() {
        var stage = Stage()
        stage.openTopic(JSONObject([("Tema", .string(String(repeating: "largo ", count: 16_000) + "fin"))]))
        stage.write()
        stage.type("e<Enter>")
        #expect(stage.lines[22].hasSuffix("largo fin"))
        stage.type("<Home>")
        #expect(stage.lines[22].contains("largo largo"))
        stage.give(.edited("uno\ndos\n"))
        #expect(stage.holds("uno\\ndos\\n"))
        stage.type("<Enter>e")
        stage.answer(
            Stage.page([
                Stage.topic(0, JSONObject([("Tema", .string(String(repeating: "largo ", count: 16_000) + "fin"))]))
            ]))
        stage.type("y")
        #expect(stage.sent.last?.body == JSONObject([("Tema", "uno\ndos\n")]))
    }

    @Test func aDeleteWaitsTenSeconds() {
        var stage = Stage()
        stage.openTopics()
        stage.write()
        stage.type("Dyu")
        stage.wait(20_000)
        #expect(!stage.sent.contains { $0.method == "DELETE" })
        stage.type("D")
        #expect(stage.holds("Delete Temas id1000 \"Tema 0\"? Hooks may delete more."))
        stage.type("y")
        #expect(stage.holds("to be deleted: u keeps"))
        stage.wait(10_000)
        #expect(stage.sent.filter { $0.method == "DELETE" }.map(\.path) == ["/classes/Temas/id1000"])
        stage.answer([:])
        #expect(!stage.holds("Tema 0") && stage.holds("Tema 1"))
        stage.type("Dy")
        stage.type("q")
        stage.type("Q")
        #expect(stage.holds("1 delete waiting"))
        stage.type("d")
        #expect(stage.hasQuit && stage.sent.filter { $0.method == "DELETE" }.count == 1)
    }

    @Test func manyAreDeletedOnlyByTheirNumber() {
        var stage = Stage()
        stage.openTopics()
        stage.write()
        stage.type("<Space><Space>D")
        #expect(stage.holds("Type 2 to delete 2 of Temas:"))
        stage.type("1<Enter>")
        stage.wait(20_000)
        #expect(!stage.sent.contains { $0.method == "DELETE" })
        stage.type("D2<Enter>")
        stage.wait(10_000)
        #expect(
            Set(stage.sent.filter { $0.method == "DELETE" }.map(\.path)) == [
                "/classes/Temas/id1000", "/classes/Temas/id1001",
            ])
    }

    @Test func aPasteIsTextOrNothing() {
        var stage = Stage()
        stage.openTopics()
        stage.write()
        stage.give(.paste("Dy\n"))
        stage.wait(20_000)
        #expect(!stage.sent.contains { $0.method == "DELETE" } && !stage.holds("Delete"))
        stage.type("/")
        stage.give(.paste("Tema = \"a\nb\""))
        #expect(stage.lines[22] == "Filter> Tema = \"a b\"")
    }

    @Test func secretsAreNotFetchedUnlessShown() {
        var stage = Stage()
        stage.type("jj<Enter>")
        stage.answer(Stage.page([["objectId": "u1", "username": "lucia"]]))
        while stage.requests.first?.request.path == "/classes/_User" { stage.answer(Stage.page([])) }
        #expect(stage.sent.allSatisfy { $0.body["keys"]?.string?.contains("sessionToken") != true })
        stage.type("<Enter>")
        stage.answer(Stage.page([["objectId": "u1", "username": "lucia"]]))
        #expect(stage.holds("****"))
        while stage.lines.first(where: { $0.hasPrefix(">") })?.contains("sessionToken") == false { stage.type("j") }
        stage.type("x")
        #expect(stage.sent.last?.body["keys"] == "sessionToken")
        stage.answer(Stage.page([["objectId": "u1", "sessionToken": "r:abc"]]))
        #expect(stage.holds("r:abc"))
        stage.type("yj")
        #expect(stage.copied == [#"{"objectId":"u1","username":"lucia"}"#])
        stage.type("yc")
        #expect(
            stage.copied.last
                == "curl -H 'X-Parse-Application-Id: app'\\''id' -H \"X-Parse-Master-Key: $HERMES_MASTER_KEY\" "
                + "'http://127.0.0.1:1337/parse/classes/_User/u1'")
        stage.wait(30_000)
        #expect(!stage.holds("r:abc"))
    }

    @Test func aLostServerKeepsWhatIsTyped() {
        var stage = Stage()
        stage.openTopic()
        stage.write()
        stage.type("e<Enter>!<Enter>e")
        stage.answer(Stage.page([Stage.topic(0)]))
        stage.type("y")
        stage.fail(.unreachable("gone"))
        #expect(stage.holds("Tema 0!  changed") && stage.holds("reading it back"))
        stage.fail(.unreachable("gone"))
        #expect(stage.holds("lost, again in 2 s"))
        stage.wait(2000)
        // It was never saved.
        stage.answer(Stage.page([Stage.topic(0)]))
        #expect(stage.holds("not saved") && stage.holds("Tema 0!  changed"))
    }

    @Test func smallScreensSayThatTheyAre() {
        var stage = Stage()
        stage.openTopic()
        stage.write()
        stage.type("e<Enter>!")
        stage.give(.resize(Size(width: 40, height: 10)))
        #expect(stage.holds("too small"))
        stage.give(.resize(Size(width: 80, height: 24)))
        #expect(stage.lines[22].hasPrefix("Tema (String): Tema 0!"))
    }

    @Test func whoMayIsShownByName() {
        var stage = Stage()
        stage.openTopic(
            JSONObject([("ACL", ["*": ["read": true], "u1": ["write": true], "role:mods": ["write": true]])]))
        stage.type("a")
        stage.answer(Stage.page([["objectId": "u1", "username": "lucia"]]))
        #expect(stage.holds("everybody") && stage.holds("@lucia") && stage.holds("role mods"))
        stage.write()
        stage.type("j<Space>e")
        #expect(stage.holds("Save who may read and write Temas id1000?"))
        stage.type("y")
        #expect(stage.sent.last?.body["ACL"]?.object?["u1"] == ["read": true, "write": true])
    }

    /// Any keys, any answers: no crash, no line that is too wide, nothing that acts on a terminal.
    @Test(arguments: 0..<12 as Range<UInt64>)
    func nothingBreaksIt(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var stage = Stage(
            size: Size(
                width: Int.random(in: 60...120, using: &generator), height: Int.random(in: 15...40, using: &generator)))
        let keys = Array("jjkkhlgGq/sScfaierny#DuxW?: e123yTabt =~\"(@Rd")
        for step in 0..<120 {
            switch Int.random(in: 0..<12, using: &generator) {
            case 0..<5: stage.give(.key(.character(keys[Int.random(in: 0..<keys.count, using: &generator)])))
            case 5:
                stage.give(
                    .key(
                        [.enter, .enter, .tab, .pageDown, .pageUp, .home, .end, .delete, .left][
                            Int.random(in: 0..<9, using: &generator)]))
            case 6: stage.give(.key(.escape))
            case 7: stage.wait([100, 2000, 10_000, 30_000][Int.random(in: 0..<4, using: &generator)])
            case 8: stage.give(.paste(RandomTexts.make(8, &generator)))
            case 9:
                stage.give(
                    .resize(
                        Size(
                            width: Int.random(in: 1...200, using: &generator),
                            height: Int.random(in: 1...60, using: &generator))))
            case 10 where step % 3 == 0:
                stage.fail(
                    [.unreachable("x\u{1B}[2J"), .refused(code: 101, message: "\u{202E}", status: 404), .notMaster][
                        Int.random(in: 0..<3, using: &generator)])
            default:
                let rows = (0..<Int.random(in: 0...40, using: &generator)).map { number in
                    Stage.topic(
                        number,
                        JSONObject([
                            ("Tema", .string(RandomTexts.make(20, &generator))),
                            ("username", .string(RandomTexts.make(5, &generator))),
                            ("params", ["x": .string(RandomTexts.make(9, &generator))]),
                        ]))
                }
                stage.answer(["results": .array(rows), "count": 3, "jobs": ["uno"], "params": ["a\u{1B}": "b"]])
            }
            if stage.hasQuit { stage = Stage() }
            let screen = stage.screen
            let size = stage.browser.size
            #expect(screen.lines.count == max(1, size.height))
            #expect(screen.lines.allSatisfy { $0.width <= max(1, size.width) })
            let isHarmless = screen.lines.allSatisfy { line in
                line.text.unicodeScalars.allSatisfy { !$0.isHidden || $0 == "\u{200E}" }
            }
            #expect(isHarmless)
            if let cursor = screen.cursor { #expect(cursor.column < size.width && cursor.line < size.height) }
        }
    }
}
