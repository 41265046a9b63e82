/* SPDX-License-Identifier: MIT
 *
 * Loading an image: file, structure check, then the sandboxed decoder or the PNM reader.
 *
 * PNG and JPEG files are put into a shared memory file together with room for their pixels, as large as the header that
 * probe.c checked says. The child decodes inside it, and the pixels stay where they are.
 */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/support/alloc.h"
#include "apps/support/die.h"
#include "apps/support/input.h"
#include "decode.h"
#include "orientation.h"
#include "pnm.h"
#include "probe.h"
#include "profile.h"
#include "sandbox.h"

enum { PATIENCE = 5 }; /* how long a decoder may take, over the processor time that it may use */

struct image_load {
    bool failed;
    image_error error;
    char *name;
    size_t file_bytes;
    image_profile profile;
    image img;      /* PGM and PPM: ready */
    decode_job job; /* the parent's copy, which the child cannot change */
    decode_job *shared;
    int child;        /* -1: none */
    size_t max_bytes; /* of memory */
};

/* ---- the file ---------------------------------------------------------------------------------------------------- */

typedef struct file_reader {
    const char *name;
    int fd;
    input_extent extent;
    uint8_t *data; /* malloc memory */
    size_t capacity;
    size_t bytes; /* read so far */
    image_error *error;
} file_reader;

static bool grow(file_reader *r, size_t capacity) {
    if (capacity <= r->capacity)
        return true;
    uint8_t *grown = r->extent.sized || !r->data ? try_alloc(capacity) : realloc(r->data, capacity);
    if (!grown)
        return image_fail(r->error, EXIT_IO, "%s: no memory for %zu bytes", r->name, capacity);
    if (r->extent.sized && r->data) { /* all the file now takes the place of its head */
        memcpy(grown, r->data, r->bytes);
        free(r->data);
    }
    r->data = grown;
    r->capacity = capacity;
    return true;
}

/* Reads until there are `bytes` of the file or, if it has no size, until it ends. */
static bool fill(file_reader *r, size_t bytes) {
    ssize_t got = grow(r, bytes) ? input_fill(r->fd, r->data + r->bytes, bytes - r->bytes) : -2;
    if (got == -1)
        return image_fail(r->error, EXIT_IO, "%s: cannot read: %s", r->name, strerror(errno));
    if (got < 0)
        return false;
    r->bytes += (size_t)got;
    if (r->extent.sized && r->bytes < bytes)
        return image_fail(r->error, EXIT_IO, "%s: " INPUT_SHORTER, r->name, (unsigned long long)r->bytes,
                          (unsigned long long)r->extent.size);
    return true;
}

/* The limit for a file that begins like this; a failure if it is no image. */
static bool limit_of(const file_reader *r, size_t *limit) {
    image_header header;
    switch (probe_format(r->data, r->bytes)) {
    case IMAGE_PNG:
    case IMAGE_JPEG: *limit = IMAGE_MAX_BYTES; return true;
    case IMAGE_PGM:
    case IMAGE_PPM: return pnm_max_bytes(r->name, r->data, r->bytes, limit, r->error);
    case IMAGE_NONE: break;
    }
    *limit = IMAGE_HEAD_BYTES;
    return probe_image(r->name, r->data, r->bytes, &header, r->error);
}

/* Reads the head, which says what limit the file has, and then all of it: not a byte more than needed to see that it is
 * too large. */
static bool read_all(file_reader *r) {
    size_t limit, size = r->extent.size < SIZE_MAX ? (size_t)r->extent.size : SIZE_MAX;
    bool sized = r->extent.sized;
    if (!fill(r, sized && size < IMAGE_HEAD_BYTES ? size : IMAGE_HEAD_BYTES) || !limit_of(r, &limit))
        return false;
    bool good = true, more = !sized && r->bytes == IMAGE_HEAD_BYTES;
    if (sized && size <= limit)
        return fill(r, size);
    while (good && more && r->bytes <= limit) {
        size_t want = r->bytes + r->bytes / 2;
        want = want < limit + 1 ? want : limit + 1;
        good = fill(r, want);
        more = r->bytes == want;
    }
    if (!good || (!sized && r->bytes <= limit))
        return good;
    if (r->data[0] == 'P')
        return pnm_too_long(r->name, r->data, r->error);
    return image_fail(r->error, EXIT_USAGE, "%s: the file is larger than %zu MiB", r->name, limit >> 20);
}

