/* SPDX-License-Identifier: MIT
 *
 * The command line that all programs share:
 *
 *     cli c = {.help = ..., .short_help = ..., .options = ...};
 *     cli_start(&c, argc, argv);
 *     for (int key; (key = cli_next(&c));)
 *         switch (key) { case OPTION_REVERSE: reverse = true; break; ... }
 *     const char *path = cli_operand(&c);
 *
 * apps/support holds what the programs share. A run goes through it from top to bottom:
 *
 *     cli             options and operands; names has the library's enums by name, for options and help texts
 *     report          --stats, --json and the progress bar; report_phase is the clock behind them
 *     input           bytes of a file or of stdin; decoder decompresses them, by one of the formats of codec;
 *                     input_span reads by several threads
 *     array           .npy and raw arrays, in pieces; npy reads and writes the header of .npy files
 *     text            lines, of numbers or any; column gives all numbers of a text or of a table's column one type;
 *                     number reads and writes one
 *     table           CSV, TSV and other dialects: finds the rows; table_field reads one field, table_column finds and
 *                     reads a column; timestamp reads a time
 *     strings         fields and lines as text; natural translates them for natural order
 *     session         the device, and whole arrays in its memory
 *     stream          arrays in pieces: read, upload, compute, download and finish at once
 *     spool           temporary files without names, for what is needed once more
 *     rows            lines in a new order, and numbers as lines
 *     output          files that are complete or absent; output_file is one as a state machine: output_place finds
 *                     where it goes, output_access gives it its access rights, output_hidden names it until it is done;
 *                     uncached writes past the page cache
 *
 * Below all of them: die (errors and exit codes), alloc and memory (memory, and what -S allows), utf8 (text from
 * outside), and threads: parallel (a loop), pipeline (reading, work and writing at once), background (one task beside
 * the main thread), thread (starts one).
 */
#ifndef APPS_SUPPORT_CLI_H
#define APPS_SUPPORT_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/scan.h"

typedef enum cli_progress { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER } cli_progress;

/* The options that all programs have. */
typedef struct cli_common {
    const char *output; /* NULL: stdout */
    bool force;
    const char *device; /* "auto", "cpu", "cuda", "cuda:N"; checked */
    unsigned threads;   /* 0: all */
    bool stats;
    const char *json; /* NULL: none, "-": stdout */
    cli_progress progress;
    bool verify;
} cli_common;

/* The same options in --help: a literal that goes before the end of a program's help text. */
#define CLI_COMMON_HELP                                                                                                \
    "  -o, --output FILE     write to FILE (complete or not at all) instead of stdout\n"                               \
    "  -f, --force           let outputs replace existing files\n"                                                     \
    "      --verify          check the result independently; exit 1 if it is wrong\n"                                  \
    "      --device D        auto, cpu, cuda or cuda:N (default auto)\n"                                               \
    "      --threads N       CPU threads (default: all this process may use)\n"                                        \
    "      --stats           say on stderr what was done and how long it took\n"                                       \
    "      --json FILE       write the same as JSON; - is stdout, if no data go there\n"                               \
    "      --tmp DIR         folder for temporary files (default: $TMPDIR, else that of -o, else /tmp)\n"              \
    "      --progress WHEN   auto, always or never\n"                                                                  \
    "  -h, --help            show this help\n"                                                                         \
    "      --version         show the version\n"

typedef struct cli_option {
    const char *name; /* without the dashes; NULL ends the list */
    char letter;      /* 0: none */
    bool has_value;
    int key; /* what cli_next returns; from 1 on */
} cli_option;

typedef struct cli {
    const char *help;          /* text of --help, examples first, for names_expand: @ is the program's name, so that an
                                * installed scan-sort does not show lines for sort(1) */
    const char *short_help;    /* shown, exit 2, when stdin is a terminal and no file is named */
    const cli_option *options; /* the program's own; they are looked up before the common ones */
    cli_common common;
    const char *option; /* the option just returned, as written: "--init", "-k" */
    const char *value;  /* its value */
    bool data_in_files; /* set by a program whose options send its data elsewhere than to stdout or -o */
    int argc;           /* after the last cli_next: the operands */
    char **argv;
    /* the rest is private to cli.c */
    int next;
    int operands;
    const char *letters; /* the remaining short options of "-abc" */
    bool options_ended;
    char letter[3];
    char long_name[32];
} cli;

/* The first call in main. Sets the program's name; opens standard descriptors that the parent closed, and restores
 * SIGPIPE; makes a file-size limit an error instead of a signal. */
void cli_start(cli *c, int argc, char **argv);

/* Returns the key of the next of the program's own options, 0 at the end; then c->argv[0 ... c->argc - 1] are the
 * operands. Common options, --help and --version are handled inside. Options may follow operands; "--" ends them. */
int cli_next(cli *c);

/* For programs of one input: its path, or NULL for stdin (no operand, or "-"). Two operands are a usage error; stdin on
 * a terminal shows the short help. */
const char *cli_operand(const cli *c);

/* The value of the option just returned as the name of a file; an empty one is a usage error. */
const char *cli_file(const cli *c);

/* The value of an option as a number in [low, high], or a usage error that names the option. */
uint64_t cli_number(const char *option, const char *text, uint64_t low, uint64_t high);

/* The value of an option as one of the names in a list that ends with NULL (names.h has the library's lists): returns
 * its position; any other value is a usage error that lists them. */
int cli_choice(const char *option, const char *text, const char *const *names);

/* --dtype, --out-dtype: "u8" ... "f64", or NumPy's "uint8" ... "float64". */
scan_type cli_type(const char *option, const char *text);

#endif
