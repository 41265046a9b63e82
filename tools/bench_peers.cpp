// SPDX-License-Identifier: MIT
//
// Peers that are C++ libraries, a module behind the plain C interface of bench.h: the parallel algorithms of the
// standard library (TBB), OpenCV. Each is built if its headers were found: PEER_TBB, PEER_OPENCV.
#include "bench.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <type_traits>

#ifdef PEER_TBB
#include <execution>
#include <tbb/global_control.h>
#endif
#ifdef PEER_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#endif

namespace {

using runner = bool (*)(job *, contender *);

// Where nothing is measured, only types of four bytes have peers of the standard library, which take long to compile.
#ifdef __OPTIMIZE__
constexpr bool every_type = true;
#else
constexpr bool every_type = false;
#endif

// The instance of a template for a type known at run time; NULL if there is none.
template <template <class> class Job> runner pick(scan_type type) {
    switch (type) {
#define ROW(ENUM, name, ctype, CLASS)                                                                                  \
    case SCAN_##ENUM:                                                                                                  \
        if constexpr (every_type || sizeof(ctype) == 4)                                                                \
            return Job<ctype>::run;                                                                                    \
        break;
        SCAN_TYPES(ROW)
#undef ROW
    case SCAN_TYPE_NONE: break;
    }
    return nullptr;
}

// Copies the keys to the output, untimed, for a peer that sorts in place.
[[maybe_unused]] bool copy_keys(job *j, contender *) {
    std::memcpy(j->out, j->in, j->in_bytes);
    return true;
}

[[maybe_unused]] void add(contender *list, size_t &count, const std::string &name, runner run, runner prepare = nullptr,
                          bool unchecked = false) {
    if (run == nullptr)
        return;
    contender c{};
    std::snprintf(c.name, sizeof c.name, "%s", name.c_str());
    c.run = run;
    c.prepare = prepare;
    c.unchecked = unchecked;
    list[count++] = c;
}

#ifdef PEER_TBB
struct limit_threads {
    tbb::global_control control;
    explicit limit_threads(const job *j) : control(tbb::global_control::max_allowed_parallelism, j->threads) {}
};

struct smaller {
    template <class T> T operator()(T a, T b) const { return b < a ? b : a; }
};
struct larger {
    template <class T> T operator()(T a, T b) const { return a < b ? b : a; }
};

// Op on elements of type T; `identity` is what an exclusive scan begins with.
template <class Op, int identity> struct std_scan {
    template <class T> struct of {
        static bool run(job *j, contender *) {
            if constexpr (std::is_invocable_v<Op, T, T>) {
                limit_threads limit(j);
                const T *in = static_cast<const T *>(j->in);
                T *out = static_cast<T *>(j->out);
#ifdef __OPTIMIZE__
                auto op = [](T a, T b) { return T(Op()(a, b)); };
#else // one instance of the library's scans for all operators, where nothing is measured
                T (*op)(T, T) = [](T a, T b) { return T(Op()(a, b)); };
#endif
                if (j->kind == SCAN_INCLUSIVE)
                    std::inclusive_scan(std::execution::par_unseq, in, in + j->n, out, op);
                else
                    std::exclusive_scan(std::execution::par_unseq, in, in + j->n, out, T(identity), op);
                return true;
            }
            return false;
        }
    };
};

// The operators that the standard scans serve; for any other they are no peer.
const struct {
    scan_op op;
    bool exclusive; // `identity` holds for every type
    runner (*pick)(scan_type);
} std_scans[] = {
    {SCAN_ADD, true, pick<std_scan<std::plus<>, 0>::of>},    {SCAN_MUL, true, pick<std_scan<std::multiplies<>, 1>::of>},
    {SCAN_MIN, false, pick<std_scan<smaller, 0>::of>},       {SCAN_MAX, false, pick<std_scan<larger, 0>::of>},
    {SCAN_XOR, true, pick<std_scan<std::bit_xor<>, 0>::of>},
};

template <class T> struct std_copy_if {
    static bool run(job *j, contender *) {
        limit_threads limit(j);
        const T *in = static_cast<const T *>(j->in);
        T *out = static_cast<T *>(j->out);
        T below = std::is_floating_point<T>::value ? T(j->threshold.f)
                  : std::is_unsigned<T>::value     ? T(j->threshold.u)
                                                   : T(j->threshold.i);
        T *end = std::copy_if(std::execution::par, in, in + j->n, out, [=](T x) { return x < below; });
        j->count = static_cast<uint64_t>(end - out);
        return true;
    }
};

template <class T> struct std_unique {
    static bool run(job *j, contender *) {
        limit_threads limit(j);
        const T *in = static_cast<const T *>(j->in);
        T *out = static_cast<T *>(j->out);
        j->count = static_cast<uint64_t>(std::unique_copy(std::execution::par, in, in + j->n, out) - out);
        return true;
    }
};

template <class T> struct std_sort {
    static bool run(job *j, contender *) {
        limit_threads limit(j);
        T *out = static_cast<T *>(j->out);
        std::sort(std::execution::par, out, out + j->n);
        return true;
    }
};

template <class T> struct std_merge {
    static bool run(job *j, contender *) {
        limit_threads limit(j);
        const T *in = static_cast<const T *>(j->in), *middle = in + j->n / 2;
        std::merge(std::execution::par, in, middle, middle, in + j->n, static_cast<T *>(j->out));
        return true;
    }
};

template <class T> struct std_argsort {
    static bool run(job *j, contender *) {
        limit_threads limit(j);
        const T *in = static_cast<const T *>(j->in);
        uint32_t *out = static_cast<uint32_t *>(j->out);
        std::iota(out, out + j->n, 0u);
        std::stable_sort(std::execution::par, out, out + j->n, [=](uint32_t a, uint32_t b) { return in[a] < in[b]; });
        return true;
    }
};
#endif

#ifdef PEER_OPENCV
cv::Mat image(const job *j, void *samples) {
    int type = j->type == SCAN_U8 ? CV_8UC1 : CV_16UC1;
    int columns = static_cast<int>(j->width != 0 ? j->width : 4096), rows = static_cast<int>(j->n) / columns;
    return cv::Mat(rows, columns, type, samples);
}

bool opencv_equalize(job *j, contender *) {
    cv::setNumThreads(static_cast<int>(j->threads));
    cv::Mat out = image(j, j->out);
    cv::equalizeHist(image(j, j->in), out);
    return out.data == j->out;
}

bool opencv_clahe(job *j, contender *) {
    cv::setNumThreads(static_cast<int>(j->threads));
    cv::Mat out = image(j, j->out);
    cv::createCLAHE(2.0, cv::Size(8, 8))->apply(image(j, j->in), out);
    return out.data == j->out;
}

bool opencv_histogram(job *j, contender *) {
    cv::setNumThreads(static_cast<int>(j->threads));
    int bins = j->type == SCAN_U8 ? 256 : 65536, channel = 0;
    float range[] = {0, static_cast<float>(bins)};
    const float *ranges[] = {range};
    cv::Mat in = image(j, j->in), histogram;
    cv::calcHist(&in, 1, &channel, cv::noArray(), histogram, 1, &bins, ranges);
    for (int b = 0; b < bins; b++)
        static_cast<uint64_t *>(j->out)[b] = static_cast<uint64_t>(histogram.at<float>(b));
    return true;
}
#endif

size_t contenders([[maybe_unused]] const job *j, [[maybe_unused]] contender *list) {
    size_t count = 0;
    if (j->keys != NULL) // a hunt is for the fastest sorts
        return 0;
#ifdef PEER_TBB
    // NaN breaks the strict weak ordering that the standard algorithms need
    bool ordered = j->spread.nan == 0;
    if (j->verb == BENCH_PREFIX && j->type == j->out_type && ordered)
        for (const auto &row : std_scans)
            if (row.op == j->op && (j->kind == SCAN_INCLUSIVE || row.exclusive))
                add(list, count, "std::inclusive_scan par_unseq" + std::string(j->kind ? " (exclusive)" : ""),
                    row.pick(j->type));
    if (j->verb == BENCH_COMPACT)
        add(list, count, "std::copy_if par", pick<std_copy_if>(j->type));
    if (j->verb == BENCH_UNIQUE && ordered)
        add(list, count, "std::unique_copy par", pick<std_unique>(j->type));
    if (j->verb == BENCH_SORT && ordered)
        add(list, count, "std::sort par", pick<std_sort>(j->type), copy_keys);
    if (j->verb == BENCH_MERGE && ordered)
        add(list, count, "std::merge par", pick<std_merge>(j->type));
    if (j->verb == BENCH_ARGSORT && ordered && j->out_bytes == j->n * 4)
        add(list, count, "std::stable_sort par, indices", pick<std_argsort>(j->type));
#endif
#ifdef PEER_OPENCV
    bool fits = j->n % 4096 == 0 && j->n / 4096 < 32768;
    if (j->verb == BENCH_EQUALIZE && j->type == SCAN_U8 && fits)
        add(list, count, "OpenCV equalizeHist", opencv_equalize);
    if (j->verb == BENCH_HISTOGRAM && fits && j->n <= 1u << 24) // its counts are floats
        add(list, count, "OpenCV calcHist", opencv_histogram);
    if (j->verb == BENCH_CLAHE)
        add(list, count, "OpenCV CLAHE", opencv_clahe);
#endif
    return count;
}

const char *missing() {
    return ""
#ifndef PEER_TBB
           " std::execution::par (libtbb-dev)"
#endif
#ifndef PEER_OPENCV
           " OpenCV (libopencv-dev)"
#endif
#ifndef __OPTIMIZE__
           " an optimized build of those above (tools/bench makes one)"
#endif
        ;
}

} // namespace

extern "C" __attribute__((visibility("default"))) const peers_module bench_peers;
const peers_module bench_peers = {contenders, missing};
