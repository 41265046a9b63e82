/* SPDX-License-Identifier: MIT
 *
 * Tables, as a whole, cut into pieces of a few bytes, and read in chunks of a few bytes: no crash; rows, fields, names
 * and numbers are those of a simple reader that goes through the bytes once, and a refusal names the line at which that
 * reader stops.
 */
#define TABLE_PIECE_BYTES 13
#define TABLE_PART_ROWS 3
#define TABLE_CHUNK_BYTES 19
#include "apps/support/table.c"
#include "apps/support/table_chunks.c"
#include "apps/support/table_column.c"
#include "apps/support/table_comment.c"
#include "apps/support/table_index.c"

#include "reading.h"
#include "table_reader.h"

/* The first byte of the input: bit 0 chooses tabs, bit 1 a header, bit 2 comments, bit 3 words that are missing, bit 6
 * semicolons, decimal commas, and points between groups of digits, bit 7 alone commas between groups. */
const char *const fuzz_seeds[] = {
    "2a,b,c\n1,2,3\n4,5.5,-6\n",
    "2\xef\xbb\xbf\"a \"\"name\"\"\",b\r\n\"1\",\"two, three\"\r\n,\"line\nbreak\"\r\n7,8",
    "1x\ty\n\"1\t2\"\t3\n9007199254740993\t0.5\n",
    "0\"1\",\"2\"\n\"3\",\"4\"\n\"18446744073709551615\",-1\n",
    "21\n\n2\n\"\"\n-0\n0.25\n",
    "0a\"b,c\n1,\"open\n2,\"x\"y\n",
    "3a \"b\" c\td\n5\" pipe\t\"q\"\"\"\n\"\t\"\t\"\n\"\n\n\n",
    "6# \"one\na,b\n1,\"x\n#y\"\n# two\n#\n2,3\n\r\n#",
    "2{\"a\": 1, \"b\": 2}\n",
    "2[\n { \"a\": 1 } ]\n",
    "2a,b\n\"xxxxxxxxxxxxxxxx\n\n\",1\n,\r\n\n\n2,\"\"\r\n\n\r\n",
    "0aaaaaaaaaaaaaaaaaaaaa,b\nccccccccccccccccccccc,\"d\ndddddddddddddddddddddddd\"\ne,\"f\"g\n",
    "N#;\nn;m\n1.234,5;-\n-12,25;7\nx;\"x\"\n1.23;1,\n",
    "\xb2n,m\n\"1,234.5\",1\n\"12,34\",-2\n",
    NULL,
};

enum { MAX_COLUMNS = 64 };

/* ---- the table under test ---------------------------------------------------------------------------------------- */

typedef struct run {
    table t;
    input in;
    dialect dialect;
    size_t column;
    column c;
} run;

