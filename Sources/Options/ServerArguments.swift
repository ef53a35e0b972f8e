import Glibc
import Wire

/// What was typed behind the name of a program that serves: `--config FILE`, `--port 1338`, `--port=1338`, `--switch`.
public struct ServerArguments: Sendable {
    private var configuration: String?
    private var flags: [(name: String, value: String)] = []

    public init() {}

    /// - Throws: `OptionFault` that says what was not understood.
    public init(_ arguments: some Sequence<String>) throws(OptionFault) {
        var rest = Array(arguments)[...]
        while let argument = rest.popFirst() { try take(argument, &rest) }
    }

    /// Takes one argument, and from `rest` its value.
    public mutating func take(_ argument: String, _ rest: inout ArraySlice<String>) throws(OptionFault) {
        guard argument.hasPrefix("--"), argument.count > 2 else {
            throw OptionFault("\"\(argument)\" was not expected; `hermes help` shows what can be told")
        }
        let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        let isSwitch = name == "config" ? false : try ServerOptions.isSwitch(flag: name)
        var value = parts.count == 2 ? String(parts[1]) : nil
        if value == nil, !isSwitch || rest.first == "true" || rest.first == "false" { value = rest.popFirst() }
        guard value != nil || isSwitch else { throw OptionFault("--\(name) needs a value") }
        if name == "config" { configuration = value } else { flags.append((name, value ?? "")) }
    }

    /// The options that these arguments make, with the configuration file and the environment.
    ///
    /// - Throws: `OptionFault` that says which of them cannot be.
    /// - Parameter defaults: what stands where nobody tells, as a configuration file has it.
    public func options(defaults: JSONObject = JSONObject()) throws -> ServerOptions {
        var environment: [String: String] = [:]
        for name in OptionTable.variables {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        guard let configuration else {
            return try ServerOptions(defaults: defaults, environment: environment, flags: flags)
        }
        let file: JSON
        var text = try TextFile.read(configuration)
        // Editors of Windows put it there.
        if text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
        do { file = try JSONParser.parse(text) } catch {
            throw OptionFault("\(configuration) is not JSON: \(JSONFaultPlace.told(text) ?? error.message)")
        }
        return try ServerOptions(
            defaults: defaults, file: file, fileName: configuration, environment: environment, flags: flags)
    }
}
