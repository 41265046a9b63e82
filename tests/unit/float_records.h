/* SPDX-License-Identifier: MIT
 *
 * Reads data/float_order/vectors.txt: one scan per line, its input given by a seed, its output by a CRC and some
 * elements. README.txt beside it states the format.
 */
#ifndef TESTS_UNIT_FLOAT_RECORDS_H
#define TESTS_UNIT_FLOAT_RECORDS_H

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan/lists.h"

typedef struct float_record {
    scan_type type, out_type;
    scan_op op;
    scan_kind kind;
    size_t n;
    uint64_t seed, init; /* init: bits of out_type */
    bool has_init;
    uint32_t crc;
    const char *elements; /* rest of the line: index:bits ... */
} float_record;

static inline scan_type float_record_type(const char *name) { return strcmp(name, "f32") == 0 ? SCAN_F32 : SCAN_F64; }

static inline bool float_record_parse(float_record *r, const char *line) {
    char type[8], out_type[8], op[8], kind[16], init[24];
    int used;
    if (sscanf(line, "%7s %7s %7s %15s %zu %" SCNu64 " %23s %" SCNx32 "%n", type, out_type, op, kind, &r->n, &r->seed,
               init, &r->crc, &used) != 8)
        return false;
    r->type = float_record_type(type);
    r->out_type = float_record_type(out_type);
    r->op = strcmp(op, "mul") == 0 ? SCAN_MUL : SCAN_ADD;
    r->kind = strcmp(kind, "exclusive") == 0 ? SCAN_EXCLUSIVE : SCAN_INCLUSIVE;
    r->init = strtoull(init, NULL, 16);
    r->has_init = init[0] != '-';
    r->elements = line + used;
    return true;
}

static inline double float_record_element(const float_record *r, uint64_t i) {
    uint64_t z = r->seed + (i + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    uint64_t u = z ^ z >> 31;
    bool f32 = r->type == SCAN_F32;
    if (r->seed == 0)
        return -0.0;
    if (r->op == SCAN_MUL)
        return f32 ? 1 + ((double)(u >> 51) - 0x1p12) * 0x1p-23 : 1 + ((double)(u >> 23) - 0x1p40) * 0x1p-52;
    return ldexp(f32 ? ((double)(u >> 40) - 0x1p23) * 0x1p-23 : ((double)(u >> 11) - 0x1p52) * 0x1p-52, -(int)(u & 7));
}

static inline void float_record_input(const float_record *r, void *memory) {
    for (size_t i = 0; i < r->n; i++) {
        double x = float_record_element(r, i);
        if (r->type == SCAN_F32)
            ((float *)memory)[i] = (float)x;
        else
            ((double *)memory)[i] = x;
    }
}

static inline uint32_t float_record_crc(const void *memory, size_t bytes) {
    static uint32_t table[256];
    const unsigned char *at = (const unsigned char *)memory;
    for (uint32_t i = 0; i < 256 && !table[255]; i++) {
        uint32_t x = i;
        for (int bit = 0; bit < 8; bit++)
            x = x >> 1 ^ (x & 1 ? 0xedb88320 : 0);
        table[i] = x;
    }
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes; i++)
        crc = crc >> 8 ^ table[(crc ^ at[i]) & 0xff];
    return ~crc;
}

/* Returns NULL, or what is wrong with an output. */
static inline const char *float_record_wrong(const float_record *r, const void *out) {
    const size_t size = scan_type_size(r->out_type);
    for (const char *at = r->elements; *at == ' ';) {
        char *end;
        size_t i = strtoull(at, &end, 10);
        uint64_t bits = strtoull(end + 1, &end, 16), got = 0;
        memcpy(&got, (const char *)out + i * size, size);
        if (got != bits)
            return "an element";
        at = end;
    }
    return float_record_crc(out, r->n * size) == r->crc ? NULL : "the CRC";
}

#endif
