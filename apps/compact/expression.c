/* SPDX-License-Identifier: MIT
 *
 * Recursive descent over --where. Integers of up to 64 bits stay integers, so that a comparison with 2^63 + 1 is exact;
 * other numbers are the nearest double. Mistakes that come from other languages get a hint.
 */
#include "expression.h"

#include <stdlib.h>
#include <string.h>

#include "apps/support/alloc.h"
#include "expression_token.h"

enum { MAX_DEPTH = 200 };

static bool parse_or(parser *p);

/* ---- terms ------------------------------------------------------------------------------------------------------- */

static bool emit(parser *p, scan_term term) {
    if (p->e->term_count == SCAN_MAX_TERMS)
        return expression_fail(p, p->at, "more than %d comparisons and joins", SCAN_MAX_TERMS);
    p->e->terms[p->e->term_count++] = term;
    return true;
}

static const struct {
    const char *symbol; /* longer ones first: the first that matches is taken */
    scan_term_op op, mirrored;
} operators[] = {
    {"<=", SCAN_TERM_LE, SCAN_TERM_GE}, {">=", SCAN_TERM_GE, SCAN_TERM_LE}, {"==", SCAN_TERM_EQ, SCAN_TERM_EQ},
    {"!=", SCAN_TERM_NE, SCAN_TERM_NE}, {"<", SCAN_TERM_LT, SCAN_TERM_GT},  {">", SCAN_TERM_GT, SCAN_TERM_LT},
};

/* Position in `operators`, or -1. */
static int look_operator(parser *p) {
    token_skip_blanks(p);
    for (int i = 0; i < 6; i++)
        if (strncmp(p->at, operators[i].symbol, strlen(operators[i].symbol)) == 0)
            return i;
    return -1;
}

static bool take_operator(parser *p, int *which) {
    *which = look_operator(p);
    if (*which >= 0) {
        p->at += strlen(operators[*which].symbol);
        if (*p->at == '=' || *p->at == '>' || *p->at == '<')
            return expression_fail(p, p->at, "'%c' after %s is no operator", *p->at, operators[*which].symbol);
        return true;
    }
    if (*p->at == '=')
        return expression_fail(p, p->at, "equality is written ==");
    if (!*p->at)
        return expression_fail(p, p->at, "the expression ends where < <= > >= == or != is expected");
    return expression_fail(
        p, p->at, "'%.*s' stands where < <= > >= == or != is expected%s", token_letter_bytes(p->at), p->at,
        token_word_length(p->at) ? "; words are contains, startswith, endswith, matches, in, is" : "");
}

/* The column of a name that is known to be there. */
static bool use_column(parser *p, const token_name *name, column_use use, uint32_t *column) {
    char reason[EXPRESSION_REASON_BYTES];
    if (p->resolve(p->user, name->name, name->quoted, use, column, reason))
        return true;
    return expression_fail(p, name->start, "%s", reason);
}

static bool take_column(parser *p, token_name *name) {
    uint32_t column;
    return token_take_name(p, name) && use_column(p, name, COLUMN_EXISTS, &column);
}

static bool emit_number(parser *p, const token_name *name, scan_term_op op, const number *x) {
    uint32_t column;
    return use_column(p, name, COLUMN_NUMBERS, &column) &&
           emit(p, (scan_term){.op = op, .column = column, .constant_type = x->type, .constant = x->value});
}

static bool emit_test(parser *p, const token_name *name, text_test test) {
    expression *e = p->e;
    if (e->test_count == EXPRESSION_MAX_TESTS)
        return expression_fail(p, name->start, "more than %d tests of text or of two columns", EXPRESSION_MAX_TESTS);
    e->tests[e->test_count] = test;
    return emit(p, (scan_term){.op = SCAN_TERM_EQ,
                               .column = EXPRESSION_TEST + e->test_count++,
                               .constant_type = SCAN_U64,
                               .constant.u = 1});
}

/* A test with the last item_count texts that were taken. */
static bool emit_text(parser *p, const token_name *name, text_op op, size_t item_count) {
    text_test test = {.op = op, .items = p->e->items + p->e->item_count - item_count, .item_count = item_count};
    return use_column(p, name, COLUMN_TEXT, &test.column) && emit_test(p, name, test);
}

static bool emit_columns(parser *p, const token_name *name, text_op op, const token_name *other) {
    text_test test = {.op = op, .numbers = true};
    return use_column(p, name, COLUMN_NUMBERS, &test.column) && use_column(p, other, COLUMN_NUMBERS, &test.other) &&
           emit_test(p, name, test);
}

