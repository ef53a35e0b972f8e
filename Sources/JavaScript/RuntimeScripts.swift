import CRuntimeScripts

/// The scripts of `Runtime/`, which lie within the program.
enum RuntimeScripts {
    private static let texts: [String: String] = {
        var texts: [String: String] = [:]
        var index = 0
        while let script = hermes_runtime_script_at(index)?.pointee {
            texts[String(cString: script.name)] = String(cString: script.text)
            index += 1
        }
        return texts
    }()

    static var names: [String] { texts.keys.sorted() }
    static func named(_ name: String) -> String? { texts[name] }
}
