/* SPDX-License-Identifier: MIT
 *
 * The names of a table's columns. They are read from the header when they are asked for: a header of a million short
 * names takes no more memory than its bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "table.h"
#include "table_field.h"

/* A place in the header: a field, and the byte it begins with. */
typedef struct place {
    const unsigned char *begin;
    field f;
} place;

static place first_name(const table *t) {
    return (place){t->names, read_field(t->names, t->names_end, (unsigned char)t->delimiter)};
}

static place next_name(const table *t, place p) {
    const unsigned char *begin = p.f.next + 1;
    return (place){begin, read_field(begin, t->names_end, (unsigned char)t->delimiter)};
}

/* How far the text at p advances by one character: inside quotes a quote is doubled. */
static size_t step(const place *p, const unsigned char *at) { return *p->begin == '"' && *at == '"' ? 2 : 1; }

static bool is_name(const place *p, const char *name) {
    const unsigned char *at = p->f.begin;
    for (; at < p->f.end && *name && *at == (unsigned char)*name; at += step(p, at))
        name++;
    return at >= p->f.end && !*name;
}

size_t table_find_name(const table *t, const char *name, size_t from) {
    if (!t->has_names)
        return t->columns;
    place p = first_name(t);
    for (size_t i = 0; i < t->columns; i++, p = i < t->columns ? next_name(t, p) : p)
        if (i >= from && is_name(&p, name))
            return i;
    return t->columns;
}

/* `name` has room for the field's bytes and one more. */
static void read_name(const place *p, char *name) {
    for (const unsigned char *at = p->f.begin; at < p->f.end; at += step(p, at))
        *name++ = (char)*at;
    *name = 0;
}

char *table_name(const table *t, size_t index) {
    place p = first_name(t);
    while (index-- > 0)
        p = next_name(t, p);
    char *name = must_alloc((size_t)(p.f.end - p.f.begin) + 1, 1);
    read_name(&p, name);
    return name;
}

/* ---- misspelt names ---------------------------------------------------------------------------------------------- */

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c; }

enum { EDITS_BYTES = 64 }; /* of a name that is compared so */

/* How many bytes of one name must be changed, inserted, left out or swapped with the next to make the other (Damerau
 * 1964), but for their case; at most one more than `limit`. */
static size_t edits(const char *a, const char *b, size_t limit) {
    size_t n = strlen(a), m = strlen(b), rows[3][EDITS_BYTES + 1];
    if (n > EDITS_BYTES || m > EDITS_BYTES)
        return limit + 1;
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = rows[i % 3], *before = rows[(i - 1) % 3], *two_before = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            size_t least = before[j - 1] + !same;
            least = before[j] + 1 < least ? before[j] + 1 : least;
            least = now[j - 1] + 1 < least ? now[j - 1] + 1 : least;
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
                least = two_before[j - 2] + 1 < least ? two_before[j - 2] + 1 : least;
            now[j] = least;
        }
    }
    return rows[n % 3][m] <= limit ? rows[n % 3][m] : limit + 1;
}

char *table_nearest_name(const table *t, const char *key) {
    size_t least = strlen(key) / 3 + 1, nearest = t->columns;
    place p = first_name(t);
    for (size_t i = 0; i < t->columns && least > 0; i++, p = i < t->columns ? next_name(t, p) : p) {
        char name[EDITS_BYTES + 1];
        if (p.f.end - p.f.begin > EDITS_BYTES)
            continue;
        read_name(&p, name);
        size_t distance = edits(key, name, least - 1);
        if (distance < least) {
            least = distance;
            nearest = i;
        }
    }
    return nearest < t->columns ? table_name(t, nearest) : NULL;
}

const char *table_advise_delimiter(const table *t) {
    static const struct {
        char delimiter;
        const char *advice;
    } likely[] = {
        {';', ": is --delimiter ';' meant?"},
        {'\t', ": is --tsv meant?"},
        {'|', ": is --delimiter '|' meant?"},
        {',', ": is --csv meant?"},
    };
    const bool one = t->columns == 1 && t->names;
    if (one && *t->names == '#' && !t->dialect->comment)
        return ": is --comment '#' meant?";
    for (size_t i = 0; one && i < sizeof likely / sizeof likely[0]; i++)
        if (memchr(t->names, likely[i].delimiter, (size_t)(t->names_end - t->names)))
            return likely[i].advice;
    return "";
}
