/* SPDX-License-Identifier: MIT
 *
 * Synthetic arrays: see distributions.h. Every element begins as 64 bits in the order of the type: 0 is the smallest
 * value, 2^64 - 1 the largest. One function per type converts those bits, so that each distribution is written once for
 * all types.
 */
#include "distributions.h"

#include <string.h>

static const uint64_t step = 0x9e3779b97f4a7c15u;

uint64_t splitmix64(uint64_t *state) {
    uint64_t z = *state += step;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static const struct {
    const char *name;
    uint64_t standard;
    bool has_parameter;
} rows[DISTRIBUTION_COUNT] = {
#define DISTRIBUTION_ROW(ENUM, name, parameter, standard, meaning) {#name, standard, sizeof parameter > 1},
    DISTRIBUTIONS(DISTRIBUTION_ROW)
#undef DISTRIBUTION_ROW
};

const char *distribution_name(distribution_kind kind) { return rows[kind].name; }

const char *distribution_parse(distribution *d, const char *text) {
    size_t length = strcspn(text, ":");
    for (int k = 0; k < DISTRIBUTION_COUNT; k++)
        if (strlen(rows[k].name) == length && memcmp(rows[k].name, text, length) == 0) {
            d->kind = (distribution_kind)k;
            d->parameter = rows[k].standard;
            if (text[length] == '\0')
                return NULL;
            if (!rows[k].has_parameter)
                return "this distribution takes no parameter";
            if (!parse_count(text + length + 1, &d->parameter) || d->parameter == 0)
                return "the parameter of a distribution is a number from 1";
            if ((k == DISTRIBUTION_BITS || k == DISTRIBUTION_ZIPF) && d->parameter > 64)
                return "bits and zipf take at most 64 bits";
            return NULL;
        }
    return "no such distribution";
}

/* Are the 64 bits a natural number (bits, zipf), or a rank in the order of the type (all others)? */
static bool is_natural(distribution_kind kind) { return kind == DISTRIBUTION_BITS || kind == DISTRIBUTION_ZIPF; }

const char *generator_start(generator *g, const distribution *d, scan_type type, uint64_t n, uint64_t seed) {
    bool is_float = type_class(type) == SCAN_FLOAT;
    if ((d->nan > 0 || d->zero > 0) && !is_float)
        return "only f32 and f64 have NaN and -0";
    if (!(d->nan >= 0 && d->zero >= 0 && d->nan + d->zero <= 1))
        return "the shares of NaN and -0 are from 0 to 1 together";
    *g = (generator){.spread = *d, .type = type, .n = n, .state = seed};
    uint64_t width = is_float ? 64 : 8 * type_bytes(type) - (type_class(type) == SCAN_SIGNED);
    if (is_natural(d->kind) && d->parameter > width)
        g->spread.parameter = width;
    g->salt = splitmix64(&g->state);
    g->run = splitmix64(&g->state);
    return NULL;
}

/* ---- one element ------------------------------------------------------------------------------------------------- */

/* at / n of the range of 64 bits. */
static uint64_t ramp(uint64_t at, uint64_t n) { return (uint64_t)(((unsigned __int128)at << 64) / n); }

static uint64_t next_bits(generator *g) {
    uint64_t parameter = g->spread.parameter;
    switch (g->spread.kind) {
    case DISTRIBUTION_UNIFORM: return splitmix64(&g->state);
    case DISTRIBUTION_BITS: return splitmix64(&g->state) >> (64 - parameter);
    case DISTRIBUTION_ZIPF: {
        /* octave 0 is {1}, octave e is [2^e, 2^(e+1)); all are equally likely, so k has a frequency of about 1/k */
        uint64_t octave = (uint64_t)(((unsigned __int128)splitmix64(&g->state) * parameter) >> 64);
        return (UINT64_C(1) << octave) | (splitmix64(&g->state) & ((UINT64_C(1) << octave) - 1));
    }
    case DISTRIBUTION_SORTED: return ramp(g->at, g->n);
    case DISTRIBUTION_REVERSED: return ramp(g->n - 1 - g->at, g->n);
    case DISTRIBUTION_CONSTANT: return g->run;
    case DISTRIBUTION_FEW: {
        uint64_t rank = (uint64_t)(((unsigned __int128)splitmix64(&g->state) * parameter) >> 64);
        uint64_t state = g->salt + rank;
        return splitmix64(&state);
    }
    case DISTRIBUTION_RUNS:
        if ((uint64_t)(((unsigned __int128)splitmix64(&g->state) * parameter) >> 64) == 0)
            g->run = splitmix64(&g->state);
        return g->run;
    case DISTRIBUTION_MOSTLY:
    case DISTRIBUTION_NEARLY: {
        bool other = (uint64_t)(((unsigned __int128)splitmix64(&g->state) * parameter) >> 64) == 0;
        uint64_t bits = splitmix64(&g->state);
        return other ? bits : g->spread.kind == DISTRIBUTION_MOSTLY ? g->run : ramp(g->at, g->n);
    }
    case DISTRIBUTION_NORMAL: {
        /* Irwin-Hall: twelve uniform numbers have a sum of variance 1, here 12 * 2^60 wide */
        uint64_t sum = 0;
        for (int i = 0; i < 12; i++)
            sum += splitmix64(&g->state) >> 4;
        return sum / 12 * 16;
    }
    case DISTRIBUTION_COUNT: break;
    }
    return 0;
}

/* 64 ordered bits as a float type: [-1, 1), or for the normal distribution [-6, 6). Each step is exact or rounds once,
 * to nearest. A natural number is converted as it is. */
static double to_double(const generator *g, uint64_t bits) {
    if (is_natural(g->spread.kind))
        return (double)bits;
    double unit = (double)(int64_t)((bits >> 11) - (UINT64_C(1) << 52)) * 0x1p-52;
    return g->spread.kind == DISTRIBUTION_NORMAL ? unit * 6 : unit;
}

static float to_float(const generator *g, uint64_t bits) {
    if (is_natural(g->spread.kind))
        return (float)bits;
    float unit = (float)((int32_t)(bits >> 40) - (1 << 23)) * 0x1p-23f;
    return g->spread.kind == DISTRIBUTION_NORMAL ? unit * 6 : unit;
}

/* 64 ordered bits as an integer type of `width` bits: the top bits, the sign bit flipped where there is a sign. A
 * natural number fits (generator_start). */
static uint64_t to_integer(const generator *g, uint64_t bits, unsigned width, bool is_signed) {
    if (is_natural(g->spread.kind))
        return bits;
    return (bits >> (64 - width)) ^ ((uint64_t)is_signed << (width - 1));
}

/* Replaces elements by NaN or -0 in the shares asked for. One draw per element, so that the shares do not change which
 * other elements are drawn. */
static bool special(generator *g, double *value) {
    if (g->spread.nan <= 0 && g->spread.zero <= 0)
        return false;
    double draw = (double)(splitmix64(&g->state) >> 11) * 0x1p-53;
    if (draw < g->spread.nan) {
        *value = __builtin_nan("");
        return true;
    }
    *value = -0.0;
    return draw < g->spread.nan + g->spread.zero;
}

#define FILL_INTEGER(name, ctype, is_signed)                                                                           \
    static void fill_##name(generator *g, void *to, size_t count) {                                                    \
        ctype *out = to;                                                                                               \
        for (size_t i = 0; i < count; i++, g->at++)                                                                    \
            out[i] = (ctype)to_integer(g, next_bits(g), 8 * sizeof(ctype), is_signed);                                 \
    }
