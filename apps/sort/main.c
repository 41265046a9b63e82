/* SPDX-License-Identifier: MIT
 *
 * sort: numbers, lines and table rows in order. Stable; floats in NumPy's order, NaN last.
 *
 * Arrays are sorted in the memory they were read into, or stream through a device. Lines and rows are moved once, at
 * the end, in the order of their keys. Lines that are nothing but their integers need not be moved at all: the sorted
 * integers are written anew.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/array.h"
#include "apps/support/cli.h"
#include "apps/support/die.h"
#include "apps/support/names.h"
#include "row_order.h"
#include "apps/support/output.h"
#include "apps/support/report.h"
#include "apps/support/rows.h"
#include "apps/support/session.h"
#include "device_stream.h"
#include "apps/support/table.h"
#include "apps/support/text.h"

static const char help[] =
    "Examples:\n"
    "  @ numbers.txt                            lines of numbers, smallest first\n"
    "  @ -k magnitude:desc quakes.csv | head    the strongest earthquakes\n"
    "  @ -k region -k depth_km:desc a.tsv       by region, then by depth, deepest first\n"
    "  @ -u ids.npy -o distinct.npy             distinct elements, in order\n"
    "  @ --argsort values.npy -o order.npy      the indices that sort an array\n"
    "\n"
    "Usage: @ [OPTION]... [FILE]\n"
    "Sorts a .npy array, raw numbers (--dtype), a CSV or TSV table, or lines of numbers; - or no FILE is stdin.\n"
    "Equal keys keep their order. Lines and rows are kept byte for byte, a header stays first, an array its shape.\n"
    "\n"
    "  -k, --key KEY         tables: column to sort by, a name or a number from 1; more -k decide ties\n"
    "                        KEY:desc largest first; KEY:nan=first, KEY:nan=last, KEY:nan=error\n"
    "  -r, --reverse         reverse every key: largest first, NaN still last\n"
    "  -u, --unique          keep the first of equal keys only; an array becomes one-dimensional\n"
    "  -c, --check           write nothing; exit 1 naming the first disorder (with -u: or repetition)\n"
    "      --argsort         write the positions, from 0, in sorted order: u32 (u64 from 2^32 elements) in the\n"
    "                        array's format; for lines and tables one a line\n"
    "      --nan WHERE       NaN and missing fields: first, last or error (default last)\n"
    "      --algorithm A     auto, radix, split (on a CUDA device) or quick (arrays of keys alone, with AVX-512)\n"
    "      --dtype T         raw numbers of type {types}, little-endian\n"
    "      --csv, --tsv      a table, whatever its name; .csv and .tsv are tables by themselves\n"
    "      --no-header       the table's first row is data\n" CLI_COMMON_HELP "\n"
    "Exit status: 0 done, 1 disorder or failed verification, 2 usage or bad data, 3 input, output or memory, 4 "
    "device.\n";

static const char short_help[] = "Usage: @ [OPTION]... [FILE]\n"
                                 "Sorts numbers: .npy and raw arrays, CSV and TSV tables, lines. Try '@ --help'.\n";

enum { KEY = 1, REVERSE, UNIQUE, CHECK, ARGSORT, NAN_PLACE, ALGORITHM, DTYPE, CSV, TSV, NO_HEADER };

static const cli_option option_list[] = {
    {"key", 'k', true, KEY},
    {"reverse", 'r', false, REVERSE},
    {"unique", 'u', false, UNIQUE},
    {"check", 'c', false, CHECK},
    {"argsort", 0, false, ARGSORT},
    {"nan", 0, true, NAN_PLACE},
    {"algorithm", 0, true, ALGORITHM},
    {"dtype", 0, true, DTYPE},
    {"csv", 0, false, CSV},
    {"tsv", 0, false, TSV},
    {"no-header", 0, false, NO_HEADER},
    {NULL, 0, false, 0},
};

typedef enum nan_place { NAN_LAST, NAN_FIRST, NAN_ERROR, NAN_DEFAULT } nan_place;

static const char *const nan_names[] = {"last", "first", "error", NULL};

enum { MAX_KEYS = 64 };

typedef struct key_option {
    char *name;
    bool descending;
    nan_place nan;
} key_option;

/* One run: what was asked for, and what all formats need. */
typedef struct job {
    key_option keys[MAX_KEYS];
    size_t key_count;
    bool reverse, unique, check, argsort, csv, tsv, no_header, verify;
    nan_place nan;
    scan_sort_method method;
    scan_type dtype;
    unsigned threads;
    input in;
    output *out; /* NULL for --check */
    session session;
} job;

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* Cuts ":suffix" off the end of text, if it is there. */
static bool cut_suffix(char *text, const char *suffix) {
    size_t n = strlen(text), m = strlen(suffix);
    if (n < m || strcmp(text + n - m, suffix) != 0)
        return false;
    text[n - m] = 0;
    return true;
}

