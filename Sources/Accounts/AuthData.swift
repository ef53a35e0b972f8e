import Store
import Wire

/// What `authData` in a user's body says: ways of logging in beside the password.
struct AuthData {
    /// The name under which clients send a second factor.
    static let secondFactor = "mfa"

    struct Link {
        let provider: String
        let data: JSONObject
        /// As the client tells it; what a provider shows counts.
        let id: String?
    }

    /// The user can log in with these from now on.
    var links: [Link] = []
    /// These are taken away.
    var unlinks: [String] = []
    /// `mfa`, an object or null.
    var secondFactor: JSON?

    /// It says nothing.
    var isEmpty: Bool { links.isEmpty && unlinks.isEmpty && secondFactor == nil }

    /// - Throws: 252 for a provider that is not configured, 162 for an id that is no text.
    init(_ given: JSON, _ options: AccountOptions) throws(ParseError) {
        guard case .object(let providers) = given else { return }
        for (provider, data) in providers.members {
            if provider == AuthData.secondFactor, options.secondFactor != nil {
                secondFactor = data
                continue
            }
            let isAnonymous = provider == "anonymous" && options.allowsAnonymousUsers
            guard isAnonymous || options.providers[provider] != nil else { throw .unsupportedAuthentication }
            if data == .null {
                unlinks.append(provider)
                continue
            }
            guard case .object(let object) = data else { continue }
            switch object["id"] {
            case nil, .null: if !isAnonymous { links.append(Link(provider: provider, data: object, id: nil)) }
            case .string(let id) where !id.isEmpty:
                links.append(Link(provider: provider, data: object, id: id))
            default: throw ParseError(162, "Invalid authData id for provider '\(provider)'.")
            }
        }
    }
}

extension AuthData.Link {
    var isAnonymous: Bool { provider == "anonymous" }

    /// The id that the data stand for, shown once in the course of an operation.
    ///
    /// - Throws: 101 where they show nothing, or somebody else.
    func proven(_ options: AccountOptions, in operation: Operation) async throws -> String {
        guard let provider = options.providers[provider] else { return id ?? "" }
        let key = "\(self.provider) \(JSON.object(data))"
        if let known = operation.proof(of: key) { return known }
        let shown = try await provider.prove(data, on: operation.loop)
        guard id == nil || id == shown else {
            throw ParseError(101, "\(self.provider): the id is not the one that the token was issued for.")
        }
        operation.keepProof(shown, of: key)
        return shown
    }

    /// What is stored of it: nothing that lets one in elsewhere.
    func stored(_ id: String) -> JSON { isAnonymous ? .object(data) : ["id": .string(id)] }
}
