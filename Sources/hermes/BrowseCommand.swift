import Browse
import Core
import Glibc
import Options
import Terminal

/// `hermes browse`, from what was typed to the exit status.
struct BrowseCommand {
    var arguments = OwnArguments(flags: ["url", "server", "where"], switches: ["write", "read-only"])

    func run(_ options: ServerOptions) async throws -> Int32 {
        guard arguments.words.count < 2, !(arguments.isOn("write") && arguments.isOn("read-only")) else {
            throw OptionFault("hermes browse takes a class or Class:id, and --write or --read-only")
        }
        let address = try ServerPlace.address(options, url: arguments.told["url"] ?? arguments.told["server"])
        let place = options.appName.isEmpty ? address.host : "\(options.appName)@\(address.host)"
        var browsing = Browser.Options(
            place: place, url: address.url, appId: address.appId, hasReadOnlyKey: address.readOnlyMasterKey != nil,
            mayWrite: address.masterKey != nil && !arguments.isOn("read-only"))
        browsing.startsWriting = arguments.isOn("write")
        browsing.start = arguments.words.first
        browsing.filter = arguments.told["where"]
        browsing.zone = BrowseCommand.zone
        let chosen = browsing
        SignalSource.ignoreBrokenPipes()
        let worker = Worker(name: "browse")
        let result: Result<Int32, any Error> = await worker.run { _, loop in
            do { return .success(try await BrowseSession.run(chosen, at: address, loop: loop)) } catch {
                return .failure(error)
            }
        }
        await worker.stop()
        return try result.get()
    }

    /// Minutes that this machine's zone is ahead of UTC now.
    private static var zone: Int {
        var now = time(nil)
        var parts = tm()
        guard localtime_r(&now, &parts) != nil else { return 0 }
        return parts.tm_gmtoff / 60
    }
}
