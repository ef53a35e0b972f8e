#pragma once
#include <curl/curl.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>

// libcurl's variadic functions, which Swift cannot call: one for each kind of argument.

static inline CURLcode hermes_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode hermes_curl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode hermes_curl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode hermes_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode hermes_curl_set_data_callback(CURL *easy, CURLoption option, curl_write_callback callback) {
    return curl_easy_setopt(easy, option, callback);
}
// Here and not in Swift, and without a word of SOCK_CLOEXEC: where CCurl is the first module of a room that names it,
// files of that room which do not import CCurl no longer find it in a build for release.
static inline curl_socket_t hermes_curl_open_socket(const struct curl_sockaddr *address) {
    int descriptor = socket(address->family, address->socktype, address->protocol);
    if (descriptor >= 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return descriptor;
}
/// The address that a socket is to be opened to, in network order: 4 bytes of IPv4, 16 of IPv6, 0 of anything else.
static inline int hermes_curl_address(const struct curl_sockaddr *address, unsigned char bytes[16]) {
    // libcurl declares a `sockaddr` there, and puts an address of `addrlen` bytes in its place.
    const void *given = &address->addr;
    switch (address->family) {
    case AF_INET:
        memcpy(bytes, &((const struct sockaddr_in *)given)->sin_addr, 4);
        return 4;
    case AF_INET6:
        memcpy(bytes, &((const struct sockaddr_in6 *)given)->sin6_addr, 16);
        return 16;
    default: return 0;
    }
}
static inline void hermes_curl_set_socket_opener(CURL *easy, curl_opensocket_callback callback, void *argument) {
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, argument);
}
/// Asked about once a second while a transfer runs, whether it is to end.
static inline void hermes_curl_set_progress(CURL *easy, curl_xferinfo_callback callback, void *argument) {
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, callback);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, argument);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
}
/// Hears no more of what the other side says on the connection that was used last.
static inline void hermes_curl_stop_hearing(CURL *easy) {
    curl_socket_t socket = CURL_SOCKET_BAD;
    if (curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &socket) != CURLE_OK || socket == CURL_SOCKET_BAD) return;
    shutdown(socket, 0 /* SHUT_RD */);
}
static inline long hermes_curl_status(CURL *easy) {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}
static inline void *hermes_curl_private(CURL *easy) {
    char *pointer = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &pointer);
    return pointer;
}
static inline CURLMcode hermes_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}
static inline void hermes_curl_multi_set_callbacks(
    CURLM *multi, curl_socket_callback on_socket, curl_multi_timer_callback on_timer, void *argument) {
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, argument);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, argument);
}
/// The finished transfer of the next message, and its result; NULL when there is none.
static inline CURL *hermes_curl_multi_finished(CURLM *multi, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}
