/* SPDX-License-Identifier: MIT
 *
 * Tables, cut into pieces of a few bytes: no crash; rows, names and numbers are those of a simple reader that goes
 * through the bytes once, and a refusal names the line at which that reader stops.
 */
#define TABLE_PIECE_BYTES 13
#define TABLE_PART_ROWS 3
#include "apps/support/table.c"
#include "apps/support/table_column.c"

#include "reading.h"

/* The first byte of the input: its lowest bit chooses tabs, the next one a header. */
const char *const fuzz_seeds[] = {
    "2a,b,c\n1,2,3\n4,5.5,-6\n",
    "2\xef\xbb\xbf\"a \"\"name\"\"\",b\r\n\"1\",\"two, three\"\r\n,\"line\nbreak\"\r\n7,8",
    "1x\ty\n\"1\t2\"\t3\n9007199254740993\t0.5\n",
    "0\"1\",\"2\"\n\"3\",\"4\"\n\"18446744073709551615\",-1\n",
    "21\n\n2\n\"\"\n-0\n0.25\n",
    "0a\"b,c\n1,\"open\n2,\"x\"y\n",
    NULL,
};

enum { MAX_COLUMNS = 64 };

typedef struct place {
    size_t begin, end; /* of the text, without quotes */
} place;

typedef struct reader {
    const uint8_t *data;
    size_t bytes;
    char delimiter;
    place *fields; /* row after row */
    size_t *starts, n, columns;
    size_t bad_line; /* 0: none */
} reader;

static uint8_t byte_at(const reader *r, size_t i) { return i < r->bytes ? r->data[i] : i == r->bytes ? '\n' : 0; }

static size_t line_of(const reader *r, size_t place) {
    size_t line = 1;
    for (size_t i = 0; i < place && i < r->bytes; i++)
        line += r->data[i] == '\n';
    return line;
}

/* Returns the end of the field at `at`, or SIZE_MAX if it is malformed. */
static size_t read_one(reader *r, size_t at, place *f) {
    bool quoted = byte_at(r, at) == '"';
    size_t i = at + quoted;
    for (;; i++) {
        if (i >= r->bytes && quoted) {
            r->bad_line = line_of(r, at);
            return SIZE_MAX;
        }
        uint8_t c = byte_at(r, i);
        if (quoted && c == '"' && byte_at(r, i + 1) == '"' && i + 1 < r->bytes)
            i++;
        else if (quoted ? c == '"' : c == '\n' || c == (uint8_t)r->delimiter)
            break;
        else if (!quoted && c == '"') {
            r->bad_line = line_of(r, i);
            return SIZE_MAX;
        }
    }
    *f = (place){at + quoted, i};
    if (!quoted) {
        f->end -= byte_at(r, i) == '\n' && i > at && byte_at(r, i - 1) == '\r';
        return i;
    }
    i++;
    i += byte_at(r, i) == '\r' && byte_at(r, i + 1) == '\n';
    if (byte_at(r, i) != '\n' && byte_at(r, i) != (uint8_t)r->delimiter) {
        r->bad_line = line_of(r, at);
        return SIZE_MAX;
    }
    return i;
}

static void read_all(reader *r, size_t at) {
    size_t filled = 0;
    while (at < r->bytes && !r->bad_line) {
        size_t fields = 0, begin = at;
        r->starts[r->n] = at;
        for (bool more = true; more; fields++) {
            at = read_one(r, at, &r->fields[filled + fields]);
            if (at == SIZE_MAX)
                return;
            more = byte_at(r, at++) != '\n';
        }
        if (r->n == 0)
            r->columns = fields;
        else if (fields != r->columns)
            r->bad_line = line_of(r, begin);
        filled += fields;
        r->n++;
    }
}

/* What the whole is refused for: UTF-16, and a first row with carriage returns where newlines should be. */
static void refuse_ends(reader *r) {
    for (size_t k = 0; k < r->columns; k++) {
        const place *f = &r->fields[k];
        bool quoted = f->begin > 0 && r->data[f->begin - 1] == '"';
        for (size_t i = f->begin; i < f->end && !quoted; i++)
            if (r->data[i] == '\r')
                r->bad_line = 1;
    }
    if (r->bytes >= 2 && ((r->data[0] == 0xff && r->data[1] == 0xfe) || (r->data[0] == 0xfe && r->data[1] == 0xff)))
        r->bad_line = 1;
}

/* ---- the table under test ---------------------------------------------------------------------------------------- */

