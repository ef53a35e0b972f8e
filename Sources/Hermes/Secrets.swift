internal import Store

/// Random texts that nobody can guess, and what is kept of them.
public enum Secrets {
    /// A new one: 40 hexadecimal digits of 160 random bits, fit for links.
    public static func token() -> String { Random.hexadecimal(20) }

    /// SHA-256 of a text, as 64 hexadecimal digits: what a database keeps of a token, so that whoever reads it learns
    /// none.
    public static func digest(_ text: String) -> String { Digest.sha256(text) }
}