/* NAME[:asc|:desc][:nan=first|last|error], from the end, so that names may hold colons. */
static void add_key(job *j, const char *text) {
    if (j->key_count == MAX_KEYS)
        die_usage("more than %d keys", MAX_KEYS);
    size_t bytes = strlen(text) + 1;
    key_option key = {.name = memcpy(must_alloc(bytes, 1), text, bytes), .nan = NAN_DEFAULT};
    for (bool more = true; more;) {
        more = cut_suffix(key.name, ":desc");
        key.descending |= more;
        more = more || cut_suffix(key.name, ":asc");
        for (int place = 0; nan_names[place]; place++) {
            char suffix[16];
            snprintf(suffix, sizeof suffix, ":nan=%s", nan_names[place]);
            if (cut_suffix(key.name, suffix)) {
                key.nan = (nan_place)place;
                more = true;
            }
        }
    }
    if (!key.name[0])
        die_usage("--key %s: a column's name or number is missing", text);
    j->keys[j->key_count++] = key;
}

static void read_options(job *j, cli *c) {
    for (int key; (key = cli_next(c));) {
        switch (key) {
        case KEY: add_key(j, c->value); break;
        case REVERSE: j->reverse = true; break;
        case UNIQUE: j->unique = true; break;
        case CHECK: j->check = true; break;
        case ARGSORT: j->argsort = true; break;
        case NAN_PLACE: j->nan = (nan_place)cli_choice(c->option, c->value, nan_names); break;
        case ALGORITHM: j->method = (scan_sort_method)cli_choice(c->option, c->value, sort_method_names()); break;
        case DTYPE: j->dtype = cli_type(c->option, c->value); break;
        case CSV: j->csv = true; break;
        case TSV: j->tsv = true; break;
        case NO_HEADER: j->no_header = true; break;
        }
    }
    if (j->check && j->argsort)
        die_usage("--check and --argsort exclude each other");
    if (j->check && c->common.output)
        die_usage("--check writes nothing: -o does not go with it");
    j->verify = c->common.verify;
    j->threads = parallel_threads(c->common.threads);
}

/* ---- common to all formats --------------------------------------------------------------------------------------- */

static order_key make_key(const job *j, scan_type type, void *data, const key_option *option) {
    nan_place nan = option && option->nan != NAN_DEFAULT ? option->nan : j->nan;
    return (order_key){.type = type,
                       .data = data,
                       .descending = j->reverse != (option && option->descending),
                       .nan_first = nan == NAN_FIRST};
}

static bool refuses_nan(const job *j, const key_option *option) {
    return (option && option->nan != NAN_DEFAULT ? option->nan : j->nan) == NAN_ERROR;
}

/* Where a job on so many bytes of keys runs. */
static void choose_device(job *j, uint64_t bytes) {
    if (j->check)
        return; /* no library is needed */
    if (j->method == SCAN_SORT_SPLIT)
        session_need_device(&j->session, false);
    else
        session_choose(&j->session, j->argsort ? WORK_ARGSORT : WORK_SORT, j->method == SCAN_SORT_QUICK ? 0 : bytes);
}

__attribute__((noreturn)) static void fail_verification(const job *j, const char *what) {
    die(EXIT_NEGATIVE, "%s: verification failed: %s", j->in.name, what);
}

