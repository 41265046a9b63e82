/* SPDX-License-Identifier: MIT
 *
 * What the program and its decoding helper (sandbox_helper.c) have in common.
 */
#ifndef APPS_EQUALIZE_SANDBOX_HELPER_H
#define APPS_EQUALIZE_SANDBOX_HELPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "decode.h"

/* Valgrind and ThreadSanitizer make system calls of their own inside the child and cannot run there. */
#if defined(__SANITIZE_THREAD__) && !defined(SCAN_NO_SANDBOX)
#define SCAN_NO_SANDBOX
#elif defined(__has_feature) && !defined(SCAN_NO_SANDBOX)
#if __has_feature(thread_sanitizer)
#define SCAN_NO_SANDBOX
#endif
#endif

/* What the program is told about a child. */
typedef enum note_kind { NOTE_ENDED, NOTE_STOPPED, NOTE_RUNS, NOTE_NO_CHILD } note_kind;

typedef struct note {
    note_kind kind;
    int value; /* of NOTE_ENDED what wait() gives, of NOTE_NO_CHILD an errno */
} note;

/* So few bytes are written as a whole; if the reader of the pipe is gone nobody needs the note. */
void helper_note(int pipe_end, note_kind kind, int value);

/* The shared memory of a job; the memory that its decoder allocates from. NULL if they cannot be had. */
decode_job *helper_map_job(int memory, size_t *bytes);
void *helper_map_arena(size_t bytes);

#ifndef SCAN_NO_SANDBOX
/* The helper, in a process that `program` has just forked. `arguments` is the program's argv, or NULL; the stack from
 * `frame`, a variable of the caller, up to there is cleared. */
__attribute__((noreturn)) void helper_main(int socket, pid_t program, char **arguments, void *frame);
#endif

#endif
