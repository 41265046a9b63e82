/* SPDX-License-Identifier: MIT
 *
 * Tests that compare a column of numbers with another, evaluated: each becomes a column of flags, as tests of text do.
 */
#ifndef APPS_COMPACT_COLUMN_TEST_H
#define APPS_COMPACT_COLUMN_TEST_H

#include "source.h"

/* Sets flags[row] for the rows of from->columns in which the test holds. */
void column_test_run(const source *from, const text_test *test, uint8_t *flags, unsigned threads);

/* For --verify: the result for one row in long double, which holds every number of both columns exactly. */
bool column_test_check(const source *from, const text_test *test, size_t row);

#endif
