// SPDX-License-Identifier: MIT
//
// Sorts of other libraries as peers on the CPU: vqsort (Highway), one thread; IPS4o and IPS2Ra (Axtmann, Witt,
// Ferizovic, Sanders: Engineering in-place (shared-memory) sorting algorithms, 2022), as many threads as the library.
// Each is built if its headers were found: PEER_HWY, PEER_IPS4O, PEER_IPS2RA. All sort in place, a copy of the input
// that is made beforehand, untimed. None is stable. This is a module apart from bench_peers.cpp, so that it can be
// packed for another machine with the few libraries it needs.
#include "bench.h"

#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>

#ifdef PEER_HWY
#include <hwy/contrib/sort/vqsort.h>
#endif
#ifdef PEER_IPS4O
#include <ips4o.hpp>
#endif
#ifdef PEER_IPS2RA
#include <ips2ra.hpp>
#endif

namespace {

using runner = bool (*)(job *, contender *);

[[maybe_unused]] bool copy_keys(job *j) {
    std::memcpy(j->out, j->in, j->in_bytes);
    return true;
}

bool has_nan(const job *j) { return j->spread.nan > 0 || key_set_has_nan(j->keys); }

[[maybe_unused]] contender *add(contender *list, size_t &count, const std::string &name, runner run) {
    contender *c = &list[count++];
    *c = contender{};
    std::snprintf(c->name, sizeof c->name, "%s", name.c_str());
    c->run = run;
    c->prepare = copy_keys;
    c->in_place = c->unstable = true;
    return c;
}

// The instance of a template for a type known at run time.
template <template <class> class Job> [[maybe_unused]] runner pick(scan_type type) {
    switch (type) {
#define ROW(ENUM, name, ctype, CLASS)                                                                                  \
    case SCAN_##ENUM: return Job<ctype>::run;
        SCAN_TYPES(ROW)
#undef ROW
    case SCAN_TYPE_NONE: break;
    }
    return nullptr;
}

#ifdef PEER_HWY
template <class T> struct vqsort {
    static bool run(job *j, contender *) {
        if constexpr (sizeof(T) > 1) {
            if (j->descending)
                hwy::Sorter()(static_cast<T *>(j->out), j->n, hwy::SortDescending());
            else
                hwy::Sorter()(static_cast<T *>(j->out), j->n, hwy::SortAscending());
        }
        return true;
    }
};
#endif

// IPS4o and IPS2Ra sort unsigned numbers that are ordered as the keys are, into which the keys are turned beforehand
// and back before the check, untimed: one instance for each size of key, which take minutes to compile, not for each
// type and direction.

// Between keys and such numbers: floats as IEEE 754 orders their bits.
template <class U> U ordered_bits(const job *j, U key) {
    constexpr U sign = U(U(1) << (8 * sizeof(U) - 1));
    const bool is_float = type_class(j->type) == SCAN_FLOAT, is_signed = type_class(j->type) == SCAN_SIGNED;
    U bits = is_float ? U(key & sign ? ~key : key | sign) : is_signed ? U(key ^ sign) : key;
    return j->descending ? U(~bits) : bits;
}

template <class U> U key_of(const job *j, U bits) {
    constexpr U sign = U(U(1) << (8 * sizeof(U) - 1));
    const bool is_float = type_class(j->type) == SCAN_FLOAT, is_signed = type_class(j->type) == SCAN_SIGNED;
    bits = j->descending ? U(~bits) : bits;
    return is_float ? U(bits & sign ? bits & ~sign : ~bits) : is_signed ? U(bits ^ sign) : bits;
}

template <class U> struct coded {
    static bool prepare(job *j) {
        for (uint64_t i = 0; i < j->n; i++)
            static_cast<U *>(j->out)[i] = ordered_bits(j, static_cast<const U *>(j->in)[i]);
        return true;
    }
    static void settle(job *j) {
        for (U *out = static_cast<U *>(j->out), *end = out + j->n; out < end; out++)
            *out = key_of(j, *out);
    }
#ifdef PEER_IPS4O
    static bool ips4o(job *j, contender *c) {
        U *keys = static_cast<U *>(j->out);
        ips4o::parallel::sort(keys, keys + j->n, std::less<U>(), *static_cast<ips4o::StdThreadPool *>(c->memory));
        return true;
    }
#endif
#ifdef PEER_IPS2RA
    struct at_least_4_bytes { // what IPS2Ra counts leading zeros of
        std::conditional_t<sizeof(U) == 8, uint64_t, uint32_t> operator()(const U &key) const { return key; }
    };
    static bool ips2ra(job *j, contender *c) {
        U *keys = static_cast<U *>(j->out);
        ips2ra::parallel::sort(keys, keys + j->n, at_least_4_bytes(), *static_cast<ips2ra::StdThreadPool *>(c->memory));
        return true;
    }
#endif
};

// Adds a sort by threads that live as long as the contender, as the library's do.
template <class Pool, class U>
void add_coded(const job *j, contender *list, size_t &count, const char *name, runner run) {
    contender *c = add(list, count, std::string(name) + ", " + std::to_string(j->threads) + " threads", run);
    c->prepare = coded<U>::prepare;
    c->settle = coded<U>::settle;
    c->memory = new Pool(int(j->threads));
    c->close = [](contender *closing) { delete static_cast<Pool *>(closing->memory); };
    c->unchecked = has_nan(j); // NaN are sorted by their bits
}

template <class U>
void add_all_coded([[maybe_unused]] const job *j, [[maybe_unused]] contender *list, [[maybe_unused]] size_t &count) {
#ifdef PEER_IPS4O
    add_coded<ips4o::StdThreadPool, U>(j, list, count, "IPS4o", coded<U>::ips4o);
#endif
#ifdef PEER_IPS2RA
    add_coded<ips2ra::StdThreadPool, U>(j, list, count, "IPS2Ra", coded<U>::ips2ra);
#endif
}

size_t contenders(const job *j, contender *list) {
    size_t count = 0;
    if (j->verb != BENCH_SORT || j->end_bit != 0) // these sort by whole keys
        return 0;
#ifdef PEER_HWY
    if (type_bytes(j->type) > 1 && !has_nan(j))
        add(list, count, "vqsort, 1 thread", pick<vqsort>(j->type));
#endif
    switch (type_bytes(j->type)) {
    case 1: add_all_coded<uint8_t>(j, list, count); break;
    case 2: add_all_coded<uint16_t>(j, list, count); break;
    case 4: add_all_coded<uint32_t>(j, list, count); break;
    default: add_all_coded<uint64_t>(j, list, count);
    }
    return count;
}

const char *missing() {
    return ""
#ifndef PEER_HWY
           " vqsort (libhwy-dev)"
#endif
#ifndef PEER_IPS4O
           " IPS4o (cmake -DSCAN_IPS4O_DIR=)"
#endif
#ifndef PEER_IPS2RA
           " IPS2Ra (cmake -DSCAN_IPS2RA_DIR=)"
#endif
        ;
}

} // namespace

extern "C" __attribute__((visibility("default"))) const peers_module bench_sorts;
const peers_module bench_sorts = {contenders, missing};
