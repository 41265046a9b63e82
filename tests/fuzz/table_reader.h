/* SPDX-License-Identifier: MIT
 *
 * A simple reader of tables, which goes through the bytes once: what table.h gives is compared with it.
 */
#ifndef TESTS_FUZZ_TABLE_READER_H
#define TESTS_FUZZ_TABLE_READER_H

#include "apps/support/dialect.h"
#include "fuzz.h"

typedef struct place {
    size_t begin, end; /* of the text, without quotes */
} place;

typedef struct reader {
    const uint8_t *data;
    size_t bytes;
    char delimiter;
    place *fields; /* row after row */
    size_t *starts, *ends, n, columns;
    const dialect *dialect;
    size_t bad_line; /* 0: none */
    bool is_json;    /* therefore */
} reader;

static inline uint8_t byte_at(const reader *r, size_t i) {
    return i < r->bytes ? r->data[i] : i == r->bytes ? '\n' : 0;
}

static inline size_t line_of(const reader *r, size_t place) {
    size_t line = 1;
    for (size_t i = 0; i < place && i < r->bytes; i++)
        line += r->data[i] == '\n';
    return line;
}

/* Returns the end of the field at `at`, or SIZE_MAX if it is malformed. */
static inline size_t read_one(reader *r, size_t at, place *f) {
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
        else if (!quoted && c == '"' && r->delimiter != '\t') {
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

static inline bool at_comment(const reader *r, size_t at) {
    return r->dialect->comment && at < r->bytes && byte_at(r, at) == (uint8_t)r->dialect->comment;
}

/* Returns the start of the line after a comment. */
static inline size_t after_line(const reader *r, size_t at) {
    while (at < r->bytes && byte_at(r, at) != '\n')
        at++;
    return at + 1;
}

/* Returns true if nothing but comments and empty lines follows. */
static inline bool is_rest_empty(const reader *r, size_t at) {
    while (at < r->bytes) {
        if (at_comment(r, at)) {
            at = after_line(r, at);
            continue;
        }
        at += byte_at(r, at) == '\r';
        if (byte_at(r, at) != '\n')
            return false;
        at++;
    }
    return true;
}

static inline void read_all(reader *r, size_t at) {
    size_t filled = 0;
    while (at < r->bytes && !r->bad_line) {
        if (at_comment(r, at)) {
            at = after_line(r, at);
            continue;
        }
        if (r->columns > 1 && is_rest_empty(r, at))
            break;
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
        r->ends[r->n++] = at < r->bytes ? at : r->bytes;
    }
}

static inline size_t after_blanks(const reader *r, size_t at) {
    while (at < r->bytes && r->data[at] && strchr(" \t\r\n", r->data[at]))
        at++;
    return at;
}

/* "{", '"' with blanks between, perhaps after "[", is no table of one column. */
static inline void refuse_json(reader *r, size_t begin) {
    size_t at = after_blanks(r, begin);
    if (byte_at(r, at) == '[')
        at = after_blanks(r, at + 1);
    if (byte_at(r, at) == '{' && byte_at(r, after_blanks(r, at + 1)) == '"')
        r->bad_line = line_of(r, begin), r->is_json = true;
}

/* What the whole is refused for: UTF-16, and a first row with carriage returns where newlines should be. */
static inline void refuse_ends(reader *r) {
    size_t refused = 0;
    for (size_t k = 0; k < r->columns; k++) {
        const place *f = &r->fields[k];
        bool quoted = f->begin > 0 && r->data[f->begin - 1] == '"';
        for (size_t i = f->begin; i < f->end && !quoted; i++)
            if (r->data[i] == '\r')
                refused = refused ? refused : line_of(r, f->begin);
    }
    r->bad_line = refused ? refused : r->bad_line;
    if ((r->n == 0 && r->bad_line) || r->columns == 1)
        refuse_json(r, r->starts[0]);
    if (r->bytes >= 2 && ((r->data[0] == 0xff && r->data[1] == 0xfe) || (r->data[0] == 0xfe && r->data[1] == 0xff)))
        r->bad_line = 1;
}

#endif
