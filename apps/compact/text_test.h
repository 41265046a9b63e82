/* SPDX-License-Identifier: MIT
 *
 * The tests of text and of two columns in an expression, evaluated: each becomes a column of flags, which the library
 * takes as it takes columns of numbers.
 */
#ifndef APPS_COMPACT_TEXT_TEST_H
#define APPS_COMPACT_TEXT_TEST_H

#include "source.h"

/* What kept a pattern from being matched in a row. */
typedef struct text_fault {
    size_t row;
    char reason[256];
} text_fault;

/* Makes the patterns of MATCHES; exit 2 for one that is none. Release frees them. */
void text_tests_prepare(const compact_job *job, expression *e);
void text_tests_release(expression *e);

/* Evaluates all tests of from->e, which is prepared, on from->texts and from->columns, appends their flags to
 * from->columns, and makes the terms refer to these. Exit 2 for too many columns. Returns false for a row in which a
 * pattern passes the limits of PCRE2. */
bool text_tests_run(const compact_job *job, source *from, unsigned threads, text_fault *fault);

/* For --verify: true if all tests of a row have the result that going through it byte by byte has. */
bool text_tests_check(const source *from, size_t row);

#endif
