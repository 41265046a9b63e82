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
#include "sandbox.h"

struct image_load {
    bool failed;
    image_error error;
    char *name;
    size_t file_bytes;
    image img;      /* PGM and PPM: ready */
    decode_job job; /* the parent's copy, which the child cannot change */
    decode_job *shared;
    int child; /* -1: none */
};

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static bool grow(const char *name, uint8_t **data, size_t capacity, image_error *error) {
    uint8_t *grown = *data ? realloc(*data, capacity) : try_alloc(capacity);
    if (!grown)
        return image_fail(error, EXIT_IO, "%s: no memory for %zu bytes", name, capacity);
    *data = grown;
    return true;
}

/* Reads the file into malloc memory, up to the limit of its format. */
static bool read_file(const char *path, const char *name, uint8_t **data, size_t *bytes, image_error *error) {
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        image_fail(error, EXIT_IO, "%s: cannot open: %s", name, strerror(errno));
        if (fd > 0)
            close(fd);
        return false;
    }
    size_t capacity = S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size + 1 : (size_t)1 << 16, used = 0;
    bool good = grow(name, data, capacity, error);
    while (good) {
        if (used == capacity)
            good = grow(name, data, capacity += capacity / 2, error);
        if (!good)
            break;
        ssize_t got = read(fd, *data + used, capacity - used);
        if (got < 0 && input_retry(fd))
            continue;
        if (got < 0)
            good = image_fail(error, EXIT_IO, "%s: cannot read: %s", name, strerror(errno));
        if (got <= 0)
            break;
        used += (size_t)got;
        if (used > IMAGE_MAX_BYTES && (*data)[0] != 'P')
            good = image_fail(error, EXIT_USAGE, "%s: the file is larger than %zu MiB", name, IMAGE_MAX_BYTES >> 20);
    }
    if (path)
        close(fd);
    *bytes = used;
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
    load->job = (decode_job){.header = *header,
                             .file_at = sizeof(decode_job),
                             .file_bytes = bytes,
                             .pixels_at = pixels_at,
                             .arena_bytes = decode_arena_bytes(header, bytes),
                             .cpu_seconds = 10 + (uint32_t)(pixel_bytes >> 23)};
    int memory = memfd_create("image", MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, (off_t)(pixels_at + pixel_bytes)) != 0) {
        image_fail(&load->error, EXIT_IO, "%s: no shared memory for the decoder: %s%s", name, strerror(errno),
                   errno == EFBIG ? " (the limit on file sizes, ulimit -f, counts it)" : "");
        if (memory >= 0)
            close(memory);
        return false;
    }
    load->shared = mmap(NULL, pixels_at + pixel_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
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

/* Judges what the child has left. gone: it has ended. */
static bool judge(image_load *load, bool gone) {
    image_error *error = &load->error;
    const char *name = load->name;
    char reason[sizeof load->shared->reason];
    if (!gone)
        return image_fail(error, EXIT_USAGE, "%s: damaged: its decoder does not come to an end", name);
    switch (load->shared->state) {
    case DECODE_DONE: return true;
    case DECODE_NOT_STARTED: return image_fail(error, EXIT_IO, "%s: cannot start a process to decode it", name);
    case DECODE_NO_SETUP:
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
    return image_fail(error, EXIT_USAGE, "%s: damaged: its decoder crashed or ran out of its %u seconds", name,
                      load->job.cpu_seconds);
}

static image_load *load_new(const char *name) {
    image_load *load = calloc(1, sizeof *load);
    if (!load)
        return NULL;
    load->child = -1;
    load->name = strdup(name);
    if (load->name)
        return load;
    free(load);
    return NULL;
}

/* The pixels of a PGM or PPM stay in `file`. */
static void load_bytes(image_load *load, uint8_t *file, size_t bytes) {
    image_header header;
    load->file_bytes = bytes;
    load->failed = !probe_image(load->name, file, bytes, &header, &load->error);
    if (load->failed)
        return;
    if (header.format == IMAGE_PNG || header.format == IMAGE_JPEG) {
        load->failed = !start_decoder(load, &header, file, bytes);
        return;
    }
    uint8_t *pixels;
    load->failed = !pnm_read(load->name, file, bytes, &load->img.header, &pixels, &load->error);
    if (!load->failed)
        load->img.pixels = pixels;
}

image_load *image_load_start(const char *path) {
    if (path && strcmp(path, "-") == 0)
        path = NULL;
    image_load *load = load_new(path ? path : "stdin");
    if (!load)
        return NULL;
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
        bool gone = sandbox_wait(load->child, 5 * load->job.cpu_seconds);
        load->failed = !judge(load, gone);
    }
    bool good = !load->failed;
    if (good && load->shared) {
        uint8_t *map = (uint8_t *)load->shared;
        load->img = (image){.header = load->job.header,
                            .pixels = map + load->job.pixels_at,
                            .map = map + load->job.pixels_at,
                            .map_bytes = image_bytes(&load->job.header)};
        munmap(map, load->job.pixels_at);
    } else if (load->shared) {
        munmap(load->shared, load->job.pixels_at + image_bytes(&load->job.header));
    }
    load->img.file_bytes = load->file_bytes;
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
