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
    const unsigned char *begin = t->bytes + t->names_at;
    return (place){begin, read_field(begin, t->bytes + t->n_bytes, (unsigned char)t->delimiter)};
}

static place next_name(const table *t, place p) {
    const unsigned char *begin = p.f.next + 1;
    return (place){begin, read_field(begin, t->bytes + t->n_bytes, (unsigned char)t->delimiter)};
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

char *table_name(const table *t, size_t index) {
    place p = first_name(t);
    while (index-- > 0)
        p = next_name(t, p);
    char *name = must_alloc((size_t)(p.f.end - p.f.begin) + 1, 1);
    size_t length = 0;
    for (const unsigned char *at = p.f.begin; at < p.f.end; at += step(&p, at))
        name[length++] = (char)*at;
    name[length] = 0;
    return name;
}
