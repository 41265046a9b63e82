/* SPDX-License-Identifier: MIT
 *
 * --where: translates an expression in infix notation to the postfix terms of scan_compact.
 *
 *     or      = and { "||" and }
 *     and     = not { "&&" not }
 *     not     = "!" not | "(" or ")" | test
 *     test    = COLUMN op NUMBER | NUMBER op COLUMN | "isnan" "(" COLUMN ")" | "isfinite" "(" COLUMN ")"
 *     op      = "<" | "<=" | ">" | ">=" | "==" | "!="
 *     COLUMN  = [A-Za-z_][A-Za-z0-9_]* | "`" any name "`"
 */
#ifndef APPS_COMPACT_EXPRESSION_H
#define APPS_COMPACT_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "scan/scan.h"

enum { EXPRESSION_REASON_BYTES = 320, EXPRESSION_NAME_BYTES = 256 };

/* Sets *column to the column number, as in scan_term, that a name stands for. False if there is no such column;
 * `reason` (of EXPRESSION_REASON_BYTES) then says so. `quoted`: the name stood in backticks. */
typedef bool expression_resolve(void *user, const char *name, bool quoted, uint32_t *column, char *reason);

typedef struct expression {
    scan_term terms[SCAN_MAX_TERMS];
    uint32_t term_count;
    char reason[EXPRESSION_REASON_BYTES + 64]; /* "column 7: ...", columns from 1, if parsing failed */
} expression;

bool expression_parse(expression *e, const char *text, expression_resolve *resolve, void *user);

#endif
