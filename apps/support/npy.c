/* SPDX-License-Identifier: MIT
 *
 * .npy headers. The grammar accepted is what NumPy writes, with any order of keys and any blanks:
 *
 *     { 'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
 *
 * It has each of the three keys once and no other. A descr that is not a plain string is a structured type, and the
 * message says so.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "npy.h"

static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

bool npy_is_magic(const unsigned char *data, size_t bytes) {
    return bytes >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

typedef struct parser {
    const unsigned char *begin, *at, *end;
    char *reason;
} parser;

__attribute__((format(printf, 2, 3))) static bool fail(char *reason, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, 256, format, arguments);
    va_end(arguments);
    return false;
}

bool npy_prefix(const unsigned char *data, size_t bytes, size_t *dict_offset, size_t *dict_bytes, char reason[256]) {
    if (bytes < 10)
        return fail(reason, "the .npy header is cut short after %zu bytes", bytes);
    unsigned major = data[6], minor = data[7];
    if (major < 1 || major > 3 || minor != 0)
        return fail(reason, ".npy version %u.%u is not 1.0, 2.0 or 3.0", major, minor);
    if (major > 1 && bytes < 12)
        return fail(reason, "the .npy header is cut short after %zu bytes", bytes);
    *dict_offset = major == 1 ? 10 : 12;
    *dict_bytes = (size_t)data[8] | (size_t)data[9] << 8;
    if (major > 1)
        *dict_bytes |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    if (*dict_bytes > NPY_HEADER_MAX)
        return fail(reason, "the .npy header claims %zu bytes, at most %d are read", *dict_bytes, NPY_HEADER_MAX);
    return true;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

static void skip_blanks(parser *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
        p->at++;
}

/* The next character that is not blank, 0 at the end. */
static unsigned char look(parser *p) {
    skip_blanks(p);
    return p->at < p->end ? *p->at : 0;
}

static bool expect(parser *p, char c) {
    if (look(p) != (unsigned char)c)
        return fail(p->reason, "the .npy header is malformed: '%c' expected at byte %zu of its dict", c,
                    (size_t)(p->at - p->begin) + 1);
    p->at++;
    return true;
}

/* 'text' or "text", without escapes, printable ASCII. */
static bool take_string(parser *p, char *text, size_t capacity) {
    unsigned char quote = look(p);
    if (quote != '\'' && quote != '"')
        return fail(p->reason, "the .npy header is malformed: a quoted string expected");
    size_t n = 0;
    for (p->at++; p->at < p->end && *p->at != quote; p->at++) {
        if (*p->at < 0x20 || *p->at >= 0x7f || *p->at == '\\' || n + 1 >= capacity)
            return fail(p->reason, "the .npy header is malformed: a string is too long or has odd characters");
        text[n++] = (char)*p->at;
    }
    if (p->at == p->end)
        return fail(p->reason, "the .npy header is malformed: a quote is not closed");
    p->at++;
    text[n] = 0;
    return true;
}

static bool take_word(parser *p, const char *word) {
    size_t n = strlen(word);
    skip_blanks(p);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
        return false;
    p->at += n;
    return true;
}

/* ---- descr ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *code;
    scan_type type;
} codes[] = {{"u1", SCAN_U8},  {"i1", SCAN_I8},  {"u2", SCAN_U16}, {"i2", SCAN_I16}, {"u4", SCAN_U32}, {"i4", SCAN_I32},
             {"u8", SCAN_U64}, {"i8", SCAN_I64}, {"f4", SCAN_F32}, {"f8", SCAN_F64}, {"b1", SCAN_U8}};

static const char *kind_name(const char *code) {
    switch (code[0]) {
    case 'O': return "Python objects";
    case 'V': return "structured or void";
    case 'S':
    case 'a':
    case 'U': return "strings";
    case 'c': return "complex numbers";
    case 'M': return "dates";
    case 'm': return "time differences";
    case 'f': return strcmp(code, "f2") == 0 ? "half-precision floats" : "long double floats";
    default: return "of an unknown type";
    }
}

static bool parse_descr(parser *p, npy_header *header) {
    char descr[64];
    if (look(p) == '[' || look(p) == '(')
        return fail(p->reason, "its elements are structured records; u8 to u64, i8 to i64, f32 and f64 can be read");
    if (!take_string(p, descr, sizeof descr))
        return false;
    bool has_order = descr[0] && strchr("<>=|", descr[0]);
    const char *code = descr + has_order;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (strcmp(code, codes[i].code) == 0) {
            header->type = codes[i].type;
            header->is_bool = code[0] == 'b';
            header->big_endian = descr[0] == '>' && code[1] != '1';
            return true;
        }
    return fail(p->reason, "its elements are %s ('%s'); u8 to u64, i8 to i64, f32 and f64 can be read", kind_name(code),
                descr);
}

/* ---- shape ------------------------------------------------------------------------------------------------------- */

static bool take_length(parser *p, uint64_t *length) {
    unsigned char c = look(p);
    if (c == '-')
        return fail(p->reason, "the .npy header gives a negative dimension");
    if (c < '0' || c > '9')
        return fail(p->reason, "the .npy header is malformed: a dimension is not a whole number");
    *length = 0;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        if (__builtin_mul_overflow(*length, 10u, length) ||
            __builtin_add_overflow(*length, (uint64_t)(*p->at - '0'), length))
            return fail(p->reason, "the .npy header gives a dimension beyond 64 bits");
    if (p->at < p->end && *p->at == 'L') /* as Python 2 wrote long integers */
        p->at++;
    return true;
}

