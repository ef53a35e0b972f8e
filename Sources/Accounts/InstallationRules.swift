import Postgres
import Store
import Wire

/// What holds for every write to `_Installation`: a device registers again and again, under its installation's id or
/// its push service's token, and is to stay one object.
struct InstallationRules: Sendable {
    let options: InstallationOptions

    var hooks: [Hook] {
        [Hook("installations", on: "_Installation", .beforeSave, needs: .transaction) { try await before($0) }]
    }

    /// An installation as far as the rules look at it.
    struct Row: Equatable {
        var objectId: String
        var installationId: String?
        var deviceToken: String?
        var deviceType: String?
        var appIdentifier: String?
    }

    /// What a registration says.
    struct Registration {
        /// The object that it names; nil for a POST.
        var objectId: String?
        /// Whether the body says so as well.
        var repeatsObjectId = false
        /// Of the body.
        var ownInstallationId: String?
        /// Of the body, else of the request's header.
        var installationId: String?
        var deviceToken: String?
        var deviceType: String?
        var appIdentifier: String?
    }

    /// What becomes of a registration.
    struct Outcome: Equatable {
        /// The installation that is changed; nil: a new one is made.
        var target: String?
        /// Those that it takes the place of.
        var losers: [Loser] = []
    }

    struct Loser: Equatable {
        var objectId: String
        /// The field that goes where losers stay (`duplicateDeviceTokenAction: "update"`).
        var field: String
    }

    private func before(_ write: Write) async throws {
        lowercase(write)
        let asked = registration(write)
        if write.isNew, asked.deviceToken == nil, asked.installationId == nil {
            throw ParseError(
                135, "at least one ID field (deviceToken, installationId) must be specified in this operation")
        }
        if !write.isNew, asked.deviceToken == nil, asked.installationId == nil, asked.deviceType == nil { return }
        let rows = try await matching(asked, write.operation)
        let outcome = try InstallationRules.outcome(asked, rows, options)
        for loser in outcome.losers { try await remove(loser, write) }
        guard let target = outcome.target else { return }
        if write.isNew || target != write.objectId { write.becomeUpdate(of: target) }
    }

    /// Ids are compared, so they are kept in one case; of tokens only those that have Apple's length.
    private func lowercase(_ write: Write) {
        if case .string(let id)? = write.value("installationId") {
            write.set("installationId", .string(id.lowercased()))
        }
        if case .string(let token)? = write.value("deviceToken"), token.utf8.count == 64 {
            write.set("deviceToken", .string(token.lowercased()))
        }
    }

    private func registration(_ write: Write) -> Registration {
        func text(_ field: String) -> String? {
            if case .string(let text)? = write.value(field), !text.isEmpty { text } else { nil }
        }
        var asked = Registration(
            objectId: write.isNew ? nil : write.objectId, ownInstallationId: text("installationId"),
            deviceToken: text("deviceToken"), deviceType: text("deviceType"), appIdentifier: text("appIdentifier"))
        asked.repeatsObjectId = !write.isNew && write.update.objectId == .string(write.objectId)
        asked.installationId =
            asked.ownInstallationId ?? (write.viewer.isMaster ? nil : write.viewer.installationId?.lowercased())
        return asked
    }

    private static let lock: Statement = "SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))"
    private static let find = Statement(
        """
        SELECT "objectId", "installationId", "deviceToken", "deviceType", "appIdentifier" FROM "_Installation"
        WHERE "objectId" = $1::text OR "installationId" = $2::text OR "deviceToken" = $3::text
        ORDER BY "createdAt", "objectId" FOR UPDATE
        """)

    /// The installations that the registration may mean. Two registrations of one device wait for each other here:
    /// what the first one makes, the second one finds.
    private func matching(_ asked: Registration, _ operation: Operation) async throws -> [Row] {
        let keys = [asked.deviceToken.map { "token:" + $0 }, asked.installationId.map { "installation:" + $0 }]
        for key in keys.compactMap({ $0 }).sorted() {
            _ = try await operation.read(InstallationRules.lock, [.text(key)])
        }
        let parameters = [asked.objectId, asked.installationId, asked.deviceToken].map { text -> Parameter in
            text.map { .text($0) } ?? .null
        }
        let rows = try await operation.read(InstallationRules.find, parameters)
        return (0..<rows.count).map { row in
            Row(
                objectId: rows.string(row, 0), installationId: rows.optionalString(row, 1),
                deviceToken: rows.optionalString(row, 2), deviceType: rows.optionalString(row, 3),
                appIdentifier: rows.optionalString(row, 4))
        }
    }