#define FILL_UNSIGNED(name, ctype) FILL_INTEGER(name, ctype, false)
#define FILL_SIGNED(name, ctype) FILL_INTEGER(name, ctype, true)
#define FILL_FLOAT(name, ctype)                                                                                        \
    static void fill_##name(generator *g, void *to, size_t count) {                                                    \
        ctype *out = to;                                                                                               \
        for (size_t i = 0; i < count; i++, g->at++) {                                                                  \
            double other;                                                                                              \
            ctype value = to_##ctype(g, next_bits(g));                                                                 \
            out[i] = special(g, &other) ? (ctype)other : value;                                                        \
        }                                                                                                              \
    }
#define FILL_FUNCTION(ENUM, name, ctype, CLASS) FILL_##CLASS(name, ctype)
SCAN_TYPES(FILL_FUNCTION)
#undef FILL_FUNCTION

void generator_fill(generator *g, void *to, size_t count) {
    static void (*const fill[SCAN_TYPE_COUNT + 1])(generator *, void *, size_t) = {
#define FILL_ROW(ENUM, name, ctype, ...) [SCAN_##ENUM] = fill_##name,
        SCAN_TYPES(FILL_ROW)
#undef FILL_ROW
    };
    fill[g->type](g, to, count);
}

/* Every element takes the same number of draws, and a draw adds a constant to the state. */
bool generator_skip(generator *g, uint64_t count) {
    static const uint8_t draws[DISTRIBUTION_COUNT] = {
        [DISTRIBUTION_UNIFORM] = 1, [DISTRIBUTION_BITS] = 1,   [DISTRIBUTION_ZIPF] = 2,   [DISTRIBUTION_FEW] = 1,
        [DISTRIBUTION_RUNS] = 0,    [DISTRIBUTION_MOSTLY] = 2, [DISTRIBUTION_NEARLY] = 2, [DISTRIBUTION_NORMAL] = 12,
    };
    if (g->spread.kind == DISTRIBUTION_RUNS && count > 0)
        return false;
    g->state += count * (draws[g->spread.kind] + (g->spread.nan > 0 || g->spread.zero > 0 ? 1u : 0u)) * step;
    g->at += count;
    return true;
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static bool digits(const char **text, uint64_t *number) {
    const char *at = *text;
    uint64_t value = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    bool any = at != *text;
    *text = at;
    *number = value;
    return any;
}

bool parse_count(const char *text, uint64_t *count) {
    uint64_t value, extra;
    if (!digits(&text, &value))
        return false;
    if (*text == '^') {
        text++;
        if (value != 2 || !digits(&text, &value) || value > 63)
            return false;
        value = UINT64_C(1) << value;
        if (*text == '+' || *text == '-') {
            bool minus = *text++ == '-';
            if (!digits(&text, &extra) ||
                (minus ? __builtin_sub_overflow(value, extra, &value) : __builtin_add_overflow(value, extra, &value)))
                return false;
        }
    } else if (*text != '\0') {
        static const char suffixes[] = "KMG";
        const char *suffix = strchr(suffixes, *text++);
        if (suffix == NULL)
            return false;
        for (const char *s = suffixes; s <= suffix; s++)
            if (__builtin_mul_overflow(value, 1000, &value))
                return false;
    }
    *count = value;
    return *text == '\0';
}

scan_type parse_type(const char *name) {
    static const char *const names[SCAN_TYPE_COUNT + 1] = {
#define NAME_ROW(ENUM, name, ctype, ...) [SCAN_##ENUM] = #name,
        SCAN_TYPES(NAME_ROW)
#undef NAME_ROW
    };
    for (int t = 1; t <= SCAN_TYPE_COUNT; t++)
        if (strcmp(name, names[t]) == 0)
            return (scan_type)t;
    return SCAN_TYPE_NONE;
}

size_t type_bytes(scan_type type) {
    static const uint8_t bytes[SCAN_TYPE_COUNT + 1] = {
#define BYTES_ROW(ENUM, name, ctype, ...) [SCAN_##ENUM] = sizeof(ctype),
        SCAN_TYPES(BYTES_ROW)
#undef BYTES_ROW
    };
    return bytes[type];
}

scan_class type_class(scan_type type) {
    static const scan_class classes[SCAN_TYPE_COUNT + 1] = {
#define CLASS_ROW(ENUM, name, ctype, CLASS) [SCAN_##ENUM] = SCAN_##CLASS,
        SCAN_TYPES(CLASS_ROW)
#undef CLASS_ROW
    };
    return classes[type];
}
