/* SPDX-License-Identifier: MIT
 *
 * The hidden name .NAME.XXXXXX.scan-tmp (XXXXXX random) of a file that is not complete or not yet published under NAME.
 * For output_file.c.
 */
#ifndef APPS_SUPPORT_OUTPUT_HIDDEN_H
#define APPS_SUPPORT_OUTPUT_HIDDEN_H

#include <stdint.h>

#include "output_place.h"

enum { HIDDEN_MAX = 8 };

typedef struct output_hidden {
    int folder;
    bool awaited;     /* another process will make the file, or has, and locks it */
    struct stat file; /* else which file has the name, if it is ours */
    char name[NAME_MAX + 1];
} output_hidden;

/* Draws another name; or makes the one that a number stands for, which hidden_number has drawn. */
void hidden_draw(output_hidden *hidden, const output_place *place);
void hidden_name(output_hidden *hidden, const output_place *place, uint64_t number);
uint64_t hidden_number(void);

/* Between these two, hidden_remove_all and every signal that ends the process by default remove the name. Entered
 * before the name is made, left when it is gone, by at most HIDDEN_MAX at a time. */
void hidden_enter(output_hidden *hidden);
void hidden_leave(const output_hidden *hidden);

/* Installs the signal handlers. Not called before there is a hidden name: a process without handlers can be ended while
 * it waits for a file system that hangs. */
void hidden_catch_signals(void);

/* Whether the name leads to the file. */
bool hidden_is_ours(const output_hidden *hidden);

/* Removes the name if it is ours; of an awaited file if the process that made it has ended. */
void hidden_remove(const output_hidden *hidden);
void hidden_remove_all(void);

/* Removes what killed runs to this place left: hidden files that no process has locked. They stay where they cannot be
 * listed, opened or locked. */
void hidden_sweep(const output_place *place);

#endif
