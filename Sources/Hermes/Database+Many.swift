internal import Cloud
internal import Wire

extension Database {
    /// The same, past the application's own hooks and defaults: what its rules themselves write. The server's own rules
    /// hold all the same.
    public var pastHooks: Database {
        var database = self
        database.asksHooks = false
        return database
    }

    // MARK: many at once

    // With the master's rights (119 else), past the application's hooks, and not for the server's own classes.

    /// Makes objects by one statement, 10,000 at most.
    ///
    /// - Parameters:
    ///   - records: the objects, all of one class.
    ///   - skippingDuplicates: leaves out those that a unique index refuses; else one of them is 137, and none is made.
    /// - Returns: how many were made.
    /// - Throws: 111 for a value of another type than its field's, 105 for a field that the class has not.
    @discardableResult
    public func createAll<Fields>(_ records: [Record<Fields>], skippingDuplicates: Bool = false) async throws -> Int {
        guard let className = records.first?.className else { return 0 }
        return try await many(
            "CREATEALL", className,
            [
                ("objects", .array(records.map { .object($0.changes) })),
                ("skippingDuplicates", .bool(skippingDuplicates)),
            ])
    }

    /// What came of making an object for each one that a query finds.
    public struct MadeForEach: Sendable {
        /// Objects that the query found.
        public let found: Int
        /// Objects that were made: one for each, without those that a unique index refused.
        public let made: Int
        /// The greatest objectId that was found; nil where nothing was.
        public let last: String?
    }

    /// Makes an object for each one that a query finds, by one statement: all alike, but for one field. None of them
    /// leaves the database, so that it is the quickest way to tell many.
    ///
    ///     let page = Query(Persona.self).where(\.avisos == true && Name("objectId") > .string(last))
    ///         .order(.ascending(\.objectId)).limit(2000)
    ///     let told = try await rules.createAll(notice, forEach: page, setting: \.para, to: \.usuario, isOwned: true)
    ///
    /// - Parameters:
    ///   - record: what they have in common.
    ///   - query: its limit counts, 10,000 at most, and its order.
    ///   - field: what is different in each of them.
    ///   - source: where the found object has the value for that; one that has none brings nothing.
    ///   - isOwned: the user whom that value names may read and change the new object, beside those whom its ACL names.
    ///   - skippingDuplicates: leaves out those that a unique index refuses; else one of them is 137, and none is made.
    /// - Throws: 111 for a value of another type than its field's, 105 for a field that the class has not.
    @discardableResult
    public func createAll<Fields, Source, V>(
        _ record: Record<Fields>, forEach query: Query<Source>, setting field: KeyPath<Fields, V?>,
        to source: KeyPath<Source, V?>, isOwned: Bool = false, skippingDuplicates: Bool = false
    ) async throws -> MadeForEach {
        let body = JSONObject([
            ("className", .string(record.className)), ("object", .object(record.changes)),
            ("query", .object(query.asValue)), ("field", .string(Fields.name(field))),
            ("source", .string(Source.name(source))), ("isOwned", .bool(isOwned)),
            ("skippingDuplicates", .bool(skippingDuplicates)),
        ])
        let answer = try await send("CREATEFOREACH", [], body).object
        return MadeForEach(
            found: Int(answer?["found"]?.number ?? 0), made: Int(answer?["made"]?.number ?? 0),
            last: answer?["last"]?.string)
    }

    /// Changes all objects that a query finds, whatever its limit and order, in the same way, by one statement.
    ///
    ///     try await t.updateAll(Query(Lectura.self).where(\.conversacion == id)) { $0.increment(\.noLeidos) }
    ///
    /// - Parameters:
    ///   - query: which objects.
    ///   - readable: who may read them from now on, beside those who do.
    ///   - unreadable: who may read them no more. Objects that everybody may read stay so.
    ///   - change: makes the change, on an object of which nothing is known.
    /// - Returns: how many there were.
    @discardableResult
    public func updateAll<Fields>(
        _ query: Query<Fields>, readable: [ACL.Subject] = [], unreadable: [ACL.Subject] = [],
        _ change: (inout Record<Fields>) -> Void = { _ in }
    ) async throws -> Int {
        // As of an object that is there, so that a field can be taken away.
        var record = Record<Fields>(
            className: query.className, known: JSONObject([("objectId", "")]), changes: JSONObject())
        change(&record)
        return try await many(
            "UPDATEALL", query.className,
            [
                ("where", query.json["where"] ?? [:]), ("changes", .object(record.changes)),
                ("allowed", .array(readable.map { .string($0.name) })),
                ("forbidden", .array(unreadable.map { .string($0.name) })),
            ])
    }

