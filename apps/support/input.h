/* SPDX-License-Identifier: MIT
 *
 * Input: one file or stdin, read() and never mapped, so that a file that shrinks is an error and no signal.
 *
 * A regular file is read up to the size that it had when it was opened: what is appended later is not seen, and an end
 * before that is an error (exit 3), because half an input would give a wrong result. A regular file of size 0 is read
 * to its end like a pipe, because those in /proc have no other size; so is one in /sys.
 *
 * A compressed file (input_decompress) is read through: it is like a pipe, of which the size is not known. The rule
 * about sizes holds for the file itself.
 */
#ifndef APPS_SUPPORT_INPUT_H
#define APPS_SUPPORT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "spool.h"

enum { INPUT_PEEK_MAX = 64 << 10 };

/* What the size of a file says at the time of opening. */
typedef struct input_extent {
    bool sized;     /* a regular file with a size; else a pipe, a device, or a file as in /proc */
    uint64_t start; /* offset in the file where reading begins (stdin may be partly read already) */
    uint64_t size;  /* bytes from `start` on; 0 if it is not sized */
} input_extent;

typedef struct input {
    int fd;
    const char *name;    /* for messages: the path, or "stdin" */
    input_extent extent; /* sized: input_read_at works */
    unsigned threads;    /* that read large spans of a sized input; one, unless the caller sets more */
    uint64_t fetched;    /* bytes read from fd by all but input_read_at */
    uint64_t taken;      /* of these, bytes given out by input_read and input_read_all */
    unsigned char *peek; /* bytes looked at and not yet taken */
    size_t peek_bytes;
    struct decoder *decoder; /* NULL: not compressed */
    size_t max_bytes;        /* of a decoder, for input_read_all */
    spool kept;              /* what was read since input_keep */
    bool keeps;              /* what is read goes there */
    uint64_t again;          /* bytes of it that were read again */
    unsigned char *given;    /* of input_of_memory, until it is read */
    size_t given_bytes;
    size_t lines_before; /* of the file, for messages: `given` begins after them */
} input;

/* path NULL or "-": stdin. Errors exit 3, here and below. Times count as PHASE_READ (report_phase.h). */
void input_open(input *in, const char *path);

/* A part of a text or table that has been read already, as an input for text.h and table.h: input_read_all returns the
 * bytes themselves, malloc memory with room for INPUT_TAIL_BYTES more. Nothing else may be called. */
void input_of_memory(input *in, const char *name, unsigned char *bytes, size_t n_bytes, size_t lines_before);

/* For text, tables and .npy, before anything was read: decompresses gzip and zstd, known by their first bytes, from
 * here on. What input_read_all then gives is bounded by the memory of the machine (memory_bytes), so that a file that
 * grows without end is an error (exit 3). Exit 2 for damage, and for what cannot be decompressed. */
void input_decompress(input *in);

/* Before anything was read: from here on input_rewind works. What is no regular file is copied to a spool (spool.h) as
 * it is read, until input_keep_no_more. */
void input_keep(input *in);
void input_keep_no_more(input *in);

/* The next byte that is read is the first one again. */
void input_rewind(input *in);

/* Returns true if the first `length` bytes of a name end in the suffix, in any case. */
bool name_has_suffix(const char *name, size_t length, const char *suffix);

/* Returns true if the file's name ends in the suffix, in any case; that of a compressed file also with one more. False
 * for stdin. */
bool input_has_suffix(const input *in, const char *suffix);

/* Looks at up to `bytes` (at most INPUT_PEEK_MAX) bytes ahead; returns how many there are. The pointer is good until
 * the next call. */
size_t input_peek(input *in, const unsigned char **data, size_t bytes);

/* Reads until `bytes` are there or the input ends; returns how many. */
size_t input_read(input *in, void *to, size_t bytes);

/* Returns everything that is left, in one allocation, followed by so many zero bytes: who looks for the end of a line
 * may look at some bytes beyond it. */
enum { INPUT_TAIL_BYTES = 128 };
unsigned char *input_read_all(input *in, size_t *bytes);

/* Returns the length of the byte order mark that a text begins with, 3 or 0; exit 2 for a mark of UTF-16. */
size_t input_mark_bytes(const input *in, const unsigned char *text, size_t bytes);

/* Exit 2 if a text that is no table, or has no numbers, begins as JSON does, with an object or an array of objects.
 * `line` is where it begins. */
void input_refuse_json(const char *name, size_t line, const unsigned char *text, size_t bytes);

/* Reads exactly `bytes` from `offset`, counted from the extent's start, without moving the reading position. Sized
 * inputs only. */
void input_read_at(const input *in, void *to, size_t bytes, uint64_t offset);

/* The same of an input that is not sized: it is read through up to there, from its beginning if it is past that. For
 * what input_rewind works on. Exit 3 if it ends before. */
void input_read_through(input *in, void *to, size_t bytes, uint64_t offset);

/* Reads on and drops what it reads, up to an offset that is not behind, or to the end. Returns where that is. */
uint64_t input_pass(input *in, uint64_t offset);

/* Returns true if input_rewind works without input_keep: a regular file with a size, also a compressed one. */
bool input_can_rewind(const input *in);

/* Says that so many bytes will be read soon, for the system to read them meanwhile. */
void input_expect(const input *in, size_t bytes);

void input_close(input *in);

/* ---- for readers that must not exit (equalize) ------------------------------------------------------------------- */

/* Returns 0, or the errno with which the file cannot be read. */
int input_extent_of(int fd, input_extent *extent);

/* Reads until `bytes` are there or the input ends; returns how many, or -1 with errno. Waits for a pipe or socket that
 * its other users made non-blocking. */
ssize_t input_fill(int fd, void *to, size_t bytes);

/* The end of a message about a sized input that ended early: arguments are the bytes read and the size. */
#define INPUT_SHORTER "is shorter now: it ends after %llu bytes and had %llu when it was opened"

/* Counts the bytes from p to end that are `byte`. A narrow counter over a short run is a loop that compilers turn into
 * SIMD. */
static inline size_t input_count_bytes(const unsigned char *p, const unsigned char *end, unsigned char byte) {
    size_t count = 0;
    while (p < end) {
        const unsigned char *stop = end - p > 4096 ? p + 4096 : end;
        unsigned short run = 0;
        for (; p < stop; p++)
            run = (unsigned short)(run + (*p == byte));
        count += run;
    }
    return count;
}

#endif
