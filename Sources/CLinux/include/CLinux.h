#pragma once
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/// prctl is variadic, which Swift cannot call. At most 15 bytes of `name` are kept.
static inline void hermes_name_this_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

/// From how many bytes on malloc maps each block by itself, and how many free bytes it keeps at the end of an arena.
static inline void hermes_malloc_limits(int mapped, int kept) {
    mallopt(M_MMAP_THRESHOLD, mapped);
    mallopt(M_TRIM_THRESHOLD, kept);
}

/// Which executor runs on the calling thread: a thread-local, which Swift does not have without Foundation.
const void *hermes_current_executor(void);
void hermes_set_current_executor(const void *executor);

/// The calling thread as others may look at it while it lives.
struct hermes_thread {
    int id;
    clockid_t processor_time;
};
struct hermes_thread hermes_this_thread(void);
/// Nanoseconds that it has run.
uint64_t hermes_processor_time(struct hermes_thread thread);
/// Whether it waits for something other than a processor; also where the system does not say.
bool hermes_is_waiting(struct hermes_thread thread);

/// How many bytes of `socket` the peer has acknowledged and how many it has sent, since the connection began.
/// Returns 0, or -1 for what is not a TCP socket.
int hermes_tcp_progress(int socket, uint64_t *acknowledged, uint64_t *received);

struct sockaddr;
/// accept4, which Glibc's module shows only to programs built with _GNU_SOURCE: a non-blocking, close-on-exec socket.
int hermes_accept(int socket, struct sockaddr *address, unsigned *length);

/// From now on each `number` that comes writes that number as one byte to `pipe`; -1 gives it its default effect back.
/// A signal handler may do no more than that, and it must be C: Swift's run time is not made to be interrupted.
void hermes_catch_signal(int number, int pipe);