/* The sorted order, before and after --unique took its repetitions. */
static void verify_sorted(const job *j, const order *o) {
    report_phase before = report_enter(PHASE_VERIFY);
    if (!order_is_permutation(o))
        fail_verification(j, "a row is missing or there twice");
    if (order_first_disorder(o, false, j->threads) != ORDER_NONE)
        fail_verification(j, "the result is not in order");
    report_enter(before);
}

static void verify_unique(const job *j, const order *o, size_t runs) {
    report_phase before = report_enter(PHASE_VERIFY);
    if (o->n != runs || order_first_disorder(o, true, j->threads) != ORDER_NONE)
        fail_verification(j, "the result has repetitions, or too few elements");
    report_enter(before);
}

/* Reading, sorting and writing count as a third of the work each. */
static void show_progress(const job *j, int thirds) {
    report_progress((uint64_t)thirds * j->in.taken / 3, j->in.taken);
}

/* Sorts keys into an order; with --unique only the first of equal ones stays. */
static void make_order(job *j, order *o) {
    show_progress(j, 1);
    order_sort(o, &j->session, j->in.name, j->threads);
    show_progress(j, 2);
    if (j->verify)
        verify_sorted(j, o);
    if (j->unique) {
        size_t runs = j->verify ? order_runs(o, j->threads) : 0;
        order_unique(o, &j->session, j->in.name, j->threads);
        if (j->verify)
            verify_unique(j, o, runs);
    }
}

/* Sorts n elements, and returns how many stay. With --verify, --unique is a sort of its own of what is sorted. */
static size_t sort_values(job *j, order_key *key, size_t n) {
    show_progress(j, 1);
    uint64_t hash = j->verify ? order_hash(key->type, key->data, n, j->threads) : 0;
    order o = {.keys = key, .key_count = 1, .method = j->method};
    o.n = order_sort_keys(key, n, j->unique && !j->verify, j->method, &j->session, j->in.name);
    if (j->verify) {
        if (order_hash(key->type, key->data, n, j->threads) != hash)
            fail_verification(j, "the result does not have the input's elements");
        verify_sorted(j, &o);
    }
    if (j->verify && j->unique && n > 0) {
        size_t runs = order_runs(&o, j->threads);
        o.n = order_sort_keys(key, n, true, j->method, &j->session, j->in.name);
        verify_unique(j, &o, runs);
    }
    show_progress(j, 2);
    return o.n;
}

