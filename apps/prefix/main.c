/* SPDX-License-Identifier: MIT
 *
 * prefix: running sums, products, minima and maxima of numbers.
 */
#include <stdio.h>
#include <string.h>

#include "apps/support/die.h"
#include "apps/support/names.h"
#include "apps/support/parallel.h"
#include "apps/support/ranks.h"
#include "apps/support/report.h"
#include "prefix.h"

static const char help[] =
    "Examples:\n"
    "  @ in.npy -o sums.npy                       running sums, as numpy.cumsum\n"
    "  @ --op max --reverse in.npy -o out.npy     the largest element from here to the end\n"
    "  @ --axis 0 in.npy -o out.npy               sums down every column of a matrix\n"
    "  @ --exclusive lengths.txt > offsets.txt    where each piece begins\n"
    "  @ -k amount ledger.csv                     every row, and the column amount_add\n"
    "  @ -k Betrag --delimiter ';' --decimal , --thousands . konto.csv\n"
    "  producer | @ --dtype f32 --out-dtype f64 > out.raw\n"
    "\n"
    "Usage: @ [OPTION]... [FILE]\n"
    "Writes, for every element, the fold of all elements up to it, in the input's format; an array in the one that\n"
    "-o FILE.npy, FILE.raw or FILE.txt (one number a line) names. FILE is .npy (known by its first bytes), raw\n"
    "(--dtype), a table (.csv, .tsv, --csv, --tsv), or text with one number a line; gzip and zstd are decompressed,\n"
    "but for raw data. No FILE or -: stdin.\n"
    "\n"
    "Options:\n"
    "      --op OP           {ops} (default add){integer ops}\n"
    "      --exclusive       without the element itself\n"
    "      --reverse         from the last element to the first\n"
    "      --init V          fold V in before the first element; a value of the output type\n"
    "      --out-dtype T     type of the result: the input's, or a wider one: the 64-bit integer of its sign,\n"
    "                        u32 for u8, f64 for f32 (default: 64 bits for sums of integers, else the input's)\n"
    "      --algorithm A     GRID or GRID/BLOCK (default auto). On a CUDA device host-sums or hierarchical, with a "
    "block\n"
    "                        of kogge-stone, brent-kung or warp, and look-back or wave (sm_80), with warp; on the CPU\n"
    "                        blocked\n"
    "      --axis N          arrays of several dimensions: along axis N, from 0, or -1 for the last\n"
    "      --flat            all elements as one row, into one dimension\n"
    "  -k, --key COLUMN      tables: the column's name or number, from 1. Empty fields do not take part\n"
    "      --dtype T         the input is raw data of {types}\n" DIALECT_HELP CLI_COMMON_HELP "\n"
    "Integers wrap. Sums and products of floats are the same on every machine and for every number of threads; only\n"
    "host-sums and hierarchical have an order of their own. NaN is always the same one.\n"
    "Inputs are read in pieces, so memory does not grow with them; host-sums, hierarchical and --axis hold them as a\n"
    "whole. The type of lines and columns follows from all numbers: integers for stdout are\n"
    "read twice, from a pipe through a temporary file (not with --out-dtype i64).\n"
    "Several processes that mpirun or srun has started work together.\n"
    "Exit status: 0 done, 1 failed verification, 2 usage or bad data, 3 input, output or memory, 4 device.\n";

static const char short_help[] = "Usage: @ [--op {op|op}] [OPTION]... [FILE]\n"
                                 "Running sums and other folds of numbers. Try '@ --help'.\n";

enum {
    OPTION_OP = 1,
    OPTION_EXCLUSIVE,
    OPTION_REVERSE,
    OPTION_INIT,
    OPTION_OUT_DTYPE,
    OPTION_ALGORITHM,
    OPTION_KEY,
    OPTION_DTYPE,
    OPTION_AXIS,
    OPTION_FLAT
};

