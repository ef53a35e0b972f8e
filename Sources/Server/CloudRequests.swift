import Cloud
import Mail
import Store
import Wire

/// What cloud code may ask for beyond the routes that clients have. No client reaches any of it: the methods are none of
/// HTTP's, and cloud code's requests come without a connection.
extension API {
    /// nil: it is a request like a client's.
    func serveCloud(_ request: CloudRequest, in operation: Operation) async throws -> CloudResponse? {
        switch request.method {
        case "LOCK", "LOCKALL", "LOCKNAME", "CREATEALL", "CREATEFOREACH", "UPDATEALL", "DELETEALL", "MAIL", "PRESENT":
            break
        default: return nil
        }
        guard operation.viewer.key == .master else {
            throw ParseError(119, "This takes the master's rights: use asMaster.")
        }
        let body = request.body
        let className = body["className"]?.string ?? ""
        var predicate = Predicate.always
        if let condition = body["where"]?.object {
            predicate = try Query.parse(className: className, parameters: [("where", .object(condition))]).predicate
        }
        var answer = JSONObject()
        switch request.method {
        case "LOCK":
            answer = try await store.lock(className, objectId: body["objectId"]?.string ?? "", in: operation)
        case "LOCKALL":
            answer["count"] = number(
                try await store.lockAll(className, (body["objectIds"]?.array ?? []).compactMap(\.string), in: operation)
            )
        case "LOCKNAME":
            try await store.lock(name: body["name"]?.string ?? "", in: operation)
        case "CREATEALL":
            answer["count"] = number(
                try await store.createAll(
                    className, (body["objects"]?.array ?? []).compactMap(\.object),
                    skippingDuplicates: body["skippingDuplicates"] == true, in: operation))
        case "CREATEFOREACH":
            let asked = body["query"]?.object ?? JSONObject()
            let query = try Query.parse(
                className: asked["className"]?.string ?? "", parameters: asked.members.filter { $0.key != "className" })
            let made = try await store.createAll(
                className, body["object"]?.object ?? JSONObject(), forEach: query,
                setting: body["field"]?.string ?? "", to: body["source"]?.string ?? "",
                isOwned: body["isOwned"] == true, skippingDuplicates: body["skippingDuplicates"] == true,
                in: operation)
            answer["found"] = number(made.found)
            answer["made"] = number(made.made)
            if let last = made.last { answer["last"] = .string(last) }
        case "UPDATEALL":
            var readers = Store.ReaderChange()
            readers.allowed = (body["allowed"]?.array ?? []).compactMap(\.string)
            readers.forbidden = (body["forbidden"]?.array ?? []).compactMap(\.string)
            answer["count"] = number(
                try await store.updateAll(
                    className, where: predicate, body["changes"]?.object ?? JSONObject(), readers: readers,
                    in: operation))
        case "DELETEALL":
            answer["count"] = number(try await store.deleteAll(className, where: predicate, in: operation))
        case "PRESENT":
            let users = (body["users"]?.array ?? []).compactMap(\.string)
            let present = try await Presence.present(users, within: body["seconds"]?.number ?? 0, operation)
            answer["users"] = .array(present.map { .string($0) })
        default:
            // The code's own business: nothing of it reaches a client unless the code says so.
            switch try await send(body, in: operation) {
            case .queued: answer["outcome"] = "queued"
            case .dropped: answer["outcome"] = "dropped"
            case .unmailable: answer["outcome"] = "unmailable"
            }
        }
        return CloudResponse(status: 200, body: .object(answer))
    }

    private func number(_ count: Int) -> JSON { .number(Double(count)) }

    private func send(_ body: JSONObject, in operation: Operation) async throws -> Mailer.Outcome {
        guard let mailer else {
            throw ParseError(1, "There is no mail without the option email.smtp.")
        }
        var mail = Mail(
            to: body["to"]?.string ?? "", subject: body["subject"]?.string ?? "", text: body["text"]?.string ?? "",
            html: body["html"]?.string)
        mail.account = body["account"]?.string
        do { return try await mailer.send(mail, in: operation) } catch let error as MailFault {
            throw ParseError(141, error.description)
        }
    }
}
