import Wire

import class Core.Progress

extension Browser {
    mutating func answered(_ number: Int, _ result: Result<Answer, ServerFault>) {
        // What nobody waits for any more is dropped.
        guard let request = requests[number], !request.isWaiting else { return }
        switch result {
        case .success(let answer):
            requests[number] = nil
            arrived(request.purpose, answer)
        case .failure(.cancelled): requests[number] = nil
        case .failure(let fault): failed(number, request, fault)
        }
    }

    private func rows(_ answer: Answer) -> [JSONObject] {
        answer.json.object?["results"]?.array?.compactMap(\.object) ?? []
    }

    private mutating func arrived(_ purpose: Purpose, _ answer: Answer) {
        switch purpose {
        case .classes:
            classes = Classes(answer: answer.json) ?? classes
            showSelection()
            begin()
        case .page(let view, let backward, let first): took(rows(answer), answer, view, backward, first)
        case .object(let view):
            guard let index = index(of: view), case .object(var object) = layers[index].view else { return }
            object.object = rows(answer).first
            object.isGone = object.object == nil
            let key = object.followUp
            object.followUp = nil
            layers[index].view = .object(object)
            if let row = object.object { readPointers(view, object.className, [row], pointers(of: object.className)) }
            if let key, layers.last?.id == view { objectKey(key, view, object) }
        case .pointers(let view):
            guard let index = index(of: view) else { return }
            if case .objects(var list) = layers[index].view {
                list.fill(rows(answer))
                layers[index].view = .objects(list)
            } else if case .object(var object) = layers[index].view, let found = rows(answer).first {
                for (name, value) in found.members where object.object?[name] == nil { object.object?[name] = value }
                layers[index].view = .object(object)
            }
        case .count(let className, let view):
            let count = answer.json.object?["count"]?.number.flatMap { Int(exactly: $0) } ?? 0
            if case .classes? = layers.first(where: { $0.id == view })?.view { counts[className] = count }
            counts["\(view)"] = count
            say("\(Progress.grouped(count)) objects")
        case .user(let view, let field):
            guard let id = rows(answer).first?["objectId"]?.string else { return say("there is no such user", .error) }
            if field.isEmpty { return askLink(view, id) }
            guard let index = index(of: view), case .edit(var form) = layers[index].view else { return }
            form.drafts[field] = .some(FilterValues.pointer("_User", id))
            layers[index].view = .edit(form)
        case .upload(let view, let field): uploaded(answer.json, view, field)
        case .beforeSave(let view): compare(rows(answer).first, view)
        case .save(let view): saved(view)
        case .create(let view):
            guard let index = index(of: view), case .edit(let form) = layers[index].view else { return }
            layers.remove(at: index)
            let id = answer.json.object?["objectId"]?.string ?? ""
            openObject(form.className, id)
            say("made \(form.className):\(id)")
        case .afterSave(let view): show(rows(answer).first, afterSaving: view)
        case .readBack(let view): readBack(rows(answer).first, view)
        case .undo(let className, let id):
            say("undone")
            for layer in layers {
                if case .object(let object) = layer.view, object.className == className, object.objectId == id {
                    readObject(layer.id, className, id, .object(view: layer.id))
                }
            }
        case .delete(let className, let id): deleted(className, id)
        case .names(let view, _):
            guard let index = index(of: view), case .access(var access) = layers[index].view else { return }
            for user in rows(answer) {
                guard let place = access.entries.firstIndex(where: { $0.key == user["objectId"]?.string }) else {
                    continue
                }
                access.entries[place].name = "@" + (user["username"]?.string ?? "")
            }
            layers[index].view = .access(access)
        case .aclMember(let view, let name):
            guard let index = index(of: view), case .access(var access) = layers[index].view else { return }
            guard let id = rows(answer).first?["objectId"]?.string else {
                return say("there is no user \(name)", .error)
            }
            guard !access.entries.contains(where: { $0.key == id }) else { return say("@\(name) is there already") }
            access.entries.append(AccessView.Entry(key: id, name: "@\(name)", reads: true, writes: false))
            layers[index].view = .access(access)
        case .saveAccess(let view):
            guard let index = index(of: view), case .access(let access) = layers[index].view else { return }
            undo.append(
                Undo(
                    className: access.className, objectId: access.objectId, name: "",
                    changes: [Change(field: "ACL", old: access.original, new: access.json)]))
            layers.remove(at: index)
            say("saved")
            for layer in layers {
                if case .object(let object) = layer.view, object.objectId == access.objectId {
                    readObject(layer.id, access.className, access.objectId, .object(view: layer.id))
                }
            }
        case .reveal(let view, let field):
            guard let index = index(of: view), case .object(var object) = layers[index].view else { return }
            object.revealed[field] = rows(answer).first?[field] ?? .null
            layers[index].view = .object(object)
            alarm(.hide(view: view), in: 30_000)
        case .jobNames(let view):
            guard let index = index(of: view), case .jobs(var jobs) = layers[index].view else { return }
            jobs.names = answer.json.object?["jobs"]?.array?.compactMap(\.string) ?? []
            jobs.isRead = true
            layers[index].view = .jobs(jobs)
        case .jobStates(let view):
            guard let index = index(of: view), case .jobs(var jobs) = layers[index].view else { return }
            jobs.states = [:]
            for row in rows(answer) {
                guard let name = row["jobName"]?.string, jobs.states[name] == nil else { continue }
                jobs.states[name] = row
            }
            layers[index].view = .jobs(jobs)
        case .runJob(let view, let name):
            say("\(name) is in the queue; r reads again")
            readJobs(view)
        case .config(let view):
            guard let index = index(of: view), case .config(var config) = layers[index].view else { return }
            config.params = answer.json.object?["params"]?.object ?? JSONObject()
            config.secret = answer.json.object?["masterKeyOnly"]?.object ?? JSONObject()
            config.isRead = true
            layers[index].view = .config(config)
        case .saveConfig(let view):
            say("saved")
            fetch(.config(view: view), ServerRequest("GET", "/config"))
        case .link(let view):
            say("done")
            guard let index = index(of: view), case .objects(var list) = layers[index].view else { return }
            keep(view)
            list.restart(atEnd: false)
            layers[index].view = .objects(list)
            readFirst(view, fromEnd: false)
        }
    }

