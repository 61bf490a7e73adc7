/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/span.h"

static const uint8_t bytes[4] = {1, 2, 3, 4};

static void test_take_moves_and_peek_does_not(void **state)
{
	struct span span = span_of(bytes, sizeof(bytes));

	(void)state;
	assert_ptr_equal(span_peek(&span, 3), bytes);
	assert_int_equal(span_size(&span), 4);
	assert_ptr_equal(span_take(&span, 3), bytes);
	assert_int_equal(span_size(&span), 1);
	assert_ptr_equal(span_take(&span, 1), bytes + 3);
	assert_int_equal(span_size(&span), 0);
}

static void test_beyond_the_end_is_null_and_changes_nothing(void **state)
{
	struct span span = span_of(bytes, sizeof(bytes));

	(void)state;
	assert_null(span_peek(&span, 5));
	assert_null(span_take(&span, 5));
	assert_null(span_take(&span, SIZE_MAX));
	assert_false(span_cut(&span, 5));
	assert_int_equal(span_size(&span), 4);
	assert_ptr_equal(span_peek(&span, 4), bytes);
}

static void test_cut_keeps_the_front(void **state)
{
	struct span span = span_of(bytes, sizeof(bytes));

	(void)state;
	span_take(&span, 1);
	assert_true(span_cut(&span, 2));
	assert_int_equal(span_size(&span), 2);
	assert_ptr_equal(span_take(&span, 2), bytes + 1);
	assert_null(span_take(&span, 1));
	assert_true(span_cut(&span, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take_moves_and_peek_does_not),
		cmocka_unit_test(test_beyond_the_end_is_null_and_changes_nothing),
		cmocka_unit_test(test_cut_keeps_the_front),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
