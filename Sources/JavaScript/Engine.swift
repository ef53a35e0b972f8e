import CJavaScriptCore

/// One JavaScriptCore context: a heap, its globals, and the functions that the host gives it.
///
/// Belongs to the thread that made it, and is reached from no other. Not `Sendable`.
final class Engine {
    /// A value of this context. It lives while it lies on this thread's stack, or is protected.
    typealias Value = hermes_js_value

    private let group: hermes_js_group
    let context: hermes_js_context
    private var functions: [HostFunction] = []
    private var clock: Clock?
    private var isClosed = false

    /// - Throws: `EngineFault` when JavaScriptCore is not installed.
    init() throws {
        if let missing = hermes_js_load() { throw EngineFault(String(cString: missing)) }
        guard let group = hermes_js_group_create(), let context = hermes_js_context_create(group) else {
            throw EngineFault("JavaScriptCore could not make a context")
        }
        self.group = group
        self.context = context
    }

    deinit { close() }

    /// Lets go of the heap. Nothing else may be called afterwards; call it on the context's thread.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        hermes_js_context_release(context)
        hermes_js_group_release(group)
    }

    // MARK: running

    /// Runs a script. `file` is what errors name.
    func evaluate(_ source: String, file: String) throws -> Value {
        try withString(source) { source in
            try withString(file) { file in
                try checked { hermes_js_evaluate_script(context, source, file, 1, $0) }
            }
        }
    }

    /// What a script's function is called with.
    enum Argument {
        case number(Double)
        /// nil: undefined.
        case text(String?)
        /// The same in UTF-8.
        case utf8([UInt8]?)
        case json([UInt8])
        case bytes([UInt8])
        case value(Value)
        static func int(_ number: Int) -> Argument { .number(Double(number)) }
    }

    @discardableResult
    func call(_ function: Value, _ arguments: [Argument]) throws -> Value {
        // On the stack: the collector finds values there, and nowhere else in the host's memory.
        try withUnsafeTemporaryAllocation(of: Value?.self, capacity: max(1, arguments.count)) { values in
            for (index, argument) in arguments.enumerated() {
                values.initializeElement(at: index, to: try value(argument))
            }
            return try checked { hermes_js_call(context, function, arguments.count, values.baseAddress, $0) }
        }
    }

    private func value(_ argument: Argument) throws -> Value? {
        switch argument {
        case .number(let number): value(number)
        case .text(let text): value(text)
        case .utf8(let text): text.map { withString($0) { hermes_js_make_string(context, $0) } } ?? undefined
        case .json(let text): json(text)
        case .bytes(let bytes): try value(bytes)
        case .value(let value): value
        }
    }

    private func checked(_ body: (UnsafeMutablePointer<Value?>) -> Value?) throws -> Value {
        var exception: Value?
        let result = body(&exception)
        if let exception { throw fault(exception) }
        guard let result else { throw EngineFault("JavaScriptCore answered nothing") }
        return result
    }

    /// Has `shouldEnd` asked about every `seconds` of processor time that a turn takes; true ends the turn.
    func watch(every seconds: Double, _ shouldEnd: @escaping () -> Bool) {
        let clock = Clock(group: group, seconds: seconds, shouldEnd)
        self.clock = clock
        clock.start()
    }

    /// After a turn that was ended: what ends within a promise's reaction would also end the next entry.
    func recover() {
        for _ in 0..<3 where (try? evaluate("0", file: "hermes:recover")) != nil { return }
    }

    private final class Clock {
        private let group: hermes_js_group
        private let seconds: Double
        private let shouldEnd: () -> Bool

        init(group: hermes_js_group, seconds: Double, _ shouldEnd: @escaping () -> Bool) {
            self.group = group
            self.seconds = seconds
            self.shouldEnd = shouldEnd
        }

        func start() {
            hermes_js_group_set_limit(
                group, seconds,
                { _, data in
                    guard let data else { return false }
                    let clock = Unmanaged<Clock>.fromOpaque(data).takeUnretainedValue()
                    if clock.shouldEnd() { return true }
                    // The engine's clock has stopped with this call: it asks again only if it is told to.
                    clock.start()
                    return false
                }, Unmanaged.passUnretained(self).toOpaque())
        }
    }

    /// Where the script is: a line for each call, the innermost first.
    func backtrace() -> String {
        guard let trace = hermes_js_backtrace(context, 8) else { return "" }
        return String(decoding: taken(trace), as: UTF8.self)
    }

    /// Bytes that the heap holds, with what its objects hold beside it. Takes time in proportion to the heap.
    func memory() -> Int {
        guard let statistics = hermes_js_memory_statistics(context) else { return 0 }
        return property("heapSize", of: statistics).map(number).flatMap { Int(exactly: $0) } ?? 0
    }

    func collectGarbage() { hermes_js_collect(context) }

    // MARK: values

    var undefined: Value? { hermes_js_make_undefined(context) }
    func value(_ number: Double) -> Value? { hermes_js_make_number(context, number) }
    func value(_ number: Int) -> Value? { hermes_js_make_number(context, Double(number)) }
    func value(_ boolean: Bool) -> Value? { hermes_js_make_boolean(context, boolean) }
    /// Up to its first U+0000.
    func value(_ text: String) -> Value? { withString(text) { hermes_js_make_string(context, $0) } }
    func value(_ text: String?) -> Value? { text.map { value($0) } ?? undefined }
    /// A Uint8Array.
    func value(_ bytes: some Collection<UInt8>) throws -> Value? {
        let array = try checked { hermes_js_make_bytes(context, bytes.count, $0) }
        var length = 0
        if let start = hermes_js_typed_array_bytes(context, array, &length) {
            _ = UnsafeMutableBufferPointer(start: start, count: length).update(from: bytes)
        }
        return array
    }

    /// A JSON document; undefined where the text is none.
    func json(_ text: [UInt8]) -> Value? {
        withString(text) { hermes_js_make_from_json(context, $0) ?? undefined }
    }

    func number(_ value: Value) -> Double { hermes_js_to_number(context, value, nil) }
    func text(_ value: Value) -> String {
        String(decoding: utf8(value), as: UTF8.self)
    }
    func utf8(_ value: Value) -> [UInt8] {
        hermes_js_to_string(context, value, nil).map(taken) ?? []
    }
    /// The bytes of a typed array; nil of anything else.
    func bytes(_ value: Value) -> [UInt8]? {
        guard hermes_js_is_typed_array(context, value) else { return nil }
        var length = 0
        let start = hermes_js_typed_array_bytes(context, value, &length)
        return Array(UnsafeBufferPointer(start: start, count: start == nil ? 0 : length))
    }

    func property(_ name: String, of object: Value) -> Value? {
        guard hermes_js_is_object(context, object) else { return nil }
        let value = withString(name) { hermes_js_get_property(context, object, $0, nil) }
        return value.flatMap { hermes_js_is_undefined(context, $0) || hermes_js_is_null(context, $0) ? nil : $0 }
    }

    func set(_ name: String, of object: Value, to value: Value?) {
        withString(name) { hermes_js_set_property(context, object, $0, value, nil) }
    }

    /// Keeps a value as long as the context.
    func keep(_ value: Value) -> Value {
        hermes_js_protect(context, value)
        return value
    }

    func setUnhandledRejectionCallback(_ function: Value) {
        hermes_js_set_unhandled_rejection_callback(context, function, nil)
    }

    // MARK: texts

    /// Up to its first U+0000.
    private func withString<Result>(_ text: String, _ body: (hermes_js_string?) throws -> Result) rethrows -> Result {
        let string = text.withCString { hermes_js_string_create($0) }
        defer { hermes_js_string_release(string) }
        return try body(string)
    }

    private func withString<Result>(_ text: [UInt8], _ body: (hermes_js_string?) throws -> Result) rethrows -> Result {
        let string = (text + [0]).withUnsafeBytes { bytes in
            bytes.baseAddress.flatMap { hermes_js_string_create($0.assumingMemoryBound(to: CChar.self)) }
        }
        defer { hermes_js_string_release(string) }
        return try body(string)
    }

    /// The bytes of a text, which is released.
    private func taken(_ string: hermes_js_string) -> [UInt8] {
        defer { hermes_js_string_release(string) }
        let room = hermes_js_string_max_size(string)
        return [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            buffer.withMemoryRebound(to: CChar.self) { buffer in
                count = max(0, hermes_js_string_copy(string, buffer.baseAddress, room) - 1)
            }
        }
    }

    // MARK: the host's functions

    /// What a function of the host is called with.
    struct Arguments {
        let engine: Engine
        fileprivate let values: UnsafeBufferPointer<Value?>

        private func value(_ index: Int) -> Value? {
            guard index < values.count, let value = values[index] else { return nil }
            return hermes_js_is_undefined(engine.context, value) || hermes_js_is_null(engine.context, value)
                ? nil : value
        }
        func text(_ index: Int) -> String { value(index).map(engine.text) ?? "" }
        /// nil for what is undefined or null.
        func optionalText(_ index: Int) -> String? { value(index).map(engine.text) }
        func utf8(_ index: Int) -> [UInt8]? { value(index).map(engine.utf8) }
        func bytes(_ index: Int) -> [UInt8] { value(index).flatMap(engine.bytes) ?? [] }
        func number(_ index: Int) -> Double { value(index).map(engine.number) ?? .nan }
        /// 0 for what is no whole number.
        func int(_ index: Int) -> Int { Int(exactly: number(index)) ?? 0 }
        func bool(_ index: Int) -> Bool { value(index).map { hermes_js_to_boolean(engine.context, $0) } ?? false }
    }

    typealias HostBody = (Arguments) throws -> Value?

    /// A function that runs `body`; what that throws is thrown in the script as an Error. nil answers undefined.
    func function(_ body: @escaping HostBody) -> Value? {
        let function = HostFunction(engine: self, body)
        functions.append(function)
        return hermes_js_make_host_function(
            context,
            { data, _, count, arguments, exception in
                guard let data else { return nil }
                let function = Unmanaged<HostFunction>.fromOpaque(data).takeUnretainedValue()
                return function.run(UnsafeBufferPointer(start: arguments, count: count), exception)
            }, Unmanaged.passUnretained(function).toOpaque())
    }

    private final class HostFunction {
        unowned let engine: Engine
        let body: HostBody
        init(engine: Engine, _ body: @escaping HostBody) {
            self.engine = engine
            self.body = body
        }
        func run(_ values: UnsafeBufferPointer<Value?>, _ exception: UnsafeMutablePointer<Value?>?) -> Value? {
            do {
                return try body(Arguments(engine: engine, values: values)) ?? engine.undefined
            } catch {
                exception?.pointee = engine.error("\(error)")
                return engine.undefined
            }
        }
    }

    func error(_ message: String) -> Value? {
        var argument = value(message)
        return hermes_js_make_error(context, 1, &argument, nil)
    }

    // MARK: faults

    private func fault(_ exception: Value) -> EngineFault {
        func field(_ name: String) -> String? { property(name, of: exception).map(text) }
        var fault = EngineFault(field("message") ?? text(exception))
        fault.kind = field("name")
        fault.file = field("sourceURL")
        fault.line = field("line").flatMap { Int($0) }
        fault.stack = field("stack")
        // What the runtime's own scripts complain of, the application's has done.
        if fault.file?.hasPrefix("hermes:") == true {
            let place = Engine.firstPlaceOutside(fault.stack ?? "")
            (fault.file, fault.line) = (place?.0, place?.1)
        }
        return fault
    }

    private static func firstPlaceOutside(_ stack: String) -> (String, Int)? {
        for call in stack.split(separator: "\n") {
            // `function@file:line:column`; a file may lie in a folder such as `@scope`.
            let place = call.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).last ?? ""
            let parts = place.split(separator: ":")
            guard !place.hasPrefix("hermes:"), parts.count >= 3, let line = Int(parts[parts.count - 2]) else {
                continue
            }
            return (parts.dropLast(2).joined(separator: ":"), line)
        }
        return nil
    }
}

/// What went wrong in a script, or with the engine itself.
struct EngineFault: Error, CustomStringConvertible {
    var message: String
    /// `TypeError`, say.
    var kind: String?
    var file: String?
    var line: Int?
    /// The engine's own: a line for each call, as `function@file:line:column`.
    var stack: String?

    init(_ message: String) { self.message = message }

    var description: String {
        let sentence = kind.map { $0 == "Error" || message.hasPrefix($0) ? message : "\($0): \(message)" } ?? message
        guard let file else { return sentence }
        return "\(file):\(line ?? 0): \(sentence)"
    }
}