    /// With the classes there, what was asked for on the command line is opened.
    private mutating func begin() {
        guard layers.count == 1, !hasBegun else { return }
        hasBegun = true
        defer {
            if options.startsWriting, options.mayWrite {
                dialog = .question(
                    Question(title: "Write to \(options.place)?", lines: [], keys: "y write  Esc read", action: .write))
            }
        }
        guard let start = options.start else { return }
        guard let filter = options.filter, let shape = classes[start] else { return go(start) }
        do {
            let condition = try Filter(filter, on: shape, in: classes, now: Timestamp(milliseconds: now)).condition
            open(shape, filter: filter, condition: condition)
        } catch {
            open(shape)
            say("the filter is wrong: \(error)", .error)
        }
    }

    private mutating func took(
        _ page: [JSONObject], _ answer: Answer, _ view: Int, _ backward: Bool, _ first: Bool
    ) {
        guard let index = index(of: view), case .objects(var list) = layers[index].view else { return }
        if first { fallbacks[view] = nil }
        list.lastRead = (page.count, answer.milliseconds)
        // Rows as large as these come in smaller pages.
        if answer.bytes > 4 << 20 { list.pageSize = max(10, list.pageSize / 2) }
        let again = list.take(page, backward: backward && !first, first: first, fromEnd: first && backward)
        list.list.show(tablePage, list.rows.count)
        layers[index].view = .objects(list)
        readPointers(view, list.className, page, labels(of: list).keys.sorted())
        if again {
            readPage(view, backward: backward, first: false)
        } else if layers.last?.id == view {
            readAhead()
        }
    }

    private mutating func deleted(_ className: String, _ id: String) {
        deletions.removeAll { $0.className == className && $0.objectId == id }
        say("deleted \(className) \(id)")
        for index in layers.indices {
            if case .objects(var list) = layers[index].view, list.className == className {
                list.remove(id)
                layers[index].view = .objects(list)
            }
            if case .object(var object) = layers[index].view, object.className == className, object.objectId == id {
                object.isGone = true
                object.object = nil
                layers[index].view = .object(object)
            }
        }
        quitIfSent()
    }

    // MARK: what went wrong

    private mutating func failed(_ number: Int, _ request: Request, _ fault: ServerFault) {
        if case .unreachable = fault, !request.purpose.writes {
            // The first answer of all decides whether there is a server at all.
            if case .classes = request.purpose, classes.all.isEmpty {
                failure = CommandFailure(fault)
                hasQuit = true
                effects.append(.quit)
                return
            }
            requests[number]?.isWaiting = true
            alarm(.retry(number), in: 2000)
            return say("lost, again in 2 s", .error)
        }
        requests[number] = nil
        switch request.purpose {
        case .classes where classes.all.isEmpty:
            failure = CommandFailure(fault)
            hasQuit = true
            effects.append(.quit)
        case .save(let view):
            guard let index = index(of: view), case .edit(var form) = layers[index].view else { return }
            guard case .unreachable = fault, let id = form.objectId else {
                form.isSaving = false
                layers[index].view = .edit(form)
                return say("not saved: \(fault)", .error)
            }
            // Whether it was saved only the server knows.
            form.isUnknown = true
            layers[index].view = .edit(form)
            say("lost: saved or not is not known; reading it back", .error)
            readObject(view, form.className, id, .readBack(view: view))
        case .create(let view):
            guard let index = index(of: view), case .edit(var form) = layers[index].view else { return }
            form.isSaving = false
            layers[index].view = .edit(form)
            if case .unreachable = fault {
                say("lost: whether it was made is not known; look before you try again", .error)
            } else {
                say("not made: \(fault)", .error)
            }
        case .delete(let className, let id):
            if fault.isNotFound { return deleted(className, id) }
            deletions.removeAll { $0.className == className && $0.objectId == id }
            say("\(className) \(id): \(fault)", .error)
            quitIfSent()
        case .page(let view, _, true):
            if let list = fallbacks.removeValue(forKey: view), let index = index(of: view) {
                layers[index].view = .objects(list)
            }
            say("\(fault)", .error)
        case .jobStates where fault.isNotFound: break
        default: say("\(fault)", .error)
        }
    }
}
