/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "packet/verdict.h"

/* Dashboards and golden vectors depend on these names. */
static const char *const names[] = {"forwarded", "answered_too_big", "underlay_too_big", "exception", "drop_not_for_us",
	"drop_vlan", "drop_martian", "drop_unmatched", "drop_truncated", "drop_malformed", "drop_extension_headers",
	"drop_fragment", "drop_too_big", "drop_no_next_hop", "drop_no_buffer", "drop_tx_full", "drop_exception_limited",
	"drop_exception_full"};

static void test_names_are_those_in_the_reference(void **state)
{
	(void)state;
	assert_int_equal(VERDICT_COUNT, sizeof(names) / sizeof(names[0]));
	for (int i = 0; i < VERDICT_COUNT; i++)
		assert_string_equal(verdict_name((enum verdict)i), names[i]);
}

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
		cmocka_unit_test(test_names_are_those_in_the_reference),
		cmocka_unit_test(test_every_verdict_has_its_own_help),
		cmocka_unit_test(test_forwarded_is_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
