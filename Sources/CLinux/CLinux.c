#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <stddef.h>

static __thread const void *current_executor;

const void *hermes_current_executor(void) { return current_executor; }
void hermes_set_current_executor(const void *executor) { current_executor = executor; }

struct hermes_thread hermes_this_thread(void) {
    struct hermes_thread thread = {.id = gettid(), .processor_time = CLOCK_MONOTONIC};
    pthread_getcpuclockid(pthread_self(), &thread.processor_time);
    return thread;
}

uint64_t hermes_processor_time(struct hermes_thread thread) {
    struct timespec time = {0};
    clock_gettime(thread.processor_time, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

bool hermes_is_waiting(struct hermes_thread thread) {
    char text[512];
    snprintf(text, sizeof(text), "/proc/self/task/%d/stat", thread.id);
    int file = open(text, O_RDONLY | O_CLOEXEC);
    if (file < 0) return true;
    ssize_t length = read(file, text, sizeof(text) - 1);
    close(file);
    if (length <= 0) return true;
    text[length] = 0;
    // proc(5): the number, the name in parentheses, which may hold any character, a letter for the state.
    const char *name_end = strrchr(text, ')');
    return !name_end || name_end[1] != ' ' || name_end[2] != 'R';
}

int hermes_tcp_progress(int socket, uint64_t *acknowledged, uint64_t *received) {
    struct tcp_info info = {0};
    socklen_t length = sizeof(info);
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return -1;
    *acknowledged = info.tcpi_bytes_acked;
    *received = info.tcpi_bytes_received;
    return 0;
}

int hermes_accept(int socket, struct sockaddr *address, unsigned *length) {
    return accept4(socket, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static volatile sig_atomic_t signal_pipes[65];

static void write_signal(int number) {
    int kept = errno;
    unsigned char byte = (unsigned char)number;
    // A full pipe holds that signal already.
    ssize_t written = write(signal_pipes[number], &byte, 1);
    (void)written;
    errno = kept;
}

void hermes_catch_signal(int number, int pipe) {
    if (number < 1 || number > 64) return;
    struct sigaction action = {0};
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    signal_pipes[number] = pipe;
    action.sa_handler = pipe >= 0 ? write_signal : SIG_DFL;
    sigaction(number, &action, NULL);
}
