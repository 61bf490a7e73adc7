/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "common/array.h"

static void test_items_are_new_and_keep_their_values(void **state)
{
	uint32_t *items = NULL;
	size_t count = 0;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t *item = array_append(&items, &count, sizeof(*item));

		assert_non_null(item);
		assert_int_equal(*item, 0);
		*item = i + 1;
	}
	assert_int_equal(count, 100);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(items[i], i + 1);
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_items_are_new_and_keep_their_values)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
