import Wire

/// A way of logging in beside the password. Only anonymous users so far.
struct AuthData {
    let provider: String
    let id: String

    /// What `authData` in a user's body says.
    enum Given {
        /// The user can log in with it from now on.
        case links(AuthData)
        /// Every provider that it names is taken away.
        case unlinks
        /// It says nothing.
        case nothing
    }

    /// - Throws: 252 for a provider that is not configured, 162 for an id that is no text.
    static func parse(_ given: JSON, allowsAnonymous: Bool) throws(ParseError) -> Given {
        guard case .object(let providers) = given, !providers.isEmpty else { return .nothing }
        var found: AuthData?
        var unlinks = false
        for (provider, data) in providers.members {
            guard provider == "anonymous", allowsAnonymous else { throw .unsupportedAuthentication }
            if data == .null {
                unlinks = true
                continue
            }
            guard case .object(let object) = data, let id = object["id"], id != .null else { continue }
            guard case .string(let id) = id, !id.isEmpty else {
                throw ParseError(162, "Invalid authData id for provider '\(provider)'.")
            }
            found = AuthData(provider: provider, id: id)
        }
        if let found { return .links(found) }
        return unlinks ? .unlinks : .nothing
    }
}
