import Glibc
import Options
import Postgres
import Server

/// Looks at a set-up without changing it, and says in one screen what is wrong and what to do.
struct Doctor {
    enum Verdict { case good, doubtful, bad }

    struct Finding {
        let verdict: Verdict
        let subject: String
        /// What is the case.
        let fact: String
        /// What to do, where something is to be done.
        let remedy: String?
    }

    private var findings: [Finding] = []

    var isHealthy: Bool { !findings.contains { $0.verdict == .bad } }

    init(options: ServerOptions) async {
        good("Hermes", Banner.version)
        var options = options
        checkFolder(options.dataFolder)
        checkKeys(&options)
        checkCertificate(options)
        checkSystem()
        await checkDatabase(options)
        checkPort(options)
    }

    var report: String {
        let width = findings.map(\.subject.count).max() ?? 0
        var lines: [String] = []
        for finding in findings {
            let mark = finding.verdict == .good ? "ok  " : finding.verdict == .doubtful ? "note" : "BAD "
            let space = String(repeating: " ", count: width - finding.subject.count)
            let fact = finding.fact.split(whereSeparator: \.isNewline).joined(separator: " ")
            lines.append("\(mark)  \(finding.subject)\(space)  \(fact)")
            if let remedy = finding.remedy {
                lines.append(String(repeating: " ", count: width + 8) + "→ " + remedy)
            }
        }
        let bad = findings.filter { $0.verdict == .bad }.count
        let sentence =
            bad == 0 ? "Nothing stands in the way." : bad == 1 ? "One thing is wrong." : "\(bad) things are wrong."
        return lines.joined(separator: "\n") + "\n\n" + sentence
    }

    // MARK: what is found

    mutating func good(_ subject: String, _ fact: String) {
        findings.append(Finding(verdict: .good, subject: subject, fact: fact, remedy: nil))
    }
    mutating func doubtful(_ subject: String, _ fact: String, _ remedy: String?) {
        findings.append(Finding(verdict: .doubtful, subject: subject, fact: fact, remedy: remedy))
    }
    mutating func bad(_ subject: String, _ fact: String, _ remedy: String) {
        findings.append(Finding(verdict: .bad, subject: subject, fact: fact, remedy: remedy))
    }

    // MARK: files

    private mutating func checkFolder(_ folder: String) {
        var place = folder
        var information = stat()
        if stat(folder, &information) != 0 {
            doubtful("data folder", "\(folder) is not there yet", "hermes serve makes it")
            // What matters is where it will be made.
            place = String(folder.prefix(upTo: folder.lastIndex(of: "/") ?? folder.startIndex))
            if place.isEmpty { place = folder.hasPrefix("/") ? "/" : "." }
            guard access(place, W_OK) == 0 else {
                return bad("data folder", "\(place) can't be written", "choose another folder with --data")
            }
        } else if information.st_mode & S_IFMT != S_IFDIR {
            bad("data folder", "\(folder) is not a folder", "choose another one with --data")
        } else if access(folder, R_OK | W_OK | X_OK) != 0 {
            bad(
                "data folder", "\(folder) can't be read and written by this user",
                "run hermes as its owner (user id \(information.st_uid)), or choose another folder with --data")
        } else if information.st_mode & 0o002 != 0 {
            bad("data folder", "\(folder) can be written by everybody", "chmod o-w \(folder)")
        } else {
            good("data folder", folder)
        }
        var disk = statvfs()
        guard statvfs(place, &disk) == 0 else { return }
        let free = Double(disk.f_bavail) * Double(disk.f_frsize) / Double(1 << 30)
        let share = disk.f_blocks == 0 ? 1 : Double(disk.f_bavail) / Double(disk.f_blocks)
        let fact = "\(Int(free * 10) / 10) GB free, \(Int(share * 100)) %"
        if free < 0.5 {
            bad("disk", fact, "make room: PostgreSQL stops when the disk is full")
        } else if free < 2 || share < 0.05 {
            doubtful("disk", fact, "make room before it is full: PostgreSQL stops then")
        } else {
            good("disk", fact)
        }
    }

    private mutating func checkKeys(_ options: inout ServerOptions) {
        let path = Keys.path(in: options.dataFolder)
        if !options.appId.isEmpty, let key = options.masterKey {
            return key.count >= 16
                ? good("keys", "told by the configuration")
                : doubtful("keys", "the master key has only \(key.count) characters", "take a longer, random one")
        }
        guard access(path, F_OK) == 0 else {
            return doubtful("keys", "\(path) is not there yet", "the first hermes serve makes it")
        }
        do {
            let keys = try Keys.read(path)
            if keys["appId"] == nil || keys["masterKey"] == nil {
                bad("keys", "\(path) has no appId or no masterKey", "put them in, or remove it to have new ones made")
            } else {
                good("keys", path + ", for its owner only")
            }
        } catch {
            bad("keys", "can't be used", "\(error)")
        }
    }

    private mutating func checkSystem() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let files = limit.rlim_max > 1 << 30 ? "any number of" : "\(limit.rlim_max)"
        if limit.rlim_max < 4096 {
            doubtful("open files", "\(files) allowed, each client needs one", "raise the limit: ulimit -n 65536")
        } else {
            good("open files", "\(files) allowed")
        }
    }
}
