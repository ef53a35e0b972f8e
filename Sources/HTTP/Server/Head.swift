import CMicrohttpd
import Glibc

/// The headers of one request, noted once where libmicrohttpd keeps their texts: valid until the request ends. A
/// connection has one, and uses it again for each request.
struct Head {
    struct Field {
        let name: UnsafeBufferPointer<UInt8>
        let value: UnsafeBufferPointer<UInt8>

        func isNamed(_ wanted: UnsafeBufferPointer<UInt8>) -> Bool {
            guard name.count == wanted.count, let one = name.baseAddress, let other = wanted.baseAddress else {
                return false
            }
            return strncasecmp(one, other, name.count) == 0
        }
    }

    /// In the order they came.
    private(set) var fields: [Field] = []

    mutating func read(_ handle: OpaquePointer) {
        fields.removeAll(keepingCapacity: true)
        withUnsafeMutablePointer(to: &self) { head in
            _ = MHD_get_connection_values_n(
                handle, .HEADER_KIND,
                { head, _, name, nameSize, value, valueSize in
                    guard let head, let name else { return .YES }
                    let value = UnsafeRawPointer(value)?.assumingMemoryBound(to: UInt8.self)
                    head.assumingMemoryBound(to: Head.self).pointee.fields.append(
                        Field(
                            name: UnsafeBufferPointer(
                                start: UnsafeRawPointer(name).assumingMemoryBound(to: UInt8.self), count: nameSize),
                            value: UnsafeBufferPointer(start: value, count: value == nil ? 0 : valueSize)))
                    return .YES
                }, head)
        }
    }

    /// The texts are going away.
    mutating func forget() { fields.removeAll(keepingCapacity: true) }

    /// The first header of a name, upper and lower case being the same. A literal's name costs no allocation.
    func first(_ name: String) -> UnsafeBufferPointer<UInt8>? {
        var name = name
        return name.withUTF8 { wanted in fields.first { $0.isNamed(wanted) }?.value }
    }
}
