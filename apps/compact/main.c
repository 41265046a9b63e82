/* SPDX-License-Identifier: MIT
 *
 * compact: keeps the elements, lines or rows that a test selects, in order.
 */
#include <string.h>

#include "apps/support/die.h"
#include "apps/support/parallel.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "compact.h"

static const char help[] =
    "Examples:\n"
    "  @ --where 'x >= 4.5 && x < 6' in.npy -o out.npy    elements in a range\n"
    "  @ --where 'magnitude >= 6 && depth_km < 70' quakes.csv\n"
    "  @ --where 'price > cost || stock in (0, 1)' shop.csv\n"
    "  @ --where 'place contains \"Alaska\" || place is missing' quakes.csv\n"
    "  @ --where 'preis < 9.5' --delimiter ';' --decimal , --comment '#' preise.csv\n"
    "  @ --where 'x matches \"^(error|fatal):\"' --text log.txt\n"
    "  @ --unique sorted.txt                              first of each run of equal numbers\n"
    "  @ --unique --text --counts n.txt sorted.txt        each line once, and how often it is there\n"
    "  @ --unique --axis 0 matrix.npy -o rows.npy         first of each run of equal rows\n"
    "  @ --count --where 'magnitude >= 6' quakes.csv      how many rows\n"
    "  @ --finite in.npy -o good.npy --rejected bad.npy   split off NaN and infinity\n"
    "  @ --mask keep.npy --indices idx.npy in.npy -o out.npy\n"
    "  producer | @ --nonzero --dtype f32 > out.raw\n"
    "\n"
    "Usage: @ SELECTOR [OPTION]... [FILE]\n"
    "Keeps what the selector chooses, in its order, and writes it in the input's format; an array in the one that\n"
    "-o FILE.npy, FILE.raw or FILE.txt (one number a line) names. FILE is .npy (known by its first bytes), raw\n"
    "(--dtype), a table (.csv, .tsv, --csv, --tsv), or text with one number a line. Lines and rows are kept byte for\n"
    "byte. gzip and zstd are decompressed, but for raw data. No FILE or -: stdin. Keeping nothing is no error.\n"
    "\n"
    "Selectors, exactly one; tables take --where:\n"
    "      --where EXPR      elements for which EXPR is true\n"
    "      --unique          the first of each run of equal elements: of numbers (-0 equals 0, NaN equals NaN), or "
    "with\n"
    "                        --text of lines with the same bytes; sort first to keep one of all that are equal\n"
    "      --nonzero         elements that are not 0 (NaN is not 0)\n"
    "      --finite          elements that are neither NaN nor infinite\n"
    "      --mask FILE       where FILE, an .npy array of bool or u8 as long as the input, is not 0\n"
    "\n"
    "EXPR joins comparisons (< <= > >= == !=) of a column with a number or, in tables, with a column of numbers,\n"
    "isnan(COL) and isfinite(COL) by &&, || and !, with parentheses. Columns: x is the element, i its index\n"
    "from 0; in tables the names of the header, in `backticks` where they are not plain words (`3` is the third\n"
    "column where none is called 3), and i, the row's index, where no column is called so. Comparisons are exact.\n"
    "NaN compares false except with !=; an empty field of a table compares false, isnan is true for it.\n"
    "Text stands in double quotes, a quote in it doubled, and compares by its bytes: COL == \"text\", != < <= > >=,\n"
    "COL contains, startswith, endswith \"text\", COL matches \"pattern\" (a regular expression of PCRE2, over "
    "bytes),\n"
    "COL in (\"a\", \"b\"), or of numbers COL in (1, 2). COL is missing: an empty field without quotes, which passes "
    "no\n"
    "other test of text. With --text x is the line.\n"
    "\n"
    "Options:\n"
    "      --invert          keep the others\n"
    "      --rejected FILE   write the others to FILE, in a format as for -o\n"
    "      --indices FILE    write the index of each kept element: .npy if FILE is called so; for an array in a\n"
    "                        format as for -o; else as text; u32 below 2^32 elements, else u64\n"
    "      --counts FILE     with --unique: write the length of each run to FILE, as --indices does, of type u64\n"
    "      --count           write how many are kept, as text, and nothing else\n"
    "      --axis 0          --unique of an array of several dimensions: drops whole rows that equal the one before\n"
    "      --flat            elements one by one, in one dimension, as all tests do without --axis\n"
    "      --dtype T         the input is raw data of {types}\n"
    "      --text            the input is lines of text, for --where, --unique (of the same bytes) and --mask\n"
    "      --algorithm A     auto, look-back or wave (on a CUDA device), or blocked (on the CPU)\n" DIALECT_HELP
        CLI_COMMON_HELP "\n"
    "Inputs are read in pieces, so memory does not grow with them; text and tables on a CUDA device are held as a\n"
    "whole. Before a bad line is found, those before it may be on stdout already.\n"
    "Several processes that mpirun or srun has started work together.\n"
    "Exit status: 0 done, 1 failed verification, 2 usage or bad data, 3 input, output or memory, 4 device.\n";

