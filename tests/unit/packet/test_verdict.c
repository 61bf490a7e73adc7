/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "packet/verdict.h"

static void test_every_verdict_has_its_own_help(void **state)
{
	(void)state;
	for (int i = 0; i < VERDICT_COUNT; i++) {
		assert_true(strlen(verdict_help((enum verdict)i)) > 10);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(verdict_help((enum verdict)i), verdict_help((enum verdict)j));
	}
}

/* A lane that is set to zeros counts as forwarded, until a stage sets another verdict. */
static void test_forwarded_is_zero(void **state)
{
	(void)state;
	assert_int_equal(VERDICT_FORWARDED, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_verdict_has_its_own_help),
		cmocka_unit_test(test_forwarded_is_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
