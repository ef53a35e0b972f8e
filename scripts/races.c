// Tells ThreadSanitizer what it does not see of Swift's Mutex. A lock that is free is taken by code that the compiler puts
// into the caller, and that is watched; one that is held is waited for in Swift's library, which is not. Loaded before the
// tests (LD_PRELOAD), these stand in for the library's two functions.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

static SWIFT void (*next_lock)(uint32_t thread, SELF void *mutex);
static SWIFT void (*next_unlock)(SELF void *mutex);
static void (*acquired)(void *);
static void (*released)(void *);

__attribute__((constructor)) static void find(void) {
    next_lock = dlsym(RTLD_NEXT, LOCK);
    next_unlock = dlsym(RTLD_NEXT, UNLOCK);
    acquired = dlsym(RTLD_DEFAULT, "__tsan_acquire");
    released = dlsym(RTLD_DEFAULT, "__tsan_release");
}

SWIFT void lock(uint32_t thread, SELF void *mutex) __asm__(LOCK);
SWIFT void lock(uint32_t thread, SELF void *mutex) {
    if (!next_lock) find();
    next_lock(thread, mutex);
    if (acquired) acquired(mutex);
}

SWIFT void unlock(SELF void *mutex) __asm__(UNLOCK);
SWIFT void unlock(SELF void *mutex) {
    if (!next_unlock) find();
    if (released) released(mutex);
    next_unlock(mutex);
}
