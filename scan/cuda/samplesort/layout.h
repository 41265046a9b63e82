/* SPDX-License-Identifier: MIT
 *
 * What a sample sort has in the workspace, and how many levels it takes: from the sizes alone, before any key is known.
 *
 * A region has more keys than a bucket, `most`, so there are fewer than n / most at a time; and a child for every
 * `target` keys, begun ones too. Units are as many as CTAs need to end together, and one more for each region.
 */
#ifndef SCAN_CUDA_SAMPLESORT_LAYOUT_H
#define SCAN_CUDA_SAMPLESORT_LAYOUT_H

#include "../cuda.h"
#include "job.cuh"

namespace scan_cuda {
namespace samplesort {

struct layout {
    uint32_t most, target, levels;
    uint64_t unit_keys, most_regions;
    /* where lists begin, in this order; bytes */
    size_t counts, regions[2], units, splitters, cells, words, buckets, end;
    size_t first_bytes, second_bytes, values_bytes; /* of buffers; without the second an argsort reads keys through
                                                     * indices from the second level on */
};

/* Levels that make buckets of uniform keys half as large as they may be, and one more for those that are larger. */
constexpr uint32_t levels_of(uint64_t n, uint32_t most) {
    if (n <= most)
        return 0;
    uint32_t levels = 1;
    for (uint64_t mean = n / most_children; mean > most / 2 && levels + 1 < most_levels; mean /= most_children)
        levels++;
    return levels + 1;
}

inline layout lay_out(size_t key_bytes, size_t value_bytes, uint64_t n, bool argsort, bool roomy, uint64_t ctas) {
    const bool wide = key_bytes == 8 || value_bytes == 8;
    const uint64_t tile = uint64_t(threads * tile_rows_of(wide));
    layout l = {};
    l.most = uint32_t(threads * local_rows_of(wide, roomy));
    l.target = l.most * (roomy ? 8 : 9) / 20; /* small buckets are many: their lists must stay within scan.h's bound */
    l.levels = levels_of(n, l.most);
    const uint64_t tiles = ceil_div(ceil_div(n, ctas * samplesort_units_each), tile);
    l.unit_keys = tile * (tiles > 2 ? tiles : 2);
    l.most_regions = l.levels ? n / l.most + 1 : 0;
    const uint64_t children = l.levels ? n / l.target + l.most_regions + 1 : 0,
                   units = l.levels ? n / l.unit_keys + l.most_regions : 0;
    const uint64_t words = l.levels ? (n / l.unit_keys + 1) * most_children + children : 0;
    l.regions[0] = align_up(sizeof(list_counts));
    l.regions[1] = l.regions[0] + align_up(l.most_regions * sizeof(region));
    l.units = l.regions[1] + align_up(l.most_regions * sizeof(region));
    l.splitters = l.units + align_up(units * sizeof(unit));
    l.cells = l.splitters + align_up(children * key_bytes);
    l.words = l.cells + align_up(children * 2 * cells_each);
    l.buckets = l.words + align_up(words * sizeof(unsigned long long));
    l.end = l.buckets + align_up((l.levels * children + l.most_regions) * sizeof(bucket));
    if (l.levels == 0)
        return l;
    l.first_bytes = align_up(n * key_bytes);
    l.values_bytes = align_up(n * value_bytes);
    const size_t allowed = n * (key_bytes + value_bytes) / 10 * 16 + (size_t(4) << 20); /* by scan.h */
    if (argsort && n <= samplesort_dense_most &&
        workspace_bytes(0, l.end + 2 * l.first_bytes + l.values_bytes) <= allowed)
        l.second_bytes = l.first_bytes;
    return l;
}

} /* namespace samplesort */
} /* namespace scan_cuda */

#endif
