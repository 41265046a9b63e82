/* SPDX-License-Identifier: MIT
 *
 * The map: replaces every sample by its table's entry, or every pixel's luma.
 *
 * A table of bytes lies 32 times in shared memory, once a lane: word w of the table is a row of 32 equal words, so that
 * a lane always reads from its own bank.
 *
 *     entries 0 ... 3     lane 0   lane 1   ...   lane 31
 *     entries 4 ... 7     lane 0   lane 1   ...   lane 31
 *
 * That is 8 KiB a table. A table of 65,536 entries of 16 bits is copied to shared memory where it fits and the image is
 * large enough to repay the copy; else it is read from global memory, through the caches.
 *
 * Traffic: a read and a write a sample. in == out is safe: a chunk is read whole by the thread that writes it, and no
 * thread uses another's pixels.
 */
#ifndef SCAN_CUDA_IMAGE_EQUALIZE_MAP_CUH
#define SCAN_CUDA_IMAGE_EQUALIZE_MAP_CUH

#include "equalize_table.cuh"

namespace scan_cuda {

struct map_job {
    const void *in;
    void *out;
    uint64_t n;
    chunk_span span;      /* of out, with in beside it */
    const uint64_t *bins; /* bytes: histograms, of which the map makes the tables; NULL if they are made */
    void *tables;         /* one after another; with bins, where to store the tables, NULL: nowhere */
    scan_like like;
    uint32_t table_count; /* 1, or one for each of three channels */
    bool luma;            /* the table maps Y */
    bool staged;          /* the table goes to shared memory */
};

/* ---- tables ------------------------------------------------------------------------------------------------------ */

constexpr int lane_table_words = int(byte_bins) / 4 * 32;

/* Spreads a table of 256 bytes over the lanes; visible after a barrier. */
__device__ inline void spread_table(const uint8_t *table, uint32_t *lanes) {
    for (uint32_t k = threadIdx.x; k < lane_table_words; k += blockDim.x)
        lanes[k] = reinterpret_cast<const uint32_t *>(table)[k / 32];
}

template <class S> struct tables_of;

template <> struct tables_of<uint8_t> {
    const uint8_t *lanes; /* shared: this lane's column of the first table */
    bool several;
    __device__ uint32_t entry(int c, uint32_t v) const {
        return lanes[(several ? c * lane_table_words * 4 : 0) + v / 4 * 128 + v % 4];
    }
};

template <> struct tables_of<uint16_t> {
    const uint16_t *table;
    bool several;
    __device__ uint32_t entry(int c, uint32_t v) const { return table[(several ? c * int(word_bins) : 0) + v]; }
};

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

template <class S> __device__ void replace_luma(const tables_of<S> &tables, uint32_t &r, uint32_t &g, uint32_t &b) {
    const int32_t y = scan_color_y(int32_t(r), int32_t(g), int32_t(b));
    int32_t red = int32_t(r), green = int32_t(g), blue = int32_t(b);
    scan_color_replace_y(&red, &green, &blue, y, int32_t(tables.entry(0, uint32_t(y))), int32_t(top_of<S>));
    r = uint32_t(red), g = uint32_t(green), b = uint32_t(blue);
}

/* v: the samples of a pixel. Alpha, the last of an even number, stays. */
template <class S, int channels>
__device__ void map_pixel(const tables_of<S> &tables, bool luma, uint32_t (&v)[channels]) {
    if constexpr (channels >= 3)
        if (luma)
            return replace_luma<S>(tables, v[0], v[1], v[2]);
#pragma unroll
    for (int c = 0; c < (channels + 1) / 2 * 2 - 1; c++)
        v[c] = tables.entry(c, v[c]);
}

template <class S, int channels>
__device__ void map_chunk(const tables_of<S> &tables, bool luma, chunk<S, channels> &x) {
    chunk<S, channels> y;
#pragma unroll
    for (int p = 0; p < chunk_pixels; p++) {
        uint32_t v[channels];
#pragma unroll
        for (int c = 0; c < channels; c++)
            v[c] = x.get(p, c);
        map_pixel<S, channels>(tables, luma, v);
#pragma unroll
        for (int c = 0; c < channels; c++)
            y.set(p, c, v[c]);
    }
    x = y;
}

/* This CTA's share of the pixels. */
template <class S, int channels> __device__ void map_pixels(const map_job &job, const tables_of<S> &tables) {
    const S *in = static_cast<const S *>(job.in);
    S *out = static_cast<S *>(job.out);
    const uint64_t chunks = chunk_count(job.span, job.n), loose = job.n - chunks * chunk_pixels;
    const uint64_t first = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x, step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t i = first; i < chunks; i += step) {
        const uint64_t sample = (job.span.head + i * chunk_pixels) * channels;
        chunk<S, channels> x;
        x.load(in + sample);
        if (channels >= 3 && job.luma)
            map_chunk(tables, true, x);
        else
            map_chunk(tables, false, x);
        x.store_aligned(out + sample);
    }
    for (uint64_t k = first; k < loose; k += step) {
        const uint64_t sample = loose_pixel(job.span, chunks, k) * channels;
        uint32_t v[channels];
#pragma unroll
        for (int c = 0; c < channels; c++)
            v[c] = in[sample + c];
        map_pixel<S, channels>(tables, job.luma, v);
#pragma unroll
        for (int c = 0; c < channels; c++)
            out[sample + c] = S(v[c]);
    }
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

constexpr int map_bytes_threads = 512, map_words_threads = 1024;

template <int channels>
__global__ void __launch_bounds__(map_bytes_threads) map_bytes_kernel(const __grid_constant__ map_job job) {
    constexpr int max_tables = channels >= 3 ? 3 : 1;
    __shared__ table_storage storage;
    __shared__ scan_lut_facts facts;
    __shared__ __align__(16) uint8_t table[byte_bins];
    __shared__ __align__(16) uint32_t lanes[max_tables * lane_table_words];
    for (uint32_t k = 0; k < job.table_count; k++) {
        uint8_t *kept = static_cast<uint8_t *>(job.tables) + k * byte_bins;
        if (job.bins)
            make_byte_table(storage, facts, job.like, job.bins + k * byte_bins, table);
        else if (threadIdx.x < byte_bins)
            table[threadIdx.x] = kept[threadIdx.x];
        __syncthreads();
        if (job.bins && job.tables && blockIdx.x == 0 && threadIdx.x < byte_bins)
            kept[threadIdx.x] = table[threadIdx.x];
        spread_table(table, lanes + k * lane_table_words);
        __syncthreads();
    }
    const tables_of<uint8_t> tables = {reinterpret_cast<const uint8_t *>(lanes + threadIdx.x % 32),
                                       job.table_count > 1};
    map_pixels<uint8_t, channels>(job, tables);
}

/* A thread has four loads in flight. */
template <class T> __device__ void copy_table(const T *table, T *copy, uint32_t size) {
    constexpr uint32_t at_once = 4;
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < size; i += at_once * map_words_threads) {
        T x[at_once];
#pragma unroll
        for (uint32_t k = 0; k < at_once; k++)
            x[k] = table[i + k * map_words_threads];
#pragma unroll
        for (uint32_t k = 0; k < at_once; k++)
            copy[i + k * map_words_threads] = x[k];
    }
}

/* Visible after a barrier. The caller's table may begin at any sample. */
__device__ inline void stage_table(const uint16_t *table, uint16_t *copy) {
    constexpr uint32_t each = 16 / sizeof(uint16_t);
    if (uintptr_t(table) % 16 == 0)
        copy_table(reinterpret_cast<const uint4 *>(table), reinterpret_cast<uint4 *>(copy), word_bins / each);
    else
        copy_table(table, copy, word_bins);
}

/* job.staged is set only for one table that fits shared memory. */
template <int channels>
__global__ void __launch_bounds__(map_words_threads) map_words_kernel(const __grid_constant__ map_job job) {
    const uint16_t *table = static_cast<const uint16_t *>(job.tables);
    if (job.staged) {
        uint16_t *copy = dynamic_shared<uint16_t>();
        stage_table(table, copy);
        __syncthreads();
        table = copy;
    }
    const tables_of<uint16_t> tables = {table, job.table_count > 1};
    map_pixels<uint16_t, channels>(job, tables);
}

} /* namespace scan_cuda */

#endif
