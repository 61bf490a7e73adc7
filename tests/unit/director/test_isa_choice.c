/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
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

static struct isa_choice choose(enum conf_isa wanted, struct isa_limits limits, struct isa_figures figures)
{
	return isa_choice_make(wanted, &limits, candidates(wanted, limits), &figures);
}

static struct isa_choice measured(double scalar, double avx2, double avx512)
{
	return choose(CONF_ISA_AUTO, late, (struct isa_figures){.cycles = {scalar, avx2, avx512}});
}

static void test_the_fastest_is_chosen(void **state)
{
	struct isa_choice choice = measured(63.2, 41.9, 31.1);

	(void)state;
	assert_int_equal(choice.isa, ISA_AVX512);
	assert_string_equal(choice.why, "measured 31 cycles per packet against 42 of avx2 and 63 of scalar");
	assert_string_equal(isa_by_name(choice.by), "measurement");
	choice = measured(63, 31, 42);
	assert_int_equal(choice.isa, ISA_AVX2);
	assert_string_equal(choice.why, "measured 31 cycles per packet against 42 of avx512 and 63 of scalar");
	assert_int_equal(measured(31, 63, 42).isa, ISA_PLAIN); /* as in an emulator */
}

static void test_a_tie_goes_to_the_wider_isa(void **state)
{
	(void)state;
	assert_int_equal(measured(60, 40, 40).isa, ISA_AVX512);
	assert_int_equal(measured(60, 39, 40).isa, ISA_AVX512);
	assert_int_equal(measured(60, 38, 40).isa, ISA_AVX2);
	assert_int_equal(measured(39, 39, 40).isa, ISA_AVX512);
	assert_int_equal(measured(37.7, 38.7, 40).isa, ISA_AVX2);
	assert_int_equal(measured(37.5, 38.7, 40).isa, ISA_PLAIN);
}

static void test_wrong_results_exclude_an_isa(void **state)
{
	struct isa_choice choice =
		choose(CONF_ISA_AUTO, late, (struct isa_figures){.cycles = {63, 42, 0}, .wrong = AVX512});

	(void)state;
	assert_int_equal(choice.isa, ISA_AVX2);
	assert_string_equal(choice.why, "measured 42 cycles per packet against 63 of scalar");
	choice = choose(CONF_ISA_AUTO, late, (struct isa_figures){.cycles = {63, 0, 0}, .wrong = AVX512 | AVX2 | SCALAR});
	assert_int_equal(choice.isa, ISA_PLAIN);
	assert_string_equal(choice.why, "no other is usable");
}

static void test_without_figures_the_widest_is_chosen(void **state)
{
	const struct isa_figures none = {0};
	struct isa_choice choice = choose(CONF_ISA_AUTO, late, none);

	(void)state;
	assert_int_equal(choice.isa, ISA_AVX512);
	assert_string_equal(choice.why, "the widest; no memory to measure others");
	assert_string_equal(isa_by_name(choice.by), "width");
	choice = choose(CONF_ISA_AUTO, old, none);
	assert_int_equal(choice.isa, ISA_PLAIN);
	assert_string_equal(choice.why, "no other is usable");
	assert_string_equal(isa_by_name(choice.by), "cpu");
}

static void test_the_reason_names_what_excludes_a_wider_isa(void **state)
{
	const struct isa_figures figures = {.cycles = {63, 42, 31}};

	(void)state;
	assert_string_equal(choose(CONF_ISA_AUTO, early, figures).why,
		"measured 42 cycles per packet against 63 of scalar; the CPU may lower its frequency for avx512");
	assert_string_equal(choose(CONF_ISA_AUTO, forced(late, 256), figures).why,
		"measured 42 cycles per packet against 63 of scalar; EAL's options forbid avx512");
	assert_string_equal(choose(CONF_ISA_AUTO, forced(late, 64), figures).why,
		"no other is usable; EAL's options forbid avx512");
	assert_string_equal(choose(CONF_ISA_AUTO, forced(narrow, 64), figures).why,
		"no other is usable; EAL's options forbid avx2");
}

static void test_the_key_decides_against_the_figures(void **state)
{
	struct isa_choice choice = choose(CONF_ISA_AVX2, late, (struct isa_figures){.cycles = {63, 42, 31}});

	(void)state;
	assert_int_equal(choice.isa, ISA_AVX2);
	assert_string_equal(choice.why, "isa in director.conf");
	assert_string_equal(isa_by_name(choice.by), "configuration");
}

static void test_every_reason_fits(void **state)
{
	struct isa_choice choice =
		choose(CONF_ISA_AUTO, forced(late, 256), (struct isa_figures){.cycles = {1e6, 1e6, 1e6}});

	(void)state;
	assert_non_null(strstr(choice.why, "; EAL's options forbid avx512"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_auto_offers_what_the_cpu_has),
		cmocka_unit_test(test_auto_offers_no_isa_that_lowers_the_frequency),
		cmocka_unit_test(test_auto_follows_the_option_of_eal),
		cmocka_unit_test(test_the_key_names_the_only_candidate),
		cmocka_unit_test(test_a_key_that_cannot_be_followed_is_an_error),
		cmocka_unit_test(test_the_fastest_is_chosen),
		cmocka_unit_test(test_a_tie_goes_to_the_wider_isa),
		cmocka_unit_test(test_wrong_results_exclude_an_isa),
		cmocka_unit_test(test_without_figures_the_widest_is_chosen),
		cmocka_unit_test(test_the_reason_names_what_excludes_a_wider_isa),
		cmocka_unit_test(test_the_key_decides_against_the_figures),
		cmocka_unit_test(test_every_reason_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
