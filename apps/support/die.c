/* SPDX-License-Identifier: MIT
 *
 * How a program ends when it cannot go on, and memory that is there or ends it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli.h"
#include "output.h"
#include "report.h"

enum { LINE_BYTES = sizeof((rethrow_fatal *)NULL)->line };

static const char *program = "scan";

void cli_name(const char *path) {
    const char *slash = strrchr(path, '/');
    if (path[0])
        program = slash && slash[1] ? slash + 1 : path;
}

const char *cli_program(void) { return program; }

/* ---- text -------------------------------------------------------------------------------------------------------- */

size_t cli_letter_bytes(const char *text) {
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)text;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf8 ? 4 : 0;
    if (n < 2)
        return n;
    unsigned code = p[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3fu);
    }
    return code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : n;
}

void cli_make_showable(char *text) {
    char *to = text;
    for (size_t n; *text; text += n ? n : 1) {
        const unsigned char *p = (const unsigned char *)text;
        n = cli_letter_bytes(text);
        bool control = p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0);
        if (n == 0 || control) {
            *to++ = '?';
        } else {
            memmove(to, text, n);
            to += n;
        }
    }
    *to = 0;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* "PROGRAM: message" and the end, as one line. Names and data come from outside: control characters must neither break
 * the line nor reach the terminal. */
__attribute__((format(printf, 4, 0))) static void compose(char *line, size_t bytes, const char *end, const char *format,
                                                          va_list arguments) {
    size_t room = bytes - strlen(end) - 2;
    int prefix = snprintf(line, 300, "%.256s: ", program);
    size_t n = prefix > 0 ? (size_t)prefix : 0;
    int length = vsnprintf(line + n, room - n, format, arguments);
    if (length > 0)
        n = n + (size_t)length < room ? n + (size_t)length : room - 1;
    cli_make_showable(line);
    n = strlen(line);
    snprintf(line + n, bytes - n, "%s\n", end);
}

/* One write, so that lines of several processes do not mix. */
static void say(const char *line) {
    report_clear_bar();
    ssize_t ignored = write(STDERR_FILENO, line, strlen(line));
    (void)ignored;
}

/* Without what exit() would run: other threads may be inside the driver, which must not be taken down under them. */
__attribute__((noreturn)) static void leave(int code) {
    output_abandon_all();
    fflush(NULL);
    _exit(code);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

typedef struct catcher {
    rethrow_fatal *death;
    jmp_buf back;
} catcher;

static _Thread_local catcher *catching;

bool die_catch(rethrow_fatal *death, void (*task)(void *arg), void *arg) {
    catcher c = {.death = death};
    catching = &c;
    bool lives = setjmp(c.back) == 0;
    if (lives)
        task(arg);
    catching = NULL;
    return lives;
}

void die_of(const rethrow_fatal *death) {
    say(death->line);
    leave(death->code);
}

/* ------------------------------------------------------------------------------------------------------------------ */

__attribute__((noreturn, format(printf, 3, 0))) static void die_with(int code, const char *end, const char *format,
                                                                     va_list arguments) {
    rethrow_fatal death = {.code = code};
    rethrow_fatal *to = catching ? catching->death : &death;
    to->code = code;
    compose(to->line, sizeof to->line, end, format, arguments);
    if (catching)
        longjmp(catching->back, 1);
    die_of(to);
}

void die(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    die_with(code, "", format, arguments);
}

void warn(const char *format, ...) {
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    compose(line, sizeof line, "", format, arguments);
    va_end(arguments);
    say(line);
}

void die_usage(const char *format, ...) {
    char end[320];
    snprintf(end, sizeof end, " (try '%.256s --help')", program);
    va_list arguments;
    va_start(arguments, format);
    die_with(EXIT_USAGE, end, format, arguments);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

enum { HUGE_PAGE = 2 << 20 };

static size_t checked_bytes(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX)
        die(EXIT_IO, "no memory for %zu items of %zu bytes", count, size);
    return bytes ? bytes : 1;
}

void *try_alloc(size_t bytes) {
    if (bytes < 4 * (size_t)HUGE_PAGE || bytes > SIZE_MAX - HUGE_PAGE)
        return malloc(bytes);
    size_t rounded = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    void *memory = aligned_alloc(HUGE_PAGE, rounded);
    if (memory)
        madvise(memory, rounded, MADV_HUGEPAGE);
    return memory;
}

void *must_alloc(size_t count, size_t size) {
    size_t bytes = checked_bytes(count, size);
    void *memory = try_alloc(bytes);
    if (!memory)
        die(EXIT_IO, "no memory for %zu bytes", bytes);
    return memory;
}

void *must_realloc(void *memory, size_t count, size_t size) {
    size_t bytes = checked_bytes(count, size);
    void *moved = realloc(memory, bytes);
    if (!moved)
        die(EXIT_IO, "no memory for %zu bytes", bytes);
    return moved;
}
