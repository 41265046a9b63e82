/* SPDX-License-Identifier: MIT
 *
 * Checks of prefixes: a serial loop, cut into one part a thread. The parts are folded first, so that each can then walk
 * from the fold of all before it.
 */
#include <math.h>

#include "bench.h"

#define IS_NAN(x) ((x) != (x))

enum { MAX_PARTS = 64 };

typedef struct fold {
    uint64_t whole;    /* integers */
    long double value; /* floats ... */
    long double size;  /* ... and what their error is measured by: the running sum of magnitudes, or of factors */
    bool any;
} fold;

/* The one that a scan meets as number k. */
static uint64_t element(const job *j, uint64_t k) { return j->reverse ? j->n - 1 - k : k; }

/* Integers wrap, so unsigned arithmetic in the accumulator's width is the truth. */
#define CHECK_INTEGER(in_name, in_type, out_name, out_type)                                                            \
    static void step_##in_name##_##out_name(const job *j, fold *f, out_type x) {                                       \
        out_type y = (out_type)f->whole;                                                                               \
        if (!f->any)                                                                                                   \
            y = x;                                                                                                     \
        else if (j->op == SCAN_ADD)                                                                                    \
            y = (out_type)((uint64_t)y + (uint64_t)x);                                                                 \
        else if (j->op == SCAN_MUL)                                                                                    \
            y = (out_type)((uint64_t)y * (uint64_t)x);                                                                 \
        else if (j->op == SCAN_MIN ? x < y : x > y)                                                                    \
            y = x;                                                                                                     \
        f->whole = (uint64_t)y;                                                                                        \
        f->any = true;                                                                                                 \
    }                                                                                                                  \
    static bool walk_##in_name##_##out_name(const job *j, uint64_t begin, uint64_t end, fold *f, bool compare) {       \
        const in_type *in = j->in;                                                                                     \
        const out_type *out = j->out;                                                                                  \
        for (uint64_t k = begin; k < end; k++) {                                                                       \
            uint64_t i = element(j, k);                                                                                \
            bool shown = f->any || j->op == SCAN_ADD || j->op == SCAN_MUL;                                             \
            out_type before = f->any ? (out_type)f->whole : j->op == SCAN_MUL;                                         \
            if (compare && j->kind == SCAN_EXCLUSIVE && shown && out[i] != before)                                     \
                return false;                                                                                          \
            step_##in_name##_##out_name(j, f, (out_type)in[i]);                                                        \
            if (compare && j->kind == SCAN_INCLUSIVE && out[i] != (out_type)f->whole)                                  \
                return false;                                                                                          \
        }                                                                                                              \
        return true;                                                                                                   \
    }                                                                                                                  \
    static void join_##in_name##_##out_name(const job *j, fold *left, const fold *right) {                             \
        if (right->any)                                                                                                \
            step_##in_name##_##out_name(j, left, (out_type)right->whole);                                              \
    }

static void step_float(const job *j, fold *f, long double x) {
    if (!f->any)
        f->value = x;
    else if (j->op == SCAN_ADD)
        f->value += x;
    else if (j->op == SCAN_MUL)
        f->value *= x;
    else if (IS_NAN(x) || (j->op == SCAN_MIN ? x < f->value : x > f->value))
        f->value = x;
    f->any = true;
}

static void join_float(const job *j, fold *left, const fold *right) {
    if (!right->any)
        return;
    step_float(j, left, right->value);
    left->size += right->size;
}

/* Floats: any order of operations is accepted here, within the error that a tree of any shape over a running sum can
 * have. */
