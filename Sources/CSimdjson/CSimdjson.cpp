#include "CSimdjson.h"

#include <charconv>
#include <cstring>
#include <memory>
#include <new>
#include <simdjson.h>
#include <string>

namespace {

// What is kept between documents; more than this goes back to the system.
constexpr size_t kept = 256 * 1024;

struct Workspace {
    simdjson::dom::parser parser;
    std::unique_ptr<uint8_t[]> buffer;
    size_t room = 0;
    size_t depth = 0;

    bool reserve(size_t length) {
        size_t need = length + simdjson::SIMDJSON_PADDING;
        if (need <= room) return true;
        size_t grown = need < 16 * 1024 ? 16 * 1024 : need;
        buffer.reset(new (std::nothrow) uint8_t[grown]);
        room = buffer ? grown : 0;
        return buffer != nullptr;
    }
};

thread_local Workspace workspace;

inline bool digit(uint8_t c) { return c >= '0' && c <= '9'; }

// simdjson refuses integers beyond 64 bits, which JavaScript reads as doubles: they get an exponent.
// Returns whether there were any.
bool spell_out_integers(const uint8_t *text, size_t length, std::string &out) {
    bool changed = false, within = false;
    size_t i = 0;
    out.reserve(length + 64);
    while (i < length) {
        uint8_t c = text[i];
        if (within) {
            if (c == '\\' && i + 1 < length) out.push_back(char(text[i++]));
            else if (c == '"') within = false;
            out.push_back(char(text[i++]));
        } else if (digit(c)) {
            size_t start = i;
            while (i < length && digit(text[i])) i++;
            out.append(reinterpret_cast<const char *>(text + start), i - start);
            bool integer = i == length || (text[i] != '.' && text[i] != 'e' && text[i] != 'E');
            bool part = start > 0 && (text[start - 1] == '.' || text[start - 1] == '+' || text[start - 1] == 'e'
                || text[start - 1] == 'E' || (text[start - 1] == '-' && start > 1
                && (text[start - 2] == 'e' || text[start - 2] == 'E')));
            if (integer && !part && i - start > 18) {
                out.append("e0");
                changed = true;
            }
        } else {
            if (c == '"') within = true;
            out.push_back(char(c));
            i++;
        }
    }
    return changed;
}

simdjson::error_code run(Workspace &space, const uint8_t *bytes, size_t length, size_t max_depth) {
    using namespace simdjson;
    if (length > 0xFFFFFFFF - SIMDJSON_PADDING || !space.reserve(length)) return CAPACITY;
    std::memcpy(space.buffer.get(), bytes, length);
    std::memset(space.buffer.get() + length, ' ', SIMDJSON_PADDING);
    if (space.parser.capacity() < length || space.depth != max_depth) {
        size_t capacity = length < 16 * 1024 ? 16 * 1024 : length;
        if (auto error = space.parser.allocate(capacity, max_depth)) return error;
        space.depth = max_depth;
    }
    return space.parser.parse(space.buffer.get(), length, false).error();
}

}  // namespace

int csimdjson_parse(const uint8_t *bytes, size_t length, size_t max_depth,
                    const uint64_t **tape, const uint8_t **strings) {
    using namespace simdjson;
    if (length == 0) return CSIMDJSON_EMPTY;
    auto &space = workspace;
    // The whole document counts as a level of its own.
    auto error = run(space, bytes, length, max_depth + 1);
    if (error == NUMBER_ERROR) {
        std::string spelled;
        if (spell_out_integers(bytes, length, spelled))
            error = run(space, reinterpret_cast<const uint8_t *>(spelled.data()), spelled.size(), max_depth + 1);
    }
    switch (error) {
    case SUCCESS:
        *tape = space.parser.doc.tape.get();
        *strings = space.parser.doc.string_buf.get();
        return CSIMDJSON_OK;
    case DEPTH_ERROR: return CSIMDJSON_DEPTH;
    case NUMBER_ERROR: return CSIMDJSON_NUMBER;
    case CAPACITY: case MEMALLOC: return CSIMDJSON_MEMORY;
    case EMPTY: return CSIMDJSON_EMPTY;
    default: return CSIMDJSON_SYNTAX;
    }
}

void csimdjson_release(void) {
    auto &space = workspace;
    if (space.room > kept) {
        space.buffer.reset();
        space.room = 0;
    }
    if (space.parser.capacity() > kept) {
        space.parser = simdjson::dom::parser();
        space.depth = 0;
    }
}

