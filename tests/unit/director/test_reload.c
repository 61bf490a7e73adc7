/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "director/control/reload.h"

static void test_close_without_open(void **state)
{
	struct reload reload = {0};

	(void)state;
	reload_close(&reload);
	assert_null(reload.shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_close_without_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
