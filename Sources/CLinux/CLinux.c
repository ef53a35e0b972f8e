#define _GNU_SOURCE
#include "CLinux.h"
#include <netinet/in.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <stddef.h>

static __thread const void *current_executor;

const void *hermes_current_executor(void) { return current_executor; }
void hermes_set_current_executor(const void *executor) { current_executor = executor; }

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
