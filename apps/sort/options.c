/* SPDX-License-Identifier: MIT
 *
 * sort: its help and its options.
 */
#include <stdio.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/memory.h"
#include "apps/support/names.h"
#include "apps/support/parallel.h"
#include "apps/support/ranks.h"
#include "sort.h"

static const char help[] =
    "Examples:\n"
    "  @ numbers.txt                            lines of numbers, smallest first\n"
    "  @ -k magnitude:desc quakes.csv | head    the strongest earthquakes\n"
    "  @ -k place:text -k time:time:desc q.csv  by place, then the latest first\n"
    "  @ -k preis --delimiter ';' --decimal , --missing NA preise.csv\n"
    "  @ --text names.txt                       lines of text, by their bytes\n"
    "  @ -u ids.npy -o distinct.npy             distinct elements, in order\n"
    "  @ --argsort values.npy -o order.npy      the indices that sort an array\n"
    "  @ -S 4G --tmp /big --text log.txt -o sorted.txt  of any size, with 4 GiB of memory\n"
    "  @ --merge monday.npy tuesday.npy -o both.npy     sorted files into one\n"
    "  @ --axis -1 matrix.npy -o rows.npy       every row of a matrix by itself\n"
    "\n"
    "Usage: @ [OPTION]... [FILE]\n"
    "       @ --merge [OPTION]... [FILE]...\n"
    "Sorts a .npy array, raw numbers (--dtype), a CSV or TSV table, lines of numbers, or of text (--text); - or no\n"
    "FILE is stdin. gzip and zstd are decompressed, but for raw numbers.\n"
    "Equal keys keep their order. Lines and rows are kept byte for byte, a header stays first, an array its shape.\n"
    "-o FILE.npy, FILE.raw and FILE.txt (one number a line) say what an array is written as.\n"
    "\n"
    "  -k, --key KEY         tables: column to sort by, a name or a number from 1; more -k decide ties\n"
    "                        KEY:text by bytes; KEY:time ISO 8601 or Unix seconds; KEY:natural text, with digits\n"
    "                        inside as numbers; KEY:desc largest first; KEY:nan=first, KEY:nan=last, KEY:nan=error;\n"
    "                        any name may stand in backticks: '`a:b`:text'\n"
    "  -r, --reverse         reverse every key: largest first, NaN still last\n"
    "  -u, --unique          keep the first of equal keys only; an array becomes one-dimensional\n"
    "  -c, --check           write nothing; exit 1 naming the first disorder (with -u: or repetition)\n"
    "      --argsort         write the positions, from 0, in sorted order: u32 (u64 from 2^32 elements) in the\n"
    "                        array's format; for lines and tables one a line\n"
    "  -m, --merge           merge files that are sorted by the same options; exit 2 naming the first disorder\n"
    "  -S, --memory SIZE     use so much memory, and sort what does not fit in parts: a number of K, or with b, K, M, "
    "G,\n"
    "                        T, P, E or %; from 1M (default half of what is free); parts go to --tmp\n"
    "      --device-memory SIZE  arrays: use so much of a CUDA device's memory, and sort what does not fit in parts\n"
    "      --nan WHERE       NaN and missing fields: first, last or error (default last)\n"
    "      --algorithm A     auto, radix, split or sample (on a CUDA device), quick (keys alone, with AVX2)\n"
    "      --dtype T         raw numbers of type {types}, little-endian\n"
    "      --axis N          arrays of several dimensions: along axis N, from 0, or -1 for the last\n"
    "      --flat            all elements as one row; sorted, they fill the array's shape\n"
    "      --text            lines of text, by their bytes (an empty one first)\n" DIALECT_HELP CLI_COMMON_HELP "\n"
    "Several processes that mpirun or srun has started work together.\n"
    "Exit status: 0 done, 1 disorder or failed verification, 2 usage or bad data, 3 input, output or memory, 4 "
    "device.\n";

static const char short_help[] = "Usage: @ [OPTION]... [FILE]\n"
                                 "Sorts .npy and raw arrays, CSV and TSV tables, lines. Try '@ --help'.\n";

enum {
    KEY = 1,
    REVERSE,
    UNIQUE,
    CHECK,
    ARGSORT,
    NAN_PLACE,
    ALGORITHM,
    DTYPE,
    AXIS,
    FLAT,
    TEXT,
    MERGE,
    MEMORY,
    DEVICE_MEMORY
};

static const cli_option option_list[] = {
    {"key", 'k', true, KEY},
    {"reverse", 'r', false, REVERSE},
    {"unique", 'u', false, UNIQUE},
    {"check", 'c', false, CHECK},
    {"argsort", 0, false, ARGSORT},
    {"merge", 'm', false, MERGE},
    {"memory", 'S', true, MEMORY},
    {"device-memory", 0, true, DEVICE_MEMORY},
    {"nan", 0, true, NAN_PLACE},
    {"algorithm", 0, true, ALGORITHM},
    {"dtype", 0, true, DTYPE},
    {"axis", 0, true, AXIS},
    {"flat", 0, false, FLAT},
    {"text", 0, false, TEXT},
    DIALECT_OPTIONS,
    {NULL, 0, false, 0},
};

/* By nan_place. */
static const char *const nan_names[] = {"last", "first", "error", NULL};

/* By key_kind. */
static const char *const kind_names[] = {"number", "text", "time", "natural", NULL};

