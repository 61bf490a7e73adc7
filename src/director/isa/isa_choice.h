/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which ISA the fast path of all workers uses: by director.conf, by what the CPU and EAL allow. Pure.
 */
#pragma once

#include <stdbool.h>

#include "common/isa.h"
#include "director/conf/conf.h"

#define ISA_CHOICE_TEXT 120 /* a string of DPDK's telemetry has less than 128 bytes */

enum isa_by {
	ISA_BY_CPU, /* the widest that the CPU and EAL allow */
	ISA_BY_CONFIGURATION, /* director.conf names it */
};

/* What the choice depends on. */
struct isa_limits {
	bool usable[ISA_COUNT]; /* the CPU has all instructions */
	bool keeps_frequency[ISA_COUNT]; /* the CPU does not become slower */
	/* The width that EAL's option --force-max-simd-bitwidth allows; 0: the option is not given */
	unsigned forced_bits;
};

struct isa_choice {
	enum isa isa;
	enum isa_by by;
	char why[ISA_CHOICE_TEXT]; /* for people, as in "the widest that can be used" */
};

/* "cpu" or "configuration". */
const char *isa_by_name(enum isa_by by);

/*
 * Returns the set (bits 1 << isa) of the ISAs that may be chosen. It is empty if director.conf names one that the CPU
 * or EAL does not allow; then `error` tells why and what to do.
 */
unsigned isa_choice_candidates(enum conf_isa wanted, const struct isa_limits *limits, char error[2 * ISA_CHOICE_TEXT]);

/* Chooses the widest of the candidates, which are not empty. wrong: a set of ISAs that give other results than
 * ISA_PLAIN. They are not chosen. */
struct isa_choice isa_choice_make(
	enum conf_isa wanted, const struct isa_limits *limits, unsigned candidates, unsigned wrong);