    /// Deletes all objects that a query finds, whatever its limit, by one statement.
    ///
    /// - Returns: how many there were.
    @discardableResult
    public func deleteAll<Fields>(_ query: Query<Fields>) async throws -> Int {
        try await many("DELETEALL", query.className, [("where", query.json["where"] ?? [:])])
    }

    private func many(_ method: String, _ className: String, _ body: [(key: String, value: JSON)]) async throws -> Int {
        let answer = try await send(method, [], JSONObject([("className", .string(className))] + body))
        return Int(answer.object?["count"]?.number ?? 0)
    }

    // MARK: one alone

    /// Reads an object and holds it until the transaction ends: whoever else wants to change it waits.
    ///
    /// Whoever holds several takes them in one order everywhere, or two transactions wait for each other.
    ///
    /// - Throws: 101 where there is none; 141 outside of a transaction, 119 without the master's rights.
    public func lock<Fields>(_ pointer: Pointer<Fields>) async throws -> Record<Fields> {
        let body = JSONObject([
            ("className", .string(pointer.className)), ("objectId", .string(pointer.objectId)),
        ])
        return Record(
            className: pointer.className, known: try await send("LOCK", [], body).object ?? JSONObject())
    }

    /// Holds objects until the transaction ends, by one statement and in one order for all transactions: whoever else
    /// wants to change one of them waits.
    ///
    /// - Returns: how many of them there are.
    /// - Throws: 141 outside of a transaction, 119 without the master's rights.
    public func lock<Fields: ParseObject>(_ pointers: Set<Pointer<Fields>>) async throws -> Int {
        try await many(
            "LOCKALL", Fields.className, [("objectIds", .array(pointers.map { .string($0.objectId) }))])
    }

    /// Holds a name of one's own until the transaction ends: whoever else wants to hold the same one waits. For what is
    /// to be made once and is not there yet.
    ///
    /// - Throws: 141 outside of a transaction, 119 without the master's rights.
    public func lock(name: String) async throws {
        try await send("LOCKNAME", [], JSONObject([("name", .string(name))]))
    }

    // MARK: pages

    /// One page of what a query finds, and where the next begins.
    public struct Found<Fields: ParseObject>: Sendable {
        public let objects: [Record<Fields>]
        /// For the next page; nil on the last.
        public let cursor: String?
    }

    /// The page that begins at a cursor; nil: the first. The query's limit says how long pages are. What is made and
    /// deleted in between moves none, and each costs what the first does.
    ///
    /// - Throws: 102 for a cursor that was not told for this order, for a query with `skip`, and for an order by anything
    ///   but plain fields.
    public func page<Fields>(_ query: Query<Fields>, from cursor: String? = nil) async throws -> Found<Fields> {
        var parameters = query.json
        parameters["cursor"] = .string(cursor ?? "")
        let body = try await send("GET", ["classes", query.className], parameters)
        let objects = (body.object?["results"]?.array ?? []).compactMap { json in
            json.object.map { Record<Fields>(className: query.className, known: $0) }
        }
        return Found(objects: objects, cursor: body.object?["cursor"]?.string)
    }

    // MARK: mail and presence

    /// Sends a mail through the queue: kept or undone with the transaction, and sent once it stands, tried again for
    /// two days until a server takes it. Takes the master's rights.
    ///
    /// - Parameters:
    ///   - address: one alone, `ana@example.com`. To one that is none nothing is sent.
    ///   - subject: one line; line breaks in it become blanks.
    ///   - text: the plain text.
    ///   - html: beside the text; nil: there is only text.
    ///   - user: whose doing it is. Past the options `email.hourlyPerAccount` and `email.hourlyPerAddress` mails are
    ///     dropped.
    /// - Throws: 1 where the server has no `email.smtp`.
    public func sendMail(
        to address: String, subject: String, text: String, html: String? = nil, onBehalfOf user: Pointer<User>? = nil
    ) async throws {
        var body = JSONObject([
            ("to", .string(address)), ("subject", .string(subject)), ("text", .string(text)),
        ])
        if let html { body["html"] = .string(html) }
        if let user { body["account"] = .string(user.objectId) }
        try await send("MAIL", [], body)
    }

    /// Which of these users have a session that is open still, with which a request came within that time; to ten
    /// seconds. Takes the master's rights, and ``Hermes/notesPresence()``.
    public func present<Fields>(_ users: [Pointer<Fields>], within time: Duration) async throws -> Set<String> {
        let body = JSONObject([
            ("users", .array(users.map { .string($0.objectId) })), ("seconds", .number(time.seconds)),
        ])
        let answer = try await send("PRESENT", [], body)
        return Set((answer.object?["users"]?.array ?? []).compactMap(\.string))
    }
}
