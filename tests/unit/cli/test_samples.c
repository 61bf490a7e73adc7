/* SPDX-License-Identifier: BSD-3-Clause */
/* The value of a line of metrics, also of lines that other programs damaged. The leg sanitizers finds undefined behaviour. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/fleet/samples.h"

static void test_counts(void **state)
{
	static const struct {
		const char *line;
		bool is_count;
		uint64_t count;
	} cases[] = {
		{"glb_redirect_packets_total{result=\"ok\"} 12", true, 12},
		{"a 0", true, 0},
		{"without_a_blank", false, 0},
		{"", false, 0},
		{" ", false, 0},
		{"a ", false, 0},
		{"a 12x", false, 0},
		{"a -1", false, 0},
		{"a 1e3", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t count = 0;

		assert_int_equal(samples_count(cases[i].line, &count), cases[i].is_count);
		assert_int_equal(count, cases[i].count);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
