/* SPDX-License-Identifier: MIT
 *
 * .npy and raw arrays in pieces. Where a file's length is known it is compared with the header before any work; that of
 * a pipe shows while reading.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "alloc.h"
#include "die.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files and memory are taken to have the same byte order");

bool format_is_binary(data_format format) { return format == FORMAT_NPY || format == FORMAT_RAW; }

bool format_is_table(data_format format) { return format == FORMAT_CSV || format == FORMAT_TSV; }

data_format data_format_of(input *in, scan_type dtype, bool csv, bool tsv) {
    if (csv && tsv)
        die_usage("--csv and --tsv exclude each other");
    if (dtype && (csv || tsv))
        die_usage("--dtype is for raw data and excludes %s", csv ? "--csv" : "--tsv");
    const unsigned char *data;
    size_t bytes = input_peek(in, &data, NPY_PREFIX_BYTES);
    if (npy_is_magic(data, bytes)) {
        if (csv || tsv)
            die_usage("%s: is an .npy file, %s does not apply", in->name, csv ? "--csv" : "--tsv");
        return FORMAT_NPY;
    }
    if (dtype)
        return FORMAT_RAW;
    if (csv)
        return FORMAT_CSV;
    if (tsv)
        return FORMAT_TSV;
    if (input_has_suffix(in, ".csv"))
        return FORMAT_CSV;
    if (input_has_suffix(in, ".tsv"))
        return FORMAT_TSV;
    if (input_has_suffix(in, ".npy"))
        die(EXIT_USAGE, "%s: does not begin like an .npy file; --dtype T reads raw data", in->name);
    return FORMAT_TEXT;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* "(3, 4)" */
static const char *shape_text(const npy_header *header, char text[NPY_MAX_DIMENSIONS * 22 + 4]) {
    size_t n = 0;
    text[n++] = '(';
    for (unsigned i = 0; i < header->dimensions; i++)
        n += (size_t)sprintf(text + n, "%s%llu%s", i ? ", " : "", (unsigned long long)header->shape[i],
                             header->dimensions == 1 ? "," : "");
    text[n++] = ')';
    text[n] = 0;
    return text;
}

__attribute__((noreturn)) static void die_short(const array_reader *r, uint64_t have_bytes) {
    char shape[NPY_MAX_DIMENSIONS * 22 + 4];
    die(EXIT_USAGE, "%s: is cut short: shape %s of %s needs %llu bytes of data, there are %llu", r->in->name,
        shape_text(&r->header, shape), scan_type_name(r->type), (unsigned long long)(r->header.count * r->size),
        (unsigned long long)have_bytes);
}

__attribute__((noreturn)) static void die_ragged(const array_reader *r, uint64_t bytes) {
    die(EXIT_USAGE, "%s: %llu bytes are not a whole number of %s elements (%zu bytes each)", r->in->name,
        (unsigned long long)bytes, scan_type_name(r->type), r->size);
}

static void open_npy(array_reader *r, scan_type dtype) {
    char reason[256];
    const unsigned char *start;
    size_t offset, bytes, have = input_peek(r->in, &start, NPY_PREFIX_BYTES);
    if (!npy_prefix(start, have, &offset, &bytes, reason))
        die(EXIT_USAGE, "%s: %s", r->in->name, reason);
    unsigned char *dict = must_alloc(offset + bytes, 1);
    if (input_read(r->in, dict, offset + bytes) < offset + bytes)
        die(EXIT_USAGE, "%s: the .npy header of %zu bytes is cut short", r->in->name, bytes);
    if (!npy_parse(dict + offset, bytes, &r->header, reason))
        die(EXIT_USAGE, "%s: %s", r->in->name, reason);
    free(dict);
    if (dtype && dtype != r->header.type)
        die_usage("%s: is an .npy file of %s, --dtype %s does not apply", r->in->name, scan_type_name(r->header.type),
                  scan_type_name(dtype));
    r->type = r->header.type;
    r->size = scan_type_size(r->type);
    r->counted = true;
    r->data_offset = offset + bytes;
    if (r->in->extent.sized) {
        uint64_t left = r->in->extent.size - r->data_offset;
        uint64_t need = r->header.count * r->size;
        if (left < need)
            die_short(r, left);
        if (left > need)
            die(EXIT_USAGE, "%s: %llu bytes follow the end of the array", r->in->name,
                (unsigned long long)(left - need));
    }
}

void array_open(array_reader *r, input *in, data_format format, scan_type dtype) {
    *r = (array_reader){.in = in, .npy = format == FORMAT_NPY, .type = dtype, .size = scan_type_size(dtype)};
    if (r->npy) {
        open_npy(r, dtype);
        return;
    }
    r->header.type = dtype;
    if (in->extent.sized) {
        if (in->extent.size % r->size)
            die_ragged(r, in->extent.size);
        r->counted = true;
        r->header.dimensions = 1;
        r->header.shape[0] = r->header.count = in->extent.size / r->size;
    }
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void swap_bytes(void *data, size_t n, size_t size) {
    if (size == 2)
        for (uint16_t *p = data; n; n--, p++)
            *p = __builtin_bswap16(*p);
    else if (size == 4)
        for (uint32_t *p = data; n; n--, p++)
            *p = __builtin_bswap32(*p);
    else
        for (uint64_t *p = data; n; n--, p++)
            *p = __builtin_bswap64(*p);
}

static void check_end(array_reader *r) {
    const unsigned char *data;
    if (input_peek(r->in, &data, 1))
        die(EXIT_USAGE, "%s: data follow the end of the array", r->in->name);
}

size_t array_read(array_reader *r, void *to, size_t n) {
    if (r->npy && n > r->header.count - r->done)
        n = (size_t)(r->header.count - r->done);
    size_t bytes = input_read(r->in, to, n * r->size);
    size_t got = bytes / r->size;
    r->done += got;
    if (r->npy && got < n)
        die_short(r, r->in->taken - r->data_offset);
    if (bytes % r->size)
        die_ragged(r, r->in->taken);
    if (r->npy && r->done == r->header.count)
        check_end(r);
    if (r->header.big_endian)
        swap_bytes(to, got, r->size);
    return got;
}

void *array_read_all(array_reader *r, size_t *n) {
    if (r->npy) {
        /* The header of a pipe may claim any count: memory grows with the data that come. */
        uint64_t left = r->header.count - r->done, capacity = left;
        if (!r->in->extent.sized && capacity > (16u << 20) / r->size)
            capacity = (16u << 20) / r->size;
        char *data = must_alloc((size_t)capacity, r->size);
        size_t have = 0;
        for (;;) {
            have += array_read(r, data + have * r->size, (size_t)capacity - have);
            if (have == left)
                break;
            capacity = capacity > left / 2 ? left : capacity * 2;
            data = must_realloc(data, (size_t)capacity, r->size);
        }
        *n = have;
        return data;
    }
    size_t bytes;
    void *data = input_read_all(r->in, &bytes);
    if (bytes % r->size)
        die_ragged(r, r->in->taken);
    *n = bytes / r->size;
    r->done += *n;
    return data;
}

bool array_can_seek(const array_reader *r) { return r->counted && r->in->extent.sized; }

void array_read_at(array_reader *r, void *to, size_t n, uint64_t first) {
    input_read_at(r->in, to, n * r->size, r->data_offset + first * r->size);
    if (r->header.big_endian)
        swap_bytes(to, n, r->size);
}

void array_write_header(output *out, scan_type type, unsigned dimensions, const uint64_t *shape) {
    unsigned char header[NPY_FORMAT_MAX];
    output_write(out, header, npy_format(header, type, dimensions, shape));
}
