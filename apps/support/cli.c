/* SPDX-License-Identifier: MIT
 *
 * Options are read by hand because getopt_long prints its own messages, accepts abbreviations (which break scripts when
 * an option is added) and keeps global state.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "die.h"
#include "names.h"
#include "output.h"
#include "ranks.h"
#include "spool.h"
#include "utf8.h"

/* ---- start ------------------------------------------------------------------------------------------------------- */

/* The next file opened would get the number of a closed standard descriptor, and messages or data would go into it.
 * /dev/null takes the number instead, opened in the wrong direction, so that using it is an error as before. */
static void fill_standard_descriptors(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
            exit(EXIT_IO);
}

void cli_start(cli *c, int argc, char **argv) {
    if (argc > 0)
        program_set_name(argv[0]);
    fill_standard_descriptors();
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN); /* write() then fails with EFBIG */
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    c->common = (cli_common){.device = "auto"};
    c->argc = argc;
    c->argv = argv;
    c->next = 1;
    c->operands = 0;
    c->data_in_files = false;
    c->letters = NULL;
    c->options_ended = false;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

enum { HELP_BYTES = 16384 };

enum {
    KEY_OUTPUT = 1 << 20,
    KEY_FORCE,
    KEY_DEVICE,
    KEY_THREADS,
    KEY_STATS,
    KEY_JSON,
    KEY_PROGRESS,
    KEY_TMP,
    KEY_VERIFY,
    KEY_HELP,
    KEY_VERSION
};

static const cli_option common_options[] = {
    {"output", 'o', true, KEY_OUTPUT},   {"force", 'f', false, KEY_FORCE},   {"device", 0, true, KEY_DEVICE},
    {"threads", 0, true, KEY_THREADS},   {"stats", 0, false, KEY_STATS},     {"json", 0, true, KEY_JSON},
    {"progress", 0, true, KEY_PROGRESS}, {"tmp", 0, true, KEY_TMP},          {"verify", 0, false, KEY_VERIFY},
    {"help", 'h', false, KEY_HELP},      {"version", 0, false, KEY_VERSION}, {NULL, 0, false, 0},
};

static const cli_option *find_long(const cli_option *list, const char *name, size_t length) {
    for (; list->name; list++)
        if (strlen(list->name) == length && memcmp(list->name, name, length) == 0)
            return list;
    return NULL;
}

static const cli_option *find_letter(const cli_option *list, char letter) {
    for (; list->name; list++)
        if (list->letter && list->letter == letter)
            return list;
    return NULL;
}

/* Levenshtein distance, for "did you mean"; 99 for names of more than 31 letters. */
static unsigned distance(const char *a, size_t a_length, const char *b) {
    unsigned row[32];
    size_t b_length = strlen(b);
    if (a_length >= 32 || b_length >= 32)
        return 99;
    for (unsigned j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 0; i < a_length; i++) {
        unsigned diagonal = row[0]++;
        for (size_t j = 0; j < b_length; j++) {
            unsigned change = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            unsigned step = (row[j] < diagonal ? row[j] : diagonal) + 1;
            row[j + 1] = step < change ? step : change;
        }
    }
    return row[b_length];
}

__attribute__((noreturn)) static void die_unknown(const cli *c, const char *name, size_t length) {
    const char *best = NULL;
    unsigned best_distance = 3;
    for (int list = 0; list < 2; list++)
        for (const cli_option *o = list ? common_options : c->options; o && o->name; o++) {
            unsigned d = distance(name, length, o->name);
            if (d < best_distance) {
                best_distance = d;
                best = o->name;
            }
        }
    if (best)
        die_usage("unknown option --%.*s, did you mean --%s?", (int)length, name, best);
    die_usage("unknown option --%.*s", (int)length, name);
}

__attribute__((noreturn)) static void print_and_exit(const char *text) {
    if (ranks_own() == 0) {
        output *out = output_open(NULL, false, false);
        output_write(out, text, strlen(text));
        output_commit_all();
    }
    ranks_finish();
    exit(EXIT_DONE);
}

/* cuda:N with N up to 1023 */
static void check_device(const char *device) {
    if (strcmp(device, "auto") == 0 || strcmp(device, "cpu") == 0 || strcmp(device, "cuda") == 0)
        return;
    if (strncmp(device, "cuda:", 5) != 0)
        die_usage("--device: \"%s\" is none of auto, cpu, cuda, cuda:N", device);
    cli_number("--device cuda:N", device + 5, 0, 1023);
}

/* Handles a common option; returns false for others. */
static bool take_common(cli *c, int key) {
    static const char *const when[] = {"auto", "always", "never", NULL};
    cli_common *common = &c->common;
    char version[300], text[HELP_BYTES];
    switch (key) {
    case KEY_OUTPUT:
        common->output = strcmp(cli_file(c), "-") == 0 ? NULL : c->value;
        spool_beside(common->output);
        return true;
    case KEY_FORCE: common->force = true; return true;
    case KEY_DEVICE:
        check_device(c->value);
        common->device = c->value;
        return true;
    case KEY_THREADS: common->threads = (unsigned)cli_number(c->option, c->value, 1, 1024); return true;
    case KEY_STATS: common->stats = true; return true;
    case KEY_JSON: common->json = cli_file(c); return true;
    case KEY_PROGRESS: common->progress = (cli_progress)cli_choice(c->option, c->value, when); return true;
    case KEY_TMP: spool_in(cli_file(c)); return true;
    case KEY_VERIFY: common->verify = true; return true;
    case KEY_HELP: print_and_exit(names_expand(text, sizeof text, c->help));
    case KEY_VERSION:
        snprintf(version, sizeof version, "%s (scan) %s\n", program_name(), scan_version());
        print_and_exit(version);
    }
    return false;
}

