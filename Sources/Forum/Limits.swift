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
}
