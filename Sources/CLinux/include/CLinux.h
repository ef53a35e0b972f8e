#pragma once
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/prctl.h>
#include <signal.h>

/// prctl is variadic, which Swift cannot call. At most 15 bytes of `name` are kept.
static inline void hermes_name_this_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