/* The value of option o: what stands in the same argument, else the next argument. */
static const char *take_value(cli *c, const cli_option *o, const char *attached) {
    if (!o->has_value) {
        if (attached)
            die_usage("--%s takes no value", o->name);
        return NULL;
    }
    if (attached)
        return attached;
    if (c->next >= c->argc)
        die_usage("%s needs a value", c->option);
    return c->argv[c->next++];
}

/* One option at "--name", "--name=value". */
static int take_long(cli *c, const char *argument) {
    const char *name = argument + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const cli_option *o = c->options ? find_long(c->options, name, length) : NULL;
    if (!o)
        o = find_long(common_options, name, length);
    if (!o)
        die_unknown(c, name, length);
    snprintf(c->long_name, sizeof c->long_name, "--%s", o->name);
    c->option = c->long_name;
    c->value = take_value(c, o, equals ? equals + 1 : NULL);
    return o->key;
}

/* One letter of "-abc"; the rest of the argument is the value if the letter takes one. */
static int take_letter(cli *c) {
    char letter = *c->letters++;
    const cli_option *o = c->options ? find_letter(c->options, letter) : NULL;
    if (!o)
        o = find_letter(common_options, letter);
    if (!o)
        die_usage("unknown option -%.*s", utf8_bytes(c->letters - 1) ? (int)utf8_bytes(c->letters - 1) : 1,
                  c->letters - 1);
    snprintf(c->letter, sizeof c->letter, "-%c", letter);
    c->option = c->letter;
    if (o->has_value) {
        const char *attached = *c->letters ? c->letters : NULL;
        c->letters = NULL;
        c->value = take_value(c, o, attached);
    } else {
        c->value = NULL;
    }
    return o->key;
}

int cli_next(cli *c) {
    for (;;) {
        int key;
        if (c->letters && *c->letters) {
            key = take_letter(c);
        } else if (c->next < c->argc) {
            char *argument = c->argv[c->next++];
            if (c->options_ended || argument[0] != '-' || !argument[1]) {
                c->argv[c->operands++] = argument; /* operands < next always */
                continue;
            }
            if (strcmp(argument, "--") == 0) {
                c->options_ended = true;
                continue;
            }
            if (argument[1] != '-') {
                c->letters = argument + 1;
                continue;
            }
            key = take_long(c, argument);
        } else {
            break;
        }
        if (!take_common(c, key))
            return key;
    }
    c->argc = c->operands;
    if (ranks_several() && c->common.threads == 0)
        c->common.threads = ranks_threads();
    if (c->common.json && strcmp(c->common.json, "-") == 0 && !c->common.output && !c->data_in_files)
        die_usage("--json - needs -o FILE: stdout is taken by the data");
    return 0;
}

const char *cli_operand(const cli *c) {
    if (c->argc > 1)
        die_usage("one input at a time, but there are %d: \"%s\", \"%s\"", c->argc, c->argv[0], c->argv[1]);
    if (c->argc == 1 && !c->argv[0][0])
        die_usage("the name of the input is empty");
    if (c->argc == 1 && strcmp(c->argv[0], "-") != 0)
        return c->argv[0];
    ranks_refuse("an input is named, so that all of them can read it");
    if (c->argc == 0 && isatty(STDIN_FILENO)) {
        char text[HELP_BYTES];
        fputs(names_expand(text, sizeof text, c->short_help), stderr);
        exit(EXIT_USAGE);
    }
    return NULL;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

const char *cli_file(const cli *c) {
    if (!c->value[0])
        die_usage("%s: the name is empty", c->option);
    return c->value;
}

uint64_t cli_number(const char *option, const char *text, uint64_t low, uint64_t high) {
    uint64_t number = 0;
    bool fits = true;
    if (!text[0])
        die_usage("%s: the number is empty", option);
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9')
            die_usage("%s: \"%s\" is not a whole number", option, text);
        fits = fits && !__builtin_mul_overflow(number, 10u, &number) &&
               !__builtin_add_overflow(number, (uint64_t)(*p - '0'), &number);
    }
    if (!fits || number < low || number > high)
        die_usage("%s: %s is not from %llu to %llu", option, text, (unsigned long long)low, (unsigned long long)high);
    return number;
}

int cli_choice(const char *option, const char *text, const char *const *names) {
    char list[512];
    for (int i = 0; names[i]; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    die_usage("%s: \"%s\" is none of %s", option, text, names_join(list, sizeof list, names, ", "));
}

/* "float32" */
static bool is_numpy_name(const char *text, scan_type type) {
    static const char *const classes[] = {[SCAN_UNSIGNED] = "uint", [SCAN_SIGNED] = "int", [SCAN_FLOAT] = "float"};
    char name[16];
    snprintf(name, sizeof name, "%s%zu", classes[scan_type_class(type)], 8 * scan_type_size(type));
    return strcmp(text, name) == 0;
}

scan_type cli_type(const char *option, const char *text) {
    const char *const *names = type_names();
    for (int i = 0; names[i]; i++)
        if (is_numpy_name(text, (scan_type)(i + 1)))
            return (scan_type)(i + 1);
    return (scan_type)(cli_choice(option, text, names) + 1);
}
