/* SPDX-License-Identifier: MIT
 *
 * Formats of compressed files, behind one interface: gzip by libisal, or by zlib; zstd by libzstd. What a build lacks
 * is known by its magic all the same, so that a message can name it.
 */
#ifndef APPS_SUPPORT_CODEC_H
#define APPS_SUPPORT_CODEC_H

#include <stdbool.h>
#include <stddef.h>

/* CODEC_MORE: the input is used up or the room is full. CODEC_END: a member is complete; codec_next begins another. */
typedef enum codec_status {
    CODEC_MORE,
    CODEC_END,
    CODEC_BAD,
    CODEC_DICTIONARY, /* one is needed */
    CODEC_NO_MEMORY
} codec_status;

/* What a step takes from and writes to; it moves both pointers. */
typedef struct codec_window {
    const unsigned char *in, *in_end;
    unsigned char *out, *out_end;
    const char *reason; /* of CODEC_BAD, static storage */
} codec_window;

typedef struct codec {
    const char *name;    /* "gzip" */
    const char *missing; /* NULL, or the package that a build without this codec lacks */
    const char *command; /* that writes what is in a file to its output */
    size_t magic_bytes;
    const char *magic;
    bool (*begins)(const unsigned char *data, size_t bytes); /* NULL, or another beginning that it has */
    void *(*open)(void);                                     /* NULL if there is no memory */
    codec_status (*step)(void *state, codec_window *w);
    bool (*next)(void *state); /* false if there is no memory */
    void (*close)(void *state);
} codec;

extern const codec codec_gzip, codec_zstd;

/* The codec of a file that begins like this, NULL if it is not compressed. open is NULL if this build has none. */
enum { CODEC_MAGIC_BYTES = 10 };
const codec *codec_of(const unsigned char *data, size_t bytes);

#endif
