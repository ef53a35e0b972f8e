/// The elements of an array in PostgreSQL's binary format, each where it lies, in storage order; NULLs are left out.
///
/// For what is read once and thrown away: it allocates nothing. Belongs to the `Rows` that it came from.
public struct ArrayElements: Sequence, IteratorProtocol {
    private let bytes: UnsafeRawBufferPointer
    private var offset: Int

    /// `bytes` is array_send's form: dimensions, has-null flag, element type, then length and lower bound of each
    /// dimension, then each element after its length (-1 for NULL).
    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        let dimensions = bytes.count >= 12 ? Int(bytes.bigEndian(0, Int32.self)) : 0
        offset = dimensions > 0 ? 12 + 8 * dimensions : bytes.count
    }

    public mutating func next() -> UnsafeRawBufferPointer? {
        while offset + 4 <= bytes.count {
            let length = Int(bytes.bigEndian(offset, Int32.self))
            offset += 4
            guard length >= 0 else { continue }
            guard length <= bytes.count - offset else { return nil }
            defer { offset += length }
            return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length])
        }
        return nil
    }
}
