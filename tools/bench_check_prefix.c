/* SPDX-License-Identifier: MIT
 *
 * Checks of prefixes by a serial loop, cut into one part per thread: the parts are folded first, then each part is
 * compared, starting from the fold of all parts before it.
 */
#include <math.h>

#include "bench.h"

#define IS_NAN(x) ((x) != (x))

enum { MAX_PARTS = 64 };

typedef struct fold {
    uint64_t whole;    /* of integers */
    long double value; /* of floats */
    long double size;  /* floats: the error bound's scale: the sum of magnitudes, or the number of factors */
    bool any;
} fold;

/* The index of the k-th element in scan order. */
static uint64_t element(const job *j, uint64_t k) { return j->reverse ? j->n - 1 - k : k; }

/* ---- integers ---------------------------------------------------------------------------------------------------- */

/* X(enum, y op x, identity) for y and x of type T; a and b are the same values in 64 bits. Integers wrap, so the low
 * bits of a 64-bit result are the result. */
#define INTEGER_OPS(X, T)                                                                                              \
    X(ADD, (a + b), 0)                                                                                                 \
    X(MUL, (a * b), 1)                                                                                                 \
    X(MIN, (x < y ? x : y), GREATEST(T))                                                                               \
    X(MAX, (x > y ? x : y), ~GREATEST(T))                                                                              \
    X(XOR, (a ^ b), 0)                                                                                                 \
    X(AND, (a & b), UINT64_MAX)                                                                                        \
    X(OR, (a | b), 0)

#define GREATEST(T) (UINT64_MAX >> (64 - 8 * sizeof(T) + ((T)-1 < (T)1))) /* a sign takes one bit */

#define OP_RESULT(ENUM, result, identity) (op == SCAN_##ENUM) ? (uint64_t)result:
#define OP_IDENTITY(ENUM, result, identity) (op == SCAN_##ENUM) ? identity:
#define OP_KNOWN(ENUM, result, identity) || op == SCAN_##ENUM

static bool knows_integers(scan_op op) { return false INTEGER_OPS(OP_KNOWN, ); }

#define CHECK_INTEGER(in_name, in_type, out_name, out_type)                                                            \
    static uint64_t op_##in_name##_##out_name(scan_op op, out_type y, out_type x) {                                    \
        uint64_t a = (uint64_t)y, b = (uint64_t)x;                                                                     \
        return INTEGER_OPS(OP_RESULT, out_type) 0;                                                                     \
    }                                                                                                                  \
    static uint64_t identity_##in_name##_##out_name(scan_op op) { return INTEGER_OPS(OP_IDENTITY, out_type) 0; }       \
    static bool walk_##in_name##_##out_name(const job *j, uint64_t begin, uint64_t end, fold *f, bool compare) {       \
        const in_type *in = j->in;                                                                                     \
        const out_type *out = j->out;                                                                                  \
        out_type y = (out_type)(f->any ? f->whole : identity_##in_name##_##out_name(j->op));                           \
        for (uint64_t k = begin; k < end; k++) {                                                                       \
            uint64_t i = element(j, k);                                                                                \
            out_type before = y;                                                                                       \
            y = (out_type)op_##in_name##_##out_name(j->op, before, (out_type)in[i]);                                   \
            if (compare && out[i] != (j->kind == SCAN_EXCLUSIVE ? before : y))                                         \
                return false;                                                                                          \
        }                                                                                                              \
        f->whole = (uint64_t)y;                                                                                        \
        f->any |= begin < end;                                                                                         \
        return true;                                                                                                   \
    }                                                                                                                  \
    static void join_##in_name##_##out_name(const job *j, fold *left, const fold *right) {                             \
        if (right->any && left->any)                                                                                   \
            left->whole = op_##in_name##_##out_name(j->op, (out_type)left->whole, (out_type)right->whole);             \
        else if (right->any)                                                                                           \
            *left = *right;                                                                                            \
    }

/* ---- floats ------------------------------------------------------------------------------------------------------ */

static bool knows_floats(scan_op op) { return op == SCAN_ADD || op == SCAN_MUL || op == SCAN_MIN || op == SCAN_MAX; }

static void step_float(const job *j, fold *f, long double x) {
    if (!f->any)
        f->value = x;
    else if (j->op == SCAN_ADD)
        f->value += x;
    else if (j->op == SCAN_MUL)
        f->value *= x;
    else if (IS_NAN(x) || (j->op == SCAN_MIN && x < f->value) || (j->op == SCAN_MAX && x > f->value))
        f->value = x;
    f->any = true;
}

static void join_float(const job *j, fold *left, const fold *right) {
    if (!right->any)
        return;
    step_float(j, left, right->value);
    left->size += right->size;
}

/* Any order of operations is accepted, with an error no larger than that of a tree of any shape. */
#define CHECK_FLOAT(in_name, in_type, out_name, out_type)                                                              \
    static bool walk_##in_name##_##out_name(const job *j, uint64_t begin, uint64_t end, fold *f, bool compare) {       \
        const in_type *in = j->in;                                                                                     \
        const out_type *out = j->out;                                                                                  \
        const long double epsilon = sizeof(out_type) == 4 ? 0x1p-20L : 0x1p-48L;                                       \
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

/* ---- the types --------------------------------------------------------------------------------------------------- */

#define CHECK_UNSIGNED CHECK_INTEGER
#define CHECK_SIGNED CHECK_INTEGER
#define CHECK_SAME(ENUM, name, ctype, CLASS) CHECK_##CLASS(name, ctype, name, ctype)
SCAN_TYPES(CHECK_SAME)
CHECK_INTEGER(u8, uint8_t, u32, uint32_t)
CHECK_INTEGER(u8, uint8_t, u64, uint64_t)
CHECK_INTEGER(i8, int8_t, i64, int64_t)
CHECK_INTEGER(u16, uint16_t, u64, uint64_t)
CHECK_INTEGER(i16, int16_t, i64, int64_t)
CHECK_INTEGER(u32, uint32_t, u64, uint64_t)
CHECK_INTEGER(i32, int32_t, i64, int64_t)
CHECK_FLOAT(f32, float, f64, double)

typedef struct checks {
    bool (*walk)(const job *j, uint64_t begin, uint64_t end, fold *f, bool compare);
    void (*join)(const job *j, fold *left, const fold *right);
} checks;

static const checks table[SCAN_TYPE_COUNT + 1][SCAN_TYPE_COUNT + 1] = {
#define SAME_ROW(ENUM, name, ...) [SCAN_##ENUM][SCAN_##ENUM] = {walk_##name##_##name, join_##name##_##name},
    SCAN_TYPES(SAME_ROW)
#undef SAME_ROW
#define WIDER_ROW(ENUM, name, ctype, WIDE, wide, ...)                                                                  \
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
    fold f = w->folds[index]; /* local: neighbours in the array would share cache lines */
    w->right[index] =
        w->c->walk(w->j, part_begin(w->j->n, index, count), part_begin(w->j->n, index + 1, count), &f, w->compare);
    w->folds[index] = f;
}

const char *check_prefix(const job *j) {
    if (!(scan_type_class(j->out_type) == SCAN_FLOAT ? knows_floats(j->op) : knows_integers(j->op)))
        return "the check does not know this operator";
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
    return right ? NULL : "the prefixes are not those of a serial loop";
}
