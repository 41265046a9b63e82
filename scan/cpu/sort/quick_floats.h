/* SPDX-License-Identifier: MIT
 *
 * Floats, around the quicksorts, and included with them once a width. The codes of numbers other than zero can be
 * turned back into keys. Zeros, which have two signs, and NaNs are ties that can be told apart.
 *
 * Keys alone are sorted by quick_numbers.h, which is not stable. Of many keys it gets zeros with the numbers if these
 * are of one sign and there is no NaN. Else zeros and NaNs are set aside in input order, and put in their places when
 * the numbers are sorted.
 *
 *     result    | numbers          | room of zeros and NaNs |
 *     other     | zeros and NaNs   | scratch of the numbers |
 *
 * Pairs are sorted by quick_pairs.h, which is stable, and gets codes of zeros and NaNs, too.
 */

SCAN_INLINE V_MASK NAME(is_nan)(V v) { return V_GREATER(V_AND(v, V_SET1(~SIGN)), V_SET1(INFINITY_BITS)); }
SCAN_INLINE V_MASK NAME(is_zero)(V v) { return V_EQUAL(V_AND(v, V_SET1(~SIGN)), V_SET1(0)); }

/* The codes of code.h, in the order that vectors compare, of numbers other than zero; and back. */
SCAN_INLINE V NAME(encode)(V v, KEY flip) {
    return V_XOR(v, V_SELECT(V_NEGATIVE(v), V_SET1((KEY)~flip), V_SET1(SIGN ^ flip)));
}
SCAN_INLINE V NAME(decode)(V v, KEY flip) {
    return V_XOR(v, V_SELECT(V_NEGATIVE(V_XOR(v, V_SET1(flip))), V_SET1(SIGN ^ flip), V_SET1((KEY)~flip)));
}
SCAN_INLINE KEY NAME(decode_one)(KEY code, KEY flip) { return V_FIRST(NAME(decode)(V_SET1(code), flip)); }
SCAN_INLINE KEY NAME(encode_one)(KEY key, KEY flip) { return key ^ (key & SIGN ? (KEY)~flip : (KEY)(SIGN ^ flip)); }