static bool take_item(parser *p) { return token_take_text(p, &p->e->items[p->e->item_count]) && ++p->e->item_count; }

static bool ends_comparison(parser *p) {
    return look_operator(p) < 0 || expression_fail(p, p->at, "comparisons do not chain, join two with &&");
}

_Static_assert(TEXT_LT == (int)SCAN_TERM_LT && TEXT_LE == (int)SCAN_TERM_LE && TEXT_GT == (int)SCAN_TERM_GT &&
                   TEXT_GE == (int)SCAN_TERM_GE && TEXT_EQ == (int)SCAN_TERM_EQ && TEXT_NE == (int)SCAN_TERM_NE,
               "comparisons of numbers and of text are numbered alike");

static bool parse_value_first(parser *p) {
    token_name name;
    number x;
    int which;
    bool text = *p->at == '"';
    if (!(text ? take_item(p) : token_take_number(p, &x)) || !take_operator(p, &which))
        return false;
    token_skip_blanks(p);
    bool other_text = *p->at == '"';
    const char *kind = text ? "texts" : "numbers";
    if (other_text || token_at_number(p->at))
        return expression_fail(p, p->at, "two %s are compared, one side must be a column",
                               text == other_text ? kind : "values");
    if (!take_column(p, &name) || !ends_comparison(p))
        return false;
    scan_term_op op = operators[which].mirrored;
    return text ? emit_text(p, &name, (text_op)op, 1) : emit_number(p, &name, op, &x);
}

static bool parse_comparison(parser *p, const token_name *name) {
    number x;
    int which;
    if (!take_operator(p, &which))
        return false;
    token_skip_blanks(p);
    if (*p->at == '"')
        return take_item(p) && ends_comparison(p) && emit_text(p, name, (text_op)operators[which].op, 1);
    if (*p->at == '\'')
        return expression_fail(p, p->at, "text goes in double quotes");
    if (!*p->at)
        return expression_fail(p, p->at, "the expression ends where a number, a column or text is expected");
    if (!token_at_number(p->at)) {
        token_name other;
        uint32_t column;
        if (!token_word_length(p->at) && *p->at != '`')
            return expression_fail(p, p->at, "'%.*s' stands where a number, a column or text is expected",
                                   token_letter_bytes(p->at), p->at);
        return token_take_name(p, &other) && use_column(p, &other, COLUMN_COMPARED, &column) && ends_comparison(p) &&
               emit_columns(p, name, (text_op)operators[which].op, &other);
    }
    return token_take_number(p, &x) && ends_comparison(p) && emit_number(p, name, operators[which].op, &x);
}

/* COLUMN in (value, ...): numbers become comparisons joined by OR. */
static bool parse_list(parser *p, const token_name *name) {
    size_t count = 0;
    if (!token_take(p, "("))
        return expression_fail(p, p->at, "a list is written (1, 2) or (\"a\", \"b\")");
    token_skip_blanks(p);
    bool text = *p->at == '"' || *p->at == '\'';
    do {
        number x;
        token_skip_blanks(p);
        if (!text && !token_at_number(p->at))
            return expression_fail(p, p->at,
                                   *p->at == '"' ? "a list is of numbers or of text, not of both"
                                                 : "a number or text is expected in the list");
        if (!(text ? take_item(p) : token_take_number(p, &x) && emit_number(p, name, SCAN_TERM_EQ, &x)))
            return false;
        if (!text && count > 0 && !emit(p, (scan_term){.op = SCAN_TERM_OR}))
            return false;
        count++;
    } while (token_take(p, ","));
    if (!token_take(p, ")"))
        return expression_fail(p, p->at, "',' or ')' is expected in the list");
    return !text || emit_text(p, name, TEXT_IN, count);
}

static const struct {
    const char *word;
    text_op op;
} text_words[] = {
    {"contains", TEXT_CONTAINS}, {"startswith", TEXT_STARTS}, {"endswith", TEXT_ENDS}, {"matches", TEXT_MATCHES}};

/* Takes a word in this case. */
static bool take_word(parser *p, const char *word) {
    size_t n = strlen(word);
    token_skip_blanks(p);
    bool there = token_word_length(p->at) == n && memcmp(p->at, word, n) == 0;
    p->at += there ? n : 0;
    return there;
}

