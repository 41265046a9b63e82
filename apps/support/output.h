/* SPDX-License-Identifier: MIT
 *
 * Outputs that are complete or absent. A new or replaced file gets its name in output_commit_all, after all bytes of
 * all outputs are on the disk; on any failure before that, nothing is left, and a file that was to be replaced is as it
 * was. Stdout, pipes and devices are written at once.
 */
#ifndef APPS_SUPPORT_OUTPUT_H
#define APPS_SUPPORT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct output output;

/* path NULL or "-": stdout. Exit 2 for an existing file without force, for binary data on a terminal and for one file
 * named twice; exit 3 for what the system refuses. Everything is checked here, before any work is done. A symbolic link
 * is followed: the file that it points to is made or replaced. */
output *output_open(const char *path, bool force, bool binary);

/* The same, and of several ranks (ranks.h) one file for all of them; collective, as are the calls that say so. What a
 * rank gives to output_write then waits in memory for output_turn. */
output *output_open_shared(const char *path, bool force, bool binary);

/* Collective: puts what ranks have given to output_write, and `data`, behind all that the file has so far, in the order
 * of ranks. For an output of one process output_turn does nothing, and output_write_in_turn is output_write. */
void output_turn(output *out);
void output_write_in_turn(output *out, const void *data, size_t bytes);

/* Writes all or exits 3 (silently, as by SIGPIPE, if stdout's reader is gone). Small pieces are collected. Times count
 * as PHASE_WRITE (report_phase.h). */
void output_write(output *out, const void *data, size_t bytes);

/* The same, but the data, which may be none, must stay as they are until the next call of output_lend for this output,
 * or of output_end. After output_pass_cache they are not copied if they lie in memory as in the file: at the same
 * offset, that of output_bytes, from a multiple of ALLOC_BLOCK_BYTES (alloc.h). */
void output_lend(output *out, const void *data, size_t bytes);

/* Before any data: what follows is written to the disk at once, past the page cache, where the file system can do that
 * and the output is a regular file of its own. For files that are larger than memory: the copy into the cache takes
 * more time than the disk, and what the cache has of the file is dropped before anybody reads it. */
void output_pass_cache(output *out);

/* So many bytes at least will have been written in the end. Of a file in memory (tmpfs) a thread gets the pages for
 * them while the program does other work, which makes room for them as early as now. */
void output_expect(output *out, uint64_t bytes);

/* Returns how many bytes were given to output_write. */
uint64_t output_bytes(const output *out);

/* For formats whose head holds a count that is known at the end only: output_reserve_head before any data, then
 * output_write for the data, then output_write_head with as many bytes as were reserved. Stdout and pipes cannot be
 * rewound; data for them beyond 256 KiB wait in a spool (spool.h). Of a shared output rank 0's head counts; the first
 * is collective. */
void output_reserve_head(output *out, size_t bytes);
void output_write_head(output *out, const void *head, size_t bytes);

/* Returns true between those two if what is written waits for the head. */
bool output_waits(const output *out);

/* Between those two: takes back everything that was written, so that it can be written anew, after the same call of
 * output_reserve_head. */
void output_rewind(output *out);

/* An output to a file of the caller's, which is no output of the program: nothing of it is checked, synced or
 * committed. output_end writes what is left of it. */
output *output_over(int fd, const char *name);
void output_end(output *out);

/* Exit 2 if the input, open as fd, is a regular file that stdout goes to: the program would read what it writes,
 * without end. */
void output_refuse_input(int fd, const char *name);

const char *output_name(const output *out);

/* Flushes and syncs all outputs, so that only the names are missing. output_commit_all does it too. */
void output_sync_all(void);

/* Gives all outputs opened so far their names and closes them; their pointers are invalid afterwards. Collective if one
 * is shared. */
void output_commit_all(void);

/* The same for one output, where others stay open (one image of many). */
void output_commit(output *out);

#endif
