/* SPDX-License-Identifier: MIT
 *
 * One equalization table on the host. The scan of 256 or 65,536 counts is a serial running sum, which takes less time
 * than starting a parallel one.
 */
#include "equalize_lut.h"

#include <stddef.h>

#include "../internal.h"

static size_t bin_count(scan_type type) { return type == SCAN_U8 ? 256 : 65536; }

uint32_t scan_equalize_largest(const uint64_t *bins, size_t count) {
    while (count > 1 && bins[count - 1] == 0)
        count--;
    return (uint32_t)(count - 1);
}

static scan_lut_facts facts_of(scan_type type, const uint64_t *bins, size_t count, uint32_t largest) {
    scan_lut_facts facts = {.largest = largest, .top = (uint32_t)bin_count(type) - 1, .at_zero = bins[0]};
    for (size_t i = 0; i < count; i++)
        facts.total += bins[i];
    while (facts.first + 1 < count && bins[facts.first] == 0)
        facts.first++;
    facts.last = scan_equalize_largest(bins, count);
    facts.first_count = bins[facts.first];
    facts.last_count = bins[facts.last];
    return facts;
}

static void store(void *lut, scan_type type, size_t i, uint32_t value) {
    if (type == SCAN_U8)
        ((uint8_t *)lut)[i] = (uint8_t)value;
    else
        ((uint16_t *)lut)[i] = (uint16_t)value;
}

void scan_equalize_lut(scan_like like, scan_type type, scan_type bin_type, const uint64_t *bins, uint32_t largest,
                       void *lut) {
    size_t count = bin_count(bin_type), entries = bin_count(type);
    scan_lut_facts facts = facts_of(type, bins, count, largest);
    bool identity = scan_lut_is_identity(like, &facts);
    size_t stride = entries < count ? 257 : 1; /* 8-bit sample v is bin 257 v of 65,536 */
    uint64_t inclusive = 0;
    for (size_t bin = 0; bin < count; bin++) {
        uint64_t exclusive = inclusive;
        inclusive += bins[bin];
        if (bin % stride)
            continue;
        uint32_t i = (uint32_t)(bin / stride);
        store(lut, type, i, identity ? i : scan_lut_entry(like, &facts, i, inclusive, exclusive));
    }
}
