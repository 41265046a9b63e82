/* SPDX-License-Identifier: MIT
 *
 * The rows of 32 keys that a warp holds in the sort by one cluster (cluster.cuh), between global memory and registers:
 * keys become codes with payloads, and these become keys and values again.
 *
 * A key is made from its code if the code has all its bits. Zeros and NaNs of floats, whose codes are shared by keys
 * that can be told apart, and keys sorted by a window of their bits are fetched by index; 8-byte keys by up to 32 bits
 * have 4-byte codes. The payload, 4 bytes, is the value if that fits and nothing needs the index; other values are
 * fetched by index.
 */
#ifndef SCAN_CUDA_SORT_CLUSTER_ROWS_CUH
#define SCAN_CUDA_SORT_CLUSTER_ROWS_CUH

#include "../device/ptx.cuh"
#include "job.cuh"

namespace scan_cuda {

/* ---- shares ------------------------------------------------------------------------------------------------------ */

constexpr int cluster_sort_warps = 32;
constexpr int cluster_sort_threads = cluster_sort_warps * 32;
constexpr int cluster_sort_most_rows = 8; /* of a warp */
constexpr int cluster_sort_most_ctas = 16;
constexpr uint32_t cluster_sort_most_chunk = cluster_sort_threads * cluster_sort_most_rows;

/* How the elements are shared out. */
struct cluster_share {
    int rows;            /* of each warp that has any: 1, 2, 4 or 8 */
    uint32_t chunk_rows; /* of each CTA: a multiple of `rows`; at least 1 */
};

__host__ __device__ inline cluster_share share_out(uint32_t n, uint32_t ctas) {
    const uint32_t all = (n + 31) / 32, fair = all ? (all + ctas - 1) / ctas : 1;
    const uint32_t rows = fair <= 1 * cluster_sort_warps   ? 1
                          : fair <= 2 * cluster_sort_warps ? 2
                          : fair <= 4 * cluster_sort_warps ? 4
                                                           : 8;
    return {int(rows), (fair + rows - 1) / rows * rows};
}

/* ---- ties -------------------------------------------------------------------------------------------------------- */

template <class Code> struct float_of_code;
template <> struct float_of_code<uint32_t> { using type = float; };
template <> struct float_of_code<uint64_t> { using type = double; };

/* Whether keys that can be told apart have this code of a float: zeros, NaNs. */
template <class Code> __device__ bool is_tie(Code code, const sort_order &order) {
    return code == Code(order.nan) || (code ^ Code(order.flip)) == float_bits<Code>::sign;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

template <class Code, int rows> class cluster_rows {
    using float_key = typename float_of_code<Code>::type;

  protected:
    const sort_job &job;
    const uint32_t n;
    const uint32_t first; /* position of this lane's first element */
    const bool has_rows;  /* else the warp only helps the others */
    const bool decodes;   /* codes have all bits of the keys */
    const bool carries;   /* the payload is the value, not the index */
    const bool indexed;   /* payloads are wanted */
    Code code[rows];
    uint32_t payload[rows];

    __device__ cluster_rows(const sort_job &job, uint32_t n, uint32_t first, bool has_rows)
        : job(job), n(n), first(first), has_rows(has_rows), decodes(job.bits == 8 * job.key_bytes),
          carries(job.values_in && job.value_bytes == 4 && decodes && !job.is_float),
          indexed(job.value_bytes || job.is_float || !decodes) {}

    __device__ bool there(int r) const { return has_rows && first + uint32_t(r * 32) < n; }

    template <class T> __device__ Code code_of(T key) const {
        if constexpr (sizeof(T) > sizeof(Code)) /* a window of its bits */
            return Code(sort_code<T>(key, job.order));
        else
            return job.is_float ? sort_code<float_key>(Code(key), job.order) : sort_code<Code>(Code(key), job.order);
    }

    template <class T> __device__ void load_keys() {
        const T *from = static_cast<const T *>(job.keys_in) + first;
        T key[rows]; /* loaded before they are looked at */
#pragma unroll
        for (int r = 0; r < rows; r++)
            key[r] = there(r) ? from[r * 32] : T(0);
#pragma unroll
        for (int r = 0; r < rows; r++)
            code[r] = there(r) ? code_of(key[r]) : Code(~Code(0));
    }

    /* What lies past n has the greatest code and comes last. */
    __device__ void load() {
        switch_key([&](auto key) { load_keys<decltype(key)>(); });
#pragma unroll
        for (int r = 0; r < rows; r++)
            payload[r] = first + uint32_t(r * 32);
        if (carries) {
            const uint32_t *from = static_cast<const uint32_t *>(job.values_in);
#pragma unroll
            for (int r = 0; r < rows; r++)
                payload[r] = there(r) ? from[payload[r]] : 0;
        }
    }

  private:
    __device__ bool fetches_keys() const { return job.keys_out && (job.is_float || !decodes); }
    __device__ bool fetches_values() const { return job.values_in && !carries; }

    /* Made from the code, or the input's if that does not tell it. */
    template <class T> __device__ T key_of(int r) const {
        if (there(r) && fetches_keys() && (!decodes || is_tie(code[r], job.order)))
            return static_cast<const T *>(job.keys_in)[payload[r]];
        return T(job.is_float ? key_of_exact_code<float_key>(code[r], job.order)
                              : key_of_exact_code<Code>(code[r], job.order));
    }

    template <class T> __device__ void store(void *array, const T (&x)[rows]) const {
        T *to = static_cast<T *>(array) + first;
#pragma unroll
        for (int r = 0; r < rows; r++)
            if (there(r))
                to[r * 32] = x[r];
    }

    /* f(a key of the type that keys have in memory). */
    template <class F> __device__ void switch_key(F f) const {
        if constexpr (sizeof(Code) == 8)
            f(uint64_t());
        else if (job.key_bytes == 8)
            f(uint64_t());
        else if (job.key_bytes == 4)
            f(uint32_t());
        else if (job.key_bytes == 2)
            f(uint16_t());
        else
            f(uint8_t());
    }

    template <class Key, class Value> __device__ void finish_as() {
        const Value *from = static_cast<const Value *>(job.values_in);
        Key key[rows];
        Value value[rows];
        if (job.keys_out) {
#pragma unroll
            for (int r = 0; r < rows; r++)
                key[r] = key_of<Key>(r);
        }
#pragma unroll
        for (int r = 0; r < rows; r++)
            value[r] = Value(payload[r]);
        if (fetches_values()) {
#pragma unroll
            for (int r = 0; r < rows; r++)
                value[r] = there(r) ? from[payload[r]] : Value(0);
        }
        if ((fetches_keys() && job.keys_in == job.keys_out) ||
            (fetches_values() && job.values_in == job.values_out)) { /* no CTA writes before all have read */
            cluster_arrive();
            cluster_wait();
        }
        if (job.keys_out)
            store(job.keys_out, key);
        if (job.value_bytes)
            store(job.values_out, value);
    }

  protected:
    /* Codes become keys, and payloads values. */
    __device__ void finish() {
        switch_key([&](auto key) {
            if (job.value_bytes == 8)
                finish_as<decltype(key), uint64_t>();
            else
                finish_as<decltype(key), uint32_t>();
        });
    }
};

} /* namespace scan_cuda */

#endif