static const cli_option options[] = {
    {"op", 0, true, OPTION_OP},
    {"exclusive", 0, false, OPTION_EXCLUSIVE},
    {"reverse", 0, false, OPTION_REVERSE},
    {"init", 0, true, OPTION_INIT},
    {"out-dtype", 0, true, OPTION_OUT_DTYPE},
    {"algorithm", 0, true, OPTION_ALGORITHM},
    {"key", 'k', true, OPTION_KEY},
    {"dtype", 0, true, OPTION_DTYPE},
    {"axis", 0, true, OPTION_AXIS},
    {"flat", 0, false, OPTION_FLAT},
    DIALECT_OPTIONS,
    {NULL, 0, false, 0},
};

/* GRID or GRID/BLOCK */
static scan_algorithm parse_algorithm(const cli *c) {
    const char *slash = strchr(c->value, '/');
    char grid[64];
    int length = slash ? (int)(slash - c->value) : (int)strlen(c->value);
    snprintf(grid, sizeof grid, "%.*s", length, c->value);
    scan_algorithm algorithm = {.grid = (scan_grid)cli_choice(c->option, grid, grid_names())};
    if (slash)
        algorithm.block = (scan_block)cli_choice(c->option, slash + 1, block_names());
    return algorithm;
}

/* Refuses options that do not apply to the format, then opens the output, before any work. */
static void check_format(prefix_job *job, const input *in) {
    bool table = format_is_table(job->format);
    if (table && !job->key)
        die_usage("%s: is a table, -k COLUMN says which column to scan", in->name);
    dialect_settle(&job->dialect, in, job->format, false);
    if (!format_is_binary(job->format))
        axis_refuse(&job->axis, in->name);
    job->out_format = array_output_format(job->common->output, job->format);
    job->out = output_open_shared(job->common->output, job->common->force, format_is_binary(job->format));
    output_refuse_input(in->fd, in->name);
}

static void read_options(prefix_job *job, cli *c) {
    for (int key; (key = cli_next(c)) != 0;)
        switch (key) {
        case OPTION_OP: job->op = (scan_op)cli_choice(c->option, c->value, op_names()); break;
        case OPTION_EXCLUSIVE: job->kind = SCAN_EXCLUSIVE; break;
        case OPTION_REVERSE: job->reverse = true; break;
        case OPTION_INIT: job->init = c->value; break;
        case OPTION_OUT_DTYPE: job->out_dtype = cli_type(c->option, c->value); break;
        case OPTION_ALGORITHM: job->algorithm = parse_algorithm(c); break;
        case OPTION_KEY:
            if (job->key)
                die_usage("-k: one column at a time, but there are \"%s\" and \"%s\"", job->key, c->value);
            job->key = c->value;
            dialect_needs_table(&job->dialect, c);
            break;
        case OPTION_DTYPE: job->dtype = cli_type(c->option, c->value); break;
        case OPTION_AXIS: axis_take(&job->axis, c->value); break;
        case OPTION_FLAT: job->axis.flat = true; break;
        default: dialect_take(&job->dialect, c, key);
        }
}

int main(int argc, char **argv) {
    cli c = {.help = help, .short_help = short_help, .options = options};
    prefix_job job = {.dialect = DIALECT_DEFAULT};
    cli_start(&c, argc, argv);
    ranks_start(argc, argv);
    read_options(&job, &c);
    const char *path = cli_operand(&c);
    job.common = &c.common;
    report_start(&c.common);

    input in;
    session s;
    array_reader reader;
    input_open(&in, path);
    in.threads = parallel_threads(c.common.threads);
    if (!job.dtype)
        input_decompress(&in);
    job.format = data_format_of(&in, job.dtype, job.dialect.csv, job.dialect.tsv);
    if (format_is_binary(job.format))
        array_open(&reader, &in, job.format, job.dtype);
    check_format(&job, &in);
    session_open(&s, &c.common);
    report_text("input", in.name);
    report_text("output", output_name(job.out));
    report_text("op", scan_op_name(job.op));
    switch (job.format) {
    case FORMAT_NPY:
    case FORMAT_RAW: prefix_array(&job, &reader, &s); break;
    case FORMAT_CSV:
    case FORMAT_TSV: prefix_table(&job, &in, &s); break;
    case FORMAT_TEXT: prefix_text(&job, &in, &s); break;
    }
    session_report(&s);
    if (c.common.verify)
        report_flag("verified", true);
    input_close(&in);
    session_close(&s);
    report_finish();
    return session_leave(&s, EXIT_DONE);
}
