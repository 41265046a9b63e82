/* SPDX-License-Identifier: MIT
 *
 * Images as kernels read and write them: chunks of 16 pixels, one a thread.
 *
 * Sixteen pixels are a whole number of 16-byte vectors for all samples and channels, so a chunk is loaded and stored as
 * vectors, and sample c of pixel p lies in a register that the compiler knows. Chunks begin at a pixel whose address is
 * a multiple of 16. The few pixels before the first chunk and after the last go one by one, in a loop of their own, so
 * that the loop over chunks has no special case. All pixels of an image go one by one if none has such an address
 * (RGBA bytes at an odd one).
 *
 *     n pixels   [ one by one | chunk 0 | chunk 1 | ... | chunk m-1 | one by one ]
 *
 * A second array with the same pixels (a mask, or the input of a map whose output is aligned) may be misaligned: it is
 * read by one vector more a chunk and shifted into place. The chunks then keep 16 pixels away from both ends, so that
 * no vector reaches beyond the array.
 *
 * Traffic: every byte once from device memory; a sector that vectors of neighbouring lanes share is read from the L1
 * cache.
 */
#ifndef SCAN_CUDA_IMAGE_HISTOGRAM_PIXELS_CUH
#define SCAN_CUDA_IMAGE_HISTOGRAM_PIXELS_CUH

#include "../../shared/equalize_color.h"
#include "../device/tile.cuh"

