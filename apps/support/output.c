/* SPDX-License-Identifier: MIT
 *
 * Outputs: where they go, buffering, and the moment when all of them get their names.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "die.h"
#include "file_room.h"
#include "output.h"
#include "output_file.h"
#include "output_share.h"
#include "report_phase.h"
#include "spool.h"
#include "uncached.h"
#include "write_all.h"

enum { BUFFER_BYTES = 256 << 10, DISK_BYTES = 8 << 20 };

struct output {
    const char *name;
    int fd;
    bool direct; /* no file of its own: stdout, a pipe, a device */
    bool over;   /* a file of the caller's */
    bool synced;
    uncached *uncached; /* NULL: written through the page cache */
    file_room *room;    /* which is being made; or NULL */
    output_file file;
    output_share *share;     /* of several ranks; NULL: this process's alone */
    uint64_t taken;          /* bytes of output_write */
    uint64_t written, begun; /* bytes of the file, and those of them whose way to the disk has begun */
    size_t head_bytes;
    bool held; /* direct, and the head is not known yet: data wait in the buffer and in the spool */
    spool spool;
    unsigned char *buffer;
    size_t used;
};

/* All outputs that are not committed. */
static output *outputs[HIDDEN_MAX];

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void check_distinct(const output *out) {
    for (int i = 0; i < HIDDEN_MAX; i++)
        if (outputs[i] && outputs[i] != out && output_file_same(&out->file, &outputs[i]->file))
            die_usage("two outputs go to %s", out->name);
}

static void register_output(output *out) {
    die_before_exit(hidden_remove_all);
    for (int i = 0; i < HIDDEN_MAX; i++)
        if (!outputs[i]) {
            outputs[i] = out;
            return;
        }
    die(EXIT_USAGE, "more than %d outputs", HIDDEN_MAX);
}

static bool is_stdout(const char *path) {
    static const char *const names[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(path, names[i]) == 0)
            return true;
    return false;
}

static output *open_output(const char *path, bool force, bool binary, bool shared) {
    output *out = must_alloc(1, sizeof *out);
    if (path && is_stdout(path))
        path = NULL;
    const char *suffix = path ? strrchr(path, '.') : NULL;
    if (suffix && (strcmp(suffix, ".gz") == 0 || strcmp(suffix, ".zst") == 0))
        die_usage("%s: outputs are not compressed: leave out the %s, or pipe them through a compressor", path, suffix);
    *out = (output){.name = path ? path : "stdout"};
    out->buffer = must_alloc(BUFFER_BYTES, 1);
    register_output(out);
    if (shared)
        out->share = output_share_open(&out->file, path, force);
    else
        output_file_open(&out->file, path, force, 0);
    out->fd = out->file.fd;
    out->direct = out->file.state == OUTPUT_DIRECT;
    if (out->direct && binary && isatty(out->fd))
        die_usage("%s: binary data are not written to a terminal, name a file with -o", out->name);
    check_distinct(out);
    return out;
}

output *output_open(const char *path, bool force, bool binary) { return open_output(path, force, binary, false); }

output *output_open_shared(const char *path, bool force, bool binary) {
    return open_output(path, force, binary, ranks_several());
}

void output_refuse_input(int fd, const char *name) {
    struct stat in, other;
    for (int i = 0; i < HIDDEN_MAX; i++)
        if (outputs[i] && outputs[i]->direct && fstat(outputs[i]->fd, &other) == 0 && S_ISREG(other.st_mode) &&
            fstat(fd, &in) == 0 && stat_same_file(&in, &other))
            die_usage("%s: is what %s goes to: -o FILE -f replaces the input when all is done", name, outputs[i]->name);
}

const char *output_name(const output *out) { return out->name; }

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Starts sending bytes to the disk while later ones are written, so that the sync at the end, which reports failures,
 * waits for few. More threads would gain nothing: the kernel lets one write to a file at a time. */
static void write_file(output *out, const char *data, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        size_t n = bytes - done < DISK_BYTES ? bytes - done : DISK_BYTES;
        write_all(out->name, out->fd, data + done, n);
        done += n;
        out->written += n;
        if (out->written - out->begun >= DISK_BYTES) {
            sync_file_range(out->fd, (off_t)out->begun, (off_t)(out->written - out->begun), SYNC_FILE_RANGE_WRITE);
            out->begun = out->written;
        }
    }
}

static void write_through(output *out, const void *data, size_t bytes) {
    if (out->held)
        spool_write(&out->spool, data, bytes, out->spool.bytes);
    else if (out->direct)
        write_all(out->name, out->fd, data, bytes);
    else
        write_file(out, data, bytes);
}

static void flush_buffer(output *out) {
    if (out->used)
        write_through(out, out->buffer, out->used);
    out->used = 0;
}

static void flush(output *out) {
    if (out->uncached) {
        uncached_end(out->uncached);
        out->uncached = NULL;
        out->written = out->begun = out->taken;
    }
    flush_buffer(out);
}

void output_pass_cache(output *out) {
    if (!out->uncached && out->written == 0 && out->used == 0 && (!out->direct || out->over))
        out->uncached = uncached_open(out->name, out->fd);
}

void output_expect(output *out, uint64_t bytes) {
    if (!out->uncached && !out->direct && !out->share && !out->room)
        out->room = file_room_begin(out->fd, bytes);
}

uint64_t output_bytes(const output *out) { return out->taken; }

