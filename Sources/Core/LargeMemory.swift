import CLinux

/// How malloc holds on to what was freed.
public enum LargeMemory {
    /// Blocks from 1 MB on come from the system, and go back to it as soon as they are freed, and of small ones no more
    /// than 2 MB are kept at the end of each arena. By itself glibc raises both limits, to 32 and 64 MB, with the first
    /// large blocks that it sees freed: a dozen lists of 200 MB left a server with 970 MB, where this leaves it 68.
    public static func returnWhenFreed() {
        hermes_malloc_limits(1 << 20, 2 << 20)
    }
}
