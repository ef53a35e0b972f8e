import Core
import Postgres
import Wire

/// The catalogue of classes as one worker reads and changes it.
///
/// Changes of one class run one after another, whichever node makes them, and each reads the class again behind the
/// one before: two clients that add the same field at once thus have one outcome. Changes of different classes don't
/// wait for each other.
public final class Catalogue {
    /// The channel on which nodes tell each other that a class has changed: its version, a space, its name.
    public static let channel = "hermes_schema"

    public let database: Database
    public let cache: SchemaCache
    /// Protected fields that the configuration adds, by class.
    let serverProtectedFields: [String: JSONObject]
    let allowsCustomObjectIds: Bool
    private let checking: SharedQuestion<SchemaSnapshot>
    private let reading: SharedQuestion<SchemaSnapshot>
    /// Changes of one class that come from this worker wait here rather than on connections.
    let turns: Turns
    private var growths: [ObjectIdentifier: Growth] = [:]

    public init(
        database: Database, cache: SchemaCache, serverProtectedFields: [String: JSONObject] = [:],
        allowsCustomObjectIds: Bool = false
    ) {
        self.database = database
        self.cache = cache
        self.serverProtectedFields = serverProtectedFields
        self.allowsCustomObjectIds = allowsCustomObjectIds
        checking = SharedQuestion(loop: database.loop)
        reading = SharedQuestion(loop: database.loop)
        turns = Turns(loop: database.loop)
    }

    // MARK: reading

    /// Follows the changes that other nodes make.
    public func follow() {
        let cache = cache
        database.listen(channel: Catalogue.channel) { payload in
            let parts = payload.split(separator: " ", maxSplits: 1)
            if parts.count == 2, let version = Int64(parts[0]) { cache.heard(of: String(parts[1]), version: version) }
        } onConnected: {
            cache.missedSome()
        }
    }

    /// The schema: the cached one while it is sure that no other node has changed it, else the database's. All who
    /// must ask the database at one moment share one question.
    public func snapshot() async throws -> SchemaSnapshot {
        if let known { return known }
        return try await checking.answer { [self] in
            if let known { return known }
            if let cached = cache.current {
                let fingerprint = try await database.read(Catalogue.readFingerprint, []).int(0, 0)
                if fingerprint == cached.fingerprint { return cached }
            }
            return try await reload()
        }
    }

    /// Reads the schema from the database into the cache.
    @discardableResult
    public func reload() async throws -> SchemaSnapshot {
        try await reading.answer { [self] in try await read() }
    }

    /// The cached schema, while nobody can have changed it unheard.
    private var known: SchemaSnapshot? { database.isListening ? cache.current : nil }

    /// A class with its indexes, as `CatalogueCoding` reads them; `s` is its row.
    static let entry = """
        json_build_object('class', s."schema", 'indexes', (
            SELECT json_agg(json_build_array(i."name", i."definition", i."relation", i."isUnique", i."fields") ORDER BY i."id")
            FROM "_Index" i WHERE i."className" = s."className" AND i."name" IS NOT NULL))
        """
    // A version belongs to one change only: the set of them tells the state.
    private static let readFingerprint = Statement(
        "SELECT coalesce(bit_xor(hashint8extended(version, 0)), 0) FROM \"_SCHEMA\"")
    private static let readAll = Statement(
        """
        SELECT s."className", s.version, hashint8extended(s.version, 0),
            CASE WHEN known.version IS DISTINCT FROM s.version THEN \(entry) END
        FROM "_SCHEMA" s
        LEFT JOIN unnest($1::text[], $2::bigint[]) AS known ("className", version) ON known."className" = s."className"
        """)

    /// Reads what differs from what is known.
    private func read() async throws -> SchemaSnapshot {
        let (known, generation) = cache.beginning
        let names = Array(known.classes.keys)
        let rows = try await database.read(
            Catalogue.readAll, [.textArray(names), .intArray(names.map { known[$0]?.version ?? 0 })])
        var classes: [String: ClassSchema] = [:]
        for row in 0..<rows.count {
            let name = rows.string(row, 0)
            if rows.isNull(row, 3) {
                classes[name] = known[name]
            } else {
                classes[name] = try decode(
                    rows.json(row, 3), name, version: rows.int(row, 1), stamp: rows.int(row, 2))
            }
        }
        let snapshot = SchemaSnapshot(classes: classes)
        cache.install(snapshot, generation: generation)
        return snapshot
    }

    func decode(
        _ json: UnsafeRawBufferPointer, _ className: String, version: Int64, stamp: Int64
    ) throws -> ClassSchema {
        try CatalogueCoding.decode(
            try JSONParser.parse(json), name: className, version: version, stamp: stamp,
            serverProtectedFields: serverProtectedFields[className])
    }

    // MARK: within a transaction

    /// What one open transaction has made of the schema; nobody else sees it.
    private final class Growth {
        weak var transaction: Transaction?
        var changes: [String: SchemaChange] = [:]
        /// Some of it may have been undone: the database knows.
        var isUncertain = false

        init(_ transaction: Transaction) { self.transaction = transaction }
    }

    /// The schema as an open transaction sees it: with what it has changed itself. For nil: `snapshot()`.
    public func snapshot(in transaction: Transaction?) async throws -> SchemaSnapshot {
        let others = try await snapshot()
        guard let transaction, let growth = growth(of: transaction) else { return others }
        if growth.isUncertain {
            for name in growth.changes.keys {
                let existing = try await find(name, in: transaction)
                growth.changes[name] = SchemaChange(
                    className: name, version: existing?.version ?? 0, schema: existing)
            }
            growth.isUncertain = false
        }
        return others.replacing(Array(growth.changes.values))
    }

    /// Call it once the transaction's COMMIT has succeeded and before that is answered to anybody: what it changed of
    /// the schema is then what this node's workers go by. Does nothing for one that changed nothing of it. Other nodes
    /// hear from PostgreSQL.
    public func committed(_ transaction: Transaction) {
        guard let growth = growth(of: transaction) else { return }
        growths[ObjectIdentifier(transaction)] = nil
        if growth.isUncertain { cache.missedSome() } else { cache.apply(Array(growth.changes.values)) }
    }

    /// Call it when the transaction was rolled back to a savepoint: what it changed of the schema may be undone.
    public func undone(in transaction: Transaction) { growth(of: transaction)?.isUncertain = true }

    func record(_ change: SchemaChange, in transaction: Transaction) {
        if let growth = growth(of: transaction) {
            growth.changes[change.className] = change
        } else {
            // Those that were rolled back leave theirs behind.
            growths = growths.filter { $0.value.transaction != nil }
            let growth = Growth(transaction)
            growth.changes[change.className] = change
            growths[ObjectIdentifier(transaction)] = growth
        }
    }

    private func growth(of transaction: Transaction) -> Growth? {
        // Another transaction may have had this address before.
        guard let growth = growths[ObjectIdentifier(transaction)], growth.transaction === transaction else {
            return nil
        }
        return growth
    }
}
