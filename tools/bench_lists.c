/* SPDX-License-Identifier: MIT
 *
 * Lists of jobs: what the command line asks for, and the tables that are run when it asks for none.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* ---- lists from text --------------------------------------------------------------------------------------------- */

/* Copies the next item of a list with commas to `item`. False at the end. An item that is too long is cut short, and
 * its parser then refuses it. */
static bool next_item(const char **text, char *item, size_t bytes) {
    if (**text == '\0')
        return false;
    size_t length = strcspn(*text, ",");
    snprintf(item, bytes, "%.*s", (int)length, *text);
    *text += length + ((*text)[length] == ',');
    return true;
}

const char *list_types(job_lists *l, const char *text) {
    char item[16];
    for (l->type_count = 0; next_item(&text, item, sizeof item); l->type_count++) {
        if (l->type_count == MAX_LIST)
            return "too many types";
        if ((l->types[l->type_count] = parse_type(item)) == SCAN_TYPE_NONE)
            return "not a type";
    }
    return l->type_count > 0 ? NULL : "not a type";
}

/* FIRST..LAST or FIRST..LAST*FACTOR. */
static const char *range(job_lists *l, char *item, char *dots) {
    uint64_t first, last, factor = 2;
    char *star = strchr(dots, '*');
    *dots = '\0';
    if (star != NULL)
        *star = '\0';
    if (!parse_count(item, &first) || !parse_count(dots + 2, &last) || first == 0 ||
        (star != NULL && (!parse_count(star + 1, &factor) || factor < 2)))
        return "not a range such as 2^10..2^30 or 1000..1G*10";
    for (uint64_t n = first; n <= last; n *= factor) {
        if (l->n_count == MAX_LIST)
            return "too many counts";
        l->n[l->n_count++] = n;
        if (n > UINT64_MAX / factor)
            break;
    }
    return NULL;
}

const char *list_counts(job_lists *l, const char *text) {
    static const char *const no_count = "not a count such as 1000, 10M or 2^26, or too large";
    char item[64];
    for (l->n_count = 0; next_item(&text, item, sizeof item);) {
        char *dots = strstr(item, "..");
        const char *why = dots != NULL ? range(l, item, dots) : l->n_count == MAX_LIST ? "too many counts" : NULL;
        if (why != NULL)
            return why;
        if (dots == NULL && !parse_count(item, &l->n[l->n_count++]))
            return no_count;
    }
    return l->n_count > 0 ? NULL : no_count;
}

const char *list_distributions(job_lists *l, const char *text) {
    char item[64];
    for (l->spread_count = 0; next_item(&text, item, sizeof item); l->spread_count++) {
        if (l->spread_count == MAX_LIST)
            return "too many distributions";
        const char *why = distribution_parse(&l->spreads[l->spread_count], item);
        if (why != NULL)
            return why;
    }
    return l->spread_count > 0 ? NULL : "no such distribution";
}

const char *list_shares(job_lists *l, const char *text) {
    static const char *const no_share = "not a number from 0 to 1";
    char item[64], *end;
    for (l->keep_count = 0; next_item(&text, item, sizeof item); l->keep_count++) {
        if (l->keep_count == MAX_LIST)
            return "too many shares";
        double share = strtod(item, &end);
        if (end == item || *end != '\0' || !(share >= 0 && share <= 1))
            return no_share;
        l->keeps[l->keep_count] = share;
    }
    return l->keep_count > 0 ? NULL : no_share;
}

const char *list_offsets(job_lists *l, const char *text) {
    static const char *const no_offset = "not a number of elements below 256";
    char item[64];
    for (l->offset_count = 0; next_item(&text, item, sizeof item); l->offset_count++) {
        uint64_t offset;
        if (l->offset_count == MAX_LIST)
            return "too many offsets";
        if (!parse_count(item, &offset) || offset >= 256)
            return no_offset;
        l->offsets[l->offset_count] = (unsigned)offset;
    }
    return l->offset_count > 0 ? NULL : no_offset;
}

