/* SPDX-License-Identifier: MIT
 *
 * With ThreadSanitizer: a function's own vectors are not looked at. gcc's builds with sanitizers keep in memory what is
 * in registers else, and half of the vectors that the sorts read and write are of that kind: ThreadSanitizer would
 * spend more time on them than on any others. Vectors in arrays, in the frames of other functions and of other threads
 * are looked at, and so is everything that is no larger than 16 bytes.
 */
#include <stdbool.h>
#include <stdint.h>

/* gcc calls these two for what is larger than 16 bytes; a program's own go before the library's. */
void __tsan_read_range(void *at, long bytes);
void __tsan_write_range(void *at, long bytes);

/* The library's own, which take the place in the program as well. */
void __tsan_read_range_pc(void *at, long bytes, void *place);
void __tsan_write_range_pc(void *at, long bytes, void *place);

/* `frame` is that of the function below, and begins with the address of its caller's, which lies above. */
static inline bool is_callers_own(const void *at, const void *frame) {
    return (uintptr_t)at >= (uintptr_t)frame && (uintptr_t)at < *(const uintptr_t *)frame;
}

void __tsan_read_range(void *at, long bytes) {
    if (!is_callers_own(at, __builtin_frame_address(0)))
        __tsan_read_range_pc(at, bytes, __builtin_return_address(0));
}

void __tsan_write_range(void *at, long bytes) {
    if (!is_callers_own(at, __builtin_frame_address(0)))
        __tsan_write_range_pc(at, bytes, __builtin_return_address(0));
}
