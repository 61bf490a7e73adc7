/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/container_of.h"

struct outer {
	int first;
	struct {
		int deep;
	} second;
};

static void test_the_struct_of_each_member_is_found(void **state)
{
	struct outer outers[2];
	int *first = &outers[1].first;

	(void)state;
	assert_ptr_equal(container_of(first, struct outer, first), &outers[1]);
	assert_ptr_equal(container_of(&outers[1].second, struct outer, second), &outers[1]);
	assert_ptr_equal(container_of(&outers[1].second.deep, struct outer, second.deep), &outers[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_struct_of_each_member_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
