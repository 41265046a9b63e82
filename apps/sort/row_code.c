/* SPDX-License-Identifier: MIT
 *
 * Codes of numbers.
 */
#include "row_code.h"

/* x != x is true only for NaN, and the compiler removes it for integers. */
#define CODE(name, ctype, expression)                                                                                  \
    static uint64_t code_##name(const order_key *key, size_t row) {                                                    \
        ctype x = ((const ctype *)key->data)[row];                                                                     \
        if (x != x)                                                                                                    \
            return key->nan_first ? 0 : UINT64_MAX;                                                                    \
        uint64_t code = (expression);                                                                                  \
        return key->descending ? ~code : code;                                                                         \
    }

static uint64_t signed_code(int64_t x) { return (uint64_t)x ^ UINT64_C(1) << 63; }

/* Negative floats have their bits complemented; -0 equals +0. */
static uint64_t float_code(double x) {
    uint64_t bits;
    x = x == 0 ? 0 : x;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits ^ UINT64_C(1) << 63;
}

CODE(u8, uint8_t, x)
CODE(i8, int8_t, signed_code(x))
CODE(u16, uint16_t, x)
CODE(i16, int16_t, signed_code(x))
CODE(u32, uint32_t, x)
CODE(i32, int32_t, signed_code(x))
CODE(u64, uint64_t, x)
CODE(i64, int64_t, signed_code(x))
CODE(f32, float, float_code((double)x))
CODE(f64, double, float_code(x))

typedef uint64_t coder(const order_key *key, size_t row);
static coder *const coders[] = {
    [SCAN_U8] = code_u8,   [SCAN_I8] = code_i8,   [SCAN_U16] = code_u16, [SCAN_I16] = code_i16, [SCAN_U32] = code_u32,
    [SCAN_I32] = code_i32, [SCAN_U64] = code_u64, [SCAN_I64] = code_i64, [SCAN_F32] = code_f32, [SCAN_F64] = code_f64,
};

uint64_t row_number_code(const order_key *key, size_t row) { return coders[key->type](key, row); }
