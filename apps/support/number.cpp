// SPDX-License-Identifier: MIT
//
// std::from_chars and std::to_chars behind a C interface. Three things from_chars does not do are done here: a leading
// '+' and blanks are taken, nan(...) is refused, and "out of range" is told apart into too large (an error) and too
// small (zero). Integers are read by hand, because their digits must be walked anyway to see that no point follows.
#include "number.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <system_error>

namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Returns true if the text begins with `word`, which is in lower case, in any case.
bool begins_with(const char *text, const char *end, const char *word) {
    for (; *word; word++, text++)
        if (text == end || (*text | 0x20) != *word)
            return false;
    return true;
}

// For decimal text outside the range of double: true if the number is too large, false if it is too small. It is too
// large if, after the exponent has moved the point, its first nonzero digit stands before the point.
bool is_huge(const char *p, const char *end) {
    long long place = 0; // of the first nonzero digit: 10^(place - 1)
    bool point = false, nonzero = false;
    for (; p < end && (is_digit(*p) || *p == '.'); p++) {
        if (*p == '.') {
            point = true;
        } else {
            nonzero = nonzero || *p != '0';
            if (nonzero && !point)
                place++;
            else if (!nonzero && point)
                place--;
        }
    }
    if (!nonzero)
        return false;
    constexpr long long far = 1LL << 60; // beyond any text that fits in memory
    long long exponent = 0;
    if (p < end) {
        p++; // the e
        bool negative = *p == '-';
        if (*p == '-' || *p == '+')
            p++;
        for (; p < end && is_digit(*p); p++)
            exponent = exponent < far / 10 ? exponent * 10 + (*p - '0') : far;
        if (negative)
            exponent = -exponent;
    }
    return place + exponent > 0;
}

// Returns the end of the number's text, without trailing CR and blanks.
const char *trim(const char *begin, const char *end) {
    if (end > begin && end[-1] == '\r')
        end--;
    while (end > begin && is_blank(end[-1]))
        end--;
    return end;
}

number_status parse_float(const char *p, const char *end, bool negative, number *out, const char **where) {
    double value = 0;
    std::from_chars_result result = std::from_chars(p, end, value, std::chars_format::general);
    if (result.ec == std::errc::invalid_argument || result.ptr != end) {
        *where = result.ec == std::errc::invalid_argument ? p : result.ptr;
        return NUMBER_SYNTAX;
    }
    if (result.ec == std::errc::result_out_of_range || std::isinf(value)) {
        if (is_huge(p, end))
            return NUMBER_FLOAT_RANGE;
        value = 0;
    }
    out->type = SCAN_F64;
    out->value.f = negative ? -value : value;
    return NUMBER_OK;
}

number_status parse_word(const char *p, const char *end, bool negative, number *out, const char **where) {
    const char *after = p;
    double value = 0;
    if (begins_with(p, end, "nan")) {
        after = p + 3;
        value = std::nan("");
    } else if (begins_with(p, end, "infinity")) {
        after = p + 8;
        value = HUGE_VAL;
    } else if (begins_with(p, end, "inf")) {
        after = p + 3;
        value = HUGE_VAL;
    }
    if (after == p || after != end) {
        *where = after;
        return NUMBER_SYNTAX;
    }
    out->type = SCAN_F64;
    out->value.f = negative ? -value : value;
    return NUMBER_OK;
}