static const char short_help[] = "Usage: @ --where EXPR|--unique|--nonzero|--finite|--mask FILE [OPTION]... [FILE]\n"
                                 "Keeps what a test selects: elements, lines, rows. Try '@ --help'.\n";

enum {
    OPTION_WHERE = 1,
    OPTION_UNIQUE,
    OPTION_NONZERO,
    OPTION_FINITE,
    OPTION_MASK,
    OPTION_INVERT,
    OPTION_REJECTED,
    OPTION_INDICES,
    OPTION_COUNTS,
    OPTION_COUNT,
    OPTION_DTYPE,
    OPTION_AXIS,
    OPTION_FLAT,
    OPTION_TEXT,
    OPTION_ALGORITHM
};

static const cli_option options[] = {
    {"where", 0, true, OPTION_WHERE},
    {"unique", 0, false, OPTION_UNIQUE},
    {"nonzero", 0, false, OPTION_NONZERO},
    {"finite", 0, false, OPTION_FINITE},
    {"mask", 0, true, OPTION_MASK},
    {"invert", 0, false, OPTION_INVERT},
    {"rejected", 0, true, OPTION_REJECTED},
    {"indices", 0, true, OPTION_INDICES},
    {"counts", 0, true, OPTION_COUNTS},
    {"count", 0, false, OPTION_COUNT},
    {"dtype", 0, true, OPTION_DTYPE},
    {"axis", 0, true, OPTION_AXIS},
    {"flat", 0, false, OPTION_FLAT},
    {"text", 0, false, OPTION_TEXT},
    DIALECT_OPTIONS,
    {"algorithm", 0, true, OPTION_ALGORITHM},
    {NULL, 0, false, 0},
};

static void select_by(compact_job *job, selector which) {
    if (job->selector != SELECT_NONE)
        die_usage("one selector at a time: --where, --unique, --nonzero, --finite or --mask");
    job->selector = which;
}

static scan_grid parse_algorithm(const cli *c) {
    static const scan_grid grids[] = {SCAN_GRID_AUTO, SCAN_GRID_LOOKBACK, SCAN_GRID_WAVE, SCAN_GRID_BLOCKED};
    const char *names[sizeof grids / sizeof grids[0] + 1] = {NULL};
    for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++)
        names[i] = scan_grid_name(grids[i]);
    return grids[cli_choice(c->option, c->value, names)];
}

/* --indices and --counts. */
static output *open_numbers(const compact_job *job, const char *path) {
    return output_open_shared(path, job->common->force, format_is_binary(compact_index_format(job, path)));
}

static void open_outputs(compact_job *job) {
    bool binary = format_is_binary(job->format), force = job->common->force;
    job->kept_out = output_open_shared(job->common->output, force, binary && !job->count_only);
    if (job->rejected)
        job->rejected_out = output_open_shared(job->rejected, force, binary);
    if (job->indices)
        job->indices_out = open_numbers(job, job->indices);
    if (job->counts)
        job->counts_out = open_numbers(job, job->counts);
}