static void verify_lines(const job *j, const unsigned char *bytes, size_t n_bytes, uint64_t written) {
    report_phase before = report_enter(PHASE_VERIFY);
    if (rows_line_hash(bytes, n_bytes, j->threads) != written)
        fail_verification(j, "the result does not have the input's lines");
    report_enter(before);
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* In the input's shape, unless --unique has changed the count. */
static void write_header(job *j, const array_reader *reader, scan_type type, size_t n) {
    uint64_t count = n;
    if (reader->npy && j->unique)
        array_write_header(j->out, type, 1, &count);
    else if (reader->npy)
        array_write_header(j->out, type, reader->header.dimensions, reader->header.shape);
}

static void check_array(const job *j, const order_key *key, size_t n) {
    size_t nan = refuses_nan(j, NULL) ? order_first_nan(key, n, j->threads) : ORDER_NONE;
    if (nan != ORDER_NONE)
        die(EXIT_USAGE, "%s: element %zu is NaN", j->in.name, nan);
}

/* Through a device, which reading and writing overlap. */
static void stream_array(job *j, array_reader *reader, const order_key *key) {
    sort_stream w = {.s = &j->session,
                     .reader = reader,
                     .key = *key,
                     .method = j->method,
                     .argsort = j->argsort,
                     .unique = j->unique};
    sort_stream_read(&w);
    report_number("elements", w.n);
    check_array(j, &w.key, w.n);
    sort_stream_sort(&w);
    write_header(j, reader, w.type, w.kept);
    sort_stream_write(&w, j->out);
    report_number("kept", w.kept);
}

static void sort_array(job *j, data_format format) {
    if (j->key_count || j->no_header)
        die_usage("%s is for tables", j->key_count ? "--key" : "--no-header");
    array_reader reader;
    size_t n;
    array_open(&reader, &j->in, format, j->dtype);
    report_text("type", scan_type_name(reader.type));
    order_key key = make_key(j, reader.type, NULL, NULL);
    bool known = array_can_seek(&reader);
    if (known)
        choose_device(j, reader.header.count * reader.size);
    if (known && !j->check && !j->session.on_host && !j->verify && !(j->argsort && j->unique)) {
        stream_array(j, &reader, &key);
        return;
    }
    key.data = array_read_all(&reader, &n);
    report_number("elements", n);
    choose_device(j, n * reader.size);
    check_array(j, &key, n);
    order o = {.keys = &key, .key_count = 1, .n = n, .method = j->method};
    if (j->check) {
        size_t place = order_first_disorder(&o, j->unique, j->threads);
        if (place != ORDER_NONE)
            die(EXIT_NEGATIVE, "%s: element %zu is out of order", j->in.name, place);
    } else if (j->argsort) {
        make_order(j, &o);
        write_header(j, &reader, o.type, o.n);
        output_write(j->out, o.index, o.n * scan_type_size(o.type));
        free(o.index);
    } else {
        o.n = sort_values(j, &key, n);
        write_header(j, &reader, key.type, o.n);
        output_write(j->out, key.data, o.n * reader.size);
    }
    report_number("kept", o.n);
    free(key.data);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

__attribute__((noreturn)) static void refuse_line(job *j, text *t, int code, size_t line, const char *what) {
    text_index(t, j->threads);
    size_t bytes = (size_t)(t->starts[line + 1] - t->starts[line]) - 1;
    const char *begin = (const char *)t->bytes + t->starts[line];
    char quoted[NUMBER_QUOTE_BYTES];
    die(code, "%s: line %zu: %s %s", j->in.name, line + 1,
        number_quote(quoted, begin, bytes - (bytes > 0 && begin[bytes - 1] == '\r')), what);
}

static void write_lines(job *j, text *t, const order *o) {
    uint64_t written = 0, *hash = j->verify && !j->unique ? &written : NULL;
    text_index(t, j->threads);
    output_write(j->out, t->bytes, t->head_bytes);
    rows_write(j->out, &(rows){t->bytes, t->starts, hash}, o->index, o->type, o->n, j->threads);
    if (hash)
        verify_lines(j, t->bytes + t->head_bytes, t->n_bytes - t->head_bytes, written);
}

static size_t write_sorted_integers(job *j, text *t, order_key *key) {
    uint64_t written = 0, *hash = j->verify && !j->unique ? &written : NULL;
    size_t kept = sort_values(j, key, t->n);
    t->values.data = key->data;
    output_write(j->out, t->bytes, t->head_bytes);
    rows_write_numbers(j->out, key->type, key->data, kept, j->threads, hash);
    if (hash)
        verify_lines(j, t->bytes + t->head_bytes, t->n_bytes - t->head_bytes, written);
    return kept;
}

static void sort_text(job *j) {
    if (j->key_count || j->no_header)
        die_usage("%s is for tables; %s is read as lines of numbers", j->key_count ? "--key" : "--no-header",
                  j->in.name);
    text t;
    text_read(&t, &j->in, j->threads);
    report_text("type", scan_type_name(t.values.type));
    report_number("lines", t.n);
    order_key key = make_key(j, t.values.type, t.values.data, NULL);
    order o = {.keys = &key, .key_count = 1, .n = t.n, .method = j->method};
    choose_device(j, t.n * scan_type_size(key.type));
    size_t nan = refuses_nan(j, NULL) ? order_first_nan(&key, t.n, j->threads) : ORDER_NONE;
    if (nan != ORDER_NONE)
        refuse_line(j, &t, EXIT_USAGE, nan, "is refused by --nan error");
    if (j->check) {
        size_t place = order_first_disorder(&o, j->unique, j->threads);
        if (place != ORDER_NONE)
            refuse_line(j, &t, EXIT_NEGATIVE, place, "is out of order");
    } else if (t.canonical && !j->argsort) {
        o.n = write_sorted_integers(j, &t, &key);
    } else {
        make_order(j, &o);
        if (j->argsort)
            rows_write_numbers(j->out, o.type, o.index, o.n, j->threads, NULL);
        else
            write_lines(j, &t, &o);
        free(o.index);
    }
    report_number("kept", o.n);
    text_free(&t);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Reads the key columns; their data are the caller's to free. */
static void read_keys(job *j, const table *t, order_key *keys) {
    for (size_t k = 0; k < j->key_count; k++) {
        size_t index = table_find(t, j->keys[k].name);
        column c;
        table_numbers(t, index, &c, j->threads);
        keys[k] = make_key(j, c.type, c.data, &j->keys[k]);
        size_t nan = refuses_nan(j, &j->keys[k]) ? order_first_nan(&keys[k], t->n, j->threads) : ORDER_NONE;
        char label[TABLE_LABEL_BYTES];
        if (nan != ORDER_NONE)
            die(EXIT_USAGE, "%s: line %zu, column %s: NaN or missing", j->in.name, table_line(t, nan),
                table_label(t, index, label));
    }
}

static void write_rows(job *j, const table *t, const order *o) {
    uint64_t written = 0, *hash = j->verify && !j->unique ? &written : NULL;
    output_write(j->out, t->bytes, t->head_bytes);
    rows_write(j->out, &(rows){t->bytes, t->starts, hash}, o->index, o->type, o->n, j->threads);
    if (hash)
        verify_lines(j, t->bytes + t->head_bytes, t->n_bytes - t->head_bytes, written);
}

static void sort_table(job *j, char delimiter) {
    table t;
    table_read(&t, &j->in, delimiter, !j->no_header, j->threads);
    if (j->key_count == 0 && t.columns > 1)
        die_usage("%s has %zu columns: name the one to sort by with --key", j->in.name, t.columns);
    if (j->key_count == 0)
        add_key(j, "1");
    report_number("rows", t.n);
    order_key keys[MAX_KEYS];
    read_keys(j, &t, keys);
    order o = {.keys = keys, .key_count = j->key_count, .n = t.n, .method = j->method};
    choose_device(j, j->key_count * t.n * sizeof(double));
    if (j->check) {
        size_t place = order_first_disorder(&o, j->unique, j->threads);
        if (place != ORDER_NONE)
            die(EXIT_NEGATIVE, "%s: line %zu is out of order", j->in.name, table_line(&t, place));
    } else {
        make_order(j, &o);
        if (j->argsort)
            rows_write_numbers(j->out, o.type, o.index, o.n, j->threads, NULL);
        else
            write_rows(j, &t, &o);
        free(o.index);
    }
    report_number("kept", o.n);
    for (size_t k = 0; k < j->key_count; k++)
        free(keys[k].data);
    table_free(&t);
}

int main(int argc, char **argv) {
    static job j;
    cli c = {.help = help, .short_help = short_help, .options = option_list};
    cli_start(&c, argc, argv);
    read_options(&j, &c);
    const char *path = cli_operand(&c);
    report_start(&c.common);
    input_open(&j.in, path);
    report_text("input", j.in.name);
    data_format format = data_format_of(&j.in, j.dtype, j.csv, j.tsv);
    if (!j.check) {
        j.out = output_open(c.common.output, c.common.force, format_is_binary(format));
        output_refuse_input(j.in.fd, j.in.name);
        report_text("output", output_name(j.out));
        session_open(&j.session, &c.common);
    }
    switch (format) {
    case FORMAT_NPY:
    case FORMAT_RAW: sort_array(&j, format); break;
    case FORMAT_CSV: sort_table(&j, ','); break;
    case FORMAT_TSV: sort_table(&j, '\t'); break;
    case FORMAT_TEXT: sort_text(&j); break;
    }
    if (!j.check) {
        session_report(&j.session);
        session_close(&j.session);
    }
    if (j.verify)
        report_flag("verified", true);
    input_close(&j.in);
    report_finish();
    return EXIT_DONE;
}
