import Wire

/// `hermes browse`: what it shows and how it changes, without a terminal and without a network.
///
/// Stored text stays here as it is; `view` makes it safe.
public struct Browser: Sendable {
    public struct Options: Sendable {
        /// `forum@127.0.0.1:1337`
        public var place: String
        public var url: String
        public var appId: String
        public var hasReadOnlyKey: Bool
        /// There is a master key, and `--read-only` was not told.
        public var mayWrite: Bool
        public var startsWriting = false
        /// A class, or `Class:id`, to begin with; and a filter on it.
        public var start: String?
        public var filter: String?
        /// Minutes that the machine's zone is ahead of UTC.
        public var zone = 0

        public init(place: String, url: String, appId: String, hasReadOnlyKey: Bool, mayWrite: Bool) {
            self.place = place
            self.url = url
            self.appId = appId
            self.hasReadOnlyKey = hasReadOnlyKey
            self.mayWrite = mayWrite
        }
    }

    public let options: Options
    public internal(set) var size = Size(width: 80, height: 24)
    /// Milliseconds since 1970.
    public internal(set) var now: Int64 = 0
    public internal(set) var isWriting = false
    public internal(set) var hasQuit = false
    var hasQuitWhenSent = false
    var hasBegun = false
    /// What ended it, where something did: an exit status and a sentence.
    public internal(set) var failure: CommandFailure?

    var classes = Classes([])
    var isLocalTime = false
    /// The last one is shown.
    var layers: [Layer] = []
    var dialog = Dialog.none
    var notice: Notice?
    var requests: [Int: Request] = [:]
    /// The field of a form that a file is being read for.
    var fileWanted: (view: Int, field: String)?
    /// Lists as they were before the first page that is on its way: Esc brings them back.
    var fallbacks: [Int: ObjectList] = [:]
    /// Objects as they were found to be when a form was to be saved.
    var fresh: [Int: JSONObject] = [:]
    var timers: [Int: Alarm] = [:]
    var nextNumber = 1
    var undo: [Undo] = []
    var deletions: [Deletion] = []
    var counts: [String: Int] = [:]
    /// Fields chosen as labels, by class.
    var labels: [String: String] = [:]
    var effects: [Effect] = []

    public init(_ options: Options) {
        self.options = options
        isWriting = false
    }

    /// Takes an event in.
    ///
    /// - Parameter now: milliseconds since 1970.
    /// - Returns: what is to be done, in order.
    public mutating func update(_ event: Event, now: Int64) -> [Effect] {
        self.now = now
        effects = []
        guard !hasQuit else { return [] }
        handle(event)
        return effects
    }

    // MARK: parts

    /// A view on the stack.
    struct Layer: Sendable {
        /// Answers find their view by it, wherever on the stack it is.
        let id: Int
        var view: View
    }

    enum View: Sendable {
        case classes(ListView)
        case objects(ObjectList)
        case object(ObjectView)
        case edit(EditForm)
        case access(AccessView)
        case schema(ListView, className: String)
        case referrers(ListView, className: String, id: String)
        case text(TextView)
        case jobs(JobsView)
        case config(ConfigView)
        /// The keys that fit what was typed.
        case help(ListView, search: String)
    }

    /// Rows of which one is chosen.
    struct ListView: Sendable, Equatable {
        var selected = 0
        var top = 0

        mutating func move(by step: Int, count: Int, page: Int) {
            selected = max(0, min(count - 1, selected + step))
            show(page, count)
        }

        /// Keeps the chosen row in sight.
        mutating func show(_ page: Int, _ count: Int) {
            selected = max(0, min(selected, count - 1))
            let page = max(1, page)
            if selected < top { top = selected }
            if selected >= top + page { top = selected - page + 1 }
            top = max(0, min(top, max(0, count - 1)))
        }
    }

    struct TextView: Sendable {
        var title: String
        var text: String
        var list = ListView()

        /// As it is shown on so many columns: long lines go on. No more than the first 100,000 characters.
        func lines(_ width: Int) -> [String] {
            let room = max(10, width - 4)
            return text.prefix(100_000).split(separator: "\n", omittingEmptySubsequences: false).flatMap { line in
                var lines: [String] = []
                var current = ""
                var used = 0
                for piece in SafeText(String(line)).pieces {
                    if used + piece.width > room {
                        lines.append(current)
                        (current, used) = ("", 0)
                    }
                    current += piece.text
                    used += piece.width
                }
                return lines + [current]
            }
        }
    }