typedef struct run {
    table t;
    input in;
    char delimiter;
    bool header;
    size_t column;
    column c;
} run;

static void read_it(void *arg) {
    run *r = arg;
    table_read(&r->t, &r->in, r->delimiter, r->header, 1);
}

static void read_numbers(void *arg) {
    run *r = arg;
    table_numbers(&r->t, r->column, &r->c, NULL, 1);
}

static void check_name(const reader *r, const char *name, const place *f) {
    bool quoted = f->begin > 0 && r->data[f->begin - 1] == '"';
    for (size_t i = f->begin; i < f->end; i++, name++) {
        if (r->data[i] == 0)
            return;
        FUZZ_CHECK(*name == (char)r->data[i]);
        i += quoted && r->data[i] == '"';
    }
    FUZZ_CHECK(*name == 0);
}

static void check_column(run *x, const reader *r) {
    size_t skip = x->header;
    expected_column c = {.n = r->n - skip};
    c.values = calloc(c.n + 1, sizeof *c.values);
    c.missing = calloc(c.n + 1, sizeof *c.missing);
    FUZZ_CHECK(c.values && c.missing);
    for (size_t i = 0; i < c.n && !c.refused; i++) {
        size_t where;
        const place *f = &r->fields[(i + skip) * r->columns + x->column];
        number_status status = number_parse((const char *)r->data + f->begin, f->end - f->begin, &c.values[i], &where);
        c.missing[i] = status == NUMBER_EMPTY;
        c.refused = status != NUMBER_OK && status != NUMBER_EMPTY;
        c.row = i;
    }
    if (!c.refused)
        settle(&c);
    fatal_error error;
    if (die_catch(&error, read_numbers, x)) {
        FUZZ_CHECK(!c.refused && x->c.type == c.type && x->c.n == c.n);
        for (size_t i = 0; i < c.n; i++)
            FUZZ_CHECK(x->c.u64[i] == expected_bits(&c, i));
    } else {
        FUZZ_CHECK(c.refused);
        FUZZ_CHECK(refused_line(&error) == line_of(r, r->fields[(c.row + skip) * r->columns + x->column].begin));
    }
    free(x->c.data);
    free(c.values);
    free(c.missing);
}

static void check_table(run *x, const reader *r) {
    const table *t = &x->t;
    size_t skip = x->header && r->n > 0;
    FUZZ_CHECK(t->n == r->n - skip && t->columns == r->columns && t->starts[t->n] == t->n_bytes);
    FUZZ_CHECK(t->n_bytes >= r->bytes && t->n_bytes <= r->bytes + 2 && memcmp(t->bytes, r->data, r->bytes) == 0);
    FUZZ_CHECK(t->n_bytes == t->head_bytes || t->bytes[t->n_bytes - 1] == '\n');
    for (size_t i = 0; i < t->n; i++) {
        FUZZ_CHECK(t->starts[i] == r->starts[i + skip]);
        FUZZ_CHECK(table_line(t, i) == line_of(r, r->starts[i + skip]));
    }
    for (size_t k = 0; k < t->columns && skip; k++) {
        const place *f = &r->fields[k];
        char *name = table_name(t, k);
        check_name(r, name, f);
        FUZZ_CHECK(memchr(r->data + f->begin, 0, f->end - f->begin) || table_find_name(t, name, k) == k);
        free(name);
    }
    for (x->column = 0; x->column < t->columns && x->column < MAX_COLUMNS; x->column++)
        check_column(x, r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (bytes == 0)
        return 0;
    run x = {.delimiter = data[0] & 1 ? '\t' : ',', .header = data[0] & 2};
    reader r = {.data = data + 1, .bytes = bytes - 1, .delimiter = x.delimiter};
    x.in = reading_of(r.data, r.bytes);
    r.fields = calloc(bytes + 1, sizeof *r.fields);
    r.starts = calloc(bytes + 1, sizeof *r.starts);
    FUZZ_CHECK(r.fields && r.starts);
    read_all(&r, r.bytes >= 3 && memcmp(r.data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
    refuse_ends(&r);
    fatal_error error;
    if (die_catch(&error, read_it, &x)) {
        FUZZ_CHECK(!r.bad_line);
        check_table(&x, &r);
    } else {
        FUZZ_CHECK(refused_line(&error) == r.bad_line);
    }
    table_free(&x.t);
    free(x.in.peek);
    free(r.fields);
    free(r.starts);
    return 0;
}
