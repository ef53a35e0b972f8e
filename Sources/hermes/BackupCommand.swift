import Archive
import Core
import Options
import Server

/// `hermes backup` and `hermes restore`.
struct BackupCommand {
    enum Direction { case backup, restore }

    let direction: Direction
    var arguments = OwnArguments(flags: [], switches: ["check", "without-keys", "json"])

    /// Does it; answers what is to be printed.
    func run(_ options: ServerOptions) async throws -> String {
        guard arguments.words.count == 1, let path = arguments.words.first else {
            throw OptionFault("`hermes \(direction) FILE` takes the name of one file")
        }
        let progress = Progress("\(direction)", total: nil, unit: .rows)
        // Keys that the configuration tells are no part of the data.
        let isInFolder = options.appId.isEmpty || options.masterKey == nil
        let keysFile =
            isInFolder && !arguments.isOn("without-keys") ? Keys.path(in: options.dataFolder) : nil
        let place = DatabasePlace(options)
        switch direction {
        case .backup:
            let backup = Backup(place: place, hermes: Banner.version, keysFile: keysFile)
            let made = try await backup.write(to: path, progress)
            return "\(path)  \(Progress.size(made.size)), \(summary(made.manifest))"
                + (made.holdsKeys ? ", with the keys" : "") + "\n"
        case .restore where arguments.isOn("check"):
            let manifest = try await Restore.check(path, progress)
            if arguments.isOn("json") { return manifest.text }
            return "\(path) is whole: \(summary(manifest)), of \(manifest.createdAt)\n"
        case .restore:
            let made = try await Restore(place: place, keysFile: keysFile).read(from: path, progress)
            let keys =
                switch made.keys {
                case .none: ""
                case .written: "\nThe application's keys are those of the backup: \(Keys.path(in: options.dataFolder))"
                case .leftOut: "\nThe keys in the backup were left out: those that are told or there already hold."
                }
            return "restored \(summary(made.manifest)), of \(made.manifest.createdAt)\(keys)\n"
        }
    }

    private func summary(_ manifest: BackupManifest) -> String {
        let (classes, objects) = (manifest.classes.count, Progress.grouped(manifest.objects))
        return
            "\(classes) \(classes == 1 ? "class" : "classes"), \(objects) \(manifest.objects == 1 ? "object" : "objects")"
    }
}

extension DatabasePlace {
    init(_ options: ServerOptions) {
        self.init(uri: options.databaseURI, dataFolder: options.dataFolder, name: PrivateDatabase.name)
    }
}
