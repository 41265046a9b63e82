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
            if ((k == DISTRIBUTION_BITS || k == DISTRIBUTION_ZIPF || k == DISTRIBUTION_EDGES) && d->parameter > 64)
                return "bits, zipf and edges take at most 64 bits";
            return NULL;
        }
    return "no such distribution";
}

/* Are the 64 bits a natural number, or a rank in the order of the type? */
static bool is_natural(distribution_kind kind) {
    return kind == DISTRIBUTION_BITS || kind == DISTRIBUTION_ZIPF || kind == DISTRIBUTION_LOGNORMAL ||
           kind == DISTRIBUTION_PRICES || kind == DISTRIBUTION_EDGES;
}

const char *generator_start(generator *g, const distribution *d, scan_type type, uint64_t n, uint64_t seed) {
    bool is_float = type_class(type) == SCAN_FLOAT;
    if ((d->nan > 0 || d->zero > 0) && !is_float)
        return "only f32 and f64 have NaN and -0";
    if (!(d->nan >= 0 && d->zero >= 0 && d->nan + d->zero <= 1))
        return "the shares of NaN and -0 are from 0 to 1 together";
    *g = (generator){.spread = *d, .type = type, .n = n, .state = seed};
    uint64_t width = is_float ? 64 : 8 * type_bytes(type) - (type_class(type) == SCAN_SIGNED);
    g->bits = (unsigned)width;
    if (is_natural(d->kind) && d->parameter > width)
        g->spread.parameter = width;
    g->salt = splitmix64(&g->state);
    g->run = splitmix64(&g->state);
    return NULL;
}

/* ---- one element ------------------------------------------------------------------------------------------------- */

/* at / n of the range of 64 bits. */
static uint64_t ramp(uint64_t at, uint64_t n) { return (uint64_t)(((unsigned __int128)at << 64) / n); }

/* One of 0 to limit - 1. */
static uint64_t draw_below(generator *g, uint64_t limit) {
    return (uint64_t)(((unsigned __int128)splitmix64(&g->state) * limit) >> 64);
}

/* What belongs to a rank, the same for all elements. */
static uint64_t of_rank(const generator *g, uint64_t rank) {
    uint64_t state = g->salt + rank * step;
    return splitmix64(&state);
}

/* Octave 0 is {1}, octave e is [2^e, 2^(e+1)); all are equally likely, so k has a frequency of about 1/k. */
static uint64_t next_zipf(generator *g, uint64_t octaves) {
    const uint64_t octave = draw_below(g, octaves);
    return (UINT64_C(1) << octave) | (splitmix64(&g->state) & ((UINT64_C(1) << octave) - 1));
}

/* Irwin-Hall: twelve uniform numbers have a sum of variance 1, here 12 * 2^60 wide. */
static uint64_t next_normal(generator *g) {
    uint64_t sum = 0;
    for (int i = 0; i < 12; i++)
        sum += splitmix64(&g->state) >> 4;
    return sum / 12 * 16;
}

/* A natural number below 2^bits, its logarithm normal about bits / 2, 12 sigma being `bits` octaves, linear between
 * powers of two. */
static uint64_t next_lognormal(generator *g, unsigned bits) {
    const unsigned __int128 octaves = (unsigned __int128)next_normal(g) * bits;
    const unsigned octave = (unsigned)(octaves >> 64);
    const uint64_t mantissa = (uint64_t)octaves >> 1 | UINT64_C(1) << 63;
    return mantissa >> (63 - octave);
}

static uint64_t next_price(generator *g) {
    static const uint8_t endings[] = {99, 99, 99, 95, 95, 50, 0};
    const uint64_t cents = next_lognormal(g, 30), ending = splitmix64(&g->state) >> 61;
    return ending < 7 && cents >= 100 ? cents / 100 * 100 + endings[ending] : cents;
}

/* Numbers of the zipf distribution, in another order: the product with an odd number is one to one. */
static uint64_t next_edge(generator *g, uint64_t bits) {
    return (next_zipf(g, bits) * (g->salt | 1)) & (UINT64_MAX >> (64 - bits));
}

/* Every bit of x becomes two apart from the next. */
static uint64_t spread_bits(uint32_t x) {
    uint64_t z = x;
    z = (z | z << 16) & 0x0000ffff0000ffffu;
    z = (z | z << 8) & 0x00ff00ff00ff00ffu;
    z = (z | z << 4) & 0x0f0f0f0f0f0f0f0fu;
    z = (z | z << 2) & 0x3333333333333333u;
    return (z | z << 1) & 0x5555555555555555u;
}

/* A point at a distance from a town whose scale is one of 20 octaves; its coordinates' bits take turns (Morton). */
static uint64_t next_on_curve(generator *g) {
    const uint64_t town = of_rank(g, draw_below(g, 64)), draw = splitmix64(&g->state);
    const unsigned scale = 8 + (unsigned)(draw_below(g, 20));
    const uint32_t x = (uint32_t)town + (uint32_t)(draw >> 32 >> scale),
                   y = (uint32_t)(town >> 32) + (uint32_t)((draw & UINT32_MAX) >> scale);
    return spread_bits(x) << 1 | spread_bits(y);
}

