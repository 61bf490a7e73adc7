/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "director/isa/isa_choice.h"

enum { SCALAR = 1 << ISA_PLAIN, AVX2 = 1 << ISA_AVX2, AVX512 = 1 << ISA_AVX512 };

/* Ice Lake, Zen 4 and later; Skylake; before AVX-512; before AVX2, and other architectures. */
static const struct isa_limits late = {.usable = {true, true, true}, .keeps_frequency = {true, true, true}};
static const struct isa_limits early = {.usable = {true, true, true}, .keeps_frequency = {true, true, false}};
static const struct isa_limits narrow = {.usable = {true, true, false}, .keeps_frequency = {true, true, false}};
static const struct isa_limits old = {.usable = {true, false, false}, .keeps_frequency = {true, true, false}};

static struct isa_limits forced(struct isa_limits limits, unsigned bits)
{
	limits.forced_bits = bits;
	return limits;
}

static unsigned candidates(enum conf_isa wanted, struct isa_limits limits)
{
	char error[2 * ISA_CHOICE_TEXT] = "";
	unsigned set = isa_choice_candidates(wanted, &limits, error);

	assert_int_equal(set == 0, error[0] != '\0');
	return set;
}

static void test_auto_offers_what_the_cpu_has(void **state)
{
	(void)state;
	assert_int_equal(candidates(CONF_ISA_AUTO, late), SCALAR | AVX2 | AVX512);
	assert_int_equal(candidates(CONF_ISA_AUTO, narrow), SCALAR | AVX2);
	assert_int_equal(candidates(CONF_ISA_AUTO, old), SCALAR);
}

static void test_auto_offers_no_isa_that_lowers_the_frequency(void **state)
{
	(void)state;
	assert_int_equal(candidates(CONF_ISA_AUTO, early), SCALAR | AVX2);
	assert_int_equal(candidates(CONF_ISA_AVX512, early), AVX512);
	assert_int_equal(candidates(CONF_ISA_AUTO, forced(early, 512)), SCALAR | AVX2 | AVX512);
}

static void test_auto_follows_the_option_of_eal(void **state)
{
	(void)state;
	assert_int_equal(candidates(CONF_ISA_AUTO, forced(late, 64)), SCALAR);
	assert_int_equal(candidates(CONF_ISA_AUTO, forced(late, 128)), SCALAR);
	assert_int_equal(candidates(CONF_ISA_AUTO, forced(late, 256)), SCALAR | AVX2);
	assert_int_equal(candidates(CONF_ISA_AUTO, forced(late, 32768)), SCALAR | AVX2 | AVX512);
	assert_int_equal(candidates(CONF_ISA_AUTO, forced(old, 512)), SCALAR);
}

static void test_the_key_names_the_only_candidate(void **state)
{
	(void)state;
	assert_int_equal(candidates(CONF_ISA_SCALAR, late), SCALAR);
	assert_int_equal(candidates(CONF_ISA_AVX2, late), AVX2);
	assert_int_equal(candidates(CONF_ISA_AVX512, late), AVX512);
	assert_int_equal(candidates(CONF_ISA_AVX2, forced(late, 512)), AVX2);
	assert_int_equal(candidates(CONF_ISA_SCALAR, forced(late, 64)), SCALAR);
}

static void expect_error(enum conf_isa wanted, struct isa_limits limits, const char *expected)
{
	char error[2 * ISA_CHOICE_TEXT] = "";

	assert_int_equal(isa_choice_candidates(wanted, &limits, error), 0);
	assert_string_equal(error, expected);
}

static void test_a_key_that_cannot_be_followed_is_an_error(void **state)
{
	(void)state;
	expect_error(CONF_ISA_AVX512, narrow,
		"isa = \"avx512\": this CPU has no AVX-512 (F, BW, DQ and VL), or the hypervisor hides it; use \"auto\"");
	expect_error(CONF_ISA_AVX2, old,
		"isa = \"avx2\": this CPU has no AVX2 and BMI2, or the hypervisor hides it; use \"auto\"");
	expect_error(CONF_ISA_AVX512, forced(late, 256),
		"isa = \"avx512\": EAL's option --force-max-simd-bitwidth=256 forbids its vectors of 512 bits; remove the option, or use \"auto\"");
	expect_error(CONF_ISA_AVX2, forced(late, 64),
		"isa = \"avx2\": EAL's option --force-max-simd-bitwidth=64 forbids its vectors of 256 bits; remove the option, or use \"auto\"");
}

static struct isa_choice choose(enum conf_isa wanted, struct isa_limits limits, unsigned wrong)
{
	return isa_choice_make(wanted, &limits, candidates(wanted, limits), wrong);
}

static void test_the_widest_is_chosen(void **state)
{
	struct isa_choice choice = choose(CONF_ISA_AUTO, late, 0);

	(void)state;
	assert_int_equal(choice.isa, ISA_AVX512);
	assert_string_equal(choice.why, "the widest that can be used");
	assert_string_equal(isa_by_name(choice.by), "cpu");
	assert_int_equal(choose(CONF_ISA_AUTO, narrow, 0).isa, ISA_AVX2);
	choice = choose(CONF_ISA_AUTO, old, 0);
	assert_int_equal(choice.isa, ISA_PLAIN);
	assert_string_equal(choice.why, "no other is usable");
	assert_string_equal(isa_by_name(choice.by), "cpu");
}

static void test_wrong_results_exclude_an_isa(void **state)
{
	struct isa_choice choice = choose(CONF_ISA_AUTO, late, AVX512);

	(void)state;
	assert_int_equal(choice.isa, ISA_AVX2);
	assert_string_equal(choice.why, "the widest that can be used");
	choice = choose(CONF_ISA_AUTO, late, AVX512 | AVX2);
	assert_int_equal(choice.isa, ISA_PLAIN);
	assert_string_equal(choice.why, "no other is usable");
}

static void test_the_reason_names_what_excludes_a_wider_isa(void **state)
{
	(void)state;
	assert_string_equal(choose(CONF_ISA_AUTO, early, 0).why,
		"the widest that can be used; the CPU may lower its frequency for avx512");
	assert_string_equal(choose(CONF_ISA_AUTO, forced(late, 256), 0).why,
		"the widest that can be used; EAL's options forbid avx512");
	assert_string_equal(
		choose(CONF_ISA_AUTO, forced(late, 64), 0).why, "no other is usable; EAL's options forbid avx512");
	assert_string_equal(
		choose(CONF_ISA_AUTO, forced(narrow, 64), 0).why, "no other is usable; EAL's options forbid avx2");
}

static void test_the_key_decides(void **state)
{
	struct isa_choice choice = choose(CONF_ISA_AVX2, late, 0);

	(void)state;
	assert_int_equal(choice.isa, ISA_AVX2);
	assert_string_equal(choice.why, "isa in director.conf");
	assert_string_equal(isa_by_name(choice.by), "configuration");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_auto_offers_what_the_cpu_has),
		cmocka_unit_test(test_auto_offers_no_isa_that_lowers_the_frequency),
		cmocka_unit_test(test_auto_follows_the_option_of_eal),
		cmocka_unit_test(test_the_key_names_the_only_candidate),
		cmocka_unit_test(test_a_key_that_cannot_be_followed_is_an_error),
		cmocka_unit_test(test_the_widest_is_chosen),
		cmocka_unit_test(test_wrong_results_exclude_an_isa),
		cmocka_unit_test(test_the_reason_names_what_excludes_a_wider_isa),
		cmocka_unit_test(test_the_key_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
