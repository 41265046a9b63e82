/* SPDX-License-Identifier: MIT
 *
 * The one-line error and the end of the process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "die.h"
#include "utf8.h"

enum { LINE_BYTES = sizeof((fatal_error *)NULL)->line };

static char program[257] = "scan";

void program_set_name(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!path[0])
        return;
    memset(program, 0, sizeof program); /* nothing is left of a longer name */
    snprintf(program, sizeof program, "%s", slash && slash[1] ? slash + 1 : path);
    utf8_make_showable(program);
}

const char *program_name(void) { return program; }

/* ---- the line ---------------------------------------------------------------------------------------------------- */

static void (*before_line)(void);
static void (*before_exit)(void);
static void (*together)(const fatal_error *error);

void die_before_line(void (*hook)(void)) { before_line = hook; }

void die_before_exit(void (*hook)(void)) { before_exit = hook; }

void die_together(void (*hook)(const fatal_error *error)) { together = hook; }

/* Names and data come from outside: control characters must neither break the line nor reach the terminal. */
__attribute__((format(printf, 4, 0))) static void compose(char *line, size_t bytes, const char *end, const char *format,
                                                          va_list arguments) {
    size_t capacity = bytes - strlen(end) - 2;
    int prefix = snprintf(line, 300, "%s: ", program);
    size_t n = prefix > 0 ? (size_t)prefix : 0;
    int length = vsnprintf(line + n, capacity - n, format, arguments);
    if (length > 0)
        n = n + (size_t)length < capacity ? n + (size_t)length : capacity - 1;
    utf8_make_showable(line);
    n = strlen(line);
    snprintf(line + n, bytes - n, "%s\n", end);
}

/* One write, so that lines of several processes do not mix. */
void die_say(const char *line) {
    if (before_line)
        before_line();
    ssize_t ignored = write(STDERR_FILENO, line, strlen(line));
    (void)ignored;
}

/* exit() would also take the GPU's driver down, while other threads may still be inside it. */
void die_leave(int code) {
    if (before_exit)
        before_exit();
    fflush(NULL);
    _exit(code);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

typedef struct catcher {
    fatal_error *error;
    jmp_buf back;
} catcher;

static _Thread_local catcher *catching;

bool die_catch(fatal_error *error, void (*task)(void *arg), void *arg) {
    catcher c = {.error = error};
    catching = &c;
    bool lives = setjmp(c.back) == 0;
    if (lives)
        task(arg);
    catching = NULL;
    return lives;
}

void rethrow_fatal(const fatal_error *error) {
    if (together)
        together(error);
    die_say(error->line);
    die_leave(error->code);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

__attribute__((noreturn, format(printf, 3, 0))) static void die_with(int code, const char *end, const char *format,
                                                                     va_list arguments) {
    fatal_error error;
    fatal_error *to = catching ? catching->error : &error;
    to->code = code;
    compose(to->line, sizeof to->line, end, format, arguments);
    if (catching)
        longjmp(catching->back, 1);
    rethrow_fatal(to);
}

void die(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    die_with(code, "", format, arguments);
}

void compose_fatal(fatal_error *error, int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    error->code = code;
    compose(error->line, sizeof error->line, "", format, arguments);
    va_end(arguments);
}

static bool warns = true;

void warn_aloud(bool aloud) { warns = aloud; }

void warn(const char *format, ...) {
    if (!warns)
        return;
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    compose(line, sizeof line, "", format, arguments);
    va_end(arguments);
    die_say(line);
}

void die_usage(const char *format, ...) {
    char end[320];
    snprintf(end, sizeof end, " (try '%s --help')", program);
    va_list arguments;
    va_start(arguments, format);
    die_with(EXIT_USAGE, end, format, arguments);
}
