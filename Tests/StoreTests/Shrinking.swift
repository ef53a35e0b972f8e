import Wire

extension Stage {
    /// The smallest case found that still differs, as text.
    func shrunk(_ world: World, _ script: Script, _ original: String) async throws -> String {
        // A condition that loses a part may become one that cannot be read: that would be another difference.
        let unreadable = ["the store says refused(Set([102]))", "the store says refused(Set([107]))"]
        guard try await differsAnew(world, script) != nil else {
            return "\(world)\n\(script)\n\(original)\nonly behind the scripts before it"
        }
        var (world, script) = (world, script)
        var attempts = 0
        var progress = true
        while progress, attempts < 150 {
            progress = false
            for (smallerWorld, smallerScript) in Shrinking.steps(world, script) {
                guard attempts < 150 else { break }
                attempts += 1
                guard let difference = try? await differsAnew(smallerWorld, smallerScript),
                    unreadable.allSatisfy({ original.contains($0) || !difference.contains($0) })
                else { continue }
                (world, script) = (smallerWorld, smallerScript)
                progress = true
                break
            }
        }
        return "\(world)\n\(script)\n\(try await differsAnew(world, script) ?? "no difference any more")"
    }

    private func differsAnew(_ world: World, _ script: Script) async throws -> String? {
        try await install(world)
        return try await differs(world, script).difference
    }
}

/// The ways to make a case one step smaller, those that take most first.
enum Shrinking {
    static func steps(_ world: World, _ script: Script) -> [(World, Script)] {
        var steps: [(World, Script)] = []
        for index in script.parts.indices {
            if script.parts.count > 1 {
                var next = script
                // What follows may speak of what a part has made: it keeps its place.
                if index == script.parts.count - 1 {
                    next.parts.removeLast()
                } else {
                    next.parts[index] = Script.Part.nothing
                }
                if !script.parts[index].isNothing || index == script.parts.count - 1 { steps.append((world, next)) }
            }
            for part in smaller(script.parts[index]) {
                var next = script
                next.parts[index] = part
                steps.append((world, next))
            }
        }
        if script.isTransaction {
            var next = script
            next.isTransaction = false
            steps.append((world, next))
        }
        // Half of the rows, then one at a time.
        let half = world.rows.count / 2
        if half > 1 {
            var (first, second) = (world, world)
            first.rows = Array(world.rows[..<half])
            second.rows = Array(world.rows[half...])
            steps += [(first, script), (second, script)]
        }
        for index in world.rows.indices {
            var next = world
            next.rows.remove(at: index)
            steps.append((next, script))
        }
        for (index, table) in world.classes.enumerated() {
            guard let permissions = table.permissions else { continue }
            for smaller in smaller(.object(permissions)) {
                var next = world
                next.classes[index].permissions = smaller.object
                steps.append((next, script))
            }
            var open = world
            open.classes[index].permissions = nil
            steps.append((open, script))
        }
        for (index, row) in world.rows.enumerated() {
            if row.acl != nil {
                var next = world
                next.rows[index].acl = nil
                steps.append((next, script))
            }
            let table = world[row.className]
            for (field, value) in row.fields.enumerated()
            where table?.isPlain == true && table?.options[value.name] == nil {
                var next = world
                next.rows[index].fields.remove(at: field)
                steps.append((next, script))
            }
            for field in row.related.indices {
                var next = world
                next.rows[index].related.remove(at: field)
                steps.append((next, script))
            }
        }
        return steps
    }

    private static func smaller(_ part: Script.Part) -> [Script.Part] {
        switch part {
        case .ask(let question):
            question.parameters.members.flatMap { key, value in
                ([nil] + (key == "where" ? smaller(value).map { Optional($0) } : [])).map { smaller in
                    var next = question
                    next.parameters[key] = smaller
                    return .ask(next)
                }
            }
        case .write(let change):
            change.body.members.flatMap { key, value in
                ([nil] + smaller(value).map { Optional($0) }).map { smaller in
                    var next = change
                    next.body[key] = smaller
                    return .write(next)
                }
            }
        }
    }

    /// JSON with one member or element less, at any depth; Parse's own types stay whole.
    private static func smaller(_ json: JSON) -> [JSON] {
        switch json {
        case .object(let object) where object["__type"] == nil:
            var all: [JSON] = []
            for (key, value) in object.members where key != "className" && key != "key" {
                var without = object
                without[key] = nil
                all.append(.object(without))
                for smaller in smaller(value) {
                    var next = object
                    next[key] = smaller
                    all.append(.object(next))
                }
            }
            return all
        case .array(let elements):
            return elements.indices.flatMap { index in
                var without = elements
                without.remove(at: index)
                return [JSON.array(without)]
                    + smaller(elements[index]).map { smaller in
                        var next = elements
                        next[index] = smaller
                        return .array(next)
                    }
            }
        default: return []
        }
    }
}

extension Script.Part {
    /// Keeps the place of a part that is not needed.
    fileprivate static let nothing = Script.Part.ask(
        Question(kind: .find, className: "_User", parameters: JSONObject([("limit", 0)])))

    fileprivate var isNothing: Bool {
        if case .ask(let question) = self { question.parameters == JSONObject([("limit", 0)]) } else { false }
    }
}