/* Reads the file into malloc memory. */
static bool read_file(const char *path, const char *name, uint8_t **data, size_t *bytes, image_error *error) {
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (fd < 0)
        return image_fail(error, EXIT_IO, "%s: cannot open: %s", name, strerror(errno));
    file_reader r = {.name = name, .fd = fd, .error = error};
    int error_number = input_extent_of(fd, &r.extent);
    bool good = !error_number || image_fail(error, EXIT_IO, "%s: cannot read: %s", name, strerror(error_number));
    good = good && read_all(&r);
    if (path)
        close(fd);
    *data = r.data;
    *bytes = r.bytes;
    return good;
}

/* ---- decoding ---------------------------------------------------------------------------------------------------- */

static size_t pages(size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

static bool start_decoder(image_load *load, const image_header *header, const uint8_t *file, size_t bytes) {
    const char *name = load->name;
    size_t pixels_at = pages(sizeof(decode_job) + bytes), pixel_bytes = image_bytes(header);
    size_t all_bytes = pixels_at + pixel_bytes + DECODE_PIXEL_MORE;
    load->job = (decode_job){.header = *header,
                             .file_at = sizeof(decode_job),
                             .file_bytes = bytes,
                             .pixels_at = pixels_at,
                             .arena_bytes = decode_arena_bytes(header, bytes),
                             .cpu_seconds = 10 + (uint32_t)(pixel_bytes >> 23)};
    int memory = memfd_create("image", MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, (off_t)all_bytes) != 0) {
        image_fail(&load->error, EXIT_IO, "%s: no shared memory for the decoder: %s%s", name, strerror(errno),
                   errno == EFBIG ? " (the limit on file sizes, ulimit -f, counts it)" : "");
        if (memory >= 0)
            close(memory);
        return false;
    }
    load->shared = mmap(NULL, all_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (load->shared == MAP_FAILED) {
        load->shared = NULL;
        close(memory);
        return image_fail(&load->error, EXIT_IO, "%s: no memory for %zu bytes of pixels", name, pixel_bytes);
    }
    *load->shared = load->job;
    memcpy(load->shared + 1, file, bytes);
    load->child = sandbox_decode(memory);
    int error_number = errno;
    close(memory);
    if (load->child < 0)
        return image_fail(&load->error, EXIT_IO, "%s: cannot start the image decoder: %s", name,
                          strerror(error_number));
    return true;
}

/* Says why a child came to no result, as far as that is not the image's fault. */
static bool fail_unfinished(image_load *load, sandbox_end end, int error_number) {
    image_error *error = &load->error;
    const char *name = load->name;
    unsigned seconds = load->job.cpu_seconds;
    switch (end) {
    case SANDBOX_CPU_TIME:
        return image_fail(error, EXIT_IO,
                          "%s: its decoder ran out of processor time: %u seconds, or the limit set here", name,
                          seconds);
    case SANDBOX_NO_PAGES: return image_fail(error, EXIT_IO, "%s: no memory for its decoder", name);
    case SANDBOX_KILLED:
        return image_fail(error, EXIT_IO, "%s: its decoder was killed, by a signal or by the system for want of memory",
                          name);
    case SANDBOX_STOPPED: return image_fail(error, EXIT_IO, "%s: its decoder was stopped by a signal", name);
    case SANDBOX_SILENT:
        return image_fail(error, EXIT_IO, "%s: its decoder was not done after %u seconds: this machine is too busy",
                          name, PATIENCE * seconds);
    case SANDBOX_NO_PROCESS:
        return image_fail(error, EXIT_IO, "%s: cannot start a process to decode it: %s", name, strerror(error_number));
    case SANDBOX_EXITED:
    case SANDBOX_CRASHED: break;
    }
    return image_fail(error, EXIT_USAGE, "%s: damaged: its decoder crashed", name);
}

/* Judges what a child has left that ended by itself. */
static bool judge(image_load *load) {
    image_error *error = &load->error;
    const char *name = load->name;
    char reason[sizeof load->shared->reason];
    switch (load->shared->state) {
    case DECODE_DONE: return true;
    case DECODE_NOT_STARTED: return image_fail(error, EXIT_IO, "%s: no memory for its decoder", name);
    case DECODE_NO_SETUP:
        if (load->shared->error_number == ENOMEM)
            return image_fail(error, EXIT_IO, "%s: no memory for its decoder", name);
        return image_fail(error, EXIT_IO, "%s: cannot confine the image decoder: %s", name,
                          strerror(load->shared->error_number));
    case DECODE_NO_MEMORY:
        return image_fail(error, EXIT_USAGE, "%s: damaged: its data are larger than its header says", name);
    case DECODE_REFUSED:
        memcpy(reason, load->shared->reason, sizeof reason);
        reason[sizeof reason - 1] = 0;
        for (char *c = reason; *c; c++)
            *c = *c >= ' ' && *c <= '~' ? *c : '?';
        return image_fail(error, EXIT_USAGE, "%s: damaged or not supported: %s", name, *reason ? reason : "no reason");
    }
    return image_fail(error, EXIT_USAGE, "%s: damaged: its decoder crashed", name);
}

static image_load *load_new(const char *name) {
    image_load *load = calloc(1, sizeof *load);
    if (!load)
        return NULL;
    load->child = -1;
    load->max_bytes = SIZE_MAX;
    load->name = strdup(name);
    if (load->name)
        return load;
    free(load);
    return NULL;
}

/* What a job holds: the file, what decodes it, its pixels and, encoded, at most as much again. The pixels of a PGM or
 * PPM are in the file. */
static size_t need_of(const image_header *header, size_t file_bytes) {
    const bool decoded = header->format == IMAGE_PNG || header->format == IMAGE_JPEG;
    return 2 * file_bytes + (decoded ? 2 * image_bytes(header) + decode_arena_bytes(header, file_bytes) : 0);
}

/* The pixels of a PGM or PPM stay in `file`. */
static void load_bytes(image_load *load, uint8_t *file, size_t bytes) {
    image_header header;
    load->file_bytes = bytes;
    load->failed = !probe_image(load->name, file, bytes, &header, &load->error);
    if (load->failed)
        return;
    const size_t need = need_of(&header, bytes);
    if (need > load->max_bytes) {
        load->failed = !image_fail(&load->error, EXIT_IO,
                                   "%s: needs %zu MiB of memory, more than -S says: only a binary PGM or PPM file goes "
                                   "in bands, to the same format, by --method global without --plot and --verify",
                                   load->name, (need >> 20) + 1);
        return;
    }
    if (!profile_find(file, bytes, header.format, &load->profile)) {
        load->failed = !image_fail(&load->error, EXIT_IO, "%s: no memory for its colour profile", load->name);
        return;
    }
    if (header.format == IMAGE_PNG || header.format == IMAGE_JPEG) {
        load->failed = !start_decoder(load, &header, file, bytes);
        return;
    }
    uint8_t *pixels;
    load->failed = !pnm_read(load->name, file, bytes, &load->img.header, &pixels, &load->error);
    if (!load->failed)
        load->img.pixels = pixels;
}

image_load *image_load_start(const char *path, size_t max_bytes) {
    if (path && strcmp(path, "-") == 0)
        path = NULL;
    image_load *load = load_new(path ? path : "stdin");
    if (!load)
        return NULL;
    load->max_bytes = max_bytes;
    uint8_t *file = NULL;
    size_t bytes = 0;
    load->failed = !read_file(path, load->name, &file, &bytes, &load->error);
    if (!load->failed)
        load_bytes(load, file, bytes);
    if (load->img.pixels)
        load->img.map = file;
    else
        free(file);
    return load;
}

image_load *image_load_memory(const char *name, const uint8_t *file, size_t bytes) {
    image_load *load = load_new(name);
    uint8_t *copy = load ? malloc(bytes ? bytes : 1) : NULL;
    if (!load)
        return NULL;
    if (copy) {
        memcpy(copy, file, bytes);
        load_bytes(load, copy, bytes);
    } else {
        load->failed = !image_fail(&load->error, EXIT_IO, "%s: no memory for %zu bytes", name, bytes);
    }
    if (load->img.pixels)
        load->img.map = copy;
    else
        free(copy);
    return load;
}

bool image_load_finish(image_load *load, image *out, image_error *error) {
    *out = (image){0};
    if (!load)
        return image_fail(error, EXIT_IO, "no memory to load an image");
    if (load->child >= 0) {
        int error_number = 0;
        sandbox_end end = sandbox_wait(load->child, PATIENCE * load->job.cpu_seconds, &error_number);
        load->failed = !(end == SANDBOX_EXITED ? judge(load) : fail_unfinished(load, end, error_number));
    }
    bool good = !load->failed;
    if (good && load->shared) {
        uint8_t *map = (uint8_t *)load->shared;
        load->img = (image){.header = load->job.header,
                            .pixels = map + load->job.pixels_at,
                            .map = map + load->job.pixels_at,
                            .map_bytes = image_bytes(&load->job.header) + DECODE_PIXEL_MORE};
        munmap(map, load->job.pixels_at);
    } else if (load->shared) {
        munmap(load->shared, load->job.pixels_at + image_bytes(&load->job.header) + DECODE_PIXEL_MORE);
    }
    load->img.file_bytes = load->file_bytes;
    load->img.profile = load->profile;
    if (!good)
        profile_free(&load->profile);
    if (good)
        good = image_upright(load->name, &load->img, &load->error);
    if (good)
        *out = load->img;
    else
        *error = load->error;
    free(load->name);
    free(load);
    return good;
}
