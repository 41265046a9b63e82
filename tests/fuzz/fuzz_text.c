/* SPDX-License-Identifier: MIT
 *
 * Lines of numbers, cut into pieces of a few bytes: no crash; every line has the value that number_parse gives for it
 * alone, and the type that follows from all lines; a refusal names the first line that is to be refused.
 */
#define TEXT_PIECE_BYTES 13
#include "apps/support/text.c"

#include "reading.h"

const char *const fuzz_seeds[] = {
    "1\n2\n-3\n",
    "\xef\xbb\xbf"
    "12345678\n123456789012345678\n-9223372036854775808\n9223372036854775807\n0\n",
    "1\r\n-0\r\n 7 \r\n+8",
    "18446744073709551615\n0\n9223372036854775808\n00001\n",
    "-0\n-0\n0.5\n1e3\nnan\n-inf\n.25\n9007199254740992\n",
    "9007199254740993\n1\n2.\n",
    "12345678901234567890123\n1x\n\n",
    NULL,
};

/* The simple reader: parses line after line; the first line that is not a number ends it. */
static expected_column parse_lines(const uint8_t *data, size_t bytes, const uint8_t **starts) {
    size_t room = bytes + 1;
    expected_column c = {.values = calloc(room, sizeof *c.values), .missing = calloc(room, sizeof *c.missing)};
    FUZZ_CHECK(c.values && c.missing);
    size_t at = bytes >= 3 && data[0] == 0xef && data[1] == 0xbb && data[2] == 0xbf ? 3 : 0;
    while (at < bytes) {
        size_t end = at, where;
        while (end < bytes && data[end] != '\n')
            end++;
        starts[c.n] = data + at;
        if (number_parse((const char *)data + at, end - at, &c.values[c.n], &where) != NUMBER_OK && !c.refused) {
            c.refused = true;
            c.row = c.n;
        }
        c.n++;
        at = end + 1;
    }
    if (!c.refused)
        settle(&c);
    return c;
}

static bool is_plain(const number *x, const uint8_t *line, size_t bytes) {
    char text[32];
    int n = x->type == SCAN_I64 ? snprintf(text, sizeof text, "%lld", (long long)x->value.i)
                                : snprintf(text, sizeof text, "%llu", (unsigned long long)x->value.u);
    return x->type != SCAN_F64 && (size_t)n == bytes && memcmp(text, line, bytes) == 0;
}

typedef struct run {
    text t;
    input in;
} run;

static void read_it(void *arg) {
    run *r = arg;
    text_read(&r->t, &r->in, NULL, 1);
    text_index(&r->t, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    run r = {.in = reading_of(data, bytes)};
    fatal_error error;
    const uint8_t **starts = calloc(bytes + 1, sizeof *starts);
    FUZZ_CHECK(starts);
    expected_column c = parse_lines(data, bytes, starts);
    if (die_catch(&error, read_it, &r)) {
        const text *t = &r.t;
        bool plain = true, ended = bytes == t->head_bytes || data[bytes - 1] == '\n';
        FUZZ_CHECK(!c.refused && t->n == c.n && t->values.n == c.n && t->values.type == c.type);
        FUZZ_CHECK(t->n_bytes == bytes + !ended && memcmp(t->bytes, data, bytes) == 0 && t->starts[c.n] == t->n_bytes);
        for (size_t i = 0; i < c.n; i++) {
            FUZZ_CHECK(t->values.u64[i] == expected_bits(&c, i));
            FUZZ_CHECK(t->starts[i] == (size_t)(starts[i] - data));
            plain &= is_plain(&c.values[i], starts[i], t->starts[i + 1] - t->starts[i] - 1);
        }
        FUZZ_CHECK(t->canonical == plain);
    } else {
        FUZZ_CHECK(c.refused && refused_line(&error) == c.row + 1);
    }
    text_free(&r.t);
    free(r.in.peek);
    free(starts);
    free(c.values);
    free(c.missing);
    return 0;
}