static report_phase begin_write(output *out, size_t bytes) {
    report_phase before = report_enter(PHASE_WRITE);
    out->synced = false;
    out->taken += bytes;
    report_bytes(0, bytes);
    return before;
}

void output_write(output *out, const void *data, size_t bytes) {
    if (bytes == 0)
        return;
    report_phase before = begin_write(out, bytes);
    if (!out->uncached && bytes > BUFFER_BYTES - out->used)
        flush_buffer(out);
    if (out->share) {
        output_share_add(out->share, data, bytes);
    } else if (out->uncached) {
        uncached_write(out->uncached, data, bytes);
    } else if (bytes >= BUFFER_BYTES) {
        write_through(out, data, bytes);
    } else {
        memcpy(out->buffer + out->used, data, bytes);
        out->used += bytes;
    }
    report_enter(before);
}

void output_lend(output *out, const void *data, size_t bytes) {
    if (!out->uncached) {
        output_write(out, data, bytes);
        return;
    }
    report_phase before = begin_write(out, bytes);
    uncached_lend(out->uncached, data, bytes);
    report_enter(before);
}

void output_write_in_turn(output *out, const void *data, size_t bytes) {
    if (out->share) {
        report_phase before = begin_write(out, bytes);
        output_share_turn(out->share, data, bytes);
        report_enter(before);
    } else {
        output_write(out, data, bytes);
    }
}

void output_turn(output *out) {
    if (out->share)
        output_write_in_turn(out, NULL, 0);
}

output *output_over(int fd, const char *name) {
    output *out = must_alloc(1, sizeof *out);
    *out = (output){.name = name, .fd = fd, .direct = true, .over = true, .buffer = must_alloc(BUFFER_BYTES, 1)};
    return out;
}

void output_end(output *out) {
    report_phase before = report_enter(PHASE_WRITE);
    flush(out);
    free(out->buffer);
    free(out);
    report_enter(before);
}

/* ---- heads ------------------------------------------------------------------------------------------------------- */

void output_reserve_head(output *out, size_t bytes) {
    out->head_bytes = bytes;
    out->held = out->direct;
    if (!out->held) {
        void *zeros = must_alloc(bytes, 1);
        memset(zeros, 0, bytes);
        output_write_in_turn(out, zeros, ranks_own() == 0 ? bytes : 0);
        free(zeros);
    }
}

bool output_waits(const output *out) { return out->held; }

void output_rewind(output *out) {
    out->used = 0;
    spool_clear(&out->spool);
    if (out->share)
        output_share_rewind(out->share);
    else if (!out->direct && (ftruncate(out->fd, 0) != 0 || lseek(out->fd, 0, SEEK_SET) < 0))
        die(EXIT_IO, "%s: cannot write: %s", out->name, strerror(errno));
    out->written = out->begun = 0;
}

/* Copies the data that waited in the spool to the output. */
static void copy_spool(output *out) {
    unsigned char *piece = must_alloc(BUFFER_BYTES, 1);
    for (uint64_t done = 0; done < out->spool.bytes;) {
        size_t bytes = spool_read(&out->spool, piece, BUFFER_BYTES, done);
        write_all(out->name, out->fd, piece, bytes);
        done += bytes;
    }
    free(piece);
    spool_clear(&out->spool);
}

void output_write_head(output *out, const void *head, size_t bytes) {
    report_phase before = report_enter(PHASE_WRITE);
    if (out->held) {
        out->held = false;
        write_all(out->name, out->fd, head, bytes);
        report_bytes(0, bytes);
        copy_spool(out);
    } else if (!out->share || ranks_own() == 0) {
        flush(out);
        write_all_at(out->name, out->fd, head, bytes, 0);
    }
    report_enter(before);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static void sync_output(output *out) {
    flush(out);
    file_room_end(&out->room);
    if (!out->direct && !out->synced)
        output_file_sync(&out->file);
    out->synced = true;
}

/* Network file systems may report a full disk at close only. */
static void close_direct(const output *out) {
    int fd = out->fd == STDOUT_FILENO ? dup(out->fd) : out->fd;
    if (fd >= 0 && close(fd) != 0 && errno != EINTR)
        die(EXIT_IO, "%s: cannot write: %s", out->name, strerror(errno));
}

static void publish(output *out) {
    if (out->share && ranks_own() > 0)
        output_file_leave(&out->file);
    else if (out->direct)
        close_direct(out);
    else
        output_file_publish(&out->file);
}

static void destroy(output *out) {
    if (!out->direct)
        output_file_close(&out->file);
    output_share_close(out->share);
    free(out->buffer);
    free(out);
}

void output_sync_all(void) {
    report_phase before = report_enter(PHASE_WRITE);
    for (int i = 0; i < HIDDEN_MAX; i++)
        if (outputs[i]) {
            output_turn(outputs[i]);
            sync_output(outputs[i]);
        }
    report_enter(before);
}

void output_commit_all(void) {
    output_sync_all();
    for (int i = 0; i < HIDDEN_MAX; i++)
        if (outputs[i])
            publish(outputs[i]);
    for (int i = 0; i < HIDDEN_MAX; i++)
        if (outputs[i]) {
            output *out = outputs[i];
            outputs[i] = NULL;
            destroy(out);
        }
}

void output_commit(output *out) {
    report_phase before = report_enter(PHASE_WRITE);
    sync_output(out);
    publish(out);
    for (int i = 0; i < HIDDEN_MAX; i++)
        if (outputs[i] == out)
            outputs[i] = NULL;
    destroy(out);
    report_enter(before);
}
