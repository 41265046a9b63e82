/* SPDX-License-Identifier: MIT
 *
 * stb_image, and the arena it allocates from. This is the only file that includes it.
 *
 * The arena is a bump allocator: an allocation is 16 bytes of head and the block. The last block is freed or grown in
 * place; another block is freed once all blocks after it are. That fits stb_image, which frees its buffers mostly in
 * reverse order, and it bounds the memory. Blocks are zeroed like calloc's, so that pixels that the decoder does not
 * write are black.
 *
 * The first block that is as large as the pixels is put where the pixels belong, in the shared memory: mostly it is the
 * decoder's result, which then needs no second place and no copy.
 */
#include "decode.h"

#include <stdio.h>
#include <string.h>

typedef struct arena {
    unsigned char *base;
    size_t bytes;
    size_t used;
    size_t dirty; /* bytes from the base that may be nonzero */
    bool exhausted;
    unsigned char *pixels; /* where the result belongs */
    size_t pixel_bytes;
    bool pixels_used;
} arena;

static _Thread_local arena heap;

/* Before each block: its size, where the head before it is, and whether it is free. */
typedef struct block_head {
    size_t bytes; /* of the block, a multiple of 16 */
    size_t previous_and_free;
} block_head;

#define HEAD sizeof(block_head)
static _Thread_local size_t last_head; /* offset + 1 of the newest head, 0: none */

static void *arena_alloc(size_t bytes) {
    if (bytes >= heap.pixel_bytes && bytes <= heap.pixel_bytes + DECODE_PIXEL_MORE && !heap.pixels_used) {
        heap.pixels_used = true;
        return heap.pixels;
    }
    if (bytes > heap.bytes) {
        heap.exhausted = true;
        return NULL;
    }
    size_t padded = (bytes + 15) & ~(size_t)15;
    if (padded + HEAD > heap.bytes - heap.used) {
        heap.exhausted = true;
        return NULL;
    }
    block_head *head = (block_head *)(void *)(heap.base + heap.used);
    unsigned char *block = heap.base + heap.used + HEAD;
    size_t end = heap.used + HEAD + padded;
    if (heap.dirty > heap.used + HEAD)
        memset(block, 0, (heap.dirty < end ? heap.dirty : end) - heap.used - HEAD);
    *head = (block_head){.bytes = padded, .previous_and_free = last_head << 1};
    last_head = heap.used + 1;
    heap.used = end;
    if (heap.dirty < end)
        heap.dirty = end;
    return block;
}

static void arena_free(void *block) {
    if (!block || block == heap.pixels) /* those are not used again: they are not zero any more */
        return;
    ((block_head *)(void *)((unsigned char *)block - HEAD))->previous_and_free |= 1;
    while (last_head) {
        block_head *head = (block_head *)(void *)(heap.base + last_head - 1);
        if (!(head->previous_and_free & 1))
            break;
        heap.used = last_head - 1;
        last_head = head->previous_and_free >> 1;
    }
}

static void *arena_realloc(void *block, size_t bytes) {
    if (!block)
        return arena_alloc(bytes);
    if (block == heap.pixels) {
        const size_t room = heap.pixel_bytes + DECODE_PIXEL_MORE;
        void *moved = bytes > room ? arena_alloc(bytes) : block;
        return moved && moved != block ? memcpy(moved, block, room) : moved;
    }
    block_head *head = (block_head *)(void *)((unsigned char *)block - HEAD);
    if (bytes <= head->bytes)
        return block;
    size_t old_bytes = head->bytes;
    if ((unsigned char *)head == heap.base + last_head - 1) { /* the last block grows in place */
        size_t padded = (bytes + 15) & ~(size_t)15;
        size_t at = (size_t)((unsigned char *)block - heap.base);
        if (bytes > heap.bytes || padded > heap.bytes - at) {
            heap.exhausted = true;
            return NULL;
        }
        if (heap.dirty > at + old_bytes)
            memset(heap.base + at + old_bytes, 0,
                   (heap.dirty < at + padded ? heap.dirty : at + padded) - at - old_bytes);
        head->bytes = padded;
        heap.used = at + padded;
        if (heap.dirty < heap.used)
            heap.dirty = heap.used;
        return block;
    }
    void *moved = arena_alloc(bytes);
    if (!moved)
        return NULL;
    memcpy(moved, block, old_bytes);
    arena_free(block);
    return moved;
}

#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MAX_DIMENSIONS 65535
#define STBI_ASSERT(x) ((x) ? (void)0 : __builtin_trap())
#define STBI_MALLOC(bytes) arena_alloc(bytes)
#define STBI_REALLOC(block, bytes) arena_realloc(block, bytes)
#define STBI_FREE(block) arena_free(block)
#include <stb_image.h>

size_t decode_arena_bytes(const image_header *header, size_t file_bytes) {
    size_t fixed = (size_t)1 << 20;
    if (header->format == IMAGE_JPEG) {
        /* For each component, padded to whole blocks of at most 32 x 32: samples, 16-bit coefficients and a line; and
         * the pixels, at most four bytes each. */
        size_t padded = ((size_t)header->width + 32) * ((size_t)header->height + 32);
        return fixed + padded * (3 * (size_t)header->channels + 4);
    }
    /* The compressed bytes in a buffer that doubles; the filtered rows, in a buffer that doubles when an interlaced
     * image has more of them; the pixels; and as much again for one pass of an interlaced, or the colors of a palette
     * image. */
    return fixed + 2 * file_bytes + 4 * image_bytes(header) + 32 * (size_t)header->height;
}

void decode_run(decode_job *job, void *arena_memory) {
    heap = (arena){.base = arena_memory,
                   .bytes = job->arena_bytes,
                   .pixels = (unsigned char *)job + job->pixels_at,
                   .pixel_bytes = image_bytes(&job->header)};
    last_head = 0;
    const unsigned char *file = (const unsigned char *)job + job->file_at;
    int file_bytes = (int)job->file_bytes, width = 0, height = 0, channels = 0;
    image_header expect = job->header;
    const char *reason = NULL;
    void *pixels = NULL;

    bool known = stbi_info_from_memory(file, file_bytes, &width, &height, &channels) != 0;
    if (known && ((uint32_t)width != expect.width || (uint32_t)height != expect.height))
        reason = "its size is not what its header says";
    else if (expect.depth == 16)
        pixels = stbi_load_16_from_memory(file, file_bytes, &width, &height, &channels, 0);
    else
        pixels = stbi_load_from_memory(file, file_bytes, &width, &height, &channels, 0);
    if (!pixels && !reason)
        reason = stbi_failure_reason(); /* says more than that of stbi_info */
    if (pixels && (!known || (uint32_t)width != expect.width || (uint32_t)height != expect.height ||
                   (uint32_t)channels != expect.channels)) {
        pixels = NULL;
        reason = "its size or channels are not what its header says";
    }
    if (!pixels) {
        for (size_t k = 0; reason && reason[k] && k + 1 < sizeof job->reason; k++)
            job->reason[k] = reason[k];
        job->state = heap.exhausted ? DECODE_NO_MEMORY : DECODE_REFUSED;
        return;
    }
    if (pixels != heap.pixels)
        memcpy(heap.pixels, pixels, heap.pixel_bytes);
    job->state = DECODE_DONE;
}
