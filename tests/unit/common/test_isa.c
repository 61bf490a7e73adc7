/* SPDX-License-Identifier: BSD-3-Clause */
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

static void test_the_widest_usable_isa_is_chosen(void **state)
{
	(void)state;
	for (enum isa isa = ISA_COUNT; isa-- > isa_widest() + 1;)
		assert_false(isa_usable(isa));
	assert_true(isa_usable(isa_widest()));
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
		cmocka_unit_test(test_the_widest_usable_isa_is_chosen),
		cmocka_unit_test(test_a_variant_is_named_after_the_isa_that_it_is_compiled_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