/* Takes one suffix, without its colon. Returns false if there is none of this name. */
static bool take_suffix(key_option *key, const char *suffix, const char *text) {
    if (strcmp(suffix, "desc") == 0 || strcmp(suffix, "asc") == 0) {
        key->descending |= suffix[0] == 'd';
        return true;
    }
    for (int kind = KEY_TEXT; kind_names[kind]; kind++)
        if (strcmp(suffix, kind_names[kind]) == 0) {
            if (key->kind != KEY_NUMBER && key->kind != (key_kind)kind)
                die_usage("--key %s: :text, :time and :natural exclude each other", text);
            key->kind = (key_kind)kind;
            return true;
        }
    for (int place = 0; nan_names[place]; place++)
        if (strncmp(suffix, "nan=", 4) == 0 && strcmp(suffix + 4, nan_names[place]) == 0) {
            key->nan = (nan_place)place;
            return true;
        }
    return false;
}

/* NAME:suffix...: suffixes are cut from the end, so that names may hold colons. */
static void read_plain_key(key_option *key, const char *text) {
    for (char *colon; (colon = strrchr(key->name, ':')) && take_suffix(key, colon + 1, text);)
        *colon = 0;
}

/* `NAME`:suffix...: any name without a backtick. */
static void read_quoted_key(key_option *key, const char *text) {
    char *end = strchr(key->name + 1, '`');
    if (!end)
        die_usage("--key %s: the backtick is not closed", text);
    key->name++;
    *end++ = 0;
    while (*end) {
        size_t bytes = strcspn(end + 1, ":");
        char *next = end + 1 + bytes, after = *next;
        *next = 0;
        if (*end != ':' || !take_suffix(key, end + 1, text))
            die_usage("--key %s: %s after the name is none of :desc, :asc, :text, :time, :natural and :nan=WHERE", text,
                      end);
        *next = after;
        end = next;
    }
}

void sort_add_key(sort_job *j, const char *text) {
    if (j->key_count == MAX_KEYS)
        die_usage("more than %d keys", MAX_KEYS);
    size_t bytes = strlen(text) + 1;
    key_option key = {.name = memcpy(must_alloc(bytes, 1), text, bytes), .nan = NAN_DEFAULT};
    if (text[0] == '`')
        read_quoted_key(&key, text);
    else
        read_plain_key(&key, text);
    if (!key.name[0])
        die_usage("--key %s: a column's name or number is missing", text);
    j->keys[j->key_count++] = key;
}

void sort_read_options(sort_job *j, cli *c, int argc, char **argv) {
    c->help = help;
    c->short_help = short_help;
    c->options = option_list;
    j->dialect = DIALECT_DEFAULT;
    j->device_memory = j->device_elements = SIZE_MAX;
    cli_start(c, argc, argv);
    ranks_start(argc, argv);
    for (int key; (key = cli_next(c));) {
        switch (key) {
        case KEY:
            sort_add_key(j, c->value);
            dialect_needs_table(&j->dialect, c);
            break;
        case REVERSE: j->reverse = true; break;
        case UNIQUE: j->unique = true; break;
        case CHECK: j->check = true; break;
        case ARGSORT: j->argsort = true; break;
        case NAN_PLACE: j->nan = (nan_place)cli_choice(c->option, c->value, nan_names); break;
        case ALGORITHM: j->method = (scan_sort_method)cli_choice(c->option, c->value, sort_method_names()); break;
        case DTYPE: j->dtype = cli_type(c->option, c->value); break;
        case AXIS: axis_take(&j->axis, c->value); break;
        case FLAT: j->axis.flat = true; break;
        case TEXT: j->text = true; break;
        case MERGE: j->merge = true; break;
        case MEMORY:
            j->memory = memory_of_option(c->option, c->value);
            j->memory_given = true;
            break;
        case DEVICE_MEMORY: j->device_memory = memory_of_option(c->option, c->value); break;
        default: dialect_take(&j->dialect, c, key);
        }
    }
    if (j->check && j->argsort)
        die_usage("--check and --argsort exclude each other");
    if (j->check && c->common.output)
        die_usage("--check writes nothing: -o does not go with it");
    if (j->merge && (j->check || j->argsort || j->axis.text))
        die_usage("--merge and %s exclude each other", j->check ? "--check" : j->argsort ? "--argsort" : "--axis");
    if (j->text && (j->dtype || j->dialect.csv || j->dialect.tsv))
        die_usage("--text is for lines and excludes %s", j->dtype ? "--dtype" : j->dialect.csv ? "--csv" : "--tsv");
    if (!j->memory_given)
        j->memory = memory_default();
    j->out_path = c->common.output;
    j->verify = c->common.verify;
    j->threads = parallel_threads(c->common.threads);
}

const char *sort_inputs(sort_job *j, const cli *c) {
    size_t from_stdin = 0;
    if (c->argc < 2) {
        static char *alone[1];
        alone[0] = (char *)(uintptr_t)cli_operand(c);
        j->inputs = alone;
    } else {
        j->inputs = c->argv;
    }
    j->input_count = c->argc < 2 ? 1 : (size_t)c->argc;
    for (size_t i = 0; i < j->input_count; i++) {
        const char *path = j->inputs[i];
        if (path && !path[0])
            die_usage("the name of an input is empty");
        from_stdin += !path || strcmp(path, "-") == 0;
    }
    if (from_stdin > 1)
        die_usage("--merge: the standard input is named twice");
    return j->inputs[0];
}
