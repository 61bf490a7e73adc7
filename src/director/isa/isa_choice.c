/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/isa/isa_choice.h"

#include <stdio.h>
#include <string.h>

_Static_assert(CONF_ISA_AUTO + 1 + ISA_PLAIN == CONF_ISA_SCALAR && CONF_ISA_AUTO + 1 + ISA_AVX2 == CONF_ISA_AVX2 &&
		       CONF_ISA_AUTO + 1 + ISA_AVX512 == CONF_ISA_AVX512,
	"enum conf_isa has the order of enum isa");

static const unsigned bits[ISA_COUNT] = {[ISA_AVX2] = 256, [ISA_AVX512] = 512};

const char *isa_by_name(enum isa_by by)
{
	static const char *const names[] = {
		[ISA_BY_CPU] = "cpu",
		[ISA_BY_CONFIGURATION] = "configuration",
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

struct isa_choice isa_choice_make(
	enum conf_isa wanted, const struct isa_limits *limits, unsigned candidates, unsigned wrong)
{
	struct isa_choice choice = {.isa = ISA_COUNT - 1, .by = ISA_BY_CPU};
	const char *limit = "";
	enum isa wider;

	while (choice.isa != ISA_PLAIN && !((candidates & ~wrong) >> choice.isa & 1))
		choice.isa--;
	if (wanted != CONF_ISA_AUTO) {
		choice.by = ISA_BY_CONFIGURATION;
		snprintf(choice.why, sizeof(choice.why), "isa in director.conf");
		return choice;
	}
	for (wider = ISA_COUNT - 1; wider > choice.isa && !limits->usable[wider]; wider--)
		;
	if (wider > choice.isa && !(candidates >> wider & 1))
		limit = is_forbidden(limits, wider) ? "; EAL's options forbid "
						    : "; the CPU may lower its frequency for ";
	snprintf(choice.why, sizeof(choice.why), "%s%s%s",
		choice.isa == ISA_PLAIN ? "no other is usable" : "the widest that can be used", limit,
		*limit ? isa_name(wider) : "");
	return choice;
}
