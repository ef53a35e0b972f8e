internal import Cloud

// MARK: objects, by their descriptions

extension Hermes {
    /// Runs before objects of a class are made or changed: may change the object, or throw to refuse.
    ///
    /// Who may not write the object has been refused before; types, required fields and defaults are looked at after.
    ///
    /// - Parameters:
    ///   - type: which objects, by the description of their class.
    ///   - place: `.transaction`: what the hook reads and writes is kept or undone with the save.
    ///   - timeLimit: how long it may take; nil: as the option `cloudTimeLimit` says, 10 s.
    ///   - body: what it does.
    public func beforeSave<Fields: ParseObject>(
        _ type: Fields.Type, in place: HookPlace = .outside, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (SaveRequest<Fields>) async throws -> Void
    ) {
        beforeSave(Fields.className, place, timeLimit, body)
    }

    /// Runs when objects of a class have been made or changed, behind the commit. The client waits for it; its errors
    /// are only logged.
    public func afterSave<Fields: ParseObject>(
        _ type: Fields.Type, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (SaveRequest<Fields>) async throws -> Void
    ) {
        afterSave(Fields.className, timeLimit, body)
    }

    /// Runs before objects of a class are deleted: may throw to refuse.
    public func beforeDelete<Fields: ParseObject>(
        _ type: Fields.Type, in place: HookPlace = .outside, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (DeleteRequest<Fields>) async throws -> Void
    ) {
        delete(.beforeDelete, Fields.className, place, timeLimit, body)
    }

    /// Runs when objects of a class have been deleted, behind the commit. Its errors reach the client, though the object
    /// is gone.
    public func afterDelete<Fields: ParseObject>(
        _ type: Fields.Type, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (DeleteRequest<Fields>) async throws -> Void
    ) {
        delete(.afterDelete, Fields.className, .outside, timeLimit, body)
    }

    /// Runs before objects of a class are looked for, also by queries of other classes that include them or ask for them
    /// in a subquery: may change the query, bring objects instead, or throw to refuse.
    public func beforeFind<Fields: ParseObject>(
        _ type: Fields.Type, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (FindRequest<Fields>) async throws -> Void
    ) {
        find(.beforeFind, Fields.className, timeLimit, body)
    }

    /// Runs when objects of a class have been found, also by queries of other classes that include them: may change or
    /// leave out what the client gets.
    public func afterFind<Fields: ParseObject>(
        _ type: Fields.Type, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (FoundRequest<Fields>) async throws -> Void
    ) {
        found(Fields.className, timeLimit, body)
    }

    /// Runs before somebody begins to listen to a query: may change it, or throw to refuse. Called by servers that have
    /// LiveQuery.
    public func beforeSubscribe<Fields: ParseObject>(
        _ type: Fields.Type, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (FindRequest<Fields>) async throws -> Void
    ) {
        find(.beforeSubscribe, Fields.className, timeLimit, body)
    }

    /// Runs for each change of an object that somebody who listens is to be told, before he is told: may change what he
    /// is sent, or throw to keep it from him. Called by servers that have LiveQuery.
    public func afterEvent<Fields: ParseObject>(
        _ type: Fields.Type, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (EventRequest<Fields>) async throws -> Void
    ) {
        event(Fields.className, timeLimit, body)
    }
}

// MARK: objects, by the names of classes

extension Hermes {
    /// `beforeSave` by the name of the class: objects are reached by their fields' names.
    public func beforeSave(
        _ className: String, in place: HookPlace = .outside, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (SaveRequest<Untyped>) async throws -> Void
    ) {
        beforeSave(className, place, timeLimit, body)
    }

    /// `afterSave` by the name of the class: objects are reached by their fields' names.
    public func afterSave(
        _ className: String, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (SaveRequest<Untyped>) async throws -> Void
    ) {
        afterSave(className, timeLimit, body)
    }

    /// `beforeDelete` by the name of the class: objects are reached by their fields' names.
    public func beforeDelete(
        _ className: String, in place: HookPlace = .outside, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (DeleteRequest<Untyped>) async throws -> Void
    ) {
        delete(.beforeDelete, className, place, timeLimit, body)
    }

