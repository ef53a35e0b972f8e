import Glibc

/// A thread waits here for others.
/// - Safety: `sem_t` is made for use from several threads.
package final class Semaphore: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    package init() { sem_init(semaphore, 0, 0) }
    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }
    package func signal() { sem_post(semaphore) }
    package func wait() { while sem_wait(semaphore) != 0 {} }
}