const char *list_algorithm(job_lists *l, const char *text) {
    bench_algorithm a = {.every = strcmp(text, "all") == 0};
    size_t length = strcspn(text, "/");
    bool found = a.every || strcmp(text, "auto") == 0;
    for (int m = SCAN_SORT_AUTO + 1; !found && scan_sort_method_name((scan_sort_method)m) != NULL; m++)
        if ((found = strcmp(text, scan_sort_method_name((scan_sort_method)m)) == 0))
            a.sort = (scan_sort_method)m;
    for (int g = SCAN_GRID_AUTO; !found && scan_grid_name((scan_grid)g) != NULL; g++) {
        const char *name = scan_grid_name((scan_grid)g);
        if (strlen(name) != length || memcmp(name, text, length) != 0)
            continue;
        a.prefix.grid = (scan_grid)g;
        found = text[length] == '\0';
        for (int b = SCAN_BLOCK_AUTO; !found && scan_block_name((scan_block)b) != NULL; b++)
            if ((found = strcmp(text + length + 1, scan_block_name((scan_block)b)) == 0))
                a.prefix.block = (scan_block)b;
    }
    l->algorithm = a;
    return found ? NULL : "not an algorithm: auto, all, GRID, GRID/BLOCK, or a method of sorting";
}

bool is_image_verb(bench_verb verb) { return verb == BENCH_HISTOGRAM || verb == BENCH_EQUALIZE || verb == BENCH_CLAHE; }

static job job_of(const job_lists *l, unsigned type, unsigned spread, unsigned keep, unsigned n, unsigned offset) {
    job j = {.verb = l->verb, .type = l->types[type], .op = l->op, .kind = l->kind, .n = l->n[n]};
    j.out_type = l->out_type != SCAN_TYPE_NONE ? l->out_type : j.type;
    j.spread = l->spreads[spread];
    j.spread.nan = l->nan;
    j.keep = l->keeps[keep];
    j.value_bytes = l->value_bytes;
    j.threads = l->threads;
    j.algorithm = l->algorithm;
    j.folder = l->folder;
    j.offset = l->verb != BENCH_TEXT && l->verb != BENCH_FILE ? l->offsets[offset] : 0;
    j.reverse = l->verb == BENCH_PREFIX && l->reverse;
    return j;
}

