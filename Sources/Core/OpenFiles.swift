import Glibc

/// How many descriptors (connections, files) the process may have open.
public enum OpenFiles {
    /// Raises the soft limit to `wanted`, or as far as the hard limit lets it; never lowers it. Most systems start
    /// programs with 1,024, for the sake of `select`, which nothing here uses.
    /// - Returns: what the limit is now.
    @discardableResult
    public static func allow(_ wanted: Int) -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 0 }
        let goal = rlim_t(max(0, wanted))
        if limit.rlim_cur < goal {
            // Who may raise the hard limit as well gets all of it.
            var raised = rlimit(rlim_cur: goal, rlim_max: max(goal, limit.rlim_max))
            if setrlimit(resource, &raised) != 0 {
                raised = rlimit(rlim_cur: min(goal, limit.rlim_max), rlim_max: limit.rlim_max)
                _ = setrlimit(resource, &raised)
            }
        }
        guard getrlimit(resource, &limit) == 0 else { return 0 }
        return Int(clamping: limit.rlim_cur)
    }
}
