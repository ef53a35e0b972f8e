import Wire

/// A class of objects as an application defines it: brought into the database at the start.
public struct CloudClass: Sendable {
    /// `{className, fields, classLevelPermissions, indexes}`, as in the option `schema.definitions`.
    public let definition: JSONObject
    /// What finds and gets bring that do not say.
    public let finds: FindDefaults
    public let readerFields: [ReaderField]

    public init(definition: JSONObject, finds: FindDefaults = FindDefaults(), readerFields: [ReaderField] = []) {
        self.definition = definition
        self.finds = finds
        self.readerFields = readerFields
    }

    public var name: String { definition["className"]?.string ?? "" }
}

/// A page for browsers, outside of the API's path. What its handler answers is text; see `CloudCall` for what it is told.
public struct CloudPage: Sendable {
    /// `GET` or `POST`; HEAD is answered as GET.
    public let method: String
    /// `/tema/:id`: a segment after a colon stands for any one.
    public let segments: [String]
    public let handler: CloudHandler
    /// `/*`: for browsers that ask for what nobody has.
    public var isForTheLost: Bool { segments == ["*"] }

    public init(_ method: String, _ path: String, handler: CloudHandler) {
        self.method = method
        segments = path.split(separator: "/").map(String.init)
        self.handler = handler
    }

    /// What the segments with a colon stand for; nil where it is another page's path.
    public func match(_ path: [String]) -> JSONObject? {
        guard path.count == segments.count, !isForTheLost else { return nil }
        var arguments = JSONObject()
        for (part, segment) in zip(path, segments) {
            if segment.hasPrefix(":") {
                arguments[String(segment.dropFirst())] = .string(part)
            } else if part != segment {
                return nil
            }
        }
        return arguments
    }
}

/// A mail of an application's own words.
public struct CloudMail: Sendable {
    public var to: String
    public var subject: String
    public var text: String
    public var html: String?
    /// The id of the user whose doing it is: each account causes a bounded number of mails.
    public var account: String?

    public init(to: String, subject: String, text: String, html: String? = nil, account: String? = nil) {
        self.to = to
        self.subject = subject
        self.text = text
        self.html = html
        self.account = account
    }
}
