/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which ISA the fast path of all workers uses: by director.conf, by what the CPU and EAL allow, and by a
 * measurement. Pure.
 */
#ifndef GLB_DIRECTOR_ISA_ISA_CHOICE_H
#define GLB_DIRECTOR_ISA_ISA_CHOICE_H

#include <stdbool.h>

#include "common/isa.h"
#include "director/conf/conf.h"

#define ISA_CHOICE_TEXT 120 /* a string of DPDK's telemetry has less than 128 bytes */

enum isa_by {
	ISA_BY_CPU, /* it is the only one that the CPU and EAL allow */
	ISA_BY_CONFIGURATION, /* director.conf names it */
	ISA_BY_MEASUREMENT,
	ISA_BY_WIDTH, /* nothing could be measured, so it is the widest */
};

/* What the choice depends on. */
struct isa_limits {
	bool usable[ISA_COUNT]; /* the CPU has all instructions */
	bool keeps_frequency[ISA_COUNT]; /* the CPU does not become slower */
	/* The width that EAL's option --force-max-simd-bitwidth allows; 0: the option is not given */
	unsigned forced_bits;
};

/* TSC cycles per packet, as isa_measure() finds them. 0: not measured. */
struct isa_figures {
	double cycles[ISA_COUNT];
	unsigned wrong; /* set of bits 1 << isa: gave other results than ISA_PLAIN */
};

struct isa_choice {
	enum isa isa;
	enum isa_by by;
	char why[ISA_CHOICE_TEXT]; /* for people, as in "measured 31 cycles per packet against 42 of avx2" */
};

/* "cpu", "configuration", "measurement" or "width". */
const char *isa_by_name(enum isa_by by);

/*
 * Returns the set (bits 1 << isa) of the ISAs that may be chosen. It is empty if director.conf names one that the CPU
 * or EAL does not allow; then `error` tells why and what to do.
 */
unsigned isa_choice_candidates(enum conf_isa wanted, const struct isa_limits *limits, char error[2 * ISA_CHOICE_TEXT]);

/*
 * Chooses one of the candidates, which are not empty. A narrower ISA wins over a wider one only if it is clearly
 * faster. Those that gave wrong results are left out, but not ISA_PLAIN.
 */
struct isa_choice isa_choice_make(
	enum conf_isa wanted, const struct isa_limits *limits, unsigned candidates, const struct isa_figures *figures);

#endif