#define CHECK_FLOAT(in_name, in_type, out_name, out_type, epsilon)                                                     \
    static bool walk_##in_name##_##out_name(const job *j, uint64_t begin, uint64_t end, fold *f, bool compare) {       \
        const in_type *in = j->in;                                                                                     \
        const out_type *out = j->out;                                                                                  \
        for (uint64_t k = begin; k < end; k++) {                                                                       \
            uint64_t i = element(j, k);                                                                                \
            fold before = *f;                                                                                          \
            step_float(j, f, (long double)in[i]);                                                                      \
            f->size += j->op == SCAN_MUL ? 1 : fabsl((long double)in[i]);                                              \
            const fold *shown = j->kind == SCAN_INCLUSIVE ? f : &before;                                               \
            if (!compare || !shown->any)                                                                               \
                continue;                                                                                              \
            long double slack = j->op == SCAN_ADD ? f->size : j->op == SCAN_MUL ? f->size * fabsl(f->value) : 0;       \
            if (IS_NAN(shown->value) != IS_NAN(out[i]))                                                                \
                return false;                                                                                          \
            if (!IS_NAN(out[i]) && !(fabsl((long double)out[i] - shown->value) <= slack * epsilon))                    \
                return false;                                                                                          \
        }                                                                                                              \
        return true;                                                                                                   \
    }                                                                                                                  \
    static void join_##in_name##_##out_name(const job *j, fold *left, const fold *right) { join_float(j, left, right); }

#define SAME_INTEGER(name, ctype) CHECK_INTEGER(name, ctype, name, ctype)
SAME_INTEGER(u8, uint8_t)
SAME_INTEGER(i8, int8_t)
SAME_INTEGER(u16, uint16_t)
SAME_INTEGER(i16, int16_t)
SAME_INTEGER(u32, uint32_t)
SAME_INTEGER(i32, int32_t)
SAME_INTEGER(u64, uint64_t)
SAME_INTEGER(i64, int64_t)
CHECK_INTEGER(u8, uint8_t, u32, uint32_t)
CHECK_INTEGER(u8, uint8_t, u64, uint64_t)
CHECK_INTEGER(i8, int8_t, i64, int64_t)
CHECK_INTEGER(u16, uint16_t, u64, uint64_t)
CHECK_INTEGER(i16, int16_t, i64, int64_t)
CHECK_INTEGER(u32, uint32_t, u64, uint64_t)
CHECK_INTEGER(i32, int32_t, i64, int64_t)
CHECK_FLOAT(f32, float, f32, float, 0x1p-20L)
CHECK_FLOAT(f64, double, f64, double, 0x1p-48L)
CHECK_FLOAT(f32, float, f64, double, 0x1p-48L)

typedef struct checks {
    bool (*walk)(const job *j, uint64_t begin, uint64_t end, fold *f, bool compare);
    void (*join)(const job *j, fold *left, const fold *right);
} checks;

static const checks table[SCAN_TYPE_COUNT + 1][SCAN_TYPE_COUNT + 1] = {
#define SAME_ROW(ENUM, name, ...) [SCAN_##ENUM][SCAN_##ENUM] = {walk_##name##_##name, join_##name##_##name},
    SCAN_TYPES(SAME_ROW)
#undef SAME_ROW
#define WIDER_ROW(ENUM, name, ctype, WIDE, wide, wtype, ...)                                                           \
    [SCAN_##ENUM][SCAN_##WIDE] = {walk_##name##_##wide, join_##name##_##wide},
        SCAN_WIDENINGS(WIDER_ROW)
#undef WIDER_ROW
};

typedef struct walking {
    const job *j;
    const checks *c;
    bool compare;
    fold folds[MAX_PARTS];
    bool right[MAX_PARTS];
} walking;

static void walk_part(void *argument, unsigned index, unsigned count) {
    walking *w = argument;
    fold f = w->folds[index]; /* a copy of its own: neighbours in the array would share cache lines */
    w->right[index] =
        w->c->walk(w->j, part_begin(w->j->n, index, count), part_begin(w->j->n, index + 1, count), &f, w->compare);
    w->folds[index] = f;
}

bool check_prefix(const job *j) {
    walking w = {.j = j, .c = &table[j->type][j->out_type]};
    unsigned parts = j->threads < MAX_PARTS ? j->threads : MAX_PARTS;
    parts = in_parallel(parts, walk_part, &w);
    fold before = {0};
    for (unsigned p = 0; p < parts; p++) {
        fold own = w.folds[p];
        w.folds[p] = before;
        w.c->join(j, &before, &own);
    }
    w.compare = true;
    in_parallel(parts, walk_part, &w);
    bool right = true;
    for (unsigned p = 0; p < parts; p++)
        right &= w.right[p];
    return right;
}
