import CCrypto

/// Digests and random bytes, for `crypto`.
extension IsolateThread {
    func addCrypto(_ add: (String, @escaping Engine.HostBody) -> Void) {
        // digest(algorithm, bytes): undefined for an algorithm that is not known.
        add("digest") { [unowned self] arguments in
            try digest(arguments.text(0), arguments.bytes(1)).flatMap { try engine.value($0) }
        }
        // hmac(algorithm, key, bytes)
        add("hmac") { [unowned self] arguments in
            try hmac(arguments.text(0), key: arguments.bytes(1), arguments.bytes(2)).flatMap { try engine.value($0) }
        }
        // In a time that does not tell where they differ.
        add("sameBytes") { [unowned self] arguments in
            let (one, other) = (arguments.bytes(0), arguments.bytes(1))
            return engine.value(one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0)
        }
        add("randomBytes") { [unowned self] arguments in
            let count = arguments.int(0)
            guard (0...(16 << 20)).contains(count) else {
                throw EngineFault("randomBytes: \(count) bytes are too many")
            }
            var bytes = [UInt8](repeating: 0, count: count)
            guard RAND_bytes(&bytes, Int32(count)) == 1 else { throw EngineFault("no random numbers") }
            return try engine.value(bytes)
        }
    }

    private func digest(_ name: String, _ bytes: [UInt8]) -> [UInt8]? {
        guard let algorithm = algorithm(name) else { return nil }
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard EVP_Digest(bytes, bytes.count, &digest, &length, algorithm, nil) == 1 else { return nil }
        return Array(digest[..<Int(length)])
    }

    private func hmac(_ name: String, key: [UInt8], _ bytes: [UInt8]) -> [UInt8]? {
        guard let algorithm = algorithm(name) else { return nil }
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard HMAC(algorithm, key, Int32(key.count), bytes, bytes.count, &digest, &length) != nil else { return nil }
        return Array(digest[..<Int(length)])
    }

    private func algorithm(_ name: String) -> OpaquePointer? {
        // Both `sha256` and `SHA-256` are usual.
        var plain = name.lowercased()
        if plain.hasPrefix("sha-") { plain.remove(at: plain.index(plain.startIndex, offsetBy: 3)) }
        return EVP_get_digestbyname(plain)
    }
}
