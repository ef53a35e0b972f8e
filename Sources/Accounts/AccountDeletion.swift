import Postgres
import Store
import Wire

/// The end of an account.
extension Accounts {
    /// Deletes an account for good, in one transaction: the user, its sessions, its part in roles, and the objects that
    /// nobody but it may read or change. What others can read stays; `beforeDelete` of `_User` runs in the same
    /// transaction, and does with it what the application wants, or refuses.
    ///
    /// - Parameter credentials: what shows that it is the user's will: `password`, or `authData` of an account without
    ///   one. nil: the master key's.
    /// - Parameter following: runs in the same transaction, behind it all.
    /// - Throws: 101 for an unknown user and a wrong password; 201 where it is missing.
    public func deleteAccount(
        _ userId: String, confirmedBy credentials: JSONObject?, in operation: Operation,
        following: (Operation) async throws -> Void = { _ in }
    ) async throws {
        if let credentials { try await confirm(userId, credentials, in: operation) }
        // Looking takes longer than others should wait for rows.
        let found = try await privateObjects(of: userId, in: operation)
        let written = try await operation.nested(as: .master).inTransaction { operation in
            let written = try await store.delete("_User", objectId: userId, in: operation)
            for (className, ids) in found { try await operation.deletePrivate(ids, of: userId, className) }
            if written.failure == nil { try await following(operation) }
            return written
        }
        if let failure = written.failure { throw failure }
    }

    /// Deletes what an account has written that is gone by now.
    ///
    /// - Returns: how many objects; none where there is such an account.
    public func deleteRemains(of userId: String, in operation: Operation) async throws -> Int {
        guard try await operation.read(Accounts.credentials, [.text(userId)]).count == 0 else { return 0 }
        let found = try await privateObjects(of: userId, in: operation)
        for (className, ids) in found { try await operation.deletePrivate(ids, of: userId, className) }
        return found.reduce(0) { $0 + $1.ids.count }
    }

    private func privateObjects(
        of userId: String, in operation: Operation
    ) async throws -> [(className: String, ids: [String])] {
        var found: [(className: String, ids: [String])] = []
        for className in try await store.classesOfObjects(in: operation) {
            let ids = try await store.privateIds(of: userId, className, in: operation)
            if !ids.isEmpty { found.append((className, ids)) }
        }
        return found
    }

    private static let credentials = Statement(
        """
        SELECT "_hashed_password" FROM "_User" WHERE "objectId" = $1::text
        """)

    /// - Throws: 101, 201 unless whoever asks has shown again that the account is his.
    private func confirm(_ userId: String, _ credentials: JSONObject, in operation: Operation) async throws {
        let given = credentials["authData"] ?? .null
        let rows = try await operation.read(Accounts.credentials, [.text(userId)])
        guard rows.count > 0 else { throw ParseError.objectNotFound }
        guard let hash = rows.optionalString(0, 0) else {
            guard let link = try AuthData(given, options).links.first, try await user(of: link, in: operation) == userId
            else { throw Accounts.refused }
            return try await checkSecondFactor(of: userId, given, in: operation)
        }
        guard case .string(let password)? = credentials["password"], !password.isEmpty else {
            throw ParseError(201, "password is required.")
        }
        try await countAttempt(at: userId)
        guard try await Passwords.verify(password, hash, for: operation.request.address) else {
            throw Accounts.refused
        }
        try await forgetAttempts(at: userId)
        try await checkSecondFactor(of: userId, given, in: operation)
    }
}
