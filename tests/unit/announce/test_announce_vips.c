/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/vips.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct netprefix prefix(const char *text)
{
	struct netprefix parsed;

	assert_true(netprefix_parse(text, &parsed, NULL));
	return parsed;
}

static void test_vips_that_stay_keep_their_state(void **state)
{
	const struct netprefix both[] = {prefix("203.0.113.10"), prefix("203.0.113.0/24")},
			       probe = prefix("203.0.113.241");
	struct vips vips = {0};

	(void)state;
	assert_true(vips_replace(&vips, both, 2, &probe));
	assert_int_equal(vips.count, 3);
	assert_true(vips.items[2].is_probe);
	vips.items[0].state = VIPS_WITHDRAWN;
	vips.items[1].state = VIPS_ANNOUNCED;
	assert_true(vips_replace(&vips, NULL, 0, &probe));
	vips_forget(&vips);
	assert_int_equal(vips.count, 2); /* one that is announced is not forgotten */
	assert_true(vips.items[0].gone);
	assert_int_equal(vips.items[0].state, VIPS_ANNOUNCED);
	assert_false(vips.items[1].gone);
	assert_true(vips_replace(&vips, both, 2, NULL));
	assert_false(vips.items[0].gone);
	assert_true(vips.items[1].gone);
	assert_int_equal(vips.count, 3);
	vips_free(&vips);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vips_that_stay_keep_their_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
