/* SPDX-License-Identifier: MIT
 *
 * A hash of bytes, eight at a time. Its upper half alone serves as a hash too.
 */
#ifndef APPS_SUPPORT_HASH_H
#define APPS_SUPPORT_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_bytes(const unsigned char *p, size_t bytes) {
    uint64_t hash = bytes, word;
    for (; bytes >= sizeof word; p += sizeof word, bytes -= sizeof word) {
        memcpy(&word, p, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    word = 0;
    memcpy(&word, p, bytes);
    hash = (hash ^ word) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 32;
}

#endif
