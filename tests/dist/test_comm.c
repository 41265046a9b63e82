/* SPDX-License-Identifier: MIT
 *
 * Communicators: ranks, agreement, small data; failures that all ranks hear of, after which everything goes on.
 */
#include "dist_test.h"

static void agreement(const dist_test *t) {
    uint32_t rank = 99;
    CHECK_STATUS(scan_dist_agree(t->comm, SCAN_OK, NULL), SCAN_OK);
    for (uint32_t bad = 0; bad < t->size; bad++) {
        const bool mine = t->rank >= bad; /* the lowest counts */
        char words[32];
        snprintf(words, sizeof words, "no luck on %u", t->rank);
        CHECK_STATUS(scan_dist_agree(t->comm, mine ? SCAN_ERR_DEVICE : SCAN_OK, words),
                     mine ? SCAN_ERR_DEVICE : SCAN_ERR_PEER);
        CHECK(scan_dist_cause(t->comm, &rank) == SCAN_ERR_DEVICE && rank == bad, "rank %u", rank);
        snprintf(words, sizeof words, mine ? "no luck on %u" : "rank %u: no luck on %u", mine ? t->rank : bad, bad);
        CHECK(strcmp(scan_dist_detail(t->comm), words) == 0, "%s", scan_dist_detail(t->comm));
    }
    CHECK_STATUS(scan_dist_agree(t->comm, SCAN_OK, NULL), SCAN_OK);
    CHECK(scan_dist_detail(t->comm)[0] == 0, "%s", scan_dist_detail(t->comm));
}

static void gathering(const dist_test *t) {
    enum { MOST = 100000 };
    static const size_t sizes[] = {0, 1, 7, 8, 1000, MOST};
    unsigned char *all = make_bytes(MAX_RANKS * MOST), *mine = make_bytes(MOST);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t bytes = sizes[i];
        memset(mine, (int)t->rank + 1, MOST);
        memset(all, 0, t->size * bytes);
        CHECK_STATUS(scan_dist_all_gather(t->comm, mine, bytes, all), SCAN_OK);
        for (size_t k = 0; k < t->size * bytes; k++)
            CHECK(all[k] == k / bytes + 1, "byte %zu of %zu", k, bytes);
    }
    CHECK_STATUS(scan_dist_all_gather(t->comm, t->rank ? mine : NULL, 4, all),
                 t->rank ? SCAN_ERR_PEER : SCAN_ERR_ARGUMENT);
    if (t->size > 1) /* ranks that do not do the same */
        CHECK_STATUS(scan_dist_all_gather(t->comm, mine, t->rank == 1 ? 4 : 8, all), SCAN_ERR_ARGUMENT);
    free_bytes(all);
    free_bytes(mine);
}

/* Rank a sends (3 a + b) % 5 thousand bytes to rank b; byte k of them is a + b + k. */
static size_t amount(size_t a, size_t b) { return (3 * a + b) % 5 * 1000; }

static void all_to_all(const dist_test *t) {
    unsigned char *to = make_bytes(MAX_RANKS * 4000), *from = make_bytes(MAX_RANKS * 4000), *at = to;
    size_t to_bytes[MAX_RANKS], from_bytes[MAX_RANKS];
    for (size_t r = 0; r < t->size; r++) {
        to_bytes[r] = amount(t->rank, r);
        from_bytes[r] = amount(r, t->rank);
        for (size_t k = 0; k < to_bytes[r]; k++)
            *at++ = (unsigned char)(t->rank + r + k);
    }
    CHECK_STATUS(scan_dist_all_to_all(t->comm, to, to_bytes, from, from_bytes), SCAN_OK);
    at = from;
    for (size_t r = 0; r < t->size; r++)
        for (size_t k = 0; k < from_bytes[r]; k++)
            CHECK(*at++ == (unsigned char)(t->rank + r + k), "byte %zu from %zu", k, r);
    if (t->rank == 0)
        from_bytes[0]++;
    CHECK_STATUS(scan_dist_all_to_all(t->comm, to, to_bytes, from, from_bytes),
                 t->rank == 0 ? SCAN_ERR_ARGUMENT : SCAN_ERR_PEER);
    free_bytes(to);
    free_bytes(from);
}

static void contexts(const dist_test *t) {
    scan_dist_info info = {.struct_size = sizeof info};
    const scan_dist_options zero = {0};
    scan_dist_comm *comm = t->comm;
    CHECK_STATUS(scan_dist_comm_info(t->comm, &info), SCAN_OK);
    CHECK(info.local_rank == info.rank && info.local_size == info.size && !info.broken, "one machine");
    info.struct_size = 8;
    CHECK_STATUS(scan_dist_comm_info(t->comm, &info), SCAN_ERR_VERSION);
    CHECK_STATUS(scan_dist_comm_create(&comm, &zero), SCAN_ERR_VERSION);
    CHECK(!comm, "a communicator");
    /* before any is in use */
    scan_prefix_desc desc = {.struct_size = sizeof desc, .type = SCAN_U8};
    uint8_t one = 1;
    CHECK_STATUS(scan_dist_prefix(t->comm, &desc, &one, &one, 1), SCAN_ERR_ARGUMENT);
    if (t->size > 1) {
        CHECK_STATUS(scan_dist_comm_use(t->comm, t->rank ? t->ctx : NULL), SCAN_ERR_ARGUMENT);
    }
    CHECK_STATUS(scan_dist_comm_use(t->comm, t->ctx), SCAN_OK);
}

/* A second communicator beside the first: neither takes what is for the other. */
static void second(const dist_test *t) {
    scan_dist_comm *other;
    uint32_t all[MAX_RANKS];
    CHECK_STATUS(scan_dist_comm_create(&other, NULL), SCAN_OK);
    if (t->rank % 2) {
        CHECK_STATUS(scan_dist_comm_use(other, t->whole), SCAN_OK);
    } else {
        CHECK_STATUS(scan_dist_comm_use(other, t->ctx), SCAN_OK);
    }
    CHECK_STATUS(scan_dist_all_gather(other, &t->rank, sizeof t->rank, all), SCAN_OK);
    for (uint32_t r = 0; r < t->size; r++)
        CHECK(all[r] == r, "%u", all[r]);
    scan_dist_comm_destroy(other);
    scan_dist_comm_destroy(NULL);
}

void test_comm(const dist_test *t) {
    contexts(t);
    agreement(t);
    gathering(t);
    all_to_all(t);
    if (!t->on_device)
        second(t);
}
