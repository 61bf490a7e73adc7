/* SPDX-License-Identifier: BSD-3-Clause */
/* The fast path of each ISA, and variants of it that are wrong, in the check of the start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "director/isa/isa_check.h"

enum { SCALAR = 1 << ISA_PLAIN, AVX2 = 1 << ISA_AVX2, AVX512 = 1 << ISA_AVX512 };

static unsigned calls;

static uint64_t counted(const struct lanes_job *job, struct burst *burst)
{
	calls++;
	return lanes_plain(job, burst);
}

static uint64_t flips_a_bit(const struct lanes_job *job, struct burst *burst)
{
	uint64_t left = lanes_plain(job, burst);

	if (burst->out[BURST_MAX - 1])
		burst->out[BURST_MAX - 1][40] ^= 1;
	return left;
}

static uint64_t drops_one(const struct lanes_job *job, struct burst *burst)
{
	uint64_t left = lanes_plain(job, burst);

	burst->verdict[0] = VERDICT_DROP_UNMATCHED;
	burst->out[0] = NULL;
	return left;
}

/* As if only the code for IPv6 were wrong. */
static uint64_t flips_a_bit_of_ipv6(const struct lanes_job *job, struct burst *burst)
{
	bool v6 = burst->frame[0][12] == 0x86;
	uint64_t left = lanes_plain(job, burst);

	if (v6 && burst->out[0])
		burst->out[0][40] ^= 1;
	return left;
}

static uint64_t flips_a_bit_of_outer_ipv6(const struct lanes_job *job, struct burst *burst)
{
	uint64_t left = lanes_plain(job, burst);

	if (burst->out[0] && burst->out[0][12] == 0x86)
		burst->out[0][85] ^= 1;
	return left;
}

static void test_all_isas_of_this_cpu_give_the_same_results(void **state)
{
	unsigned set = 0;

	(void)state;
	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++)
		set |= isa_usable(isa) ? 1u << isa : 0;
	assert_int_equal(isa_check(lanes_by_isa, set), 0);
}

static void test_an_isa_outside_of_the_set_does_not_run(void **state)
{
	lanes_fn *const variants[ISA_COUNT] = {lanes_plain, counted, NULL};

	(void)state;
	calls = 0;
	assert_int_equal(isa_check(variants, SCALAR), 0);
	assert_int_equal(calls, 0);
	assert_int_equal(isa_check(variants, SCALAR | AVX2), 0);
	assert_true(calls > 0);
}

static void test_an_isa_with_wrong_results_is_found(void **state)
{
	lanes_fn *const variants[ISA_COUNT] = {lanes_plain, drops_one, flips_a_bit};

	(void)state;
	assert_int_equal(isa_check(variants, SCALAR | AVX2 | AVX512), AVX2 | AVX512);
}

static void test_an_isa_with_wrong_results_for_one_family_is_found(void **state)
{
	lanes_fn *const variants[ISA_COUNT] = {lanes_plain, flips_a_bit_of_ipv6, lanes_plain};
	lanes_fn *const outer[ISA_COUNT] = {lanes_plain, lanes_plain, flips_a_bit_of_outer_ipv6};

	(void)state;
	assert_int_equal(isa_check(variants, SCALAR | AVX2 | AVX512), AVX2);
	assert_int_equal(isa_check(outer, SCALAR | AVX2 | AVX512), AVX512);
}

static void test_one_wanted_isa_is_compared_with_scalar(void **state)
{
	lanes_fn *const variants[ISA_COUNT] = {lanes_plain, lanes_plain, flips_a_bit};

	(void)state;
	assert_int_equal(isa_check(variants, AVX512), AVX512);
	assert_int_equal(isa_check(variants, AVX2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_isas_of_this_cpu_give_the_same_results),
		cmocka_unit_test(test_an_isa_outside_of_the_set_does_not_run),
		cmocka_unit_test(test_an_isa_with_wrong_results_is_found),
		cmocka_unit_test(test_an_isa_with_wrong_results_for_one_family_is_found),
		cmocka_unit_test(test_one_wanted_isa_is_compared_with_scalar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