    /// `afterDelete` by the name of the class: objects are reached by their fields' names.
    public func afterDelete(
        _ className: String, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (DeleteRequest<Untyped>) async throws -> Void
    ) {
        delete(.afterDelete, className, .outside, timeLimit, body)
    }

    /// `beforeFind` by the name of the class: objects are reached by their fields' names.
    public func beforeFind(
        _ className: String, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (FindRequest<Untyped>) async throws -> Void
    ) {
        find(.beforeFind, className, timeLimit, body)
    }

    /// `afterFind` by the name of the class: objects are reached by their fields' names.
    public func afterFind(
        _ className: String, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (FoundRequest<Untyped>) async throws -> Void
    ) {
        found(className, timeLimit, body)
    }

    /// `beforeSubscribe` by the name of the class: objects are reached by their fields' names.
    public func beforeSubscribe(
        _ className: String, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (FindRequest<Untyped>) async throws -> Void
    ) {
        find(.beforeSubscribe, className, timeLimit, body)
    }

    /// `afterEvent` by the name of the class: objects are reached by their fields' names.
    public func afterEvent(
        _ className: String, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (EventRequest<Untyped>) async throws -> Void
    ) {
        event(className, timeLimit, body)
    }
}

// MARK: sessions

extension Hermes {
    /// Runs when somebody has given the right password, before there is a session: may throw to refuse.
    public func beforeLogin(
        timeLimit: Duration? = nil, _ body: @escaping @Sendable (LoginRequest<User>) async throws -> Void
    ) {
        login(.beforeLogin, timeLimit, body)
    }

    /// The same for an application's own description of its users.
    public func beforeLogin<Fields: ParseObject>(
        as type: Fields.Type, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (LoginRequest<Fields>) async throws -> Void
    ) {
        login(.beforeLogin, timeLimit, body)
    }

    /// Runs when somebody has logged in.
    public func afterLogin(
        timeLimit: Duration? = nil, _ body: @escaping @Sendable (LoginRequest<User>) async throws -> Void
    ) {
        login(.afterLogin, timeLimit, body)
    }

    /// The same for an application's own description of its users.
    public func afterLogin<Fields: ParseObject>(
        as type: Fields.Type, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (LoginRequest<Fields>) async throws -> Void
    ) {
        login(.afterLogin, timeLimit, body)
    }

    /// Runs when somebody has logged out.
    public func afterLogout(
        timeLimit: Duration? = nil, _ body: @escaping @Sendable (LogoutRequest) async throws -> Void
    ) {
        listen(.afterLogout, Session.className, .outside, timeLimit) { call, name in
            let request = LogoutRequest(call, name: name)
            try await body(request)
            return request.details.answer()
        }
    }

    /// Runs before the mail goes out with which a password can be set anew: may throw to refuse.
    public func beforePasswordResetRequest(
        timeLimit: Duration? = nil, _ body: @escaping @Sendable (LoginRequest<User>) async throws -> Void
    ) {
        login(.beforePasswordResetRequest, timeLimit, body)
    }

    /// The same for an application's own description of its users.
    public func beforePasswordResetRequest<Fields: ParseObject>(
        as type: Fields.Type, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (LoginRequest<Fields>) async throws -> Void
    ) {
        login(.beforePasswordResetRequest, timeLimit, body)
    }

    /// Runs when an account is exported, by its user or an operator: what it returns goes with the export, as one entry
    /// of `application`. nil adds nothing.
    ///
    /// Behind an account's deletion there is `beforeDelete` of ``User``: it runs in the deletion's transaction.
    public func accountExport(
        timeLimit: Duration? = nil, _ body: @escaping @Sendable (LoginRequest<User>) async throws -> Value?
    ) {
        accountExport(as: User.self, timeLimit: timeLimit, body)
    }

    /// The same for an application's own description of its users.
    public func accountExport<Fields: ParseObject>(
        as type: Fields.Type, timeLimit: Duration? = nil,
        _ body: @escaping @Sendable (LoginRequest<Fields>) async throws -> Value?
    ) {
        listen(.accountExport, User.className, .outside, timeLimit) { call, name in
            let request = LoginRequest<Fields>(call, name: name)
            let added = try await body(request)
            return request.details.answer(added.map { ["data": $0.json] })
        }
    }

