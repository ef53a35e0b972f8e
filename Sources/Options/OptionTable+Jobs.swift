extension OptionTable {
    static let jobs: [Option] = [
        Option("jobs.concurrency", \.jobs.concurrency, "Jobs that a server runs at the same time", in: 1...1000),
        Option("jobs.timeLimit", \.jobs.timeLimit, "Seconds that a job of cloud code may take", in: .positive),
        Option(
            "jobs.lease", \.jobs.lease,
            "Seconds that a server may be silent before another takes its jobs over; the same on all servers",
            in: 1...3600),
        Option(
            "jobs.poll", \.jobs.poll,
            "Seconds after which a server looks for jobs without being told; schedules are as exact as that",
            in: 0.05...3600),
        Option(
            "jobs.keepFinished", \.jobs.keepFinished,
            "Seconds for which jobs that are done or cancelled can be looked at", in: .atLeast(0)),
        Option(
            "jobs.keepDead", \.jobs.keepDead, "The same for jobs that have failed for good", in: .atLeast(0)),
    ]
}
