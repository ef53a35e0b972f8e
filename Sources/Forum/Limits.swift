import Hermes

/// How much is too much.
enum Limits {
    static let topicsOfNewMembers = 3
    static let commentsOfNewMembers = 10
    /// In a day.
    static let topics = 20
    static let invitations = 20
    /// In an hour.
    static let searches = 30
    /// Seconds within which a member does not say the same twice.
    static let repetition = 300.0
    /// Seconds in which an author may change a comment.
    static let editing = 900.0
    /// Members whose flags hide a comment.
    static let flags = 3
    /// Seconds that an invitation holds, and that a refusal does.
    static let invitation = 30 * 86_400.0
    /// Characters of a message that its conversation shows.
    static let preview = 100
    /// Seconds of a voice message.
    static let voice = 600.0
    /// Characters of what stands beside everything that somebody writes.
    static let userName = 60
    /// Characters of first and last names, cities, names of groups.
    static let name = 100
    /// Characters of a topic's name.
    static let topicName = 200

    static var aDayAgo: Date { Date().addingTimeInterval(-86_400) }

    /// Whether a text has more than so many characters. One of them may have any number of marks on it: bytes count too.
    static func isLonger(_ text: String, than most: Int) -> Bool { text.utf8.count > most * 32 || text.count > most }

    /// - Throws: 142 for a text that is too long.
    static func check(_ text: String?, _ name: String, atMost most: Int = Limits.name) throws {
        guard let text, isLonger(text, than: most) else { return }
        throw Refusal(
            142, "Es demasiado largo: \(name). Caben \(most) caracteres.",
            "Too long: \(name). There is room for \(most) characters.")
    }
}

extension Database {
    /// How many a member has made within a day, with those that are gone.
    ///
    /// - Parameter standing: those that are there.
    func made<Fields: ParseObject>(_ standing: Query<Fields>, by author: Pointer<Usuario>) async throws -> Int {
        // In this order: what is deleted in between counts twice rather than not at all.
        let count = try await count(standing)
        return try await count
            + self.count(
                Query(Borrado.self).where(
                    \.usuario == author && \.clase == Fields.className && \.fecha > Limits.aDayAgo))
    }

    /// Notes of objects that are about to be deleted what their authors' limits have to know.
    func note<Fields: ParseObject>(
        gone objects: [Record<Fields>], by author: WritableKeyPath<Fields, Pointer<Usuario>?>
    ) async throws {
        let day = Limits.aDayAgo
        let notes = objects.compactMap { object -> Record<Borrado>? in
            guard let made = object.createdAt, made > day, object["importado"]?.bool != true,
                let user = object[dynamicMember: author]
            else { return nil }
            var note = Record(Borrado(usuario: user, clase: Fields.className, fecha: made))
            note.acl = ACL()
            return note
        }
        if !notes.isEmpty { try await createAll(notes) }
    }
}