static void read_options(compact_job *job, cli *c) {
    for (int key; (key = cli_next(c)) != 0;)
        switch (key) {
        case OPTION_WHERE:
            select_by(job, SELECT_WHERE);
            job->where = c->value;
            break;
        case OPTION_UNIQUE: select_by(job, SELECT_UNIQUE); break;
        case OPTION_NONZERO: select_by(job, SELECT_NONZERO); break;
        case OPTION_FINITE: select_by(job, SELECT_FINITE); break;
        case OPTION_MASK:
            select_by(job, SELECT_MASK);
            job->mask = cli_file(c);
            break;
        case OPTION_INVERT: job->invert = true; break;
        case OPTION_REJECTED: job->rejected = cli_file(c); break;
        case OPTION_INDICES: job->indices = cli_file(c); break;
        case OPTION_COUNTS: job->counts = cli_file(c); break;
        case OPTION_COUNT: job->count_only = true; break;
        case OPTION_DTYPE: job->dtype = cli_type(c->option, c->value); break;
        case OPTION_AXIS: axis_take(&job->axis, c->value); break;
        case OPTION_FLAT: job->axis.flat = true; break;
        case OPTION_TEXT: job->text = true; break;
        case OPTION_ALGORITHM: job->grid = parse_algorithm(c); break;
        default: dialect_take(&job->dialect, c, key);
        }
}

/* Exit 2 for options that exclude each other. path: the input, NULL for stdin. */
static void check_options(const compact_job *job, const char *path) {
    if (job->selector == SELECT_NONE)
        die_usage("no selector: one of --where, --unique, --nonzero, --finite and --mask says what to keep");
    if (job->text && (job->dtype || job->dialect.csv || job->dialect.tsv))
        die_usage("--text is for lines and excludes %s", job->dtype ? "--dtype" : job->dialect.csv ? "--csv" : "--tsv");
    if (job->text && (job->selector == SELECT_NONZERO || job->selector == SELECT_FINITE))
        die_usage("lines of text (--text) are kept by --where, --unique or --mask");
    if (job->counts && (job->selector != SELECT_UNIQUE || job->invert))
        die_usage("--counts gives the lengths of runs: it goes with --unique, without --invert");
    if (job->count_only && (job->indices || job->rejected || job->counts))
        die_usage("--count writes how many are kept, nothing else: %s does not go with it", job->indices ? "--indices"
                                                                                            : job->rejected
                                                                                                ? "--rejected"
                                                                                                : "--counts");
    if (job->mask && strcmp(job->mask, "-") == 0 && !path)
        die_usage("input and mask cannot both be stdin");
}

int main(int argc, char **argv) {
    cli c = {.help = help, .short_help = short_help, .options = options};
    compact_job job = {.dialect = DIALECT_DEFAULT};
    cli_start(&c, argc, argv);
    ranks_start(argc, argv);
    read_options(&job, &c);
    const char *path = cli_operand(&c);
    check_options(&job, path);
    job.common = &c.common;
    report_start(&c.common);

    input in;
    session s;
    array_reader reader;
    input_open(&in, path);
    in.threads = parallel_threads(c.common.threads);
    if (!job.dtype)
        input_decompress(&in);
    job.format = job.text ? FORMAT_TEXT : data_format_of(&in, job.dtype, job.dialect.csv, job.dialect.tsv);
    bool table = format_is_table(job.format);
    if (table && job.selector != SELECT_WHERE)
        die_usage("tables are filtered by --where");
    dialect_settle(&job.dialect, &in, job.format, job.text);
    if (format_is_binary(job.format))
        array_open(&reader, &in, job.format, job.dtype);
    else
        axis_refuse(&job.axis, in.name);
    open_outputs(&job);
    output_refuse_input(in.fd, in.name);
    session_open(&s, &c.common);
    report_text("input", in.name);
    report_text("output", output_name(job.kept_out));
    switch (job.format) {
    case FORMAT_NPY:
    case FORMAT_RAW: compact_array(&job, &reader, &s); break;
    case FORMAT_CSV:
    case FORMAT_TSV: compact_table(&job, &in, &s); break;
    case FORMAT_TEXT: compact_text(&job, &in, &s); break;
    }
    session_report(&s);
    if (c.common.verify)
        report_flag("verified", true);
    input_close(&in);
    session_close(&s);
    report_finish();
    return session_leave(&s, EXIT_DONE);
}
