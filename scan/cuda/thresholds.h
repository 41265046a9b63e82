/* SPDX-License-Identifier: MIT
 *
 * Where one way of doing a thing gives way to another, and the sizes that go with it. The emulator (tests/emulator)
 * replaces those that it could not reach by small ones, so that small tests cross each of them.
 */
#ifndef SCAN_CUDA_THRESHOLDS_H
#define SCAN_CUDA_THRESHOLDS_H

#include <cstddef>
#include <cstdint>

/* ---- prefix ------------------------------------------------------------------------------------------------------ */

namespace scan_cuda {

/* Up to which size, in chunks (4 KiB of accumulators), one CTA, one cluster and look-back serve; then the wave. A
 * cluster has as many CTAs as the GPU allows, max_chunks_per_cta each. Where the curves of `tools/bench --device cuda
 * --verb prefix --algorithm all --type u32,u64,u8 --n 2^10..2^22` cross on an H200, 2026-11-20. */
constexpr uint64_t max_single_chunks = 8, max_cluster_chunks = 64, max_look_back_chunks = 2048;

} /* namespace scan_cuda */

/* ---- sort -------------------------------------------------------------------------------------------------------- */

#ifdef SCAN_EMULATED
#include <emulated_thresholds.h>
#else

namespace scan_cuda {

/* Whether an SM of this compute capability has room for two CTAs of up to 99 KB of shared memory each. */
constexpr bool is_roomy(int capability) { return capability >= 90 && capability < 120; }

/* Passes of the sort have large tiles where an SM has room for one, as soon as there are so many for each: with four to
 * eight, sorts take as long as with medium ones on average, but some 6 % longer, for some SMs have a tile more. */
constexpr bool takes_large_tiles(int capability) { return is_roomy(capability); }
constexpr uint64_t large_tiles_each = 8;

/* Keys that vary in few bits, see narrow.cuh: so many that a CTA counts all codes, or those of a bucket; so many keys
 * of each code, at least, on average. */
constexpr uint32_t narrow_counted_bits = 12, narrow_copies = 64;

/* A CTA of the local stage has `local_threads` threads, or two or four times as many, and so many rows of keys each; a
 * thread's rows come by `local_batch`, an even number (packed_u16). */
constexpr int local_threads = 256, local_batch = 4;
template <class Key, int value_bytes> constexpr int local_rows = sizeof(Key) == 8 || value_bytes == 8 ? 16 : 24;

/* local_max_rank: the highest rank in a bin of the local stage, which has 8 bits. local_max_inserted: the most keys of
 * a bin that one thread sorts by insertion; a warp sorts a fuller bin. 40 rather than 24 for 4-byte keys alone (6
 * million u32 in runs of three: 178 us, not 192), 24 for others (3.1 million i64 in runs of thirty: 149 us, not 156;
 * H200, 2026-11-30: tools/bench --device cuda --verb sort --type u32,f32,i64,f64 --distribution
 * few:K,runs:K,clusters:K). */
constexpr uint32_t local_max_rank = 255;
template <class Key, bool codes_alone>
constexpr uint32_t local_max_inserted = sizeof(Key) == 4 && codes_alone ? 40 : 24;
/* The local stage gives up where bins do not sort one tile in `crowded_share`, if no more than `crowded_passes` passes,
 * or a sample sort, follow. */
constexpr uint32_t crowded_share = 4, crowded_passes = 4;
/* From so many keys on the survey takes a wide sample, each CTA some keys of it: it tells of codes by intervals, and
 * whether keys will crowd the local stage's bins. */
constexpr uint64_t wide_sample_least = 1u << 22;
/* From so many keys on the local stage's bins are guessed from all of it, of fewer from half, which takes a quarter of
 * the time: 5 us in place of 20 (H200, 2026-11-30: tools/bench --device cuda --hunt 1 --seed 10554221632100188283). */
constexpr uint64_t all_pairs_least = 1u << 25;
/* So many codes of 8-byte keys are put in order to see how far apart they are, or half as many (gaps.cuh). From so many
 * keys within two gaps of each other on they lie close together (close_keys()). */
constexpr uint32_t gap_samples = 1u << 12;
constexpr float close_least = 20;
/* Of fewer keys a sample sort takes longer than passes only where no more than close_most_of_few keys lie close
 * together, see sampled_close. */
constexpr uint64_t close_many = 20u << 20;
/* From so many keys on there is time for larger parts of a larger sample. */
constexpr uint64_t parts_least = 1u << 26;
/* From so many keys on the gaps of a sample are looked at although three top digits may be enough. Up to
 * gaps_ahead_least keys, or by fewer than gaps_ahead_digits digits, the plan's CTA finds them, in 12 us. That seldom
 * changes anything, but then it may save half of the time: 4,194,306 keys took 482 us, and 270 by all digits (H200,
 * 2026-11-29: tools/bench --device cuda --hunt 1 --seed 8055197698098268649). */
constexpr uint64_t gaps_least = 1u << 21;
/* From so many keys, by so many digits, on the survey takes no less time than putting a sample in order. */
constexpr uint64_t gaps_ahead_least = 3u << 21;
constexpr uint32_t gaps_ahead_digits = 5;

/* From so many tiles a CTA on look-backs find most counts inclusive (pass_tiles.cuh). */
constexpr uint32_t far_tiles = 4;
/* Tiles of a group, one more than a multiple of three. */
constexpr uint32_t group_tiles = 10;

/* A longer run of one code is not sorted by one thread, not by a warp, or not by a CTA (pack.cuh). */
constexpr uint32_t max_thread_run = 8, max_warp_run = 256, max_cta_run = 1280;

/* Digits are counted in 31 bits of a state word, so a longer input is sorted in portions, a launch each: a portion adds
 * what it had of each digit to where the next one's keys begin. */
constexpr uint64_t max_portion_keys = 1u << 30;

/* An argsort of up to so many 8-byte keys moves them as they are, in a workspace that would be too large for more; of
 * more keys, if no more digits than max_unpacked_digits decide, for which a second buffer of keys is not needed: 92 us
 * in place of 108 for one digit of 2^23 keys (H200, 2026-11-29: tools/bench --device cuda --hunt 1 --seed
 * 17335798748901143967). */
constexpr uint64_t plain_argsort_most = 7u << 18;
constexpr uint32_t max_unpacked_digits = 2;
/* An argsort of so many 8-byte keys, or more, may be by codes that follow a sample of them (intervals.cuh). Finding
 * that they do not serve takes some 60 us on an H200, 2026-11-27: 4 % of the least of these sorts. From so many on runs
 * of one code that are too long for a CTA are sorted (large.cuh). */
constexpr uint64_t intervals_least = 1u << 24;
/* With fewer digits passes over whole keys take less time than these codes: 67,108,862 keys by five digits 1.8 ms in
 * place of 2.1, by six and more 1.15 to 1.4 times the time (H200, 2026-11-29: tools/bench --device cuda --hunt 110
 * --seed 81 --verb argsort --type u64,i64,f64 --min-n 2^24 --max-n 2^28). */
constexpr uint32_t intervals_digits = 6;
/* These codes are tried before a sample sort if at least such a share of the keys is rare, see samples_pay(). */
constexpr float intervals_rare = 0.5f;
/* The passes of up to so many 4-byte keys alone are one launch. Of more each pass is one: its kernel has registers
 * enough, and takes up to 7 % less time, though up to 14 % more where few digits vary (H200, 2026-11-30: tools/bench
 * --device cuda --hunt 30 --seed 20261568 --verb sort --type u32,i32,f32 --min-n 4200000 --max-n 16000000). */
constexpr uint64_t fused_passes_most = 1u << 22;
/* From so many 4-byte floats with values of 4 bytes on each pass, if by large tiles, has a launch for keys and one for
 * codes, of which one returns at once, and that of an argsort the one for codes: passes of codes alone take 3 to 4 %
 * less time on an H200, those of other floats no less, 2026-11-27 (tools/bench --device cuda --algorithm radix --hunt
 * 25 --seed 5100 --verb pairs
 * --type f32 --min-n 2^23 --max-n 2^28). */
constexpr uint64_t pass_kinds_least = 1u << 25;
/* From so many keys on a launch of its own does what is left when passes are over (finish.cuh). Of fewer it would take
 * a hundredth of the sort's time, as a rule for nothing (H200, 2026-11-29: 80 sets, tools/bench --device cuda --hunt 80
 * --seed 888 --type f32,u32,i32 --min-n 8400000 --max-n 33000000). */
constexpr uint64_t finish_least = 1u << 25;
/* One digit at the top is tried for up to so many keys. */
constexpr uint64_t one_digit_most = ~0ull;
/* A cluster of up to large_ctas CTAs sorts a bucket that is too large for the local stage if from a place in it it
 * reaches no further than 1 / large_share of the keys, and large_most of them; up to large_alone keys are sorted by a
 * CTA. A tile of a CTA has up to large_rows keys of each thread. With half of that share 11,465,910 keys, of which one
 * bucket has some 150,000, took 435 us in place of 283, and 60 other sets the same time; with a quarter 16,839,757
 * keys, of which one bucket has 71,727, 1,342 in place of 606 (H200, 2026-11-29: tools/bench --device cuda --hunt 1
 * --seed 13947222999045878840, and 1319808593819143193). */
constexpr uint64_t large_share = 64, large_most = 1u << 18, large_alone = 1u << 13;
/* Of fewer bytes of keys and values, and no more than so many keys, there are no such clusters: launching them for
 * nothing takes a hundredth of the time and more. 4,160,042 pairs of 12 bytes with 15,000 copies of one key took 609 us
 * without them, CUB 452, and 315 with them (H200, 2026-11-29: tools/bench --device cuda --hunt 1 --seed
 * 16581349948127692311). */
constexpr uint64_t large_least_bytes = 3u << 23, large_keys_most = 1u << 22;
/* Clusters take as long for keys of such buckets as so many passes over them would, or less: measured 21 and 32, see
 * reach_of_shared(). */
constexpr uint32_t large_passes_each = 32;
constexpr int large_threads = 512;
constexpr uint32_t large_ctas = 8, large_rows = 8;
/* From wide_survey_least keys on the survey's large tables pay for being cleared and summed, from labels_least on a
 * tile of labels is large, and from narrow_least on counts of narrow keys pay for being cleared. Fewer 2-byte keys than
 * fill_words_least are not counted: counting them takes longer where they have few values, whose additions queue up, 51
 * us in place of 28 for 2,097,154 keys, which is worse than what it saves with others, 41 us in place of 45 for 4
 * million (H200, 2026-11-29: tools/bench --device cuda --hunt 1 --seed 14335706258912061303, and --type u16 --n 4M). */
constexpr uint64_t wide_survey_least = 1u << 23, labels_least = 1u << 23, narrow_least = 1u << 24,
                   fill_words_least = 3u << 21;

/* Sample sort: whether an SM has room for large buckets, whose bins can be divided, of elements with values of so many
 * bytes (the emulator tells by these, so that tests have both); threads of its CTAs, the most buckets that a region is
 * split into, and how many units a CTA of a level works through, at least, so that all CTAs end together. */
constexpr bool samplesort_is_roomy(int capability, size_t) { return is_roomy(capability); }
constexpr int samplesort_threads = 512, samplesort_children = 256, samplesort_units_each = 4;
/* From so many 8-byte keys on a sample sort may take less time than passes, if so many digits decide; samples_pay()
 * says whether. */
constexpr uint64_t sampled_least = (1u << 22) + 1;
constexpr uint32_t sampled_digits = 6;
/* Of pairs with 4-byte keys, by the bytes of their values. A sort that does not need it takes up to 21 us longer on an
 * H200, 2026-11-27: 1 % of four passes over the least of these, 3 % of a sort that takes a pass or none; with 8-byte
 * values 15 us, 2 to 5 %, where one set in eight takes a fifth to a third less time (2026-11-29: tools/bench --device
 * cuda --hunt 60 --seed 5512 --verb pairs --type u32,i32,f32 --min-n 8400000 --max-n 60000000). */
constexpr uint64_t sampled_pairs_least = 3u << 25, sampled_wide_pairs_least = 1u << 23;
constexpr uint32_t sampled_pairs_digits = 4;
/* The launches of an argsort's sample sort take as long as a pass over so many keys: see cost_of_samples(). */
constexpr float sampled_launches = 14e6f;
/* A sample sort of more keys takes longer for rare ones, see cost_of_samples(). */
constexpr uint64_t sampled_many = 5u << 25, sampled_many_argsort = 3u << 25;
/* From so many keys on see has_frequent_only(). */
constexpr uint64_t sampled_values_least = 1u << 25;
/* An argsort of up to so many keys moves them at every level, if the workspace may be as large. */
constexpr uint64_t samplesort_dense_most = ~0ull;

constexpr int cooperative_threads = 1024; /* of a CTA of the cooperative sort */

/* The most keys for which the cooperative sort is taken, by the bits that decide. Times of passes, as shares of its
 * time, on an H200:
 *
 *     one digit      393,216 to 774,740 keys 0.68 to 1.08 (2026-12-01: tools/bench --device cuda --hunt 262 --seed
 *                    20261601 --type u64,i64,f64 --min-n 200000 --max-n 1048576, and --hunt 150 --seed 20261602 --type
 *                    u32,i32,f32 --min-n 150000 --max-n 640000, both with and without --algorithm radix)
 *     two digits     1 (2026-11-29: --hunt 80 --seed 95 --type u8,i8,u16,i16 --min-n 380000 --max-n 655360)
 *     three digits   262,144 to 524,290 keys of few values 0.83 to 0.85, others 1.02 to 1.06 (the hunts above)
 *     four digits    908,837 8-byte keys 0.71 (2026-11-30: --hunt 1 --seed 12180664143953890881)
 *     others         1 (2026-11-27: --hunt 4000 --seed 41 --min-n 300000 --max-n 1600000)
 *     4-byte keys    520,000 alone 0.95 to 1.1, 600,000, and pairs, 0.8 to 1.05 (2026-12-01: --type u32,f32 --n
 *                    520000,600000 --distribution uniform,few:30000,few:2000,clusters:1000,zipf) */
constexpr uint64_t max_cooperative_keys(uint32_t key_bytes, uint32_t value_bytes, uint32_t bits) {
    return bits <= 16      ? 3u << 17
           : bits <= 24    ? 3u << 16
           : key_bytes < 8 ? (value_bytes ? 9u << 16 : 15u << 15)
           : bits <= 32    ? 3u << 18
                           : 1u << 20;
}

/* How many digits that differ take a pass each rather than one pass into buckets: with three, 98,304 keys by 17 bits
 * took 34 us in place of 27, and 509,812 pairs by 20 bits 38 in place of 32 (H200, 2026-11-29: tools/bench --device
 * cuda --hunt 1 --seed 6221056910647430914, and 17064758534122992402). */
constexpr uint32_t cooperative_passes = 2;

/* Threads of a CTA that merges a tile, and outputs of a thread: twice an odd number, so that the places of consecutive
 * threads' outputs lie in different banks of shared memory. Of the sizes up to 48 KB a CTA these take the least time
 * on an H100. */
constexpr int merge_threads = 256, merge_split_threads = 64;
template <class Key> constexpr int merge_items = sizeof(Key) == 4 ? 22 : 18;

} /* namespace scan_cuda */

#endif
#endif
