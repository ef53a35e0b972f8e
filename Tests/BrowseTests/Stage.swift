import Wire

@testable import Browse

/// A browser with canned answers: keys in, screens and requests out.
struct Stage {
    var browser: Browser
    /// What was asked for and is not answered yet.
    var requests: [(number: Int, request: ServerRequest)] = []
    var timers: [(number: Int, milliseconds: Int)] = []
    var copied: [String] = []
    /// Files that are to be read.
    var wanted: [String] = []
    var sent: [ServerRequest] = []
    var hasQuit = false
    var now: Int64 = 1_794_614_400_000

    static let schemas: JSON = [
        "results": [
            [
                "className": "Temas",
                "fields": [
                    "objectId": ["type": "String"], "createdAt": ["type": "Date"], "updatedAt": ["type": "Date"],
                    "ACL": ["type": "ACL"], "Tema": ["type": "String", "required": true],
                    "autor": ["type": "Pointer", "targetClass": "_User"], "votos": ["type": "Number"],
                    "cerrado": ["type": "Boolean"],
                ],
                "classLevelPermissions": ["find": ["*": true]],
            ],
            [
                "className": "Comentarios",
                "fields": [
                    "objectId": ["type": "String"], "Tema": ["type": "Pointer", "targetClass": "Temas"],
                    "Texto": ["type": "String"], "createdAt": ["type": "Date"], "foto": ["type": "File"],
                    "datos": ["type": "Bytes"],
                ],
            ],
            [
                "className": "_User",
                "fields": [
                    "objectId": ["type": "String"], "username": ["type": "String"], "password": ["type": "String"],
                    "authData": ["type": "Object"], "sessionToken": ["type": "String"],
                ],
            ],
        ]
    ]

    init(mayWrite: Bool = true, size: Size = Size(width: 80, height: 24)) {
        var options = Browser.Options(
            place: "forum@127.0.0.1:1337", url: "http://127.0.0.1:1337/parse", appId: "app'id", hasReadOnlyKey: true,
            mayWrite: mayWrite)
        options.zone = 60
        browser = Browser(options)
        give(.resize(size))
        give(.start)
        answer(Stage.schemas)
    }

    mutating func give(_ event: Event) {
        for effect in browser.update(event, now: now) {
            switch effect {
            case .fetch(let number, let request):
                requests.append((number, request))
                sent.append(request)
            case .cancel(let number): requests.removeAll { $0.number == number }
            case .timer(let number, let milliseconds): timers.append((number, milliseconds))
            case .copy(let text): copied.append(text)
            case .editor: break
            case .read(let path): wanted.append(path)
            case .quit: hasQuit = true
            }
        }
    }

    /// `j`, `<Enter>`, `Tema~x`
    mutating func type(_ keys: String) {
        let named: [String: Key] = [
            "Enter": .enter, "Esc": .escape, "Tab": .tab, "Space": .character(" "), "Back": .backspace, "Del": .delete,
            "PgDn": .pageDown, "Home": .home,
        ]
        var rest = keys[...]
        while let first = rest.first {
            if first == "<", let end = rest.firstIndex(of: ">"),
                let key = named[String(rest[rest.index(after: rest.startIndex)..<end])]
            {
                give(.key(key))
                rest = rest[rest.index(after: end)...]
            } else {
                give(.key(.character(first)))
                rest.removeFirst()
            }
        }
    }

    /// Answers the oldest request.
    mutating func answer(_ json: JSON, bytes: Int = 100) {
        guard !requests.isEmpty else { return }
        give(.answer(requests.removeFirst().number, .success(Answer(json: json, bytes: bytes, milliseconds: 4))))
    }

    mutating func fail(_ fault: ServerFault) {
        guard !requests.isEmpty else { return }
        give(.answer(requests.removeFirst().number, .failure(fault)))
    }

    /// The timers that run out within so long.
    mutating func wait(_ milliseconds: Int) {
        now += Int64(milliseconds)
        let due = timers.filter { $0.milliseconds <= milliseconds }
        timers.removeAll { $0.milliseconds <= milliseconds }
        for timer in due { give(.timer(timer.number)) }
    }

    var screen: Screen { browser.view(browser.size) }
    var text: String { screen.text }
    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
    func holds(_ text: String) -> Bool { self.text.contains(text) }

    static func topic(_ number: Int, _ more: JSONObject = JSONObject()) -> JSON {
        var row = JSONObject([
            ("objectId", .string("id\(1000 + number)")),
            ("createdAt", .string("2026-11-19T08:\(10 + number % 50):00.000Z")),
            ("updatedAt", "2026-11-19T08:02:00.000Z"), ("Tema", .string("Tema \(number)")),
            ("votos", .number(Double(number))),
            ("cerrado", false),
            ("autor", ["__type": "Object", "className": "_User", "objectId": "u1", "username": "lucia"]),
        ])
        for (name, value) in more.members { row[name] = value }
        return .object(row)
    }

    static func page(_ rows: [JSON]) -> JSON { ["results": .array(rows)] }

    /// In the list of topics, with three of them.
    mutating func openTopics(_ rows: [JSON]? = nil) {
        type("j<Enter>")
        answer(Stage.page(rows ?? (0..<3).map { Stage.topic($0) }))
        while let page = requests.firstIndex(where: { $0.request.body["order"] != nil }) {
            give(.answer(requests.remove(at: page).number, .success(Answer(json: Stage.page([])))))
        }
    }

    /// Answers what was asked about pointers that did not come along.
    mutating func answerPointers(_ json: JSON) {
        guard
            let index = requests.firstIndex(where: {
                $0.request.body["where"]?.object?["objectId"]?.object?["$in"] != nil
            })
        else { return }
        give(.answer(requests.remove(at: index).number, .success(Answer(json: json))))
    }

    /// In the first topic.
    mutating func openTopic(_ more: JSONObject = JSONObject()) {
        openTopics()
        type("<Enter>")
        answer(Stage.page([Stage.topic(0, more)]))
    }

    mutating func write() { type("Wy") }
}