/* 32 letters from a place of a genome whose letters are those of_rank() has, 32 to a word. */
static uint64_t next_kmer(generator *g, uint64_t letters) {
    const uint64_t place = draw_below(g, letters), word = place / 32;
    const unsigned shift = 2 * (unsigned)(place % 32);
    return of_rank(g, word) << shift | of_rank(g, word + 1) >> 1 >> (63 - shift);
}

static uint64_t next_bits(generator *g) {
    uint64_t parameter = g->spread.parameter;
    switch (g->spread.kind) {
    case DISTRIBUTION_UNIFORM: return splitmix64(&g->state);
    case DISTRIBUTION_BITS: return splitmix64(&g->state) >> (64 - parameter);
    case DISTRIBUTION_ZIPF: return next_zipf(g, parameter);
    case DISTRIBUTION_SORTED: return ramp(g->at, g->n);
    case DISTRIBUTION_REVERSED: return ramp(g->n - 1 - g->at, g->n);
    case DISTRIBUTION_CONSTANT: return g->run;
    case DISTRIBUTION_FEW: {
        uint64_t state = g->salt + draw_below(g, parameter);
        return splitmix64(&state);
    }
    case DISTRIBUTION_RUNS:
        if (draw_below(g, parameter) == 0)
            g->run = splitmix64(&g->state);
        return g->run;
    case DISTRIBUTION_MOSTLY:
    case DISTRIBUTION_NEARLY: {
        bool other = draw_below(g, parameter) == 0;
        uint64_t bits = splitmix64(&g->state);
        return other ? bits : g->spread.kind == DISTRIBUTION_MOSTLY ? g->run : ramp(g->at, g->n);
    }
    case DISTRIBUTION_NORMAL: return next_normal(g);
    case DISTRIBUTION_RELU: {
        const uint64_t bits = next_normal(g), middle = UINT64_C(1) << 63;
        return bits > middle ? bits : middle;
    }
    case DISTRIBUTION_LOGNORMAL: return next_lognormal(g, g->bits);
    case DISTRIBUTION_PRICES: {
        const uint64_t price = next_price(g);
        return g->bits < 31 ? price >> (31 - g->bits) : price;
    }
    case DISTRIBUTION_EDGES: return next_edge(g, parameter);
    case DISTRIBUTION_CLUSTERS: {
        const uint64_t cluster = of_rank(g, draw_below(g, parameter));
        return cluster + (splitmix64(&g->state) >> 16);
    }
    case DISTRIBUTION_CURVE: return next_on_curve(g);
    case DISTRIBUTION_KMERS: return next_kmer(g, parameter);
    case DISTRIBUTION_MERGED: {
        const uint64_t length = g->n / parameter + (g->n % parameter != 0);
        return ramp(g->at % length, length) + draw_below(g, UINT64_MAX / length);
    }
    case DISTRIBUTION_SAW: return ramp(g->at % parameter, parameter);
    case DISTRIBUTION_COUNT: break;
    }
    return 0;
}

static bool is_bell(distribution_kind kind) { return kind == DISTRIBUTION_NORMAL || kind == DISTRIBUTION_RELU; }

/* 64 ordered bits as a float type: [-1, 1), or for the normal distribution [-6, 6). Each step is exact or rounds once,
 * to nearest. A natural number is converted as it is. */
static double to_double(const generator *g, uint64_t bits) {
    if (is_natural(g->spread.kind))
        return (double)bits;
    double unit = (double)(int64_t)((bits >> 11) - (UINT64_C(1) << 52)) * 0x1p-52;
    return is_bell(g->spread.kind) ? unit * 6 : unit;
}

static float to_float(const generator *g, uint64_t bits) {
    if (is_natural(g->spread.kind))
        return (float)bits;
    float unit = (float)((int32_t)(bits >> 40) - (1 << 23)) * 0x1p-23f;
    return is_bell(g->spread.kind) ? unit * 6 : unit;
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
        [DISTRIBUTION_UNIFORM] = 1,    [DISTRIBUTION_BITS] = 1,    [DISTRIBUTION_ZIPF] = 2,
        [DISTRIBUTION_FEW] = 1,        [DISTRIBUTION_RUNS] = 0,    [DISTRIBUTION_MOSTLY] = 2,
        [DISTRIBUTION_NEARLY] = 2,     [DISTRIBUTION_NORMAL] = 12, [DISTRIBUTION_RELU] = 12,
        [DISTRIBUTION_LOGNORMAL] = 12, [DISTRIBUTION_PRICES] = 13, [DISTRIBUTION_EDGES] = 2,
        [DISTRIBUTION_CLUSTERS] = 2,   [DISTRIBUTION_CURVE] = 3,   [DISTRIBUTION_KMERS] = 1,
        [DISTRIBUTION_MERGED] = 1,
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
