import Glibc
import Wire

/// Files as `require` and `fs` read them.
extension IsolateThread {
    func addFiles(_ add: (String, @escaping Engine.HostBody) -> Void) {
        add("readFile") { [unowned self] in
            engine.value(SourceFile.read($0.text(0)).map { String(decoding: $0, as: UTF8.self) })
        }
        // undefined where there is no file that can be read.
        add("readBytes") { [unowned self] in try SourceFile.read($0.text(0)).flatMap { try engine.value($0) } }
        add("kindOfFile") { [unowned self] in engine.value(SourceFile.kind($0.text(0))) }
        add("realPath") { [unowned self] in engine.value(SourceFile.realPath($0.text(0))) }
        // [bytes, milliseconds since 1970 of its last change]
        add("statOf") { [unowned self] in
            let (size, changed) = SourceFile.about($0.text(0))
            return engine.json(Array("[\(size),\(changed)]".utf8))
        }
        add("namesIn") { [unowned self] in engine.json(names(in: $0.text(0))) }
        add("hostName") { [unowned self] _ in
            var name = [CChar](repeating: 0, count: 256)
            gethostname(&name, name.count - 1)
            return engine.value(name.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" })
        }
    }

    private func names(in folder: String) -> [UInt8] {
        var writer = JSONWriter(room: 1024)
        writer.json(.array(SourceFile.names(in: folder).map { .string($0) }))
        return writer.finish()
    }
}