static void read_it(void *arg) {
    run *r = arg;
    table_read(&r->t, &r->in, &r->dialect, 1);
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

static bool is_word(const reader *r, const place *f, const char *word) {
    bool quoted = f->begin > 0 && r->data[f->begin - 1] == '"' && byte_at(r, f->end) == '"';
    return !quoted && f->end - f->begin == strlen(word) && memcmp(r->data + f->begin, word, f->end - f->begin) == 0;
}

/* A number as the dialect writes it, "-1.234,5e6", as it is without. Any other text becomes one that is no number. */
static size_t plain_text(const dialect *d, const char *from, size_t bytes, char *to) {
    size_t i = 0, n = 0, start, end = bytes;
    while (i < end && (from[i] == ' ' || from[i] == '\t'))
        i++;
    end -= end > i && from[end - 1] == '\r';
    while (end > i && (from[end - 1] == ' ' || from[end - 1] == '\t'))
        end--;
    if (i < end && (from[i] == '-' || from[i] == '+'))
        to[n++] = from[i++];
    for (start = i; i < end && ((from[i] >= '0' && from[i] <= '9') || from[i] == d->thousands); i++)
        if (from[i] != d->thousands)
            to[n++] = from[i];
    bool grouped = memchr(from + start, d->thousands, i - start) != NULL;
    for (size_t k = 1; grouped && k <= i - start; k++)
        if ((from[i - k] == d->thousands) != (k % 4 == 0) || (k == i - start && k % 4 == 0))
            to[n++] = 'x';
    for (; i < end; i++)
        to[n++] = from[i] == d->decimal ? '.' : from[i] == d->thousands || from[i] == '.' ? 'x' : from[i];
    return n;
}

static number_status expected_number(const reader *r, const place *f, number *x) {
    char text[2 * 4096 + 1];
    size_t where, bytes = f->end - f->begin;
    const char *from = (const char *)r->data + f->begin;
    if (r->dialect->missing && (is_word(r, f, "x") || is_word(r, f, "7")))
        return NUMBER_EMPTY;
    if (!r->dialect->thousands)
        return number_parse(from, bytes, x, &where);
    if (bytes > DIALECT_NUMBER_BYTES) /* more than libFuzzer is asked for */
        return NUMBER_SYNTAX;
    return number_parse(text, plain_text(r->dialect, from, bytes, text), x, &where);
}

static void check_column(run *x, const reader *r) {
    size_t skip = x->dialect.header;
    expected_column c = {.n = r->n - skip};
    c.values = calloc(c.n + 1, sizeof *c.values);
    c.missing = calloc(c.n + 1, sizeof *c.missing);
    FUZZ_CHECK(c.values && c.missing);
    for (size_t i = 0; i < c.n && !c.refused; i++) {
        const place *f = &r->fields[(i + skip) * r->columns + x->column];
        number_status status = expected_number(r, f, &c.values[i]);
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
    size_t skip = x->dialect.header && r->n > 0;
    FUZZ_CHECK(t->n == r->n - skip && t->columns == r->columns && t->starts[t->n] == t->n_bytes);
    FUZZ_CHECK(t->n_bytes == t->head_bytes || t->bytes[t->n_bytes - 1] == '\n');
    for (size_t i = 0; i < t->n; i++) {
        size_t bytes = r->ends[i + skip] - r->starts[i + skip], more = t->starts[i + 1] - t->starts[i] - bytes;
        FUZZ_CHECK(memcmp(t->bytes + t->starts[i], r->data + r->starts[i + skip], bytes) == 0);
        FUZZ_CHECK(more == 0 || (i + 1 == t->n && more <= 2 && t->bytes[t->n_bytes - 1] == '\n'));
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

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

typedef struct chunk_run {
    input in;
    const reader *r;
    table_chunks all;
    table_chunk chunk;
    size_t rows;
} chunk_run;

/* The rows of a chunk are those that the reader has after as many. */
static void check_chunk(const chunk_run *x) {
    const table *t = &x->chunk.t;
    const reader *r = x->r;
    FUZZ_CHECK((t->n > 0 || r->dialect->comment) && x->rows + t->n <= r->n && t->columns == r->columns &&
               t->starts[t->n] == t->n_bytes);
    for (size_t i = 0; i < t->n; i++) {
        size_t row = x->rows + i, bytes = r->ends[row] - r->starts[row], more = t->starts[i + 1] - t->starts[i] - bytes;
        FUZZ_CHECK(memcmp(t->bytes + t->starts[i], r->data + r->starts[row], bytes) == 0);
        FUZZ_CHECK(more == 0 || (row + 1 == r->n && more <= 2));
        FUZZ_CHECK(table_line(t, i) == line_of(r, r->starts[row]));
        for (size_t k = 0; k < t->columns; k++) {
            field f = table_field_of(t, i, k);
            const place *expected = &r->fields[row * r->columns + k];
            size_t length = expected->end - expected->begin;
            FUZZ_CHECK((size_t)(f.end - f.begin) == length);
            FUZZ_CHECK(memcmp(f.begin, r->data + expected->begin, length) == 0);
            FUZZ_CHECK(field_is_quoted(&f) == (expected->begin > 0 && r->data[expected->begin - 1] == '"' &&
                                               byte_at(r, expected->end) == '"' && expected->end < r->bytes));
        }
    }
}

static void read_chunks(void *arg) {
    chunk_run *x = arg;
    const table *head = &x->all.head;
    table_chunks_open(&x->all, &x->in, x->r->dialect);
    x->rows = x->r->dialect->header && head->columns;
    size_t lines = input_count_bytes(head->bytes, head->bytes + head->head_bytes, '\n');
    while (table_chunks_next(&x->all, &x->chunk)) {
        table_chunk_place(&x->chunk, lines);
        table_find_rows(&x->chunk);
        if (!x->r->bad_line)
            check_chunk(x);
        x->rows += x->chunk.t.n;
        lines += table_chunk_lines(&x->chunk);
    }
}

static void check_chunks(const reader *r) {
    chunk_run x = {.in = reading_of(r->data, r->bytes), .r = r};
    fatal_error error;
    if (die_catch(&error, read_chunks, &x))
        FUZZ_CHECK(!r->bad_line && x.rows == r->n);
    else
        FUZZ_CHECK(refused_line(&error) == r->bad_line);
    table_chunk_free(&x.chunk);
    table_chunks_close(&x.all);
    free(x.in.peek);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (bytes == 0)
        return 0;
    run x = {.dialect = DIALECT_DEFAULT};
    x.dialect.delimiter = data[0] & 1 ? '\t' : data[0] & 64 ? ';' : ',';
    x.dialect.header = data[0] & 2;
    x.dialect.comment = data[0] & 4 ? '#' : 0;
    x.dialect.missing = data[0] & 8 ? "x,7" : NULL;
    x.dialect.decimal = data[0] & 64 ? ',' : '.';
    x.dialect.thousands = data[0] & 64 ? '.' : data[0] & 128 ? ',' : 0;
    reader r = {.data = data + 1, .bytes = bytes - 1, .delimiter = x.dialect.delimiter, .dialect = &x.dialect};
    x.in = reading_of(r.data, r.bytes);
    r.fields = calloc(bytes + 1, sizeof *r.fields);
    r.starts = calloc(bytes + 1, sizeof *r.starts);
    r.ends = calloc(bytes + 1, sizeof *r.ends);
    FUZZ_CHECK(r.fields && r.starts && r.ends);
    read_all(&r, r.bytes >= 3 && memcmp(r.data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
    refuse_ends(&r);
    fatal_error error;
    if (die_catch(&error, read_it, &x)) {
        FUZZ_CHECK(!r.bad_line);
        check_table(&x, &r);
    } else {
        FUZZ_CHECK(refused_line(&error) == r.bad_line);
    }
    if (!r.is_json) /* of JSON more than a chunk of a few bytes must be seen */
        check_chunks(&r);
    table_free(&x.t);
    free(x.in.peek);
    free(r.fields);
    free(r.starts);
    free(r.ends);
    return 0;
}
