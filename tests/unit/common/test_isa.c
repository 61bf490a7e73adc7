/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/isa.h"

static int ISA_NAME(variant)(void)
{
	return 1;
}

static void test_plain_is_always_usable(void **state)
{
	(void)state;
	assert_true(isa_usable(ISA_PLAIN));
	assert_string_equal(isa_name(ISA_PLAIN), "scalar");
}

static void test_avx512_implies_avx2(void **state)
{
	(void)state;
	assert_true(isa_usable(ISA_AVX2) || !isa_usable(ISA_AVX512));
}

static void test_only_avx512_may_lower_the_frequency(void **state)
{
	(void)state;
	assert_true(isa_keeps_frequency(ISA_PLAIN) && isa_keeps_frequency(ISA_AVX2));
}

static void test_the_choice_respects_the_width(void **state)
{
	(void)state;
	assert_int_equal(isa_choose(0), ISA_PLAIN);
	assert_int_equal(isa_choose(255), ISA_PLAIN);
	assert_int_equal(isa_choose(256), isa_usable(ISA_AVX2) ? ISA_AVX2 : ISA_PLAIN);
	assert_int_equal(isa_choose(511), isa_choose(256));
	assert_int_equal(isa_choose(512), isa_usable(ISA_AVX512) ? ISA_AVX512 : isa_choose(256));
	assert_int_equal(isa_choose(UINT_MAX), isa_choose(512));
}

static void test_a_variant_is_named_after_the_isa_that_it_is_compiled_for(void **state)
{
	(void)state;
	/* This file is compiled without flags for an ISA. */
	assert_int_equal(variant_plain(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_is_always_usable),
		cmocka_unit_test(test_avx512_implies_avx2),
		cmocka_unit_test(test_only_avx512_may_lower_the_frequency),
		cmocka_unit_test(test_the_choice_respects_the_width),
		cmocka_unit_test(test_a_variant_is_named_after_the_isa_that_it_is_compiled_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
