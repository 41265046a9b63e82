/* SPDX-License-Identifier: MIT
 *
 * assert_memory_equal() by memcmp(): cmocka compares byte by byte, which took up to a third of a test. What differs it
 * still says. To be included after cmocka.h.
 */
#ifndef TESTS_SAME_BYTES_H
#define TESTS_SAME_BYTES_H

#include <string.h>

static inline void assert_same_bytes(const void *a, const void *b, size_t bytes, const char *file, int line) {
    if (bytes > 0 && memcmp(a, b, bytes) != 0)
        _assert_memory_equal(a, b, bytes, file, line);
}

#undef assert_memory_equal
#define assert_memory_equal(a, b, bytes) assert_same_bytes(a, b, bytes, __FILE__, __LINE__)

#endif
