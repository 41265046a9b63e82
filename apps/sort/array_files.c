/* SPDX-License-Identifier: MIT
 *
 * sort --merge of arrays. So many files as can be merged at once are; if there are more, neighbours are merged into a
 * spool, as parts of one array that is larger than memory.
 */
#include <stdlib.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/memory.h"
#include "apps/support/output.h"
#include "apps/support/report.h"
#include "array_merge.h"

typedef struct array_file {
    input in;
    array_reader reader;
} array_file;

static const char *type_text(const array_reader *reader) {
    return reader->header.is_bool ? "bool" : scan_type_name(reader->type);
}

/* Exit 2 unless the file's elements are of the first one's type. */
static void open_file(const sort_job *j, array_file *file, const char *path, const array_reader *first) {
    lanes shape;
    input_open(&file->in, path);
    if (!j->dtype)
        input_decompress(&file->in);
    data_format format = data_format_of(&file->in, j->dtype, false, false);
    if (!format_is_binary(format))
        die(EXIT_USAGE, "%s: is no array as %s is: --merge takes files of one kind", file->in.name, first->in->name);
    output_refuse_input(file->in.fd, file->in.name);
    array_open(&file->reader, &file->in, format, j->dtype);
    axis_lanes(&j->axis, &file->reader, "merges", &shape);
    if (file->reader.type != first->type || file->reader.header.is_bool != first->header.is_bool)
        die(EXIT_USAGE, "%s: has elements of type %s, those of %s are %s: --merge takes files of one type",
            file->in.name, type_text(&file->reader), first->in->name, type_text(first));
}

/* Opens `count` files from number `first` on as sources; `opened` is the reader of file 0, which is open. */
static array_source *open_sources(const sort_job *j, array_file *files, size_t first, size_t count,
                                  array_reader *opened) {
    array_source *sources = must_alloc(count, sizeof *sources);
    for (size_t i = 0; i < count; i++) {
        if (first + i > 0)
            open_file(j, &files[i], j->inputs[first + i], opened);
        sources[i] = (array_source){.reader = first + i > 0 ? &files[i].reader : opened};
    }
    return sources;
}

/* What the result is like: an array of one dimension. */
static array_reader as_vector(const array_reader *reader) {
    array_reader vector = *reader;
    vector.npy = false;
    return vector;
}

static void close_files(array_file *files, size_t first, size_t count) {
    for (size_t i = first == 0; i < count; i++)
        input_close(&files[i].in);
}

static void merge_at_once(sort_job *j, array_file *files, array_reader *opened) {
    array_source *sources = open_sources(j, files, 0, j->input_count, opened);
    array_result result;
    uint64_t n = 0, hash = 0;
    bool known = true;
    for (size_t i = 0; i < j->input_count; i++) {
        n += sources[i].reader->header.count;
        known &= sources[i].reader->counted;
    }
    const array_reader vector = as_vector(opened);
    array_result_begin(&result, j, &vector, n, known);
    uint64_t kept =
        array_merge(j, opened->type, sources, j->input_count, output_bytes(j->out), array_result_emit, &result, &hash);
    array_result_end(&result, kept);
    report_number("kept", kept);
    close_files(files, 0, j->input_count);
    free(sources);
}

static void merge_in_levels(sort_job *j, array_file *files, array_reader *opened, size_t ways) {
    array_spool spool;
    uint64_t hash = 0;
    array_spool_open(&spool, j);
    for (size_t first = 0; first < j->input_count; first += ways) {
        size_t count = j->input_count - first < ways ? j->input_count - first : ways;
        array_source *sources = open_sources(j, files, first, count, opened);
        array_merge_into(j, opened->type, sources, count, &spool, &hash);
        close_files(files, first, count);
        free(sources);
    }
    const array_reader vector = as_vector(opened);
    array_merge_parts(j, &vector, &spool, spool.ends[spool.count - 1]);
    array_spool_close(&spool);
}

void sort_merge_arrays(sort_job *j, data_format format) {
    array_reader reader;
    lanes shape;
    array_open(&reader, &j->in, format, j->dtype);
    report_text("type", scan_type_name(reader.type));
    axis_lanes(&j->axis, &reader, "merges", &shape);
    sort_choose_device(j, 0);
    sort_limit_device(j, reader.type, j->memory / reader.size);
    memory_keep_none();
    const size_t ways = array_merge_ways(j, reader.type);
    array_file *files = must_alloc(ways < j->input_count ? ways : j->input_count, sizeof *files);
    if (j->input_count <= ways)
        merge_at_once(j, files, &reader);
    else
        merge_in_levels(j, files, &reader, ways);
    free(files);
}
