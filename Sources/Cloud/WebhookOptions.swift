/// How webhooks are called.
public struct WebhookOptions: Sendable {
    /// Goes with every call, and signs it; nil: neither.
    public var key: String?
    /// Whether webhooks are told the caller's session token, so that they can act in its name.
    public var sendsSessionTokens = true
    /// Seconds that a call may take, waiting for its turn included.
    public var timeLimit = 10.0
    /// The same for a job's.
    public var jobTimeLimit = 600.0
    /// Bytes of an answer.
    public var answerLimit = 10 << 20
    /// Whether webhooks may lie on this machine and in networks that the Internet does not route.
    public var allowsPrivateNetworks = true
    /// Calls to one host that run at once; the others wait.
    public var callsPerHost = 32
    /// Calls that wait for one host; past it they are refused.
    public var queuePerHost = 1000
    /// Calls in a row that must have found a host out of order before it is given a pause.
    public var failuresBeforePause = 5
    /// Seconds that it is not called then.
    public var pause = 10.0

    public init() {}

    /// Seconds that a call of one kind may take.
    func limit(of kind: Webhook.Kind) -> Double {
        if case .job = kind { jobTimeLimit } else { timeLimit }
    }
}