size_t csimdjson_print_number(double value, uint8_t *out) {
    // The digits are to_chars' shortest; the layout is that of Number::toString,
    // https://tc39.es/ecma262/#sec-numeric-types-number-tostring
    if (value == 0) {
        out[0] = '0';
        return 1;
    }
    char text[40];
    auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
    char *in = text;
    uint8_t *to = out;
    if (*in == '-') *to++ = uint8_t(*in++);
    char digits[24];
    int count = 0;
    while (in < end && *in != 'e') {
        if (*in != '.') digits[count++] = *in;
        in++;
    }
    int exponent = 0;
    if (in < end) {
        in++;
        bool negative = *in == '-';
        if (*in == '-' || *in == '+') in++;
        while (in < end) exponent = exponent * 10 + (*in++ - '0');
        if (negative) exponent = -exponent;
    }
    int point = exponent + 1;  // how many digits stand before the point
    if (count <= point && point <= 21) {
        for (int i = 0; i < point; i++) *to++ = i < count ? uint8_t(digits[i]) : '0';
    } else if (0 < point && point <= 21) {
        for (int i = 0; i < count; i++) {
            if (i == point) *to++ = '.';
            *to++ = uint8_t(digits[i]);
        }
    } else if (-6 < point && point <= 0) {
        *to++ = '0';
        *to++ = '.';
        for (int i = point; i < 0; i++) *to++ = '0';
        for (int i = 0; i < count; i++) *to++ = uint8_t(digits[i]);
    } else {
        *to++ = uint8_t(digits[0]);
        if (count > 1) *to++ = '.';
        for (int i = 1; i < count; i++) *to++ = uint8_t(digits[i]);
        *to++ = 'e';
        *to++ = exponent < 0 ? '-' : '+';
        char power[8];
        auto last = std::to_chars(power, power + sizeof power, exponent < 0 ? -exponent : exponent).ptr;
        for (char *c = power; c < last; c++) *to++ = uint8_t(*c);
    }
    return size_t(to - out);
}

size_t csimdjson_read_number(const uint8_t *text, size_t length, double *value) {
    auto start = reinterpret_cast<const char *>(text);
    auto result = std::from_chars(start, start + length, *value);
    return result.ec == std::errc() ? size_t(result.ptr - start) : 0;
}

namespace {

constexpr uint64_t ones = 0x0101010101010101;

// 0x80 in each byte that is zero, and only there.
inline uint64_t zero_bytes(uint64_t word) {
    constexpr uint64_t low = ones * 0x7F;
    return ~(((word & low) + low) | word | low);
}

// Whether a byte of eight must be escaped within a JSON string.
inline bool has_special(uint64_t word) {
    return zero_bytes(word & (ones * 0xE0)) | zero_bytes(word ^ (ones * '"')) | zero_bytes(word ^ (ones * '\\'));
}

inline bool special(uint8_t c) { return c < 0x20 || c == '"' || c == '\\'; }

}  // namespace

size_t csimdjson_copy_plain(const uint8_t *text, size_t length, uint8_t *out) {
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t word;
        std::memcpy(&word, text + i, 8);
        if (has_special(word)) break;
        std::memcpy(out + i, &word, 8);
    }
    for (; i < length && !special(text[i]); i++) out[i] = text[i];
    return i;
}

int csimdjson_contains(const uint8_t *text, size_t length, const uint8_t *pattern, size_t size) {
    return memmem(text, length, pattern, size) != nullptr;
}

ptrdiff_t csimdjson_copy_jsonb(const uint8_t *text, size_t length, uint8_t *out) {
    uint8_t *to = out;
    size_t i = 0;
    while (i < length) {
        uint8_t c = text[i];
        if (c == '"') {
            *to++ = text[i++];
            while (i < length && text[i] != '"') {
                size_t plain = csimdjson_copy_plain(text + i, length - i, to);
                to += plain;
                i += plain;
                // An escape goes over as it is, with what it escapes.
                if (i < length && text[i] == '\\') *to++ = text[i++];
                else if (i == length || text[i] == '"') continue;
                if (i < length) *to++ = text[i++];
            }
            if (i < length) *to++ = text[i++];
        } else if (digit(c) || c == '-') {
            size_t start = i++, digits = digit(c), zeros = 0;
            bool point = false, exponent = false;
            while (i < length) {
                uint8_t d = text[i];
                if (digit(d)) { digits++; if (d == '0') zeros++; else zeros = 0; }
                else if (d == '.') { point = true; zeros = 0; }
                else if (d == 'e' || d == 'E' || d == '+' || d == '-') exponent = true;
                else break;
                i++;
            }
            size_t size = i - start;
            bool tiny = point && size > 8 && std::memcmp(text + start + (c == '-'), "0.00000", 7) == 0;
            bool negative_zero = c == '-' && size > 1 && text[start + 1] == '0' && !point;
            double value;
            if (exponent) return -1;  // PostgreSQL prints none; in full the number may need more room
            if (digits <= 15 && !(point && zeros) && !tiny && !negative_zero) {
                std::memcpy(to, text + start, size);
                to += size;
            } else if (csimdjson_read_number(text + start, size, &value) == size) {
                uint8_t number[32];
                size_t printed = csimdjson_print_number(value, number);
                if (printed > size) return -1;
                std::memcpy(to, number, printed);
                to += printed;
            } else {
                return -1;
            }
        } else {
            if (c != ' ' && c != '\n' && c != '\t' && c != '\r') *to++ = c;
            i++;
        }
    }
    return to - out;
}
