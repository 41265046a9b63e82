/* SPDX-License-Identifier: MIT
 *
 * The names of the library's enums as lists.
 */
#include <stdio.h>
#include <string.h>

#include "die.h"
#include "names.h"
#include "scan/scan.h"

enum { MAX_NAMES = 32 };

#define DEFINE_NAMES(NAME, ENUM, first)                                                                                \
    const char *const *NAME(void) {                                                                                    \
        static const char *names[MAX_NAMES + 1];                                                                       \
        for (int i = 0; i < MAX_NAMES && ENUM##_name((ENUM)(i + first)); i++)                                          \
            names[i] = ENUM##_name((ENUM)(i + first));                                                                 \
        return names;                                                                                                  \
    }

DEFINE_NAMES(op_names, scan_op, 0)
DEFINE_NAMES(grid_names, scan_grid, 0)
DEFINE_NAMES(block_names, scan_block, 0)
DEFINE_NAMES(sort_method_names, scan_sort_method, 0)
DEFINE_NAMES(like_names, scan_like, 0)
DEFINE_NAMES(type_names, scan_type, 1)

const char *const *integer_op_names(void) {
    static const char *names[MAX_NAMES + 1];
    size_t count = 0;
    for (int i = 0; op_names()[i]; i++)
        if (!scan_op_takes((scan_op)i, SCAN_F64))
            names[count++] = op_names()[i];
    return names;
}

char *names_join(char *text, size_t bytes, const char *const *names, const char *between) {
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; names[i] && length < bytes; i++)
        length += (size_t)snprintf(text + length, bytes - length, "%s%s", i ? between : "", names[i]);
    return text;
}

/* What stands for a list in a help text. An empty list leaves nothing, also of before and after. */
static const struct mark {
    const char *text;
    const char *const *(*names)(void);
    const char *before, *between, *after;
} marks[] = {
    {"{ops}", op_names, "", ", ", ""},
    {"{op|op}", op_names, "", "|", ""},
    {"{integer ops}", integer_op_names, "; ", ", ", ": integers only"},
    {"{types}", type_names, "", " ", ""},
};

/* Expands the mark that the help begins with; returns its length, 0 if there is none. */
static size_t expand_mark(char *text, size_t bytes, const char *help) {
    char list[512];
    if (*help == '@') {
        snprintf(text, bytes, "%s", program_name());
        return 1;
    }
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const struct mark *m = &marks[i];
        if (strncmp(help, m->text, strlen(m->text)) != 0)
            continue;
        text[0] = '\0';
        if (m->names()[0])
            snprintf(text, bytes, "%s%s%s", m->before, names_join(list, sizeof list, m->names(), m->between), m->after);
        return strlen(m->text);
    }
    return 0;
}

char *names_expand(char *text, size_t bytes, const char *help) {
    size_t length = 0;
    text[0] = '\0';
    while (*help && length + 1 < bytes) {
        size_t mark = expand_mark(text + length, bytes - length, help);
        if (mark)
            length += strlen(text + length);
        else
            text[length++] = *help;
        text[length] = '\0';
        help += mark ? mark : 1;
    }
    return text;
}
