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
#include "ranks.h"
#include "rows.h"
#include "transpose.h"

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

const char *array_shape_text(const npy_header *header, char text[ARRAY_SHAPE_BYTES]) {
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
    char shape[ARRAY_SHAPE_BYTES];
    die(EXIT_USAGE, "%s: is cut short: shape %s of %s needs %llu bytes of data, there are %llu", r->in->name,
        array_shape_text(&r->header, shape), scan_type_name(r->type), (unsigned long long)(r->header.count * r->size),
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

void array_make_bool(uint8_t *data, size_t n) {
    for (size_t i = 0; i < n; i++)
        data[i] = data[i] != 0;
}

static void to_memory_order(const array_reader *r, void *data, size_t n) {
    if (r->header.big_endian)
        swap_bytes(data, n, r->size);
    if (r->header.is_bool)
        array_make_bool(data, n);
}

static void read_fortran(array_reader *r) {
    size_t n;
    r->header.fortran = false; /* read it as it is */
    void *data = array_read_all(r, &n);
    r->whole = must_alloc(n, r->size);
    transpose_to_c_order(r->whole, data, r->header.dimensions, r->header.shape, r->size);
    free(data);
    r->header.fortran = true;
    r->done = 0;
}

size_t array_read(array_reader *r, void *to, size_t n) {
    if (r->npy && n > r->header.count - r->done)
        n = (size_t)(r->header.count - r->done);
    if (r->header.fortran) {
        if (!r->whole)
            read_fortran(r);
        memcpy(to, r->whole + r->done * r->size, n * r->size);
        r->done += n;
        return n;
    }
    size_t bytes = input_read(r->in, to, n * r->size);
    size_t got = bytes / r->size;
    r->done += got;
    if (r->npy && got < n)
        die_short(r, r->in->taken - r->data_offset);
    if (bytes % r->size)
        die_ragged(r, r->in->taken);
    if (r->npy && r->done == r->header.count)
        check_end(r);
    to_memory_order(r, to, got);
    return got;
}

void *array_read_all(array_reader *r, size_t *n) {
    if (r->header.fortran) {
        void *whole;
        read_fortran(r);
        whole = r->whole;
        r->whole = NULL;
        *n = (size_t)(r->done = r->header.count);
        return whole;
    }
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

bool array_can_seek(const array_reader *r) { return r->counted && r->in->extent.sized && !r->header.fortran; }

void array_refuse_ranks(array_reader *r) {
    const unsigned char *data;
    if (!ranks_several())
        return;
    if (!r->counted && input_peek(r->in, &data, 1) == 0) { /* raw, and empty */
        r->counted = true;
        r->header.dimensions = 1;
        return;
    }
    if (!r->counted || !input_can_rewind(r->in) || r->header.fortran)
        ranks_refuse("%s is read in parts: give it as a file, %s", r->in->name,
                     r->header.fortran ? "not in Fortran order" : "no pipe");
}

/* A compressed array is read through, and the last part shows whether it ends well. */
void array_read_at(array_reader *r, void *to, size_t n, uint64_t first) {
    const uint64_t offset = r->data_offset + first * r->size;
    if (r->in->extent.sized) {
        input_read_at(r->in, to, n * r->size, offset);
    } else if (n > 0) {
        input_read_through(r->in, to, n * r->size, offset);
        if (first + n == r->header.count)
            check_end(r);
    }
    to_memory_order(r, to, n);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

data_format array_output_format(const char *path, data_format input) {
    const size_t length = path ? strlen(path) : 0;
    if (path && name_has_suffix(path, length, ".npy"))
        return FORMAT_NPY;
    if (path && name_has_suffix(path, length, ".raw"))
        return FORMAT_RAW;
    return path && name_has_suffix(path, length, ".txt") ? FORMAT_TEXT : input;
}

void array_write_header(const array_writer *w, unsigned dimensions, const uint64_t *shape) {
    unsigned char header[NPY_FORMAT_MAX];
    if (w->format == FORMAT_NPY)
        output_write_in_turn(w->out, header,
                             ranks_own() == 0 ? npy_format(header, w->type, w->is_bool, dimensions, shape) : 0);
}

void array_reserve_header(const array_writer *w) {
    if (w->format == FORMAT_NPY)
        output_reserve_head(w->out, NPY_VECTOR_HEADER_BYTES);
}

void array_write_length(const array_writer *w, uint64_t n) {
    unsigned char header[NPY_FORMAT_MAX];
    if (w->format == FORMAT_NPY)
        output_write_head(w->out, header, npy_format(header, w->type, w->is_bool, 1, &n));
}

void array_write(const array_writer *w, const void *elements, size_t n) {
    if (w->format == FORMAT_TEXT) {
        rows_write_numbers(w->out, w->type, elements, n, w->threads, NULL);
        output_turn(w->out);
    } else {
        output_write_in_turn(w->out, elements, n * scan_type_size(w->type));
    }
}
