import Testing

@testable import Accounts

@Suite struct ViewerCacheTests {
    private func entry(_ session: String, _ user: String) -> ViewerCache.Entry {
        ViewerCache.Entry(sessionId: session, userId: user, roles: [], expiresAt: nil)
    }

    @Test func whatIsForgottenLeavesNothingBehind() {
        let cache = ViewerCache()
        for index in 0..<10 { cache.insert(entry("s\(index)", "u\(index % 3)"), "t\(index)", readIn: cache.epoch) }
        #expect(cache.counts == (10, 20))
        cache.forget("session:s0")
        #expect(cache.find("t0") == nil && cache.find("t3") != nil)
        #expect(cache.counts == (9, 18))
        cache.forget("user:u0")
        #expect(cache.find("t3") == nil && cache.find("t1") != nil)
        #expect(cache.counts == (6, 12))
        cache.forget("*")
        #expect(cache.counts == (0, 0))
    }

    @Test func whatWasReadBeforeSomethingWasForgottenDoesNotEnter() {
        let cache = ViewerCache()
        let epoch = cache.epoch
        cache.forget("session:s")
        cache.insert(entry("s", "u"), "t", readIn: epoch)
        #expect(cache.find("t") == nil)
    }

    @Test func aFullCacheForgetsAPart() {
        let cache = ViewerCache(capacity: 100)
        for index in 0..<101 { cache.insert(entry("s\(index)", "u\(index)"), "t\(index)", readIn: cache.epoch) }
        #expect(cache.counts == (91, 182))
        #expect(cache.find("t100") != nil)
    }
}
