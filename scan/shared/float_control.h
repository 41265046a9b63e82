/* SPDX-License-Identifier: MIT
 *
 * The processor's modes for floats. A program may have set them so that subnormals are flushed to zero or read as zero
 * (gcc -ffast-math does so at start), or rounding up or down. Results are those of the default modes, as on a GPU: a
 * verb runs in them, and so does every thread of a pool; for CUDA the host's part of a verb, which computes too.
 */
#ifndef SCAN_SHARED_FLOAT_CONTROL_H
#define SCAN_SHARED_FLOAT_CONTROL_H

#if defined(__x86_64__)
#include <xmmintrin.h>

typedef unsigned scan_float_control;

/* Of MXCSR: flush to zero, rounding, masks of exceptions, denormals are zero; the bits below are flags. */
enum { SCAN_MXCSR_CONTROL = 0xffc0, SCAN_MXCSR_DEFAULT = 0x1f80 };

/* Sets the default modes and returns those that were set. Writing costs some ten nanoseconds: only if it must. */
static inline scan_float_control scan_default_float_control(void) {
    const unsigned before = _mm_getcsr();
    if ((before & SCAN_MXCSR_CONTROL) != SCAN_MXCSR_DEFAULT)
        _mm_setcsr((before & ~(unsigned)SCAN_MXCSR_CONTROL) | SCAN_MXCSR_DEFAULT);
    return before;
}

static inline void scan_restore_float_control(scan_float_control before) {
    if ((before & SCAN_MXCSR_CONTROL) != SCAN_MXCSR_DEFAULT)
        _mm_setcsr(before);
}

#else
#include <fenv.h>

typedef fenv_t scan_float_control;

static inline scan_float_control scan_default_float_control(void) {
    fenv_t before;
    fegetenv(&before);
    fesetenv(FE_DFL_ENV);
    return before;
}

static inline void scan_restore_float_control(scan_float_control before) { fesetenv(&before); }
#endif

#endif
