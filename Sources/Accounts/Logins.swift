import Postgres
import Store
import Wire

/// Whose a provider's id is.
extension Accounts {
    private static let findByAnonymousId = Statement(
        "SELECT \"objectId\" FROM \"_User\" WHERE (\"authData\" #>> '{anonymous,id}') = $1::text")
    private static let findByLogin = Statement(
        "SELECT \"user\" FROM \"_hermes_logins\" WHERE provider = $1::text AND id = $2::text")

    /// Who logs in with it; nil: nobody so far.
    ///
    /// - Throws: 101 where its data show nothing.
    func user(of link: AuthData.Link, in operation: Operation) async throws -> String? {
        let id = try await link.proven(options, in: operation)
        let rows =
            link.isAnonymous
            ? try await operation.read(Accounts.findByAnonymousId, [.text(id)])
            : try await operation.read(Accounts.findByLogin, [.text(link.provider), .text(id)])
        return rows.count > 0 ? rows.string(0, 0) : nil
    }

    /// Logs in whose they are, and links him what is nobody's so far; nil where all is.
    ///
    /// - Throws: 208 where they are of several users.
    func logIn(by authData: AuthData, _ given: JSON, in operation: Operation) async throws -> LoggedIn? {
        var found: (userId: String, provider: String)?
        var new: [(key: String, value: JSON)] = []
        for link in authData.links {
            guard let userId = try await user(of: link, in: operation) else {
                new.append((link.provider, .object(link.data)))
                continue
            }
            guard found == nil || found?.userId == userId else { throw ParseError(208, "this auth is already used") }
            found = found ?? (userId, link.provider)
        }
        guard let found else { return nil }
        try await checkIsOpen(found.userId, in: operation)
        try await checkSecondFactor(of: found.userId, given, in: operation)
        try await link(.object(JSONObject(new)), to: found.userId, in: operation)
        return try await logIn(found.userId, .logIn(provider: found.provider), in: operation)
    }

    /// - Throws: -1, 141 unless the user's second factor, where it has one, is among what is given.
    func checkSecondFactor(of userId: String, _ given: JSON, in operation: Operation) async throws {
        guard let secondFactor = options.secondFactor else { return }
        try await SecondFactor(options: secondFactor).check(
            userId, given.object?[AuthData.secondFactor], in: operation)
    }
}

extension Operation {
    private static let merge = Statement(
        """
        UPDATE "_User" SET "authData" = nullif((coalesce("authData", '{}') - $2::text[]) || $3::jsonb, '{}')
        WHERE "objectId" = $1::text
        """)
    private static let unlink = Statement(
        "DELETE FROM \"_hermes_logins\" WHERE \"user\" = $1::text AND provider = ANY($2::text[])")
    private static let insertLogin = Statement(
        """
        INSERT INTO "_hermes_logins" AS l (provider, id, "user") VALUES ($1::text, $2::text, $3::text)
        ON CONFLICT (provider, id) DO UPDATE SET "user" = excluded."user" WHERE l."user" = excluded."user" RETURNING 1
        """)

    /// What a user's `authData` shows.
    func mergeAuthData(_ stored: JSONObject, without gone: [String], of userId: String) async throws {
        _ = try await write(
            Operation.merge, [.text(userId), .textArray(gone), .utf8(JSON.object(stored).bytes)])
    }

    /// - Throws: 208 where one is another user's.
    func changeLogins(
        _ logins: [(provider: String, id: String)], without gone: [String], of userId: String
    ) async throws {
        // One id for each provider.
        let replaced = gone + logins.map(\.provider)
        _ = try await write(Operation.unlink, [.text(userId), .textArray(replaced)])
        for (provider, id) in logins {
            let made = try await write(Operation.insertLogin, [.text(provider), .text(id), .text(userId)])
            guard made.count > 0 else { throw ParseError(208, "this auth is already used") }
        }
    }
}