/* A tuple: () or (3,) or (3, 4) or (3, 4,), but not (3), which Python reads as a number. */
static bool parse_shape(parser *p, npy_header *header) {
    if (!expect(p, '('))
        return false;
    header->dimensions = 0;
    while (look(p) != ')') {
        if (header->dimensions == NPY_MAX_DIMENSIONS)
            return fail(p->reason, "the .npy header gives more than %d dimensions", NPY_MAX_DIMENSIONS);
        if (!take_length(p, &header->shape[header->dimensions++]))
            return false;
        if (look(p) == ')' && header->dimensions > 1)
            break;
        if (!expect(p, ','))
            return false;
    }
    p->at++;
    return true;
}

static bool multiply_shape(parser *p, npy_header *header) {
    uint64_t count = 1, bytes;
    bool fits = true, empty = false;
    for (unsigned i = 0; i < header->dimensions; i++) {
        empty = empty || header->shape[i] == 0;
        fits = fits && !__builtin_mul_overflow(count, header->shape[i], &count);
    }
    fits = fits && !__builtin_mul_overflow(count, (uint64_t)scan_type_size(header->type), &bytes) && bytes <= INT64_MAX;
    if (!fits && !empty)
        return fail(p->reason, "the .npy header gives a shape of more than 2^63 bytes");
    header->count = empty ? 0 : count;
    return true;
}

/* ---- the dict ---------------------------------------------------------------------------------------------------- */

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4 };

static bool parse_item(parser *p, npy_header *header, unsigned *seen, bool *fortran) {
    char key[32];
    if (!take_string(p, key, sizeof key) || !expect(p, ':'))
        return false;
    unsigned bit = strcmp(key, "descr") == 0           ? HAS_DESCR
                   : strcmp(key, "fortran_order") == 0 ? HAS_ORDER
                   : strcmp(key, "shape") == 0         ? HAS_SHAPE
                                                       : 0;
    if (!bit)
        return fail(p->reason, "the .npy header has the unknown key '%s'", key);
    if (*seen & bit)
        return fail(p->reason, "the .npy header has the key '%s' twice", key);
    *seen |= bit;
    if (bit == HAS_DESCR)
        return parse_descr(p, header);
    if (bit == HAS_SHAPE)
        return parse_shape(p, header);
    *fortran = take_word(p, "True");
    if (!*fortran && !take_word(p, "False"))
        return fail(p->reason, "the .npy header is malformed: fortran_order is neither True nor False");
    return true;
}

bool npy_parse(const unsigned char *dict, size_t bytes, npy_header *header, char reason[256]) {
    parser p = {.begin = dict, .at = dict, .end = dict + bytes, .reason = reason};
    unsigned seen = 0;
    bool fortran = false;
    *header = (npy_header){0};
    if (!expect(&p, '{'))
        return false;
    while (look(&p) != '}') {
        if (!parse_item(&p, header, &seen, &fortran))
            return false;
        if (look(&p) != '}' && !expect(&p, ','))
            return false;
    }
    p.at++;
    if (look(&p) || p.at != p.end)
        return fail(reason, "the .npy header is malformed: something follows the dict");
    if (seen != (HAS_DESCR | HAS_ORDER | HAS_SHAPE))
        return fail(reason, "the .npy header lacks the key '%s'",
                    !(seen & HAS_DESCR)   ? "descr"
                    : !(seen & HAS_ORDER) ? "fortran_order"
                                          : "shape");
    unsigned long_dimensions = 0;
    for (unsigned i = 0; i < header->dimensions; i++)
        long_dimensions += header->shape[i] > 1;
    header->fortran = fortran && long_dimensions > 1;
    return multiply_shape(&p, header);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

size_t npy_format(unsigned char *to, scan_type type, bool is_bool, unsigned dimensions, const uint64_t *shape) {
    size_t i = 0;
    while (codes[i].type != type || (is_bool && codes[i].code[0] != 'b'))
        i++;
    char *text = (char *)to + 10;
    size_t capacity = NPY_FORMAT_MAX - 10 - 64;
    int n = snprintf(text, capacity, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                     scan_type_size(type) == 1 ? '|' : '<', codes[i].code);
    for (unsigned d = 0; d < dimensions; d++)
        n += snprintf(text + n, capacity - (size_t)n, "%s%llu%s", d ? ", " : "", (unsigned long long)shape[d],
                      dimensions == 1 ? "," : "");
    n += snprintf(text + n, capacity - (size_t)n, "), }");
    size_t total = (10 + (size_t)n + 1 + 63) / 64 * 64;
    if (dimensions == 1)
        total = NPY_VECTOR_HEADER_BYTES;
    memset(text + n, ' ', total - 10 - (size_t)n);
    to[total - 1] = '\n';
    memcpy(to, magic, sizeof magic);
    to[6] = 1;
    to[7] = 0;
    to[8] = (unsigned char)((total - 10) & 0xff);
    to[9] = (unsigned char)((total - 10) >> 8);
    return total;
}
