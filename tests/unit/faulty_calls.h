/* SPDX-License-Identifier: MIT
 *
 * Calls of the system that fail, in the process that asks for it. In a program with this file's source the linker sends
 * the calls of apps/support to functions of the same name here (--wrap), which count them and either fail or go on.
 */
#ifndef TESTS_UNIT_FAULTY_CALLS_H
#define TESTS_UNIT_FAULTY_CALLS_H

#include <stdbool.h>
#include <stddef.h>

/* The at-th call of this name, counted from 1, fails with `error`; ALWAYS: every call does. `act` is run
 * before it and plays another process; without an error the call then goes on. The name is that of the function, or for
 * openat what is opened: "unnamed" (O_TMPFILE), "hidden" (O_CREAT), "folder", "owned" (O_NOATIME), else "openat". */
typedef struct faulty_call {
    const char *name;
    int at;
    int error;
    void (*act)(void);
} faulty_call;

enum { ALWAYS = -1, FAULTY_MAX = 4 };

/* Says what fails in child processes that call faulty_calls_begin. `calls` ends with one without a name. */
void faulty_calls_set(const faulty_call *calls);
void faulty_calls_begin(void);

/* Names a call that was to fail and was never made by a child; NULL: none. */
const char *faulty_calls_missing(void);

#endif
