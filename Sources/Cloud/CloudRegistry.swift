import Synchronization

/// All cloud code of one server, from whoever provides it. One for each node; its workers look at it with each request.
public final class CloudRegistry: Sendable {
    /// In the order in which they are called.
    public enum Provider: Int, Sendable, CaseIterable { case swift, javascript, webhooks }

    private struct State {
        var parts: [CloudCode] = Provider.allCases.map { _ in CloudCode() }
        var merged = CloudCode()
    }

    private let state = Mutex(State())
    private let count = Atomic<Int>(0)

    public init() {}

    /// Rises with each change: whoever keeps something that was made of the code asks here whether it still holds.
    public var generation: Int { count.load(ordering: .acquiring) }

    public var code: CloudCode { state.withLock(\.merged) }

    /// Replaces what one provider offers. Calls under way go on with what they began with.
    public func set(_ code: CloudCode, of provider: Provider) {
        state.withLock { state in
            state.parts[provider.rawValue] = code
            state.merged = CloudCode.merged(state.parts)
        }
        count.add(1, ordering: .releasing)
    }
}

extension CloudCode {
    /// Triggers one after another; of two functions or jobs with one name the first provider's.
    static func merged(_ parts: [CloudCode]) -> CloudCode {
        var merged = CloudCode()
        for part in parts {
            merged.triggers.merge(part.triggers) { $0 + $1 }
            merged.functions.merge(part.functions) { first, _ in first }
            merged.classes += part.classes
            merged.starts += part.starts
            merged.pages += part.pages
            merged.rateLimits += part.rateLimits
            merged.failedPage = merged.failedPage ?? part.failedPage
            merged.sessionCookie = merged.sessionCookie ?? part.sessionCookie
            merged.accountPages = merged.accountPages ?? part.accountPages
            merged.language = merged.language ?? part.language
            merged.notesPresence = merged.notesPresence || part.notesPresence
            for (name, job) in part.jobs where merged.jobs[name] == nil {
                merged.jobs[name] = job
                merged.schedules[name] = part.schedules[name]
            }
        }
        return merged
    }

    public var isEmpty: Bool { triggers.isEmpty && functions.isEmpty && jobs.isEmpty }
}
