import Wire

extension Stage {
    /// The smallest case found that still differs, as text.
    func shrunk(_ world: World, _ asker: Asker, _ question: Question) async throws -> String {
        // A condition that loses a part may become one that cannot be read: that would be another difference.
        let unreadable = ["the store says refused(Set([102]))", "the store says refused(Set([107]))"]
        let original = try await differs(world, asker, question) ?? ""
        var (world, question) = (world, question)
        var attempts = 0
        var progress = true
        while progress, attempts < 400 {
            progress = false
            for (smallerWorld, smallerQuestion) in Shrinking.steps(world, question) {
                guard attempts < 400 else { break }
                attempts += 1
                guard (try? await install(smallerWorld)) != nil,
                    let difference = try await differs(smallerWorld, asker, smallerQuestion),
                    unreadable.allSatisfy({ original.contains($0) || !difference.contains($0) })
                else { continue }
                (world, question) = (smallerWorld, smallerQuestion)
                progress = true
                break
            }
        }
        try await install(world)
        let difference = try await differs(world, asker, question)
        return "\(world)\n\(asker) asks: \(question)\n\(difference ?? "no difference any more")"
    }
}

/// The ways to make a case one step smaller, those that take most first.
enum Shrinking {
    static func steps(_ world: World, _ question: Question) -> [(World, Question)] {
        var steps: [(World, Question)] = []
        for (key, value) in question.parameters.members {
            for smaller in [nil] + (key == "where" ? smaller(value).map { Optional($0) } : []) {
                var next = question
                next.parameters[key] = smaller
                steps.append((world, next))
            }
        }
        // Half of the rows, then one at a time.
        let half = world.rows.count / 2
        if half > 1 {
            var (first, second) = (world, world)
            first.rows = Array(world.rows[..<half])
            second.rows = Array(world.rows[half...])
            steps += [(first, question), (second, question)]
        }
        for index in world.rows.indices {
            var next = world
            next.rows.remove(at: index)
            steps.append((next, question))
        }
        for index in world.roles.indices {
            var next = world
            next.roles.remove(at: index)
            for other in next.roles.indices { next.roles[other].roles.removeAll { $0 == world.roles[index].name } }
            steps.append((next, question))
        }
        for (index, table) in world.classes.enumerated() {
            guard let permissions = table.permissions else { continue }
            for smaller in smaller(.object(permissions)) {
                var next = world
                next.classes[index].permissions = smaller.object
                steps.append((next, question))
            }
            var open = world
            open.classes[index].permissions = nil
            steps.append((open, question))
        }
        for (index, row) in world.rows.enumerated() {
            if row.acl != nil {
                var next = world
                next.rows[index].acl = nil
                steps.append((next, question))
            }
            for field in row.fields.indices where row.className != "_User" {
                var next = world
                next.rows[index].fields.remove(at: field)
                steps.append((next, question))
            }
            for field in row.related.indices {
                var next = world
                next.rows[index].related.remove(at: field)
                steps.append((next, question))
            }
        }
        return steps
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