    /// Runs before somebody connects to LiveQuery: may throw to refuse. Called by servers that have LiveQuery.
    public func beforeConnect(
        timeLimit: Duration? = nil, _ body: @escaping @Sendable (ConnectRequest) async throws -> Void
    ) {
        listen(.beforeConnect, "@Connect", .outside, timeLimit) { call, name in
            let request = ConnectRequest(call, name: name)
            try await body(request)
            return request.details.answer()
        }
    }
}

// MARK: inside

extension Hermes {
    private func listen(
        _ kind: TriggerKind, _ className: String, _ place: HookPlace, _ timeLimit: Duration?,
        _ body: @escaping @Sendable (CloudCall, String) async throws -> CloudAnswer
    ) {
        let name = "\(kind.rawValue) \(className)"
        var handler = CloudHandler(name, timeLimit: timeLimit) { call in try await body(call, name) }
        handler.inTransaction = place == .transaction
        let made = handler
        register { $0.triggers[Trigger(kind, on: className), default: []].append(made) }
    }

    private func beforeSave<Fields: ParseObject>(
        _ className: String, _ place: HookPlace, _ timeLimit: Duration?,
        _ body: @escaping @Sendable (SaveRequest<Fields>) async throws -> Void
    ) {
        listen(.beforeSave, className, place, timeLimit) { call, name in
            let request = SaveRequest<Fields>(call, name: name, className: className)
            try await body(request)
            return request.beforeAnswer
        }
    }

    private func afterSave<Fields: ParseObject>(
        _ className: String, _ timeLimit: Duration?,
        _ body: @escaping @Sendable (SaveRequest<Fields>) async throws -> Void
    ) {
        listen(.afterSave, className, .outside, timeLimit) { call, name in
            let request = SaveRequest<Fields>(call, name: name, className: className)
            try await body(request)
            return request.afterAnswer
        }
    }

    private func delete<Fields: ParseObject>(
        _ kind: TriggerKind, _ className: String, _ place: HookPlace, _ timeLimit: Duration?,
        _ body: @escaping @Sendable (DeleteRequest<Fields>) async throws -> Void
    ) {
        listen(kind, className, place, timeLimit) { call, name in
            let request = DeleteRequest<Fields>(call, name: name, className: className)
            try await body(request)
            return request.details.answer()
        }
    }

    private func find<Fields: ParseObject>(
        _ kind: TriggerKind, _ className: String, _ timeLimit: Duration?,
        _ body: @escaping @Sendable (FindRequest<Fields>) async throws -> Void
    ) {
        listen(kind, className, .outside, timeLimit) { call, name in
            let request = FindRequest<Fields>(call, name: name, className: className)
            try await body(request)
            return request.answer
        }
    }

    private func found<Fields: ParseObject>(
        _ className: String, _ timeLimit: Duration?,
        _ body: @escaping @Sendable (FoundRequest<Fields>) async throws -> Void
    ) {
        listen(.afterFind, className, .outside, timeLimit) { call, name in
            let request = FoundRequest<Fields>(call, name: name, className: className)
            try await body(request)
            return request.answer
        }
    }

    private func event<Fields: ParseObject>(
        _ className: String, _ timeLimit: Duration?,
        _ body: @escaping @Sendable (EventRequest<Fields>) async throws -> Void
    ) {
        listen(.afterEvent, className, .outside, timeLimit) { call, name in
            let request = EventRequest<Fields>(call, name: name, className: className)
            try await body(request)
            return request.answer
        }
    }

    private func login<Fields: ParseObject>(
        _ kind: TriggerKind, _ timeLimit: Duration?,
        _ body: @escaping @Sendable (LoginRequest<Fields>) async throws -> Void
    ) {
        listen(kind, User.className, .outside, timeLimit) { call, name in
            let request = LoginRequest<Fields>(call, name: name)
            try await body(request)
            return request.details.answer()
        }
    }
}
