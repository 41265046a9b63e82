/* SPDX-License-Identifier: MIT
 *
 * How a program ends when it cannot go on: exit codes and the one-line error.
 */
#ifndef APPS_SUPPORT_DIE_H
#define APPS_SUPPORT_DIE_H

#include <stdbool.h>

enum {
    EXIT_DONE = 0,     /* also when nothing was kept */
    EXIT_NEGATIVE = 1, /* --check found disorder, --verify failed */
    EXIT_USAGE = 2,    /* usage or bad data */
    EXIT_IO = 3,       /* cannot open, read, write; no space, no memory */
    EXIT_DEVICE = 4
};

/* Prints "PROGRAM: message" as one line on stderr (utf8_make_showable) and exits. In the main thread, or inside
 * die_catch. */
__attribute__((noreturn, format(printf, 2, 3))) void die(int code, const char *format, ...);
__attribute__((format(printf, 1, 2))) void warn(const char *format, ...);

/* Whether warnings are said; of several processes one says those of all. */
void warn_aloud(bool aloud);

/* "PROGRAM: message (try 'PROGRAM --help')", exit 2. */
__attribute__((noreturn, format(printf, 1, 2))) void die_usage(const char *format, ...);

/* An error that was caught: the exit code and the line. */
typedef struct fatal_error {
    int code;
    char line[8192];
} fatal_error;

/* For threads that read while the main thread writes. Runs task(arg); if the task dies, returns false with the error in
 * *error, and the main thread ends the program by rethrow_fatal when everything before it is written. */
bool die_catch(fatal_error *error, void (*task)(void *arg), void *arg);
__attribute__((noreturn)) void rethrow_fatal(const fatal_error *error);

/* The error as die() would make it of the same arguments. */
__attribute__((format(printf, 3, 4))) void compose_fatal(fatal_error *error, int code, const char *format, ...);

/* One function to run before each line on stderr (it removes the progress bar), and one to run before a program that
 * dies exits (it removes unfinished outputs). */
void die_before_line(void (*hook)(void));
void die_before_exit(void (*hook)(void));

/* For processes that end together (ranks.h): `hook` gets every error that would end this one. It may return, or end the
 * process itself by these two, which print a line and exit, after the function of die_before_exit. */
void die_together(void (*hook)(const fatal_error *error));
void die_say(const char *line);
__attribute__((noreturn)) void die_leave(int code);

/* The program's name, which begins every line: the last part of the path, argv[0], as it can be shown. */
void program_set_name(const char *path);
const char *program_name(void);

#endif
