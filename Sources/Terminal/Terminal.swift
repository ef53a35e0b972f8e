import Browse
import CNcurses
import Glibc

/// The terminal, by way of ncursesw: draws screens, reads keys. There is one.
public final class Terminal {
    private let usesColours: Bool
    /// What is being pasted.
    private var pasted: String?
    private var isOn = false

    /// Takes the terminal over; nil where there is none that ncurses knows.
    public init?() {
        usesColours = (getenv("NO_COLOR").map { $0.pointee != 0 } ?? false) == false
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1,
            hermes_curses_start(usesColours ? 1 : 0) != 0
        else { return nil }
        isOn = true
        // Pasted text comes marked as such.
        send("\u{1B}[?2004h")
    }

    /// Gives the terminal back as it was.
    public func stop() {
        guard isOn else { return }
        isOn = false
        send("\u{1B}[?2004l")
        hermes_curses_stop()
    }

    deinit { stop() }

    public var size: Size {
        Size(width: Int(hermes_curses_columns()), height: Int(hermes_curses_lines()))
    }

    /// The terminal has another size now.
    public func readSize() {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else { return }
        hermes_curses_resize(Int32(size.ws_row), Int32(size.ws_col))
    }

    public func draw(_ screen: Screen) {
        hermes_curses_erase()
        for (number, line) in screen.lines.enumerated() {
            var column = 0
            for run in line.runs {
                for piece in run.pieces {
                    var style = run.style
                    // What stands for a character that is not shown must not be taken for text.
                    if piece.isCode { style.formSymmetricDifference(.reverse) }
                    if piece.text != " " || !style.isEmpty { put(piece.text, style, number, column) }
                    column += piece.width
                }
            }
        }
        if let cursor = screen.cursor {
            hermes_curses_show(Int32(cursor.line), Int32(cursor.column))
        } else {
            hermes_curses_show(-1, 0)
        }
    }

    private func put(_ text: String, _ style: Style, _ line: Int, _ column: Int) {
        let colour: Int32 =
            !usesColours
            ? 0 : style.contains(.error) ? 3 : style.contains(.warning) ? 2 : style.contains(.accent) ? 1 : 0
        func bit(_ one: Style) -> Int32 { style.contains(one) ? 1 : 0 }
        hermes_curses_put(
            Int32(line), Int32(column), text, bit(.bold), bit(.reverse), bit(.dim), bit(.underlined), colour)
    }

    /// What has been typed since.
    public func readEvents() -> [Event] {
        var events: [Event] = []
        var key: UInt32 = 0
        while true {
            switch hermes_curses_key(&key) {
            case 1: if let event = character(key) { events.append(event) }
            case 2: if let event = code(Int32(key)) { events.append(event) }
            default: return events
            }
        }
    }

    private func character(_ key: UInt32) -> Event? {
        guard let scalar = Unicode.Scalar(key) else { return nil }
        if pasted != nil {
            // Enough for any field; the rest is let go.
            if pasted?.utf8.count ?? 0 < 1 << 20 { pasted?.unicodeScalars.append(scalar == "\r" ? "\n" : scalar) }
            return nil
        }
        switch key {
        case 0x1B: return .key(.escape)
        case 0x0D, 0x0A: return .key(.enter)
        case 0x09: return .key(.tab)
        case 0x7F, 0x08: return .key(.backspace)
        case 0x06: return .key(.pageDown)
        case 0x02: return .key(.pageUp)
        case ..<0x20: return nil
        default: return .key(.character(Character(scalar)))
        }
    }

    private func code(_ code: Int32) -> Event? {
        switch code {
        case Int32(HERMES_KEY_PASTE): pasted = ""
        case Int32(HERMES_KEY_PASTE_END):
            defer { pasted = nil }
            return pasted.map { .paste($0) }
        case KEY_UP: return .key(.up)
        case KEY_DOWN: return .key(.down)
        case KEY_LEFT: return .key(.left)
        case KEY_RIGHT: return .key(.right)
        case KEY_PPAGE: return .key(.pageUp)
        case KEY_NPAGE: return .key(.pageDown)
        case KEY_HOME: return .key(.home)
        case KEY_END: return .key(.end)
        case KEY_BACKSPACE: return .key(.backspace)
        case KEY_DC: return .key(.delete)
        case KEY_ENTER: return .key(.enter)
        default: break
        }
        return nil
    }

    // MARK: beside the screen

    private func send(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)[...]
            while !rest.isEmpty {
                let count = write(STDOUT_FILENO, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0, errno == EINTR || errno == EAGAIN { continue }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Puts a text on the clipboard of whoever looks at the terminal (OSC 52).
    ///
    /// - Returns: whether it was short enough: terminals take about 74 KB.
    public func copy(_ text: String, base64: String) -> Bool {
        guard text.utf8.count <= 74_000 else { return false }
        send("\u{1B}]52;c;\(base64)\u{7}")
        return true
    }

    /// A new file with a text, which only its owner may read.
    static func makeFile(_ text: String) -> String? {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var name = Array("\(folder)/hermes-XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var text = text
        let isWritten = text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)[...]
            while !rest.isEmpty {
                let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
        let path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard isWritten else {
            unlink(path)
            return nil
        }
        return path
    }

    /// Ignores signals; answers what they did before.
    private static func ignore(_ signals: [Int32]) -> [(number: Int32, earlier: sigaction)] {
        signals.map { number in
            var earlier = sigaction()
            var ignoring = sigaction()
            ignoring.__sigaction_handler.sa_handler = SIG_IGN
            sigaction(number, &ignoring, &earlier)
            return (number, earlier)
        }
    }

    /// Opens $VISUAL or $EDITOR on a text, and waits for it.
    ///
    /// - Returns: the text as it was left; nil where it was not changed, or the editor failed.
    public func edit(_ text: String) -> String? {
        guard let path = Terminal.makeFile(text) else { return nil }
        defer { unlink(path) }
        let editor = (getenv("VISUAL") ?? getenv("EDITOR")).map { String(cString: $0) } ?? "vi"
        send("\u{1B}[?2004l")
        hermes_curses_suspend()
        defer {
            hermes_curses_resume()
            send("\u{1B}[?2004h")
        }
        // The editor's own words may be several (`code --wait`); the file is one.
        let arguments = ["/bin/sh", "-c", "exec \(editor) \"$1\"", "sh", path]
        var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        pointers.append(nil)
        var child = pid_t()
        // As system(3) does: ^C is the editor's while it runs, and there it does what it does anywhere.
        let keys = Terminal.ignore([SIGINT, SIGQUIT])
        defer { for (number, earlier) in keys { sigaction(number, [earlier], nil) } }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for number in [SIGINT, SIGQUIT, SIGPIPE] { sigaddset(&defaults, number) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        guard posix_spawn(&child, "/bin/sh", nil, &attributes, pointers, environ) == 0 else { return nil }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        guard status == 0, let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&block, 1, block.count, file)
            if count == 0 { break }
            bytes += block[..<count]
        }
        var edited = String(decoding: bytes, as: UTF8.self)
        // Editors end files with a line break that was not there.
        if edited.hasSuffix("\n"), !text.hasSuffix("\n") { edited.removeLast() }
        return edited == text ? nil : edited
    }
}
