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
#include <string>
#include <type_traits>
#include <vector>

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

[[maybe_unused]] bool copy_keys(job *j, contender *) {
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

// IPS4o, IPS2Ra and all sorts of pairs get unsigned numbers that are ordered as the keys are, into which the keys are
// turned beforehand and back before the check, untimed: one instance for each size of key, which take minutes to
// compile, not for each type and direction. Pairs become an array of structs, which is not the library's layout; those
// whose key and value differ in size have no peer.

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

// A key with a value of the same size; laid out as vqsort's pairs are.
template <class U> struct alignas(2 * sizeof(U)) item_of { U value, key; };

template <class U> U key_in(U key) { return key; }
template <class U> U key_in(const item_of<U> &item) { return item.key; }

// What is sorted, where it does not fit the output, and the threads that sort, which live as long as the contender, as
// the library's do.
template <class T, class Pool> struct workshop {
    std::vector<T> items;
    Pool pool;
    explicit workshop(const job *j) : items(j->verb == BENCH_PAIRS ? j->n : 0), pool(int(j->threads)) {}
};
struct no_pool {
    explicit no_pool(int) {}
};

template <class U, class T, class Pool> struct coded {
    using place = workshop<T, Pool>;
    static T *items(const job *j, contender *c) {
        return j->verb == BENCH_PAIRS ? static_cast<place *>(c->memory)->items.data() : static_cast<T *>(j->out);
    }
    static bool prepare(job *j, contender *c) {
        const U *keys = static_cast<const U *>(j->in);
        T *to = items(j, c);
        for (uint64_t i = 0; i < j->n; i++)
            if constexpr (std::is_same<T, U>::value)
                to[i] = ordered_bits(j, keys[i]);
            else
                to[i] = {static_cast<const U *>(j->values_in)[i], ordered_bits(j, keys[i])};
        return true;
    }
    static void settle(job *j, contender *c) {
        const T *from = items(j, c);
        for (uint64_t i = 0; i < j->n; i++) {
            static_cast<U *>(j->out)[i] = key_of(j, key_in(from[i]));
            if constexpr (!std::is_same<T, U>::value)
                static_cast<U *>(j->values_out)[i] = from[i].value;
        }
    }
#ifdef PEER_HWY
    static bool vqsort_pairs(job *j, contender *c) {
        using pair = std::conditional_t<sizeof(U) == 8, hwy::K64V64, hwy::K32V32>;
        hwy::Sorter()(reinterpret_cast<pair *>(items(j, c)), j->n, hwy::SortAscending());
        return true;
    }
#endif
#ifdef PEER_IPS4O
    static bool ips4o(job *j, contender *c) {
        const auto before = [](const T &a, const T &b) { return key_in(a) < key_in(b); };
        T *begin = items(j, c);
        ips4o::parallel::sort(begin, begin + j->n, before, static_cast<place *>(c->memory)->pool);
        return true;
    }
#endif
#ifdef PEER_IPS2RA
    struct at_least_4_bytes { // what IPS2Ra counts leading zeros of
        std::conditional_t<sizeof(U) == 8, uint64_t, uint32_t> operator()(const T &item) const { return key_in(item); }
    };
    static bool ips2ra(job *j, contender *c) {
        T *begin = items(j, c);
        ips2ra::parallel::sort(begin, begin + j->n, at_least_4_bytes(), static_cast<place *>(c->memory)->pool);
        return true;
    }
#endif
    static void close(contender *c) { delete static_cast<place *>(c->memory); }

    static void add_to(const job *j, contender *list, size_t &count, const std::string &name, runner run) {
        contender *c = add(list, count, name, run);
        c->prepare = prepare;
        c->settle = settle;
        c->close = close;
        c->memory = new place(j);
        c->unchecked = has_nan(j); // NaN are sorted by their bits
    }
};

template <class U, class T>
void add_parallel([[maybe_unused]] const job *j, [[maybe_unused]] contender *list, [[maybe_unused]] size_t &count) {
    [[maybe_unused]] const std::string threads = ", " + std::to_string(j->threads) + " threads";
#ifdef PEER_IPS4O
    using ips4o_sort = coded<U, T, ips4o::StdThreadPool>;
    ips4o_sort::add_to(j, list, count, "IPS4o" + threads, ips4o_sort::ips4o);
#endif
#ifdef PEER_IPS2RA
    using ips2ra_sort = coded<U, T, ips2ra::StdThreadPool>;
    ips2ra_sort::add_to(j, list, count, "IPS2Ra" + threads, ips2ra_sort::ips2ra);
#endif
}

size_t key_contenders(const job *j, contender *list) {
    size_t count = 0;
#ifdef PEER_HWY
    if (type_bytes(j->type) > 1 && !has_nan(j))
        add(list, count, "vqsort, 1 thread", pick<vqsort>(j->type));
#endif
    switch (type_bytes(j->type)) {
    case 1: add_parallel<uint8_t, uint8_t>(j, list, count); break;
    case 2: add_parallel<uint16_t, uint16_t>(j, list, count); break;
    case 4: add_parallel<uint32_t, uint32_t>(j, list, count); break;
    default: add_parallel<uint64_t, uint64_t>(j, list, count);
    }
    return count;
}

template <class U> size_t pair_contenders(const job *j, contender *list) {
    size_t count = 0;
#ifdef PEER_HWY
    using vqsort_pairs = coded<U, item_of<U>, no_pool>;
    vqsort_pairs::add_to(j, list, count, "vqsort, 1 thread", vqsort_pairs::vqsort_pairs);
#endif
    add_parallel<U, item_of<U>>(j, list, count);
    return count;
}

// These sort by whole keys.
size_t contenders(const job *j, contender *list) {
    if (j->end_bit != 0)
        return 0;
    if (j->verb == BENCH_SORT)
        return key_contenders(j, list);
    if (j->verb != BENCH_PAIRS || type_bytes(j->type) != j->value_bytes)
        return 0;
    return j->value_bytes == 4 ? pair_contenders<uint32_t>(j, list) : pair_contenders<uint64_t>(j, list);
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
