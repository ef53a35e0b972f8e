import Postgres
import Store
import Wire

/// How accounts are guarded by a one-time password beside whatever logs them in.
public struct SecondFactorOptions: Sendable {
    /// Of a one-time password: 6 to 8.
    public var digits = 6
    /// Wrong ones within a quarter of an hour; past them none is looked at.
    public var attempts = 10
    /// What secrets are sealed with.
    public var seal: Seal

    public init(seal: Seal) { self.seal = seal }
}

/// `authData.mfa`, as the reference's adapter has it: `{secret, token}` sets it up and answers two recovery codes;
/// `{token}` goes with a log-in, a recovery code in its place once; `{old, secret, token}` replaces it.
///
/// Hermes also takes `{old, secret: null}`, which ends it, so that a stolen session can't.
struct SecondFactor {
    let options: SecondFactorOptions

    private static let shortestSecret = 20
    private static let load = Statement(
        "SELECT \"_second_factor\" FROM \"_User\" WHERE \"objectId\" = $1::text AND \"_second_factor\" IS NOT NULL")
    private static let useStep = Statement(
        """
        UPDATE "_User" SET "_second_factor" = jsonb_set("_second_factor", '{step}', to_jsonb($2::int8))
        WHERE "objectId" = $1::text AND coalesce(("_second_factor" ->> 'step')::int8, 0) < $2::int8 RETURNING 1
        """)
    private static let useCode = Statement(
        """
        UPDATE "_User" SET
            "_second_factor" = jsonb_set("_second_factor", '{recovery}', ("_second_factor" -> 'recovery') - $2::text)
        WHERE "objectId" = $1::text AND "_second_factor" -> 'recovery' ? $2::text RETURNING 1
        """)

    private static let replace = Statement(
        """
        UPDATE "_User" SET "_second_factor" = $2::jsonb
        WHERE "objectId" = $1::text AND "_second_factor" ->> 'secret' IS NOT DISTINCT FROM $3::text RETURNING 1
        """)

    private static let missing = ParseError(-1, "Missing additional authData mfa")
    private static let invalid = ParseError(141, "Invalid MFA token")
    private static let standing = ParseError(141, "MFA is already set up on this account")

    /// Looks at the token of a user who has one set up; each works once.
    ///
    /// - Parameter given: `authData.mfa`.
    /// - Throws: -1 where it is missing, 141 for a wrong or used one.
    func check(_ userId: String, _ given: JSON?, in operation: Operation) async throws {
        guard let stored = try await stored(userId, in: operation) else { return }
        try await check(userId, stored, token: given?.object?["token"], in: operation)
    }

    private func stored(_ userId: String, in operation: Operation) async throws -> JSONObject? {
        let rows = try await operation.read(SecondFactor.load, [.text(userId)])
        guard rows.count > 0 else { return nil }
        return try JSONParser.parse(rows.json(0, 0)).object
    }

    private func check(_ userId: String, _ stored: JSONObject, token: JSON?, in operation: Operation) async throws {
        guard case .string(let token)? = token, !token.isEmpty else { throw SecondFactor.missing }
        // Counted by itself, whatever becomes of the operation.
        let tries = "mfa of \(userId)"
        let tried = try await RateCount.add(to: tries, within: 900, in: operation.afterwards())
        guard tried.count <= options.attempts else {
            throw ParseError(141, "Too many MFA tokens were wrong. Try again in a quarter of an hour.")
        }
        guard let sealed = stored["secret"]?.string.flatMap({ Base64.decode($0) }),
            let secret = options.seal.open(sealed, for: userId),
            let password = OneTimePassword(secret: String(decoding: secret, as: UTF8.self), digits: options.digits)
        else { throw ParseError(1, "The second factor cannot be read: the master key has been changed.") }
        let used: Rows
        if let step = password.step(of: token, at: Timestamp.now.milliseconds / 1000) {
            used = try await operation.write(SecondFactor.useStep, [.text(userId), .int(step)])
        } else {
            used = try await operation.write(SecondFactor.useCode, [.text(userId), .text(Digest.sha256(token))])
        }
        guard used.count > 0 else { throw SecondFactor.invalid }
        try await RateCount.reset(tries, in: operation.afterwards())
    }

    /// Sets it up, replaces or ends it, as part of a write to the user.
    func change(_ given: JSON, in write: Write) async throws {
        let operation = write.operation
        let isMaster = write.viewer.isAboveAccess
        guard write.isNew || isMaster || write.viewer.userId == write.objectId else { throw write.missing }
        var seen: JSONObject?
        if !write.isNew, !isMaster {
            seen = try await stored(write.objectId, in: operation)
            if let seen {
                guard let old = given.object?["old"] else { throw SecondFactor.standing }
                try await check(write.objectId, seen, token: old, in: operation)
            }
        }
        let new = try new(given, for: write)
        if write.isNew || isMaster {
            write.columns.append(ServerColumn("_second_factor", new, "jsonb"))
            return
        }
        // Of several at once one is set up: the others' codes would open nothing.
        let parameters: [Parameter] = [
            .text(write.objectId), new, seen?["secret"]?.string.map { .text($0) } ?? .null,
        ]
        write.addEffect { operation in
            guard try await operation.write(SecondFactor.replace, parameters).count > 0 else {
                throw SecondFactor.standing
            }
        }
    }

    /// What is to be stored of what is given; null for its end.
    private func new(_ given: JSON, for write: Write) throws -> Parameter {
        let isEnd = given == .null || given.object?["secret"] == .some(.null)
        guard !isEnd else { return .null }
        guard case .string(let secret)? = given.object?["secret"], case .string(let token)? = given.object?["token"]
        else { throw ParseError(141, "Invalid MFA data") }
        guard secret.utf8.count >= SecondFactor.shortestSecret, secret.utf8.count <= 256,
            let password = OneTimePassword(secret: secret, digits: options.digits)
        else {
            throw ParseError(141, "The MFA secret must be base 32, from \(SecondFactor.shortestSecret) characters up.")
        }
        guard let step = password.step(of: token, at: Timestamp.now.milliseconds / 1000) else {
            throw SecondFactor.invalid
        }
        let codes = (0..<2).map { _ in Random.hexadecimal(15) }
        let stored: JSON = [
            "secret": .string(Base64.encode(options.seal.seal(Array(secret.utf8), for: write.objectId))),
            "recovery": .array(codes.map { .string(Digest.sha256($0)) }), "step": .number(Double(step)),
        ]
        write.extras["authDataResponse"] = ["mfa": ["recovery": .string(codes.joined(separator: ", "))]]
        return .utf8(stored.bytes)
    }

    /// Whether what is given sets one up: what the user's `authData` shows of it.
    static func isSetUp(_ given: JSON) -> Bool { given.object?["secret"]?.string != nil }
}