void run_lists(bench_settings *bench, const job_lists *l) {
    for (unsigned t = 0; t < l->type_count; t++)
        for (unsigned s = 0; s < l->spread_count; s++)
            for (unsigned k = 0; k < l->keep_count; k++)
                for (unsigned i = 0; i < l->n_count; i++)
                    for (unsigned o = 0; o < l->offset_count; o++) {
                        job j = job_of(l, t, s, k, i, o);
                        run_job(bench, &j);
                    }
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Fields left out are 0: uniform, half of the elements kept, the rest as given on the command line. */
typedef struct row {
    bench_verb verb;
    const char *types;
    scan_type out_type;
    scan_op op;
    const char *n, *distributions, *keeps;
    unsigned value_bytes, offset;
    bool reverse;
    const char *algorithm;
} row;

/* The CPU's verbs in about two minutes. */
static const row standard_table[] = {
    {BENCH_PREFIX, "u32,f32", .op = SCAN_ADD, .n = "2^26"},
    {BENCH_COMPACT, "u32", .n = "2^26"},
    {BENCH_SORT, "u32,u64", .n = "2^24"},
    {BENCH_PAIRS, "u32", .n = "2^23"},
    {BENCH_ARGSORT, "u32", .n = "2^23"},
    {BENCH_HISTOGRAM, "u8", .n = "2^24", .distributions = "normal"},
    {BENCH_EQUALIZE, "u8", .n = "2^26", .distributions = "normal"},
    {BENCH_CLAHE, "u8", .n = "2^26", .distributions = "normal"},
    {BENCH_TEXT, "i64", .n = "1M"},
};

static const row full_table[] = {
    {BENCH_PREFIX, "u32", .op = SCAN_ADD, .n = "2^26"},
    {BENCH_PREFIX, "u32", .op = SCAN_ADD, .n = "2^26", .offset = 1},
    {BENCH_PREFIX, "u32", .op = SCAN_ADD, .n = "2^26", .reverse = true},
    {BENCH_PREFIX, "u64", .op = SCAN_ADD, .n = "2^25"},
    {BENCH_PREFIX, "u8,i16", .op = SCAN_ADD, .n = "2^26"},
    {BENCH_PREFIX, "u8", .op = SCAN_ADD, .n = "2^26", .offset = 1},
    {BENCH_PREFIX, "u8", .op = SCAN_ADD, .n = "2^26", .reverse = true},
    {BENCH_PREFIX, "u8", .out_type = SCAN_U32, .op = SCAN_ADD, .n = "2^26"},
    {BENCH_PREFIX, "u32", .out_type = SCAN_U64, .op = SCAN_ADD, .n = "2^26"},
    {BENCH_PREFIX, "f32", .op = SCAN_ADD, .n = "2^26"},
    {BENCH_PREFIX, "f64", .op = SCAN_ADD, .n = "2^25"},
    {BENCH_PREFIX, "f32", .out_type = SCAN_F64, .op = SCAN_ADD, .n = "2^25"},
    {BENCH_PREFIX, "u32", .op = SCAN_MUL, .n = "2^26"},
    {BENCH_PREFIX, "u32", .op = SCAN_MAX, .n = "2^26"},
    {BENCH_PREFIX, "f32", .op = SCAN_MUL, .n = "2^26"},
    {BENCH_PREFIX, "f32", .op = SCAN_MIN, .n = "2^26"},
    {BENCH_PREFIX, "u32", .op = SCAN_ADD, .n = "2^12,2^16,2^20"},
    {BENCH_COMPACT, "u32", .n = "2^26", .keeps = "0.01,0.1,0.5,0.9"},
    {BENCH_COMPACT, "f64", .n = "2^25"},
    {BENCH_COMPACT, "u8", .n = "2^26"},
    {BENCH_FLAGGED, "u32", .n = "2^26"},
    {BENCH_INDICES, "u32", .n = "2^26"},
    {BENCH_PARTITION, "u32", .n = "2^26"},
    {BENCH_UNIQUE, "u32", .n = "2^26", .distributions = "runs:4"},
    {BENCH_LENGTHS, "u32", .n = "2^26", .distributions = "runs:4"},
    {BENCH_SORT, "u32,u64", .n = "2^24,2^26"},
    {BENCH_SORT, "f32", .n = "2^26"},
    {BENCH_SORT, "f64", .n = "2^25"},
    {BENCH_SORT, "u16", .n = "2^26"},
    {BENCH_SORT, "u32", .n = "2^26", .distributions = "bits:20,zipf,few,normal,sorted,reversed,constant"},
    {BENCH_PAIRS, "u32,u64", .n = "2^24"},
    {BENCH_ARGSORT, "u32,f64", .n = "2^24"},
    {BENCH_MERGE, "u32,u64", .n = "2^24,2^26"},
    {BENCH_HISTOGRAM, "u8", .n = "2^24", .distributions = "normal"},
    {BENCH_HISTOGRAM, "u8", .n = "2^26", .distributions = "uniform"},
    {BENCH_HISTOGRAM, "u16", .n = "2^24", .distributions = "normal"},
    {BENCH_EQUALIZE, "u8", .n = "2^26", .distributions = "normal,runs:8"},
    {BENCH_EQUALIZE, "u16", .n = "2^25", .distributions = "normal"},
    {BENCH_CLAHE, "u8", .n = "2^26", .distributions = "normal"},
    {BENCH_CLAHE, "u16", .n = "2^24", .distributions = "normal"},
    {BENCH_TEXT, "i64", .n = "10M"},
    {BENCH_TEXT, "f64", .n = "5M"},
    {BENCH_FILE, "u32,f64", .n = "2^24"},
};

/* A GPU: what CUB has rows for, at sizes that do not fit in the cache. */
static const row device_table[] = {
    {BENCH_PREFIX, "u32,f32,u64,f64", .op = SCAN_ADD, .n = "2^28"},
    {BENCH_PREFIX, "u8", .out_type = SCAN_U32, .op = SCAN_ADD, .n = "2^28"},
    {BENCH_COMPACT, "u32", .n = "2^28", .keeps = "0.01,0.1,0.5,0.9"},
    {BENCH_COMPACT, "u64", .n = "2^28"},
    {BENCH_FLAGGED, "u32", .n = "2^28"},
    {BENCH_INDICES, "u32", .n = "2^28"},
    {BENCH_PARTITION, "u32", .n = "2^28"},
    {BENCH_UNIQUE, "u32", .n = "2^28", .distributions = "runs:4"},
    {BENCH_LENGTHS, "u32", .n = "2^28", .distributions = "runs:4"},
    {BENCH_SORT, "u32,u64,f32", .n = "2^28"},
    {BENCH_PAIRS, "u32,u64", .n = "2^28"},
    {BENCH_ARGSORT, "u32", .n = "2^28"},
    {BENCH_MERGE, "u32,u64", .n = "2^28"},
    {BENCH_HISTOGRAM, "u8,u16", .n = "2^28", .distributions = "normal"},
    {BENCH_EQUALIZE, "u8", .n = "2^28", .distributions = "normal"},
    {BENCH_CLAHE, "u8", .n = "2^26", .distributions = "normal"},
};

static const row full_device_table[] = {
    {BENCH_PREFIX, "u32,f32,u64,f64", .op = SCAN_ADD, .n = "2^10..2^30*4"},
    {BENCH_PREFIX, "u8", .out_type = SCAN_U32, .op = SCAN_ADD, .n = "2^28"},
    {BENCH_PREFIX, "u32", .out_type = SCAN_U64, .op = SCAN_ADD, .n = "2^28"},
    {BENCH_PREFIX, "f32", .out_type = SCAN_F64, .op = SCAN_ADD, .n = "2^28"},
    {BENCH_PREFIX, "u8,u16", .op = SCAN_ADD, .n = "2^28"},
    {BENCH_PREFIX, "u32,f32", .op = SCAN_MAX, .n = "2^28"},
    {BENCH_PREFIX, "u32,u8", .op = SCAN_ADD, .n = "2^28", .offset = 1},
    {BENCH_PREFIX, "u32,u8", .op = SCAN_ADD, .n = "2^28", .reverse = true},
    {BENCH_COMPACT, "u32,u64", .n = "2^16,2^20,2^24,2^28", .keeps = "0.01,0.1,0.5,0.9"},
    {BENCH_COMPACT, "u8,f32,f64", .n = "2^28"},
    {BENCH_FLAGGED, "u32,u64", .n = "2^28", .keeps = "0.01,0.1,0.5,0.9"},
    {BENCH_INDICES, "u32", .n = "2^28", .keeps = "0.1,0.5"},
    {BENCH_PARTITION, "u32,u64", .n = "2^28"},
    {BENCH_UNIQUE, "u32,u64", .n = "2^28", .distributions = "runs:4,runs:100,uniform"},
    {BENCH_LENGTHS, "u32,u64", .n = "2^28", .distributions = "runs:4,runs:100"},
    {BENCH_SORT, "u32,u64", .n = "2^10..2^28*4"},
    {BENCH_SORT, "u32", .n = "2^28", .distributions = "bits:20,zipf,few:16,runs:16,normal,sorted,reversed,constant"},
    {BENCH_SORT, "u64", .n = "2^28", .distributions = "bits:20,bits:40,zipf,few:16,runs:16,sorted,reversed,constant"},
    {BENCH_SORT, "u8,u16", .n = "2^28"},
    {BENCH_SORT, "f32,f64", .n = "2^28", .distributions = "uniform,normal,reversed,constant"},
    {BENCH_SORT, "u32,u64", .n = "2^24", .algorithm = "split"},
    {BENCH_PAIRS, "u32,u64", .n = "2^16,2^20,2^24,2^28", .value_bytes = 4},
    {BENCH_PAIRS, "u64", .n = "2^28", .value_bytes = 8},
    {BENCH_ARGSORT, "u32,u64,f32", .n = "2^28"},
    {BENCH_MERGE, "u32,u64", .n = "2^16,2^20,2^24,2^28"},
    {BENCH_MERGE, "f32", .n = "2^28"},
    {BENCH_HISTOGRAM, "u8,u16", .n = "2^20,2^24,2^28", .distributions = "normal,uniform,constant"},
    {BENCH_EQUALIZE, "u8,u16", .n = "2^20,2^24,2^28", .distributions = "normal"},
    {BENCH_CLAHE, "u8,u16", .n = "2^20,2^24,2^26", .distributions = "normal"},
};

void run_table(bench_settings *bench, const job_lists *defaults, bool full) {
    bool device = bench->device != NULL;
    const row *rows = device ? (full ? full_device_table : device_table) : full ? full_table : standard_table;
    size_t count = device ? (full ? sizeof full_device_table : sizeof device_table) / sizeof rows[0]
                          : (full ? sizeof full_table : sizeof standard_table) / sizeof rows[0];
    unsigned run = 0;
    for (size_t r = 0; r < count; r++) {
        job_lists l = *defaults;
        if (l.verb != BENCH_VERB_COUNT && l.verb != rows[r].verb)
            continue;
        run++;
        l.verb = rows[r].verb;
        l.out_type = rows[r].out_type;
        l.op = rows[r].op;
        if (rows[r].value_bytes != 0)
            l.value_bytes = rows[r].value_bytes;
        if (rows[r].offset != 0)
            l.offsets[0] = rows[r].offset, l.offset_count = 1;
        l.reverse |= rows[r].reverse;
        if (rows[r].algorithm != NULL)
            list_algorithm(&l, rows[r].algorithm);
        list_types(&l, rows[r].types);
        list_counts(&l, rows[r].n);
        list_distributions(&l, rows[r].distributions != NULL ? rows[r].distributions : "uniform");
        list_shares(&l, rows[r].keeps != NULL ? rows[r].keeps : "0.5");
        run_lists(bench, &l);
    }
    if (run == 0)
        puts("The table has no row of this verb");
}