namespace scan_cuda {

constexpr int chunk_pixels = 16;
constexpr uint32_t all_pixels = 0xffff; /* a bit a pixel of a chunk */

/* Bytes [shift, shift + 16) of low and high put side by side, 0 < shift < 16, the same in every lane. */
__device__ inline uint4 bytes_between(uint4 low, uint4 high, unsigned shift) {
    uint32_t a, b, c, d, e;
    switch (shift / 4) {
    case 0: a = low.x, b = low.y, c = low.z, d = low.w, e = high.x; break;
    case 1: a = low.y, b = low.z, c = low.w, d = high.x, e = high.y; break;
    case 2: a = low.z, b = low.w, c = high.x, d = high.y, e = high.z; break;
    default: a = low.w, b = high.x, c = high.y, d = high.z, e = high.w;
    }
    const unsigned bits = shift % 4 * 8;
    return make_uint4(__funnelshift_r(a, b, bits), __funnelshift_r(b, c, bits), __funnelshift_r(c, d, bits),
                      __funnelshift_r(d, e, bits));
}

/* ---- where the chunks lie ---------------------------------------------------------------------------------------- */

struct chunk_span {
    uint32_t head, tail; /* pixels before the first chunk; the least number of pixels after the last */
    bool none;           /* no pixel has an address that is a multiple of 16 */
};

/* The span of pixels at an address, and of a second array (NULL: none). */
inline chunk_span span_of(const void *pixels, size_t pixel_bytes, const void *second, size_t second_pixel_bytes) {
    uint32_t head = 0;
    while (head < chunk_pixels && (uintptr_t(pixels) + head * pixel_bytes) % 16)
        head++;
    const uint32_t apart = second && (uintptr_t(second) + head * second_pixel_bytes) % 16 ? chunk_pixels : 0;
    return {head + apart, apart, head == chunk_pixels};
}

__host__ __device__ inline uint64_t chunk_count(chunk_span span, uint64_t n) {
    return span.none || n < span.head + span.tail ? 0 : (n - span.head - span.tail) / chunk_pixels;
}

/* The k-th pixel that lies in no chunk, k < n - chunks * chunk_pixels. */
__device__ inline uint64_t loose_pixel(chunk_span span, uint64_t chunks, uint64_t k) {
    return k < span.head || chunks == 0 ? k : k + chunks * chunk_pixels;
}

/* ---- a chunk in registers ---------------------------------------------------------------------------------------- */

template <class S> constexpr uint32_t top_of = sizeof(S) == 1 ? 255 : 65535;

template <class S, int channels> struct chunk {
    static constexpr int per_word = 4 / int(sizeof(S));
    static constexpr int words = chunk_pixels * channels / per_word, vectors = words / 4;
    uint32_t w[words];

    /* p and c known when compiled */
    __device__ uint32_t get(int p, int c) const {
        const int i = p * channels + c;
        return w[i / per_word] >> (i % per_word * 8 * int(sizeof(S))) & top_of<S>;
    }
    /* Every sample once, in order. */
    __device__ void set(int p, int c, uint32_t v) {
        const int i = p * channels + c;
        w[i / per_word] = i % per_word ? w[i / per_word] | v << (i % per_word * 8 * int(sizeof(S))) : v;
    }

    /* from: the pixels of a chunk, at any address, which is the same modulo 16 for all chunks. */
    __device__ void load(const S *from) {
        const unsigned shift = unsigned(uintptr_t(from) % 16);
        const uint4 *at = reinterpret_cast<const uint4 *>(uintptr_t(from) - shift);
        if (shift == 0) {
#pragma unroll
            for (int k = 0; k < vectors; k++)
                put(k, at[k]);
        } else {
            uint4 low = at[0];
#pragma unroll
            for (int k = 0; k < vectors; k++) {
                const uint4 high = at[k + 1];
                put(k, bytes_between(low, high, shift));
                low = high;
            }
        }
    }
    /* from and to: aligned to 16 */
    __device__ void load_aligned(const S *from) {
#pragma unroll
        for (int k = 0; k < vectors; k++)
            put(k, reinterpret_cast<const uint4 *>(from)[k]);
    }
    __device__ void store_aligned(S *to) const {
#pragma unroll
        for (int k = 0; k < vectors; k++)
            __stcs(reinterpret_cast<uint4 *>(to) + k, make_uint4(w[4 * k], w[4 * k + 1], w[4 * k + 2], w[4 * k + 3]));
    }

  private:
    __device__ void put(int k, uint4 v) { w[4 * k] = v.x, w[4 * k + 1] = v.y, w[4 * k + 2] = v.z, w[4 * k + 3] = v.w; }
};

/* A bit for each of a chunk's pixels whose byte of the mask is not zero; all if mask is NULL. */
__device__ inline uint32_t masked_pixels(const uint8_t *mask, uint64_t first) {
    if (!mask)
        return all_pixels;
    chunk<uint8_t, 1> x;
    x.load(mask + first);
    uint32_t pixels = 0;
#pragma unroll
    for (int p = 0; p < chunk_pixels; p++)
        pixels |= uint32_t(x.get(p, 0) != 0) << p;
    return pixels;
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

/* The level of a pixel that is counted or mapped: a channel, OpenCV's Y, or ImageMagick's intensity of 65,536 levels.
 */
enum pixel_view : uint32_t { VIEW_CHANNEL = 0, VIEW_LUMA = 4, VIEW_REC709 = 5 };

template <class S> __device__ uint32_t luma_of(uint32_t r, uint32_t g, uint32_t b) {
    return uint32_t(scan_color_y(int32_t(r), int32_t(g), int32_t(b)));
}

template <class S> __device__ uint32_t rec709_of(uint32_t r, uint32_t g, uint32_t b) {
    constexpr uint32_t scale = 65535 / top_of<S>;
    return scan_color_rec709(scale * r, scale * g, scale * b);
}

/* The level of one pixel. */
template <class S> __device__ uint32_t level_at(const S *pixel, uint32_t view) {
    if (view == VIEW_LUMA)
        return luma_of<S>(pixel[0], pixel[1], pixel[2]);
    if (view == VIEW_REC709)
        return rec709_of<S>(pixel[0], pixel[1], pixel[2]);
    return pixel[view];
}

template <int view, class S, int channels, class Visit>
__device__ void visit_view(const chunk<S, channels> &x, Visit visit) {
#pragma unroll
    for (int p = 0; p < chunk_pixels; p++)
        if constexpr (view == VIEW_LUMA)
            visit(p, luma_of<S>(x.get(p, 0), x.get(p, 1), x.get(p, 2)));
        else if constexpr (view == VIEW_REC709)
            visit(p, rec709_of<S>(x.get(p, 0), x.get(p, 1), x.get(p, 2)));
        else
            visit(p, x.get(p, view));
}

/* Calls visit(p, level) for a chunk's pixels; view is the same for the whole grid. */
template <class S, int channels, class Visit>
__device__ void visit_levels(const chunk<S, channels> &x, uint32_t view, Visit visit) {
    if (channels == 1 || view == VIEW_CHANNEL)
        return visit_view<VIEW_CHANNEL>(x, visit);
    if constexpr (channels >= 2)
        if (view == VIEW_CHANNEL + 1)
            return visit_view<VIEW_CHANNEL + 1>(x, visit);
    if constexpr (channels >= 3) {
        if (view == VIEW_CHANNEL + 2)
            return visit_view<VIEW_CHANNEL + 2>(x, visit);
        if (view == VIEW_LUMA)
            return visit_view<VIEW_LUMA>(x, visit);
        if (view == VIEW_REC709)
            return visit_view<VIEW_REC709>(x, visit);
    }
    if constexpr (channels == 4)
        visit_view<VIEW_CHANNEL + 3>(x, visit);
}

} /* namespace scan_cuda */

#endif
