import Glibc

/// What the program says to who started it, beside its log.
public enum Console {
    /// Written at once, also where a pipe or a file reads along.
    public static func say(_ text: String) { write(text, to: STDOUT_FILENO) }

    /// To standard error.
    public static func complain(_ text: String) { write(text, to: STDERR_FILENO) }

    private static func write(_ text: String, to descriptor: Int32) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                // Nobody reads any more: there is nobody left to tell.
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }
    }
}
