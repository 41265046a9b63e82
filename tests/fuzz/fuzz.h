/* SPDX-License-Identifier: MIT
 *
 * Fuzz targets: each fuzz_NAME.c runs one parser on any bytes and aborts if a property that its head names does not
 * hold. tools/fuzz builds them as libFuzzer programs (with clang and -DSCAN_SANITIZE=fuzzer-no-link,address,undefined);
 * otherwise driver.c feeds them mutations of their seeds, in the same order in every run.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Inputs to start from; NULL ends the list. */
extern const char *const fuzz_seeds[];

#define FUZZ_CHECK(condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
