import Cloud

/// How cloud code in JavaScript runs.
public struct JavaScriptOptions: Sendable {
    /// Isolates: globals and threads of their own, each with the whole of the code. With one, globals are shared by all
    /// calls, as in the reference.
    public var isolates = 1
    /// Processor time that the code may take at once, without a pause for others: nanoseconds.
    public var turnLimit: UInt64 = 1_000_000_000
    /// What callers give a call as a whole: nanoseconds. Loading the code may take as much processor time, and a turn
    /// that goes on for so much longer than `turnLimit` no longer answers.
    public var callLimit: UInt64 = 10_000_000_000
    /// The heap of one isolate: bytes. One that outgrows it is thrown away, its calls fail, and a new one takes over.
    public var memoryLimit = 256 << 20
    /// What `Parse.applicationId`, `Parse.serverURL` and `Parse.masterKey` are.
    public var applicationId = ""
    public var serverURL = ""
    public var masterKey = ""
    /// How many objects a query finds that names no limit; 0 where hooks need not know.
    public var defaultLimit = 0
    /// Shown to the code as `process.env`.
    public var environment: [String: String] = [:]
    /// Folders in which packages are looked for, after the `node_modules` above the file that asks.
    public var packageFolders: [String] = []
    /// Loading goes on past what is missing, and tells all of it: for `hermes cloud check`, not for serving.
    public var checks = false
    /// How code reads and writes that runs for nobody's call: while it is loaded, in a timer after its call has ended.
    public var background: (any CloudCaller)?

    public init() {}
}
