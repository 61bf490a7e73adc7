/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/isa/isa_choice.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A narrower ISA must take less than this part of the cycles of a wider one. Differences below it are noise. */
#define CLEARLY_FASTER 0.97

_Static_assert(CONF_ISA_AUTO + 1 + ISA_PLAIN == CONF_ISA_SCALAR && CONF_ISA_AUTO + 1 + ISA_AVX2 == CONF_ISA_AVX2 &&
		       CONF_ISA_AUTO + 1 + ISA_AVX512 == CONF_ISA_AVX512,
	"enum conf_isa has the order of enum isa");

static const unsigned bits[ISA_COUNT] = {[ISA_AVX2] = 256, [ISA_AVX512] = 512};

const char *isa_by_name(enum isa_by by)
{
	static const char *const names[] = {
		[ISA_BY_CPU] = "cpu",
		[ISA_BY_CONFIGURATION] = "configuration",
		[ISA_BY_MEASUREMENT] = "measurement",
		[ISA_BY_WIDTH] = "width",
	};

	return names[by];
}

static bool is_forbidden(const struct isa_limits *limits, enum isa isa)
{
	return limits->forced_bits && limits->forced_bits < bits[isa];
}

static unsigned wanted_candidate(enum isa isa, const struct isa_limits *limits, char error[2 * ISA_CHOICE_TEXT])
{
	static const char *const instructions[ISA_COUNT] = {
		[ISA_AVX2] = "AVX2 and BMI2", [ISA_AVX512] = "AVX-512 (F, BW, DQ and VL)"};

	if (!limits->usable[isa])
		snprintf(error, 2 * ISA_CHOICE_TEXT,
			"isa = \"%s\": this CPU has no %s, or the hypervisor hides it; use \"auto\"", isa_name(isa),
			instructions[isa]);
	else if (is_forbidden(limits, isa))
		snprintf(error, 2 * ISA_CHOICE_TEXT,
			"isa = \"%s\": EAL's option --force-max-simd-bitwidth=%u forbids its vectors of %u bits; remove the option, or use \"auto\"",
			isa_name(isa), limits->forced_bits, bits[isa]);
	else
		return 1u << isa;
	return 0;
}

unsigned isa_choice_candidates(enum conf_isa wanted, const struct isa_limits *limits, char error[2 * ISA_CHOICE_TEXT])
{
	unsigned candidates = 1u << ISA_PLAIN;

	if (wanted != CONF_ISA_AUTO)
		return wanted_candidate((enum isa)(wanted - CONF_ISA_SCALAR), limits, error);
	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++)
		if (limits->usable[isa] && !is_forbidden(limits, isa) &&
			(limits->keeps_frequency[isa] || limits->forced_bits))
			candidates |= 1u << isa;
	return candidates;
}

static void append(char text[ISA_CHOICE_TEXT], const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(char text[ISA_CHOICE_TEXT], const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, ISA_CHOICE_TEXT - used, format, args);
	va_end(args);
}

static void compare(struct isa_choice *choice, const struct isa_figures *figures, unsigned candidates)
{
	const char *before = " per packet against";

	append(choice->why, "measured %.0f cycles", figures->cycles[choice->isa]);
	for (enum isa isa = ISA_COUNT; isa-- > 0;) {
		if (isa == choice->isa || !(candidates >> isa & 1))
			continue;
		append(choice->why, "%s %.0f of %s", before, figures->cycles[isa], isa_name(isa));
		before = " and";
	}
}

/* Adds why no wider ISA was a candidate of "auto". */
static void explain_limit(struct isa_choice *choice, const struct isa_limits *limits, unsigned candidates)
{
	for (enum isa isa = ISA_COUNT; isa-- > 0 && !(candidates >> isa & 1);) {
		if (!limits->usable[isa])
			continue;
		append(choice->why, "; %s %s",
			is_forbidden(limits, isa) ? "EAL's options forbid" : "the CPU may lower its frequency for",
			isa_name(isa));
		return;
	}
}

struct isa_choice isa_choice_make(
	enum conf_isa wanted, const struct isa_limits *limits, unsigned candidates, const struct isa_figures *figures)
{
	unsigned left = candidates & ~(figures->wrong & ~(1u << ISA_PLAIN));
	struct isa_choice choice = {.isa = ISA_COUNT};

	for (enum isa isa = ISA_COUNT; isa-- > 0;)
		if (left >> isa & 1 &&
			(choice.isa == ISA_COUNT || figures->cycles[isa] < CLEARLY_FASTER * figures->cycles[choice.isa]))
			choice.isa = isa;
	if (wanted != CONF_ISA_AUTO) {
		choice.by = ISA_BY_CONFIGURATION;
		append(choice.why, "isa in director.conf");
		return choice;
	}
	if ((left & (left - 1)) == 0) {
		choice.by = ISA_BY_CPU;
		append(choice.why, "no other is usable");
	} else if (figures->cycles[choice.isa] > 0) {
		choice.by = ISA_BY_MEASUREMENT;
		compare(&choice, figures, left);
	} else {
		choice.by = ISA_BY_WIDTH;
		append(choice.why, "the widest; no memory to measure others");
	}
	explain_limit(&choice, limits, candidates);
	return choice;
}
