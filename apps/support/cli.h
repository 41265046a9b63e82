/* SPDX-License-Identifier: MIT
 *
 * The command line that all programs share: options, the one-line error, exit codes.
 */
#ifndef APPS_SUPPORT_CLI_H
#define APPS_SUPPORT_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EXIT_DONE = 0,     /* also when nothing was kept */
    EXIT_NEGATIVE = 1, /* --check found disorder, --verify failed */
    EXIT_USAGE = 2,    /* usage or bad data */
    EXIT_IO = 3,       /* cannot open, read, write; no space, no memory */
    EXIT_DEVICE = 4
};

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* Prints "PROGRAM: message" on stderr, removes unfinished outputs, exits. Main thread only. */
__attribute__((noreturn, format(printf, 2, 3))) void die(int code, const char *format, ...);
__attribute__((format(printf, 1, 2))) void warn(const char *format, ...);

/* "PROGRAM: message (try 'PROGRAM --help')", exit 2. */
__attribute__((noreturn, format(printf, 1, 2))) void die_usage(const char *format, ...);

/* Memory or exit 3. Sizes are count * size, checked. cli_free is free(). */
void *must_alloc(size_t count, size_t size);
void *must_realloc(void *memory, size_t count, size_t size);

/* ---- options ----------------------------------------------------------------------------------------------------- */

typedef enum cli_progress { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER } cli_progress;

/* -o/--output -f/--force --device --threads --stats --json --progress --verify: the same everywhere. */
typedef struct cli_common {
    const char *output; /* NULL: stdout */
    bool force;
    const char *device; /* "auto", "cpu", "cuda", "cuda:N" */
    unsigned threads;   /* 0: all */
    bool stats;
    const char *json; /* NULL: none, "-": stdout */
    cli_progress progress;
    bool verify;
} cli_common;

typedef struct cli_option {
    const char *name; /* without the dashes; NULL ends the list */
    char letter;      /* 0: none */
    bool has_value;
    int key; /* what cli_next answers; from 1 on */
} cli_option;

typedef struct cli {
    const char *help;          /* text of --help, examples first; "%s" nowhere: it is printed as it is */
    const char *short_help;    /* shown, exit 2, when stdin is a terminal and no file is named */
    const cli_option *options; /* the program's own */
    cli_common common;
    const char *value; /* value of the option just returned */
    /* the rest is private to cli.c */
    int argc;
    char **argv;
    void *state;
} cli;

/* First call in main. Sets the program's name, resets what a parent may have set (SIGPIPE). */
void cli_start(cli *c, int argc, char **argv);

/* The next of the program's own options, 0 at the end; then operands are argv[0 ... argc-1] of c. Common options,
 * --help and --version are handled inside. Options may follow operands; "--" ends them. */
int cli_next(cli *c);

/* The value of an option as a number in [low, high], or a usage error that names the option. */
uint64_t cli_number(const char *option, const char *text, uint64_t low, uint64_t high);

const char *cli_program(void);

#endif
