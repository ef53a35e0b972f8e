internal import Wire

extension Database {
    // MARK: reading

    /// The objects that a query finds, 100 at most unless it has a limit of its own.
    public func find<Fields>(_ query: Query<Fields>) async throws -> [Record<Fields>] {
        let body = try await send("GET", ["classes", query.className], query.json)
        return (body.object?["results"]?.array ?? []).compactMap { json in
            json.object.map { Record(className: query.className, known: $0) }
        }
    }

    /// The first object that a query finds; nil where there is none.
    public func first<Fields>(_ query: Query<Fields>) async throws -> Record<Fields>? {
        try await find(query.limit(1)).first
    }

    /// How many objects a query finds, whatever its limit.
    public func count<Fields>(_ query: Query<Fields>) async throws -> Int {
        var json = query.json
        json["count"] = 1
        json["limit"] = 0
        let body = try await send("GET", ["classes", query.className], json)
        return Int(body.object?["count"]?.number ?? 0)
    }

    /// An object by its id, with the objects of the pointers that `include` names.
    ///
    /// - Throws: 101 where there is none that may be read.
    public func get<Fields>(
        _ type: Fields.Type, _ objectId: String, include: [String] = []
    ) async throws -> Record<Fields> {
        try await fetch(Pointer<Fields>(objectId), include: include)
    }

    /// The same by the name of the class.
    public func get(_ className: String, _ objectId: String, include: [String] = []) async throws -> Object {
        try await fetch(AnyPointer(className, objectId), include: include)
    }

    /// The object that a pointer leads to.
    ///
    /// - Throws: 101 where there is none that may be read.
    public func fetch<Fields>(_ pointer: Pointer<Fields>, include: [String] = []) async throws -> Record<Fields> {
        var parameters = JSONObject()
        if !include.isEmpty { parameters["include"] = .string(include.joined(separator: ",")) }
        let body = try await send("GET", ["classes", pointer.className, pointer.objectId], parameters)
        return Record(className: pointer.className, known: body.object ?? JSONObject())
    }

    /// All objects that a query finds, however many, in the order of their ids: a page is read when the one before is
    /// used up (200 objects, or `page`), and begins behind its last object. So each object that is there all the while
    /// comes once, whatever others are made and deleted meanwhile. The query's own limit, skip and order have no
    /// meaning here.
    ///
    ///     for try await tema in request.asMaster.all(Query(Tema.self)) { … }
    public func all<Fields>(_ query: Query<Fields>, page: Int = 200) -> RecordSequence<Fields> {
        RecordSequence(database: self, query: query, page: max(1, page))
    }

    // MARK: writing

    /// Saves what was changed, or makes the object where it is new; answers it as it then stands, with what the server
    /// and hooks have set.
    @discardableResult
    public func save<Fields>(_ record: Record<Fields>) async throws -> Record<Fields> {
        let answer: JSON
        if let id = record.known["objectId"]?.string {
            answer = try await send("PUT", ["classes", record.className, id], record.changes)
        } else {
            answer = try await send("POST", ["classes", record.className], record.changes)
        }
        return record.saved(answer.object ?? JSONObject())
    }

    /// Makes a new object of what a description holds: `save(Tema(Tema: "Roma"))`.
    @discardableResult
    public func save<Fields: ParseObject>(_ fields: Fields) async throws -> Record<Fields> {
        try await save(Record(fields))
    }

    /// Saves all of them or, where one cannot be, none: in a transaction.
    @discardableResult
    public func saveAll<Fields>(_ records: [Record<Fields>]) async throws -> [Record<Fields>] {
        try await transaction { database in
            var saved: [Record<Fields>] = []
            for record in records { saved.append(try await database.save(record)) }
            return saved
        }
    }

    /// Deletes an object.
    ///
    /// - Throws: 101 where there is none that may be deleted.
    public func delete<Fields>(_ pointer: Pointer<Fields>) async throws {
        try await send("DELETE", ["classes", pointer.className, pointer.objectId])
    }

    /// The same by the object itself.
    public func delete<Fields>(_ record: Record<Fields>) async throws { try await delete(try record.pointer) }

    /// Deletes all of them or none: in a transaction.
    public func deleteAll<Fields>(_ records: [Record<Fields>]) async throws {
        try await transaction { database in for record in records { try await database.delete(record) } }
    }
}

/// All objects that a query finds: see ``Database/all(_:page:)``.
public struct RecordSequence<Fields: ParseObject>: AsyncSequence, Sendable {
    fileprivate let database: Database
    fileprivate let query: Query<Fields>
    fileprivate let page: Int

    public func makeAsyncIterator() -> Iterator {
        Iterator(database: database, query: query.order(.ascending("objectId")).skip(0).limit(page), page: page)
    }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let database: Database
        fileprivate let query: Query<Fields>
        fileprivate let page: Int
        private var read: [Record<Fields>] = []
        private var next = 0
        private var isLast = false

        fileprivate init(database: Database, query: Query<Fields>, page: Int) {
            self.database = database
            self.query = query
            self.page = page
        }

        public mutating func next() async throws -> Record<Fields>? {
            if next == read.count {
                guard !isLast else { return nil }
                var query = query
                if let last = read.last?.objectId { query = query.where(Name("objectId") > .string(last)) }
                read = try await database.find(query)
                next = 0
                // The server may have cut the page to its own limit.
                isLast = read.isEmpty
                guard !read.isEmpty else { return nil }
            }
            defer { next += 1 }
            return read[next]
        }
    }
}
