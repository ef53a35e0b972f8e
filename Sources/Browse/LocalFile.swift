import Glibc
import Wire

/// A file of whoever sits at the terminal, which is to become a field's value: `<path`.
public enum LocalFile {
    /// Bytes; more than any server takes in one request.
    static let largest = 64 << 20

    /// - Parameter path: `~/` stands for the home folder.
    /// - Throws: `CommandFailure` that says why it can't be read.
    public static func read(_ path: String) throws(CommandFailure) -> [UInt8] {
        var place = path
        if path.hasPrefix("~/"), let home = getenv("HOME") { place = String(cString: home) + path.dropFirst(1) }
        let descriptor = open(place, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw CommandFailure(1, "\(path) cannot be read: \(errorText())") }
        defer { close(descriptor) }
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure(1, "\(path) is not a file")
        }
        guard information.st_size <= largest else { throw CommandFailure(1, "\(path) is larger than 64 MB") }
        var bytes = [UInt8](repeating: 0, count: Int(information.st_size))
        var taken = 0
        while taken < bytes.count {
            let count = bytes.withUnsafeMutableBytes { room in
                Glibc.read(descriptor, room.baseAddress.map { $0 + taken }, room.count - taken)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw CommandFailure(1, "\(path) cannot be read: \(errorText())") }
            if count == 0 { break }
            taken += count
        }
        bytes.removeLast(bytes.count - taken)
        return bytes
    }

    static func bytes(_ bytes: [UInt8]) -> JSON { ["__type": "Bytes", "base64": .string(Base64.encode(bytes))] }

    /// Stores a file on the server, under the name that it has here.
    static func upload(_ bytes: [UInt8], from path: String) -> ServerRequest {
        // What Parse takes for a file's name.
        func isPlain(_ character: Character) -> Bool {
            character.isASCII && (character.isLetter || character.isNumber)
        }
        var name = ""
        for character in path.split(separator: "/").last ?? "" {
            name.append(isPlain(character) || "@.~_-".contains(character) ? character : "_")
        }
        name = String(name.drop { !isPlain($0) && $0 != "_" })
        return ServerRequest(
            "POST", "/files/\((name.isEmpty ? "file" : name).urlEncoded)",
            JSONObject([("base64", .string(Base64.encode(bytes)))]), key: .master)
    }

    /// What a field holds of a file that the server has stored; nil where the answer is none of Parse's.
    static func stored(_ answer: JSON) -> JSON? {
        guard let name = answer.object?["name"], name.string != nil else { return nil }
        var members: [(key: String, value: JSON)] = [("__type", "File"), ("name", name)]
        if let url = answer.object?["url"] { members.append(("url", url)) }
        return .object(JSONObject(members))
    }
}