    struct JobsView: Sendable {
        var list = ListView()
        var names: [String] = []
        /// The newest `_JobStatus` of each.
        var states: [String: JSONObject] = [:]
        var isRead = false
    }

    struct ConfigView: Sendable {
        var list = ListView()
        var params = JSONObject()
        var secret = JSONObject()
        var isRead = false
    }

    struct Notice: Sendable, Equatable {
        enum Kind: Sendable { case plain, warning, error }
        var kind: Kind
        var text: String
    }

    /// A change that can be taken back.
    struct Undo: Sendable {
        var className: String
        var objectId: String
        var name: String
        var changes: [Change]
    }

    struct Change: Sendable, Equatable {
        var field: String
        /// nil: missing.
        var old: JSON?
        var new: JSON?
    }

    /// A delete that waits.
    struct Deletion: Sendable, Equatable {
        var className: String
        var objectId: String
        var timer: Int
        var isSent = false
    }

    enum Alarm: Sendable, Equatable {
        case tick
        case send(className: String, objectId: String)
        case retry(Int)
        case hide(view: Int)
    }

    /// A request on its way.
    struct Request: Sendable {
        var purpose: Purpose
        var request: ServerRequest
        var since: Int64
        /// It is to be asked again: the server was away.
        var isWaiting = false
    }

    enum Purpose: Sendable, Equatable {
        case classes
        case page(view: Int, backward: Bool, first: Bool)
        case object(view: Int)
        /// The pointers of the objects that a view shows and whose own did not come along.
        case pointers(view: Int)
        case count(className: String, view: Int)
        case user(view: Int, field: String)
        case beforeSave(view: Int)
        case save(view: Int)
        case create(view: Int)
        case afterSave(view: Int)
        case readBack(view: Int)
        case undo(className: String, objectId: String)
        case delete(className: String, objectId: String)
        case names(view: Int, roles: Bool)
        case aclMember(view: Int, name: String)
        case saveAccess(view: Int)
        case reveal(view: Int, field: String)
        case jobNames(view: Int)
        case jobStates(view: Int)
        case runJob(view: Int, name: String)
        case config(view: Int)
        case saveConfig(view: Int)
        case link(view: Int)
        /// A file on its way to the server, for a field of a form.
        case upload(view: Int, field: String)

        var writes: Bool {
            switch self {
            case .save, .create, .undo, .delete, .saveAccess, .runJob, .saveConfig, .link, .upload: true
            default: false
            }
        }
    }

    // MARK: small things that all parts need

    /// Lines for content: all but the place, the state, the prompt and the keys.
    var page: Int { max(1, size.height - 4) }
    /// Rows of a table, which has a header.
    var tablePage: Int { max(1, page - 1) }

    mutating func number() -> Int {
        defer { nextNumber += 1 }
        return nextNumber
    }

    mutating func push(_ view: View) -> Int {
        let id = number()
        layers.append(Layer(id: id, view: view))
        return id
    }

    mutating func say(_ text: String, _ kind: Notice.Kind = .plain) { notice = Notice(kind: kind, text: text) }

    @discardableResult
    mutating func fetch(_ purpose: Purpose, _ request: ServerRequest) -> Int {
        var request = request
        if isWriting || purpose.writes { request.key = .master }
        let id = number()
        requests[id] = Request(purpose: purpose, request: request, since: now)
        effects.append(.fetch(id, request))
        if !timers.values.contains(.tick) { alarm(.tick, in: 100) }
        return id
    }

    @discardableResult
    mutating func alarm(_ alarm: Alarm, in milliseconds: Int) -> Int {
        let id = number()
        timers[id] = alarm
        effects.append(.timer(id, milliseconds: milliseconds))
        return id
    }

    func index(of view: Int) -> Int? { layers.firstIndex { $0.id == view } }

    func label(of className: String) -> String? { labels[className] ?? classes[className]?.labelField }

    func isAsking(_ isWanted: (Purpose) -> Bool) -> Bool { requests.values.contains { isWanted($0.purpose) } }
}