number_status parse(const char *p, const char *end, number *out, const char **where) {
    while (p < end && is_blank(*p))
        p++;
    end = trim(p, end);
    *where = p;
    if (p == end)
        return NUMBER_EMPTY;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    if (p == end || !(is_digit(*p) || *p == '.')) {
        const char *word = p;
        number_status status = parse_word(p, end, negative, out, &word);
        *where = status == NUMBER_OK ? *where : word;
        return status;
    }
    const char *digits = p;
    uint64_t magnitude = 0;
    bool overflow = false;
    for (; p < end && is_digit(*p); p++) {
        uint64_t digit = static_cast<uint64_t>(*p - '0');
        overflow |= __builtin_mul_overflow(magnitude, uint64_t{10}, &magnitude);
        overflow |= __builtin_add_overflow(magnitude, digit, &magnitude);
    }
    if (p < end) {
        if (*p == '.' || *p == 'e' || *p == 'E')
            return parse_float(digits, end, negative, out, where);
        *where = p;
        return NUMBER_SYNTAX;
    }
    constexpr uint64_t sign_bit = uint64_t{1} << 63;
    if (overflow || (negative && magnitude > sign_bit))
        return NUMBER_INTEGER_RANGE;
    out->minus_zero = negative && magnitude == 0;
    out->type = magnitude >= sign_bit && !negative ? SCAN_U64 : SCAN_I64;
    out->value.u = negative ? 0 - magnitude : magnitude;
    return NUMBER_OK;
}

template <typename Float> size_t format_float(char *to, Float value) {
    if (std::isnan(value)) {
        std::memcpy(to, "nan", 3);
        return 3;
    }
    // A bare integer beyond 2^53 among floats would be refused when read back.
    bool large = std::isfinite(value) && std::fabs(value) > static_cast<Float>(9007199254740992.0);
    char *end = to + NUMBER_FORMAT_BYTES;
    std::to_chars_result result =
        large ? std::to_chars(to, end, value, std::chars_format::scientific) : std::to_chars(to, end, value);
    return static_cast<size_t>(result.ptr - to);
}

template <typename Integer> size_t format_integer(char *to, Integer value) {
    return static_cast<size_t>(std::to_chars(to, to + NUMBER_FORMAT_BYTES, value).ptr - to);
}

template <typename T> T load(const void *element) {
    T value;
    std::memcpy(&value, element, sizeof value);
    return value;
}

} // namespace

number_status number_parse(const char *text, size_t bytes, number *out, size_t *where) {
    const char *place = text;
    out->minus_zero = false;
    number_status status = parse(text, text + bytes, out, &place);
    *where = static_cast<size_t>(place - text);
    return status;
}

const char *number_complaint(number_status status) {
    switch (status) {
    case NUMBER_OK: return "is a number";
    case NUMBER_EMPTY: return "is empty, a number is needed";
    case NUMBER_SYNTAX: return "is not a number";
    case NUMBER_INTEGER_RANGE: return "does not fit a 64-bit integer";
    case NUMBER_FLOAT_RANGE: return "is too large for a 64-bit float";
    }
    return "is not a number";
}

const char *number_quote(char to[NUMBER_QUOTE_BYTES], const char *text, size_t bytes) {
    constexpr size_t max_bytes = 40;
    static const char hex[] = "0123456789abcdef";
    char *p = to;
    *p++ = '"';
    for (size_t i = 0; i < bytes && i < max_bytes; i++) {
        unsigned char c = static_cast<unsigned char>(text[i]);
        if (c >= 0x20 && c < 0x7f) {
            *p++ = text[i];
        } else {
            *p++ = '\\';
            *p++ = 'x';
            *p++ = hex[c >> 4];
            *p++ = hex[c & 15];
        }
    }
    *p++ = '"';
    if (bytes > max_bytes) {
        std::memcpy(p, "...", 3);
        p += 3;
    }
    *p = 0;
    return to;
}

size_t number_format(char *to, scan_type type, const void *element) {
    switch (type) {
    case SCAN_U8: return format_integer(to, load<uint8_t>(element));
    case SCAN_I8: return format_integer(to, load<int8_t>(element));
    case SCAN_U16: return format_integer(to, load<uint16_t>(element));
    case SCAN_I16: return format_integer(to, load<int16_t>(element));
    case SCAN_U32: return format_integer(to, load<uint32_t>(element));
    case SCAN_I32: return format_integer(to, load<int32_t>(element));
    case SCAN_U64: return format_integer(to, load<uint64_t>(element));
    case SCAN_I64: return format_integer(to, load<int64_t>(element));
    case SCAN_F32: return format_float(to, load<float>(element));
    case SCAN_F64: return format_float(to, load<double>(element));
    case SCAN_TYPE_NONE: break;
    }
    return 0;
}
