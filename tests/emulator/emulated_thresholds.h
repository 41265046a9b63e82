/* SPDX-License-Identifier: MIT
 *
 * The thresholds of scan/cuda/thresholds.h, small enough for small tests to cross each of them.
 */
#ifndef EMULATED_THRESHOLDS_H
#define EMULATED_THRESHOLDS_H

#include <cstddef>
#include <cstdint>

namespace scan_cuda {

constexpr bool is_roomy(int) { return false; }
constexpr bool takes_large_tiles(int) { return true; }
constexpr uint64_t large_tiles_each = 2;
constexpr uint32_t narrow_counted_bits = 9, narrow_copies = 1;
constexpr int local_threads = 64, local_batch = 2;
template <class Key, int value_bytes> constexpr int local_rows = 4;
constexpr uint32_t local_max_rank = 127;
template <class Key, bool codes_alone> constexpr uint32_t local_max_inserted = sizeof(Key) == 4 && codes_alone ? 12 : 8;
constexpr uint32_t crowded_share = 4, crowded_passes = 4;
constexpr uint64_t wide_sample_least = 60000, all_pairs_least = 90000, gaps_least = 40000, gaps_ahead_least = 80000,
                   parts_least = 100000, close_many = 70000;
constexpr float close_least = 4;
constexpr uint32_t gaps_ahead_digits = 5, gap_samples = 1024, max_thread_run = 4, max_warp_run = 64, max_cta_run = 200;
constexpr uint32_t far_tiles = 1, group_tiles = 4;
constexpr uint64_t max_portion_keys = 50000;
constexpr uint32_t max_unpacked_digits = 2;
constexpr uint64_t plain_argsort_most = 9000, intervals_least = 18000;
constexpr uint32_t intervals_digits = 6;
constexpr float intervals_rare = 0.5f;
constexpr uint64_t one_digit_most =
    12000; /* one digit at the top is tried for few only, so that small tests try more */
constexpr uint64_t fused_passes_most = 30000, large_keys_most = 30000, pass_kinds_least = 50000, large_share = 24,
                   large_most = 1u << 17, large_alone = 600, large_least_bytes = 120000;
constexpr int large_threads = 256;
constexpr uint32_t large_passes_each = 32, large_ctas = 4, large_rows = 2;
constexpr uint64_t finish_least = 40000, wide_survey_least = 20000, labels_least = 9000, narrow_least = 9000,
                   fill_words_least = 9000;
constexpr bool samplesort_is_roomy(int, size_t value_bytes) { return value_bytes < 8; }
constexpr int samplesort_threads = 128, samplesort_children = 16, samplesort_units_each = 1;
constexpr uint64_t sampled_least = 25000, sampled_pairs_least = 70000, sampled_wide_pairs_least = 40000;
constexpr uint32_t sampled_digits = 6, sampled_pairs_digits = 4;
constexpr uint64_t sampled_many = 60000, sampled_many_argsort = 60000, sampled_values_least = 50000;
constexpr float sampled_launches = 80000;
constexpr uint64_t samplesort_dense_most = 15000;
constexpr int cooperative_threads = 256;
constexpr uint64_t max_cooperative_keys(uint32_t key_bytes, uint32_t, uint32_t bits) {
    return bits <= 16 ? 10000 : bits <= 24 ? 10500 : key_bytes < 8 ? 11000 : bits <= 32 ? 11500 : 12000;
}
constexpr uint32_t cooperative_passes = 2;
constexpr int merge_threads = 64, merge_split_threads = 64;
template <class Key> constexpr int merge_items = sizeof(Key) == 4 ? 10 : 6;

} /* namespace scan_cuda */

#endif