    /// Which installation a registration means, and which ones it takes the place of.
    ///
    /// - Throws: 101 for an object that is not there; 132 where a token alone means several; 135 for a new one without
    ///   a device type; 136 for a change of what cannot be changed.
    static func outcome(
        _ asked: Registration, _ rows: [Row], _ options: InstallationOptions
    ) throws(ParseError) -> Outcome {
        let byToken = rows.filter { asked.deviceToken != nil && $0.deviceToken == asked.deviceToken }
        var match: Row?
        if let objectId = asked.objectId {
            guard let found = rows.first(where: { $0.objectId == objectId }) else {
                throw ParseError(101, "Object not found for update.")
            }
            try checkUnchanged(found, asked)
            match = found
        }
        if let id = asked.installationId, let found = rows.first(where: { $0.installationId == id }) { match = found }
        guard let match else { return try unmatched(asked, byToken) }
        if byToken.count == 1, let only = byToken.first, only.installationId == nil, only.objectId != match.objectId {
            // The device was known by its id and, as another object, by its token: the two are one.
            switch options.mergePriority {
            case .deviceToken:
                return Outcome(
                    target: only.objectId, losers: [Loser(objectId: match.objectId, field: "installationId")])
            case .installationId:
                return Outcome(
                    target: match.objectId, losers: [Loser(objectId: only.objectId, field: "deviceToken")])
            }
        }
        var outcome = Outcome(target: match.objectId)
        if asked.deviceToken != nil, match.deviceToken != asked.deviceToken {
            // Who tells neither id in the body takes the token from nobody: as in the reference.
            if asked.ownInstallationId != nil {
                outcome.losers = losers(byToken.filter { $0.installationId != asked.ownInstallationId }, asked)
            } else if asked.repeatsObjectId {
                outcome.losers = losers(byToken.filter { $0.objectId != match.objectId }, asked)
            }
        }
        return outcome
    }

    private static func unmatched(_ asked: Registration, _ byToken: [Row]) throws(ParseError) -> Outcome {
        guard asked.deviceType != nil else {
            throw ParseError(135, "deviceType must be specified in this operation")
        }
        if byToken.count == 1, let only = byToken.first, only.installationId == nil || asked.installationId == nil {
            return Outcome(target: only.objectId)
        }
        guard !byToken.isEmpty else { return Outcome() }
        guard asked.ownInstallationId != nil else {
            throw ParseError(132, "Must specify installationId when deviceToken matches multiple Installation objects")
        }
        return Outcome(losers: losers(byToken.filter { $0.installationId != asked.installationId }, asked))
    }

    /// Applications on one device share its token: only those of the same application give way.
    private static func losers(_ rows: [Row], _ asked: Registration) -> [Loser] {
        rows.filter { asked.appIdentifier == nil || $0.appIdentifier == asked.appIdentifier }
            .map { Loser(objectId: $0.objectId, field: "deviceToken") }
    }

    private static func checkUnchanged(_ row: Row, _ asked: Registration) throws(ParseError) {
        if let id = asked.ownInstallationId, let known = row.installationId, id != known {
            throw ParseError(136, "installationId may not be changed in this operation")
        }
        if let token = asked.deviceToken, let known = row.deviceToken, token != known,
            asked.ownInstallationId == nil, row.installationId == nil
        {
            throw ParseError(136, "deviceToken may not be changed in this operation")
        }
        if let type = asked.deviceType, let known = row.deviceType, type != known {
            throw ParseError(136, "deviceType may not be changed in this operation")
        }
    }

    /// By nobody's rights, unless the configuration asks that the caller may do it
    /// (`duplicateDeviceTokenActionEnforceAuth`); then what it may not write stays as it is.
    private func remove(_ loser: Loser, _ write: Write) async throws {
        let viewer = options.removesByCallersRights ? write.viewer : nil
        switch options.duplicateAction {
        case .delete:
            _ = try await write.operation.deleteByRule(
                "_Installation", matching: [("objectId", loser.objectId)], as: viewer)
        case .update:
            try await write.operation.clearByRule("_Installation", loser.objectId, field: loser.field, as: viewer)
        }
    }
}

/// What the configuration says of installations (`installation`).
public struct InstallationOptions: Sendable {
    public enum Action: Sendable { case delete, update }
    public enum Priority: Sendable { case deviceToken, installationId }
    /// What becomes of an installation whose token another one registers with.
    public var duplicateAction = Action.delete
    /// Only what the caller itself may write gives way.
    public var removesByCallersRights = false
    /// Of two installations, one with the id and one with the token, which one stays.
    public var mergePriority = Priority.deviceToken

    public init() {}
}