static bool parse_column_first(parser *p) {
    token_name name;
    if (!take_column(p, &name))
        return false;
    for (size_t i = 0; i < sizeof text_words / sizeof text_words[0]; i++)
        if (take_word(p, text_words[i].word))
            return take_item(p) && emit_text(p, &name, text_words[i].op, 1);
    if (take_word(p, "in"))
        return parse_list(p, &name);
    if (take_word(p, "is"))
        return take_word(p, "missing")
                   ? emit_text(p, &name, TEXT_MISSING, 0)
                   : expression_fail(p, p->at, "after 'is' stands 'missing'; !(COLUMN is missing) is its negation");
    return parse_comparison(p, &name);
}

/* True at isnan(COLUMN), isfinite(COLUMN). Without a parenthesis the word is a column's name. */
static bool at_test(const char *at, const char *word) {
    size_t n = strlen(word);
    return token_word_length(at) == n && memcmp(at, word, n) == 0 && at[n + strspn(at + n, " \t\r\n")] == '(';
}

static bool parse_test(parser *p, const char *word, scan_term_op op) {
    token_name name;
    uint32_t column;
    p->at += strlen(word);
    if (!token_take(p, "(") || !take_column(p, &name))
        return false;
    if (!token_take(p, ")"))
        return expression_fail(p, p->at, "%s takes one column, ')' is missing", word);
    return use_column(p, &name, COLUMN_NUMBERS, &column) && emit(p, (scan_term){.op = op, .column = column});
}

static bool parse_not(parser *p) {
    if (++p->depth > MAX_DEPTH)
        return expression_fail(p, p->at, "parentheses and ! are nested deeper than %d", MAX_DEPTH);
    bool good;
    token_skip_blanks(p);
    if (*p->at == '!' && p->at[1] != '=') {
        p->at++;
        good = parse_not(p) && emit(p, (scan_term){.op = SCAN_TERM_NOT});
    } else if (*p->at == '(') {
        const char *open = p->at++;
        good = parse_or(p) && (token_take(p, ")") || expression_fail(p, p->at, "the ')' for column %zu is missing",
                                                                     (size_t)(open - p->text) + 1));
    } else if (at_test(p->at, "isnan")) {
        good = parse_test(p, "isnan", SCAN_TERM_ISNAN);
    } else if (at_test(p->at, "isfinite")) {
        good = parse_test(p, "isfinite", SCAN_TERM_ISFINITE);
    } else {
        good = *p->at == '"' || token_at_number(p->at) ? parse_value_first(p) : parse_column_first(p);
    }
    p->depth--;
    return good;
}

static bool parse_and(parser *p) {
    if (!parse_not(p))
        return false;
    while (token_take(p, "&&"))
        if (!parse_not(p) || !emit(p, (scan_term){.op = SCAN_TERM_AND}))
            return false;
    return true;
}

static bool parse_or(parser *p) {
    if (!parse_and(p))
        return false;
    while (token_take(p, "||"))
        if (!parse_and(p) || !emit(p, (scan_term){.op = SCAN_TERM_OR}))
            return false;
    return true;
}

static int compare_items(const void *a, const void *b) { return string_compare(a, b); }

bool expression_parse(expression *e, const char *text, expression_resolve *resolve, void *user) {
    parser p = {.e = e, .text = text, .at = text, .resolve = resolve, .user = user};
    size_t bytes = strlen(text);
    *e = (expression){.items = must_alloc(bytes / 2 + 1, sizeof *e->items), .bytes = must_alloc(bytes + 1, 1)};
    p.pool = e->bytes;
    if (!parse_or(&p))
        return false;
    token_skip_blanks(&p);
    if (*p.at == '&' || token_is_word(p.at, "and"))
        return expression_fail(&p, p.at, "\"and\" is written &&");
    if (*p.at == '|' || token_is_word(p.at, "or"))
        return expression_fail(&p, p.at, "\"or\" is written ||");
    if (*p.at)
        return expression_fail(&p, p.at, "'%.*s' stands where && or || or the end is expected",
                               token_letter_bytes(p.at), p.at);
    for (uint32_t i = 0; i < e->test_count; i++)
        if (e->tests[i].op == TEXT_IN)
            qsort((string *)(uintptr_t)e->tests[i].items, e->tests[i].item_count, sizeof(string), compare_items);
    return true;
}

void expression_free(expression *e) {
    free(e->items);
    free(e->bytes);
    e->items = NULL;
    e->bytes = NULL;
}
