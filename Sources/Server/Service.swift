/// The server's life, from its options to its end.
public enum Service {
    /// Serves until a signal asks it to stop.
    public static func run(_ options: Options) async throws {}
}
