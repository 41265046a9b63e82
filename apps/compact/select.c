/* SPDX-License-Identifier: MIT
 *
 * compact: the selectors of one column, the choice of the device, masks, and writers of outputs.
 */
#include <stdio.h>
#include <string.h>

#include "apps/support/die.h"
#include "apps/support/parallel.h"
#include "apps/support/ranks.h"
#include "compact.h"

static bool resolve(void *user, const char *name, bool quoted, column_use use, uint32_t *column, char *reason) {
    (void)user;
    (void)quoted;
    if (strcmp(name, "x") == 0)
        *column = 0;
    else if (strcmp(name, "i") == 0)
        *column = SCAN_COLUMN_INDEX;
    else {
        snprintf(reason, EXPRESSION_REASON_BYTES,
                 "there is no column \"%.64s\"; x is the element, i its index; --csv reads a table", name);
        return false;
    }
    if (use == COLUMN_COMPARED) {
        snprintf(reason, EXPRESSION_REASON_BYTES,
                 "columns are compared with each other in tables; here x and i are "
                 "compared with numbers");
        return false;
    }
    if (use == COLUMN_TEXT)
        snprintf(reason, EXPRESSION_REASON_BYTES, "%s is a number; text is in tables, and in lines with --text", name);
    return use != COLUMN_TEXT;
}

void compact_terms(const compact_job *job, expression *e) {
    *e = (expression){.term_count = 1};
    if (job->selector == SELECT_NONZERO)
        e->terms[0] = (scan_term){.op = SCAN_TERM_NE, .constant_type = SCAN_U64};
    else if (job->selector == SELECT_FINITE)
        e->terms[0] = (scan_term){.op = SCAN_TERM_ISFINITE};
    else if (!expression_parse(e, job->where, resolve, NULL))
        die_usage("--where '%s': %s", job->where, e->reason);
}

void compact_choose(const compact_job *job, session *s, uint64_t bytes) {
    if (job->grid == SCAN_GRID_LOOKBACK || job->grid == SCAN_GRID_WAVE)
        session_need_device(s, false);
    else
        session_choose(s, WORK_COMPACT, job->grid == SCAN_GRID_BLOCKED ? 0 : bytes);
}

scan_grid compact_grid(const compact_job *job, const session *s, bool on_host) {
    return on_host && s->fell_back ? SCAN_GRID_AUTO : job->grid;
}

static void refuse_other_length(const compact_mask *mask, uint64_t n) {
    if (mask->reader.header.count != n)
        die(EXIT_USAGE, "%s: the mask has %llu elements, the input has %llu", mask->in.name,
            (unsigned long long)mask->reader.header.count, (unsigned long long)n);
}

void compact_mask_open(compact_mask *mask, const char *path, const array_reader *in) {
    const unsigned char *start;
    input_open(&mask->in, path);
    input_decompress(&mask->in);
    size_t bytes = input_peek(&mask->in, &start, NPY_PREFIX_BYTES);
    if (!npy_is_magic(start, bytes))
        die(EXIT_USAGE, "%s: a mask is an .npy file of bool or u8", mask->in.name);
    array_open(&mask->reader, &mask->in, FORMAT_NPY, SCAN_TYPE_NONE);
    if (mask->reader.type != SCAN_U8)
        die(EXIT_USAGE, "%s: a mask is bool or u8, this is %s", mask->in.name, scan_type_name(mask->reader.type));
    array_refuse_ranks(&mask->reader);
    if (ranks_several() && in)
        refuse_other_length(mask, in->header.count);
}

void compact_mask_read_at(compact_mask *mask, uint8_t *to, size_t n, uint64_t first) {
    if (n > 0)
        array_read_at(&mask->reader, to, n, first);
}

void compact_mask_read(compact_mask *mask, uint8_t *to, size_t n) {
    if (array_read(&mask->reader, to, n) < n)
        die(EXIT_USAGE, "%s: the mask has %llu elements, fewer than the input", mask->in.name,
            (unsigned long long)mask->reader.header.count);
}

void compact_mask_end(compact_mask *mask, uint64_t n) {
    refuse_other_length(mask, n);
    input_close(&mask->in);
}

void compact_write_count(const compact_job *job, uint64_t count) {
    char text[24];
    const int bytes = snprintf(text, sizeof text, "%llu\n", (unsigned long long)count);
    output_write_in_turn(job->kept_out, text, ranks_own() == 0 ? (size_t)bytes : 0);
}

array_writer compact_writer(const compact_job *job, const array_reader *reader, output *out, const char *path) {
    return (array_writer){.out = out,
                          .format = array_output_format(path, job->format),
                          .type = reader->type,
                          .is_bool = reader->header.is_bool,
                          .threads = parallel_threads(job->common->threads)};
}

data_format compact_index_format(const compact_job *job, const char *path) {
    data_format format = array_output_format(path, job->format);
    return format_is_binary(job->format) || format == FORMAT_NPY ? format : FORMAT_TEXT;
}

array_writer compact_index_writer(const compact_job *job, output *out, const char *path, scan_type type) {
    return (array_writer){.out = out,
                          .format = compact_index_format(job, path),
                          .type = type,
                          .threads = parallel_threads(job->common->threads)};
}
