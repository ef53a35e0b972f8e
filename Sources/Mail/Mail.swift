/// One mail to one address, as whoever sends it asks for it.
public struct Mail: Sendable, Equatable {
    public enum Content: Sendable, Equatable {
        /// One of the server's own mails, in the reader's language; `values` by the names of its placeholders.
        case template(MailTemplate, values: [String: String])
        /// A mail of the application's own words. Without `html` there is only text.
        case written(subject: String, text: String, html: String?)
    }

    /// An address alone, such as `ana@example.com`.
    public var to: String
    public var content: Content
    /// The reader's languages: `es`, `es-ES`, or several as `Accept-Language` has them; nil: the server's.
    public var language: String?
    /// The objectId of the user whose doing it is, for the bound of mails for each account.
    public var account: String?
    /// Where one click ends mails of this kind (`https://…`); nil: nothing is said of that.
    public var unsubscribe: String?

    /// - Parameters:
    ///   - values: what stands for the template's placeholders: `link`, and `name` in an invitation. The
    ///     application's name and the address need not be told.
    public init(
        to: String, _ template: MailTemplate, values: [String: String], language: String? = nil, account: String? = nil
    ) {
        self.to = to
        content = .template(template, values: values)
        self.language = language
        self.account = account
    }

    public init(to: String, subject: String, text: String, html: String? = nil) {
        self.to = to
        content = .written(subject: subject, text: text, html: html)
    }
}

/// A mail that cannot be made: a fault of the program, or of a template.
public struct MailFault: Error, Sendable, Equatable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}
