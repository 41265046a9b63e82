/* SPDX-License-Identifier: MIT
 *
 * Linked to every unit test: leaves with SKIPPED if SCAN_SIMD names a level that this processor does not have, at which
 * the library would run the next lower one again.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan/scan.h"

enum { SKIPPED = 77 }; /* SKIP_RETURN_CODE of tests/CMakeLists.txt */

__attribute__((constructor)) static void leave_without_the_level(void) {
    const char *level = getenv("SCAN_SIMD");
    scan_ctx *ctx;
    const scan_options options = {.struct_size = sizeof options, .threads = 1};
    scan_info info = {.struct_size = sizeof info};
    if (!level || !level[0] || scan_ctx_create(&ctx, &options) != SCAN_OK)
        return;
    const bool there = scan_ctx_info(ctx, &info) != SCAN_OK || strcmp(info.name + strlen("cpu "), level) == 0;
    scan_ctx_destroy(ctx);
    if (there)
        return;
    printf("this processor has no %s\n", level);
    exit(SKIPPED);
}