/* Returns how many of sorted numbers come before zero. */
static size_t NAME(below_zero)(const KEY *numbers, size_t n, bool descending) {
    size_t begin = 0, end = n;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if ((numbers[middle] >= SIGN) != descending)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Writes the numbers to `to`, negated in descending order, and zeros and NaNs as they are to `aside`. Either may be
 * where the keys are. */
static quick_aside NAME(set_aside)(const scan_sort_order *order, const KEY *from, size_t n, KEY *to, KEY *aside) {
    const V_BITS all = (V_BITS)((1ull << LANES) - 1);
    const KEY sign = order->flip ? SIGN : 0;
    const V flip = V_SET1(sign);
    size_t numbers = 0, others = 0, nans = 0, i = 0;
    for (; i + LANES <= n; i += LANES) {
        const V v = V_LOAD(from + i), number = V_XOR(v, flip);
        const V_BITS not_nan = V_UNSET(NAME(is_nan)(v)), is_number = V_UNSET(NAME(is_zero)(v)) & not_nan;
        if (is_number == all) {
            V_STORE(to + numbers, number);
            numbers += LANES;
            continue;
        }
        V_STORE(to + numbers, V_COMPRESS(number, is_number));
        V_STORE(aside + others, V_COMPRESS(v, (V_BITS)~is_number));
        const size_t count = quick_count(is_number, LANES);
        numbers += count;
        others += LANES - count;
        nans += LANES - quick_count(not_nan, LANES);
    }
    for (; i < n; i++) {
        const KEY key = from[i], magnitude = key & ~SIGN;
        if (magnitude == 0 || magnitude > INFINITY_BITS) {
            aside[others++] = key;
            nans += magnitude != 0;
        } else {
            to[numbers++] = key ^ sign;
        }
    }
    return (quick_aside){numbers, others - nans, nans, order->nan == 0, 0};
}

/* Puts sorted numbers, which are at the front of `to`, and what was set aside in their places. */
static void NAME(put_together)(const quick_aside *a, KEY *to, const KEY *aside) {
    quick_make_room(a, to, sizeof(KEY));
    KEY *zeros = to + quick_zeros_at(a), *nans = to + quick_nans_at(a);
    if (a->zeros == 0 || a->nans == 0) {
        memcpy(a->zeros == 0 ? nans : zeros, aside, (a->zeros + a->nans) * sizeof(KEY));
        return;
    }
    const KEY *zeros_end = zeros + a->zeros, *nans_end = nans + a->nans;
    size_t i = 0;
    for (; zeros + LANES <= zeros_end && nans + LANES <= nans_end; i += LANES) {
        const V v = V_LOAD(aside + i);
        const V_BITS is_nan = V_UNSET(NAME(is_zero)(v));
        const size_t count = quick_count(is_nan, LANES);
        V_STORE(zeros, V_COMPRESS(v, (V_BITS)~is_nan));
        V_STORE(nans, V_COMPRESS(v, is_nan));
        zeros += LANES - count;
        nans += count;
    }
    for (; i < a->zeros + a->nans; i++)
        *(aside[i] & ~SIGN ? nans++ : zeros++) = aside[i];
}

/* What some keys have shown, in any of their lanes. */
typedef struct NAME(shown) {
    V_MASK nan, plus_zero, minus_zero;
} NAME(shown);

SCAN_INLINE void NAME(look_at)(NAME(shown) * s, V v) {
    s->nan = V_MASK_OR(s->nan, NAME(is_nan)(v));
    s->plus_zero = V_MASK_OR(s->plus_zero, V_EQUAL(v, V_SET1(0)));
    s->minus_zero = V_MASK_OR(s->minus_zero, V_EQUAL(v, V_SET1(SIGN)));
}

SCAN_INLINE bool NAME(any)(V_MASK mask) {
    const V_BITS all = (V_BITS)((1ull << LANES) - 1), unset = V_UNSET(mask);
    return unset != all;
}

/* Whether no key is set aside: none is NaN, and zeros are of one sign; or, of few keys, none is a zero: to set zeros
 * aside costs less than to partition them. */
static bool NAME(are_numbers)(const KEY *keys, size_t n) {
    enum { AT_FIRST = 4 * LANES, AT_ONCE = 64 * LANES };
    const bool many = n >= QUICK_L1_BYTES / sizeof(KEY);
    const V number = V_SET1(1);
    const V_MASK none = V_EQUAL(number, V_SET1(0));
    NAME(shown) s = {none, none, none};
    for (size_t i = 0, end; i < n;) {
        const size_t step = i == 0 ? AT_FIRST : AT_ONCE;
        for (end = n - i < step ? n : i + step; i + LANES <= end; i += LANES)
            NAME(look_at)(&s, V_LOAD(keys + i));
        if (i < end) {
            NAME(look_at)(&s, V_MASK_LOAD(number, V_BELOW(V_SET1(end - i), 0), keys + i));
            i = end;
        }
        const bool plus = NAME(any)(s.plus_zero), minus = NAME(any)(s.minus_zero);
        if (NAME(any)(s.nan) || (many ? plus && minus : plus || minus))
            return false;
    }
    return true;
}

/* Sorts the numbers of n keys to the front of `to`, and sets other keys aside, if there are any. */
static quick_aside NAME(sort_numbers)(const quick_job *job, const KEY *from, KEY *to, KEY *other, size_t n,
                                      size_t sorted) {
    quick_aside a = {.numbers = n};
    if (NAME(are_numbers)(from, n)) {
        FLOAT(quick_keys)(job, from, to, other, n, sorted);
        return a;
    }
    a = NAME(set_aside)(&job->local->order, from, n, to, other);
    FLOAT(quick)(job, to, to, other + (n - a.numbers), a.numbers, n, max_depth(job->local, n));
    quick_join(job->local, job->unfinished);
    return a;
}

/* Looks for a few values, none of them NaN, nor zeros of both signs: the keys, in the order of their codes. */
static bool NAME(find_few_floats)(const KEY *x, size_t n, KEY flip, NAME(few) * few) {
    KEY sample[QUICK_SAMPLES], another;
    unsigned repeats;
    bool zero = false;
    NAME(choose_pivot)(x, n, V_SET1(0), &repeats);
    if (!repeats && n < 16384)
        return false;
    for (size_t i = 0; i < QUICK_SAMPLES; i++)
        sample[i] = NAME(encode_one)(x[NAME(sample_place)(i, n)], flip);
    NAME(find_few)(sample, false, few); /* of many, the others would have to be looked at with the value's keys */
    for (unsigned k = 0; k < few->count; k++) {
        const KEY key = few->values[k] = NAME(decode_one)(few->values[k], flip), magnitude = key & ~SIGN;
        if (magnitude > INFINITY_BITS || (magnitude == 0 && zero)) /* which of the zeros comes first? */
            return false;
        zero = zero || magnitude == 0;
    }
    if (NAME(find_another)(x, n, 0, few, &another) && (another & ~SIGN) <= INFINITY_BITS &&
        !(zero && (another & ~SIGN) == 0)) {
        unsigned k = few->count;
        while (k > 0 && RANK(NAME(encode_one)(few->values[k - 1], flip)) > RANK(NAME(encode_one)(another, flip)))
            k--;
        NAME(add_value)(few, another, k);
        zero = zero || (another & ~SIGN) == 0;
    }
    few->magnitude = zero ? (KEY)~SIGN : 0;
    return few->count > 0;
}

/* Whether keys, which are in order, are one number other than zero: others of them would be no ties. */
static bool NAME(are_one_number)(const KEY *x, size_t n) {
    const KEY magnitude = x[0] & ~SIGN;
    return n > 0 && x[n - 1] == x[0] && magnitude != 0 && magnitude <= INFINITY_BITS;
}

/* Sorts floats of which most are one of a few values: these are counted, and only the others sorted. Returns false if
 * there are none, or if one of them is a zero and others are, too, which must have their places. Then keys have changed
 * places, perhaps, but not zeros among each other, nor NaNs. */
static bool NAME(quick_few_floats)(const scan_sort_local *l) {
    const KEY flip = (KEY)l->order.flip ^ LEAST, sign = l->order.flip ? SIGN : 0, *x = l->from.keys;
    KEY *to = l->to.keys, *other = l->spare.keys;
    size_t counts[QUICK_FEW], less[QUICK_FEW], n = l->n;
    NAME(few) few;
    if (n < QUICK_SURVEY_N || x == other || !NAME(find_few_floats)(x, n, flip, &few))
        return false;
    if (few.others_repeat && n >= QUICK_VALUES_N) /* the sort of numbers sees that */
        return false;
    if (NAME(are_one_number)(x, l->sorted_n))
        few.sorted = l->sorted_n; /* else ties may lie among them */
    /* Few keys are written sooner at last than where they are looked at first. */
    const bool fills = NAME(are_guessed)(&few, to == x) && !(few.magnitude && n < QUICK_L1_BYTES / sizeof(KEY));
    NAME(guess) guess;
    NAME(guess_places)(&few, n, 0, &guess);
    const size_t rest_n = NAME(sift)(&few, x, n, 0, other, counts, fills ? to : NULL, &guess, l->team);
    if (rest_n == SIZE_MAX)
        return false;
    KEY *rest = to + (n - rest_n);
    atomic_uint unfinished = 0;
    const quick_job job = {sign, 0, true, l, &unfinished};
    quick_aside a = NAME(sort_numbers)(&job, other, rest, other, rest_n, 0);
    FLOAT(few) numbers = {.count = few.count};
    a.below = NAME(below_zero)(rest, a.numbers, sign != 0);
    for (unsigned k = 0; k < few.count; k++) {
        numbers.values[k] = few.values[k] ^ sign;
        a.below += (few.values[k] & ~SIGN) != 0 && numbers.values[k] >= SIGN ? counts[k] : 0;
    }
    FLOAT(count_less)(numbers.values, numbers.count, rest, a.numbers, sign, less);
    n -= a.zeros + a.nans;
    NAME(put_between)(few.values, few.count, counts, less, to, n, a.numbers, fills ? &guess : NULL, l->team);
    a.numbers = n;
    NAME(put_together)(&a, to, other);
    return true;
}

static void NAME(quick_floats)(const scan_sort_local *l) {
    const KEY sign = l->order.flip ? SIGN : 0;
    KEY *to = l->to.keys, *other = l->spare.keys;
    if (NAME(quick_few_floats)(l))
        return;
    atomic_uint unfinished = 0;
    const quick_job job = {sign, 0, true, l, &unfinished};
    quick_aside a = NAME(sort_numbers)(&job, l->from.keys, to, other, l->n, l->sorted_n);
    a.below = NAME(below_zero)(to, a.numbers, sign != 0);
    NAME(put_together)(&a, to, other);
}

/* ---- codes of all floats, for a stable sort ---------------------------------------------------------------------- */

/* NaNs of the two signs lie at the two ends of the order of sign and magnitude. A rotation by as many codes as there
 * are NaNs of a sign brings them together, where they belong. Then every code can be turned back, and ties are
 * neighbours: a stable sort is right if it never tells codes from each other that are ties. */
static KEY NAME(rotation)(const scan_sort_order *order) {
    const KEY nans = SIGN - INFINITY_BITS - 1;
    return order->nan == 0 ? nans : (KEY)-nans;
}

static NAME(ties) NAME(ties_of)(const scan_sort_order *order) {
    const KEY nans = 2 * (SIGN - INFINITY_BITS - 1);
    NAME(ties)
    t = {.zero = (KEY)(SIGN - 1 + NAME(rotation)(order)) ^ LEAST,
         .low = LEAST,
         .high = MOST,
         .flip = (KEY)order->flip,
         .offset = (KEY)(NAME(rotation)(order) + LEAST)};
    if (order->nan == 0)
        t.low = (KEY)(nans - 1) ^ LEAST;
    else
        t.high = (KEY)-nans ^ LEAST;
    return t;
}

/* The codes of n keys, in the order that vectors compare. */
static void NAME(rotate_in)(const scan_sort_order *order, const KEY *from, KEY *to, size_t n) {
    const KEY flip = (KEY)order->flip;
    const V rotation = V_SET1(NAME(rotation)(order) + LEAST);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        V_STORE(to + i, V_ADD(NAME(encode)(V_LOAD(from + i), flip), rotation));
    if (i < n) {
        const V_MASK some = V_BELOW(V_SET1(n - i), 0);
        V_MASK_STORE(to + i, some, V_ADD(NAME(encode)(V_MASK_LOAD(V_SET1(0), some, from + i), flip), rotation));
    }
}

/* Turns codes back into keys. */
SCAN_INLINE V NAME(turned_back)(const NAME(ties) * t, V codes) {
    return NAME(decode)(V_ADD(codes, V_SET1((KEY)-t->offset)), t->flip);
}
static void NAME(rotate_out)(const NAME(ties) * t, const KEY *from, KEY *to, size_t n) {
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        V_STORE(to + i, NAME(turned_back)(t, V_LOAD(from + i)));
    if (i < n) {
        const V_MASK some = V_BELOW(V_SET1(n - i), 0);
        V_MASK_STORE(to + i, some, NAME(turned_back)(t, V_MASK_LOAD(V_SET1(0), some, from + i)));
    }
}

/* One code for all that are ties. */
SCAN_INLINE V NAME(join_ties)(const NAME(ties) * t, V code) {
    code = V_SELECT(V_EQUAL(code, V_SET1(t->zero)), V_SET1(t->zero + 1), code);
    return V_MIN(V_MAX(code, V_SET1(t->low)), V_SET1(t->high));
}

/* The first and the last of the codes that are ties of a code. */
static KEY NAME(first_tie)(const NAME(ties) * t, KEY code) {
    const KEY place = code ^ LEAST;
    return code == t->zero + 1         ? t->zero
           : place <= (t->low ^ LEAST) ? LEAST
           : place > (t->high ^ LEAST) ? t->high
                                       : code;
}
static KEY NAME(last_tie)(const NAME(ties) * t, KEY code) {
    const KEY place = code ^ LEAST;
    return code == t->zero ? t->zero + 1 : place < (t->low ^ LEAST) ? t->low : place >= (t->high ^ LEAST) ? MOST : code;
}
