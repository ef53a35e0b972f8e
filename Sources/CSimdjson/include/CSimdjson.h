#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What became of a parse. 0 is success.
enum {
    CSIMDJSON_OK = 0,
    CSIMDJSON_DEPTH = 1,   // nested deeper than allowed
    CSIMDJSON_NUMBER = 2,  // a number that no double can hold
    CSIMDJSON_MEMORY = 3,  // out of memory, or longer than 4 GB
    CSIMDJSON_SYNTAX = 4,  // anything else that is not JSON in UTF-8
    CSIMDJSON_EMPTY = 5,   // nothing but blanks
};

/// Parses `length` bytes into a tape (https://github.com/simdjson/simdjson/blob/v3.0.1/doc/tape.md).
/// Tape and strings belong to this thread and stand until its next call of csimdjson_parse or csimdjson_release.
int csimdjson_parse(const uint8_t *bytes, size_t length, size_t max_depth,
                    const uint64_t **tape, const uint8_t **strings);

/// Gives back what a large document took; small buffers are kept for the next one.
void csimdjson_release(void);

/// Writes a finite double as JavaScript prints it; at most 32 bytes. Returns how many.
size_t csimdjson_print_number(double value, uint8_t *out);

/// Reads the longest number at the start of the text. Returns how many bytes it took, 0 where there is none.
size_t csimdjson_read_number(const uint8_t *text, size_t length, double *value);

/// Copies the bytes at the start of the text that stand for themselves within a JSON string. Returns how many.
size_t csimdjson_copy_plain(const uint8_t *text, size_t length, uint8_t *out);

/// Whether the text holds the pattern.
int csimdjson_contains(const uint8_t *text, size_t length, const uint8_t *pattern, size_t size);

/// Copies jsonb text as PostgreSQL prints it, as JSON.stringify would print it: no blanks outside strings, numbers
/// in JavaScript's form. `out` has room for `length` bytes. Returns how many were written, -1 where the text holds
/// a number that PostgreSQL would not print so, or that no double can hold.
ptrdiff_t csimdjson_copy_jsonb(const uint8_t *text, size_t length, uint8_t *out);

#ifdef __cplusplus
}
#endif
