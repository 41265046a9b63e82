/* SPDX-License-Identifier: MIT
 *
 * A compressed input: what input.h reads through. Members that follow each other, as `cat a.gz b.gz` makes them, are
 * one input; anything else after a member is an error, as is a member that is cut short or damaged (exit 2).
 */
#ifndef APPS_SUPPORT_DECODER_H
#define APPS_SUPPORT_DECODER_H

#include "codec.h"
#include "input.h"

typedef struct decoder decoder;

/* Takes over the place of `from`, of which nothing but what was peeked at has been read; its descriptor stays open. */
decoder *decoder_open(const codec *c, const input *from);

/* Reads until `bytes` are there or the last member ends; returns how many. */
size_t decoder_read(decoder *d, void *to, size_t bytes);

/* Whether it can begin anew, which a pipe cannot. */
bool decoder_can_rewind(const decoder *d);
void decoder_rewind(decoder *d);

/* "gzip" */
const char *decoder_name(const decoder *d);

/* The bytes of the file, 0 if they are not known. */
uint64_t decoder_file_bytes(const decoder *d);

void decoder_close(decoder *d);

#endif
