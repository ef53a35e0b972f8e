extension OptionTable {
    static let webhooks: [Option] = [
        Option(
            "webhooks.sendSessionTokens", \.webhooks.sendSessionTokens,
            "Whether webhooks are told the caller's session token, so that they can act in its name"),
        Option(
            "webhooks.allowPrivateNetworks", \.webhooks.allowPrivateNetworks,
            "Whether webhooks may lie on this machine and in private networks; link-local addresses are never called"),
        Option(
            "webhooks.timeLimit", \.webhooks.timeLimit,
            "Seconds that a webhook may take, waiting for its turn included",
            in: .positive),
        Option(
            "webhooks.jobTimeLimit", \.webhooks.jobTimeLimit, "Seconds that a job's webhook may take", in: .positive),
        Option("webhooks.maxAnswerSize", \.webhooks.maxAnswerSize, "The largest answer of a webhook"),
        Option(
            "webhooks.callsPerHost", \.webhooks.callsPerHost, "Calls of webhooks on one host that run at once",
            in: 1...1024),
        Option(
            "webhooks.queuePerHost", \.webhooks.queuePerHost,
            "Calls that wait for a host; past it they are refused", in: .atLeast(0)),
        Option(
            "webhooks.failuresBeforePause", \.webhooks.failuresBeforePause,
            "Calls in a row that find a host out of order before it is not called for a while", in: .atLeast(1)),
        Option("webhooks.pause", \.webhooks.pause, "Seconds that it is not called then", in: .positive),
    ]
}
