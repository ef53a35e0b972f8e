import Postgres
import Schema
import Wire

/// A write as the database runs it: one statement, and what its answer means.
struct WritePlan {
    let table: ClassSchema
    let statement: Statement
    let parameters: [Parameter]
    /// Whose caches must forget something once the write stands.
    let accessChanges: [AccessChange]
    fileprivate let answered: [WriteSQL.Answered]
    fileprivate let told: JSONObject
    fileprivate let hidden: Set<String>
    /// Where the whole row begins; nil where nobody asks for it.
    fileprivate let firstOfRow: Int?
    fileprivate let write: Write
    fileprivate let fileURLPrefix: String
    fileprivate let tokenSeal: Seal?

    /// What the statement answered.
    ///
    /// - Throws: as if the object were not there where no row was written.
    func written(_ rows: Rows) throws -> Written {
        guard rows.count > 0 else { throw write.missing }
        var answers = told
        for (name, value) in try results(rows).members {
            if write.wasSeenByHooks, let before = write.original?[name], before == value { continue }
            answers[name] = value
        }
        for name in hidden { answers[name] = nil }
        let written = Written(
            write.kind, write.className, write.objectId,
            createdAt: Timestamp(milliseconds: rows.timestampMilliseconds(0, 0)),
            updatedAt: Timestamp(milliseconds: rows.timestampMilliseconds(0, 1)), answered: answers)
        written.showsCreation = !write.answersFieldsAlone
        written.hidden = hidden
        if let firstOfRow { write.result = result(rows, firstOfRow) }
        return written
    }

    /// The object as it has become, for hooks.
    private func result(_ rows: Rows, _ first: Int) -> [UInt8] {
        var columns: [ResultSet.Column] = []
        for column in table.columns {
            columns.append(ResultSet.Column(column, index: first + ResultSet.firstColumn + columns.count))
        }
        let set = ResultSet(
            className: table.name, columns: columns, relations: table.relations.map { ($0.label, $0.target) },
            rows: rows, first: first)
        set.tokenSeal = tokenSeal
        set.showsClassName = true
        var out = JSONWriter(room: 1024)
        ObjectWriter.write(set, 0, fileURLPrefix, to: &out)
        return out.finish()
    }

    /// What operators made of their fields, read from the returned row.
    private func results(_ rows: Rows) throws -> JSONObject {
        var result = JSONObject()
        for (index, answer) in answered.enumerated() {
            let column = index + WriteSQL.Made.firstAnswered
            guard !rows.isNull(0, column) else { continue }
            var out = JSONWriter()
            ObjectWriter.scalar(rows, 0, column, answer.type, fileURLPrefix, to: &out)
            let json = try JSONParser.parse(out.bytes)
            guard !answer.rest.isEmpty else {
                result[answer.field] = json
                continue
            }
            // Of a dotted operator only the touched key.
            var value = json
            for key in answer.rest {
                if case .object(let object) = value { value = object[key] ?? .null } else { value = .null }
            }
            var told: JSONObject
            if case .object(let object)? = result[answer.field] { told = object } else { told = JSONObject() }
            told.insert(value, at: answer.rest[...])
            result[answer.field] = .object(told)
        }
        return result
    }
}

extension Store {
    /// The one statement of a completed write.
    func plan(_ write: Write, _ completed: CompletedWrite) throws(ParseError) -> WritePlan {
        var builder = WriteSQL(table: completed.table, access: completed.access)
        builder.answersRow = write.needsResult && write.kind != .delete
        if write.wasSeenByHooks {
            // What a client changes in part; what a hook does is told by its path.
            let byClient = completed.changes.map(\.path).filter {
                $0.isDotted && !write.changedByHooks.contains($0.description)
            }
            builder.wholeFields = Set(byClient.map(\.field))
        }
        let relations = RelationChange.all(in: completed.changes)
        let made: WriteSQL.Made
        switch write.kind {
        case .create: made = try builder.insert(write.objectId, completed, relations, server: write.columns)
        case .update: made = try builder.update(write.objectId, completed, relations, server: write.columns)
        case .delete: made = builder.delete(write.objectId, rows: completed.rows)
        }
        let (statement, parameters) = made.sql.rendered()
        let hidden =
            options.saveAnswersShowProtectedFields ? [] : completed.access.protectedFields(of: completed.table).any
        return WritePlan(
            table: completed.table, statement: statement, parameters: parameters,
            accessChanges: AccessChange.changes(by: write, relations: relations), answered: made.answered,
            told: told(write, completed), hidden: hidden, firstOfRow: builder.answersRow ? made.firstOfRow : nil,
            write: write, fileURLPrefix: options.fileURLPrefix, tokenSeal: options.tokenSeal)
    }
}

extension Store {
    /// Defaults, the class's ACL, and what hooks have changed.
    private func told(_ write: Write, _ completed: CompletedWrite) -> JSONObject {
        var told = completed.answered
        for name in write.changedByHooks {
            if name == "ACL" {
                if case .set(let acl)? = completed.acl { told[name] = acl.json }
            } else if told[name] != nil {
                // The hook emptied the field, and the class has filled it.
                continue
            } else if let change = write.update.changes.first(where: { $0.path.description == name }) {
                told[name] = change.operation.json
            } else {
                // Taken back: the client's own value does not stand.
                told[name] = write.original?[name] ?? ["__op": "Delete"]
            }
        }
        return told
    }
}

/// What a write does to one Relation field.
struct RelationChange {
    let field: String
    /// Ids; one that is also removed does not stand here.
    let add: [String]
    let remove: [String]

    static func all(in changes: [Update.Change]) -> [RelationChange] {
        changes.compactMap { change in
            guard case .relation(let add, let remove) = change.operation, !add.isEmpty || !remove.isEmpty else {
                return nil
            }
            let gone = Set(remove.map(\.objectId))
            return RelationChange(
                field: change.path.field, add: add.map(\.objectId).filter { !gone.contains($0) }, remove: Array(gone))
        }
    }
}

extension JSONObject {
    /// Sets what lies at `path`, making the objects on the way.
    fileprivate mutating func insert(_ value: JSON, at path: ArraySlice<String>) {
        guard let head = path.first else { return }
        guard path.count > 1 else {
            self[head] = value
            return
        }
        var inner: JSONObject
        if case .object(let object)? = self[head] { inner = object } else { inner = JSONObject() }
        inner.insert(value, at: path.dropFirst())
        self[head] = .object(inner)
    }
}

/// Which field's value is taken.
enum UniqueViolation {
    static func error(_ error: PostgresError, of table: ClassSchema) -> any Error {
        switch error.constraint {
        case "_User_username": ParseError(202, "Account already exists for this username.")
        case "_User_email": ParseError(203, "Account already exists for this email address.")
        case "_User_authData_anonymous": ParseError(208, "this auth is already used")
        default: error
        }
    }
}
