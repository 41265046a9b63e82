/* SPDX-License-Identifier: MIT
 *
 * --where: translates an expression in infix notation to the postfix terms of scan_compact, and tests of text.
 *
 *     or      = and { "||" and }
 *     and     = not { "&&" not }
 *     not     = "!" not | "(" or ")" | test
 *     test    = COLUMN op value | value op COLUMN | COLUMN op COLUMN | COLUMN
 *             | COLUMN "in" "(" value { "," value } ")" | COLUMN "is" "missing"
 *             | COLUMN ("contains" | "startswith" | "endswith" | "matches") TEXT
 *             | "isnan" "(" COLUMN ")" | "isfinite" "(" COLUMN ")"
 *     value   = NUMBER | TEXT
 *     op      = "<" | "<=" | ">" | ">=" | "==" | "!="
 *     COLUMN  = [A-Za-z_][A-Za-z0-9_]* | "`" any name "`"
 *     TEXT    = '"' any text, '""' for '"', '"'
 */
#ifndef APPS_COMPACT_EXPRESSION_H
#define APPS_COMPACT_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "apps/support/strings.h"
#include "scan/scan.h"

enum { EXPRESSION_REASON_BYTES = 320, EXPRESSION_NAME_BYTES = 256 };

/* What is asked of a column: that it is there, or its numbers, or its text. COMPARED: that it is there; the name stands
 * where text could be meant, and the reason then says how text is written. */
typedef enum column_use { COLUMN_EXISTS, COLUMN_NUMBERS, COLUMN_TEXT, COLUMN_COMPARED } column_use;

/* Sets *column to the number that a name stands for: for NUMBERS that of a column as in scan_term, for TEXT any. False
 * if there is no such column; `reason` (of EXPRESSION_REASON_BYTES) then says so. `quoted`: the name stood in
 * backticks.
 */
typedef bool expression_resolve(void *user, const char *name, bool quoted, column_use use, uint32_t *column,
                                char *reason);

typedef enum text_op {
    TEXT_LT,
    TEXT_LE,
    TEXT_GT,
    TEXT_GE,
    TEXT_EQ,
    TEXT_NE,
    TEXT_CONTAINS,
    TEXT_STARTS,
    TEXT_ENDS,
    TEXT_MATCHES,
    TEXT_IN,
    TEXT_MISSING
} text_op;

/* A test that the library's terms do not have, of text, or of two columns of numbers: a term that compares column
 * EXPRESSION_TEST + i with 1 stands for the result of test i, 1 where it holds. Missing text passes TEXT_MISSING and no
 * other test. */
typedef struct text_test {
    text_op op;
    bool numbers;    /* compares `column` with `other`, as resolved for NUMBERS */
    uint32_t column; /* as resolved */
    uint32_t other;
    const string *items; /* what it is compared with: one, for IN several, sorted; for MISSING none */
    size_t item_count;
    struct pattern *pattern; /* of MATCHES, from text_tests_prepare on */
} text_test;

enum { EXPRESSION_TEST = 1 << 16, EXPRESSION_MAX_TESTS = SCAN_MAX_COLUMNS };

typedef struct expression {
    scan_term terms[SCAN_MAX_TERMS];
    uint32_t term_count;
    text_test tests[EXPRESSION_MAX_TESTS];
    uint32_t test_count;
    string *items; /* of all tests, and their bytes */
    size_t item_count;
    unsigned char *bytes;
    char reason[EXPRESSION_REASON_BYTES + 64]; /* "column 7: ...", columns from 1, if parsing failed */
} expression;

bool expression_parse(expression *e, const char *text, expression_resolve *resolve, void *user);

/* After expression_parse, whatever it returned. */
void expression_free(expression *e);

#endif
