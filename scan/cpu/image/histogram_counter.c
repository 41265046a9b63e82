/* SPDX-License-Identifier: MIT
 *
 * Counting samples in one thread.
 *
 * The cost of a histogram is one load, add and store of a counter for each increment, so many bytes are counted two at
 * a time: as 16-bit samples in 65,536 counters (256 KiB: the second-level cache; the pairs that occur in a natural
 * image mostly fit the first), whose marginal sums are the byte histogram. For fewer bytes the sums over 65,536
 * counters would cost more than they save: these are counted in eight tables of 256 in turn, because a counter that is
 * incremented twice in a row waits for its own store. Very few bytes are counted in one table.
 *
 * Runs of one value, as in backgrounds and saturated areas, are counted with one addition.
 */
#include <string.h>

#include "equalize_kernels.h"

enum { BYTE_COUNTS = SCAN_CPU_BYTE_TABLES * 256, TABLES_FROM = 1 << 12, PAIRS_FROM = 1 << 17 };
enum { WORDS = 8, STRIDE = 8 * WORDS, AHEAD = 1024 }; /* bytes */

/* True if the words repeat their first two bytes. */
static bool is_flat(const uint64_t words[WORDS]) {
    uint64_t differ = words[0] ^ (words[0] << 16 | words[0] >> 48);
    for (int i = 1; i < WORDS; i++)
        differ |= words[0] ^ words[i];
    return differ == 0;
}

/* Counts the n 16-bit words at `in`, of any alignment. Cache misses of the counters keep the hardware from reading far
 * ahead of the samples, hence the prefetch, which may point past the end. */
static void count_words(const unsigned char *in, size_t n, uint32_t *counts) {
    const unsigned char *end = in + 2 * n;
    for (; end - in >= STRIDE; in += STRIDE) {
        __builtin_prefetch((const void *)((uintptr_t)in + AHEAD));
        uint64_t words[WORDS];
        memcpy(words, in, sizeof words);
        if (__builtin_expect(is_flat(words), false)) {
            counts[words[0] & 65535] += STRIDE / 2;
            continue;
        }
        for (int i = 0; i < WORDS; i++) {
            counts[words[i] & 65535]++;
            counts[words[i] >> 16 & 65535]++;
            counts[words[i] >> 32 & 65535]++;
            counts[words[i] >> 48]++;
        }
    }
    for (; in < end; in += 2) {
        uint16_t word;
        memcpy(&word, in, sizeof word);
        counts[word]++;
    }
}

static void count_bytes(const unsigned char *in, size_t n, uint32_t *counts, bool one_table) {
    size_t i = 0;
    for (; i + 8 <= n && !one_table; i += 8) {
        uint64_t eight;
        memcpy(&eight, in + i, sizeof eight);
        for (unsigned k = 0; k < SCAN_CPU_BYTE_TABLES; k++)
            counts[256 * k + (eight >> (8 * k) & 255)]++;
    }
    for (; i < n; i++)
        counts[in[i]]++;
}

size_t scan_cpu_counter_size(scan_type type) { return type == SCAN_U8 ? BYTE_COUNTS + 65536 : 65536; }

scan_cpu_counter scan_cpu_counter_begin(scan_type type, size_t estimate, uint32_t *counts) {
    scan_cpu_counter counter = {.type = type, .counts = counts};
    size_t size = scan_cpu_counter_size(type);
    if (type == SCAN_U8) {
        counter.pairs = estimate >= PAIRS_FROM;
        counter.one_table = estimate < TABLES_FROM;
        size = counter.pairs ? size : counter.one_table ? 256 : BYTE_COUNTS;
    }
    memset(counts, 0, size * sizeof *counts);
    return counter;
}

void scan_cpu_counter_add(const scan_cpu_counter *counter, const void *samples, size_t n) {
    const unsigned char *in = samples;
    if (counter->type == SCAN_U16) {
        count_words(in, n, counter->counts);
    } else if (counter->pairs) {
        count_words(in, n / 2, counter->counts + BYTE_COUNTS);
        if (n % 2)
            counter->counts[in[n - 1]]++;
    } else {
        count_bytes(in, n, counter->counts, counter->one_table);
    }
}

void scan_cpu_counter_end(const scan_cpu_counter *counter) {
    if (counter->type == SCAN_U16 || counter->one_table)
        return;
    uint32_t *counts = counter->counts;
    for (size_t i = 256; i < BYTE_COUNTS; i++)
        counts[i % 256] += counts[i];
    if (!counter->pairs)
        return;
    for (size_t high = 0; high < 256; high++) {
        const uint32_t *row = counts + BYTE_COUNTS + 256 * high;
        uint32_t sum = 0;
        for (size_t low = 0; low < 256; low++) {
            sum += row[low];
            counts[low] += row[low];
        }
        counts[high] += sum;
    }
}
