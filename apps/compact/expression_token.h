/* SPDX-License-Identifier: MIT
 *
 * The tokens of --where, for its parser.
 */
#ifndef APPS_COMPACT_EXPRESSION_TOKEN_H
#define APPS_COMPACT_EXPRESSION_TOKEN_H

#include "apps/support/number.h"
#include "expression.h"

typedef struct parser {
    expression *e;
    const char *text, *at;
    expression_resolve *resolve;
    void *user;
    unsigned depth;
    unsigned char *pool; /* where the bytes of the next text go */
} parser;

/* Sets the reason of the failure at `where`; returns false. */
__attribute__((format(printf, 3, 4))) bool expression_fail(parser *p, const char *where, const char *format, ...);

void token_skip_blanks(parser *p);

/* Takes a symbol, with blanks before it. Returns false if another one stands there. */
bool token_take(parser *p, const char *symbol);

/* Returns the length of the word [A-Za-z_][A-Za-z0-9_]* at `at`, 0 if there is none. */
size_t token_word_length(const char *at);

/* Returns true if the word at `at` is this one, in any case. */
bool token_is_word(const char *at, const char *word);

/* Returns the bytes of the character at `at`, for messages; 1 if it is not valid UTF-8. */
int token_letter_bytes(const char *at);

/* Returns true where a number begins. nan and inf are numbers; columns of such a name need backticks. */
bool token_at_number(const char *at);

/* The rest take one token. On failure the reason is set, and they return false. */
bool token_take_number(parser *p, number *x);

typedef struct token_name {
    const char *start;
    bool quoted; /* in backticks */
    char name[EXPRESSION_NAME_BYTES];
} token_name;
bool token_take_name(parser *p, token_name *name);

/* In double quotes, in which a doubled one stands for one. */
bool token_take_text(parser *p, string *text);

#endif
