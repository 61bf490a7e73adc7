/* SPDX-License-Identifier: BSD-3-Clause */
#define ALLOW_EXPERIMENTAL_API /* rte_vect_set_max_simd_bitwidth() before DPDK 23.11 */
#include "director/isa/isa_start.h"

#include <errno.h>

#include <rte_vect.h>

#include "director/isa/isa_check.h"
#include "program/log.h"

static struct isa_limits find_limits(void)
{
	uint16_t bits = rte_vect_get_max_simd_bitwidth();
	/* EAL refuses to change a limit that an option has set. Otherwise this call changes nothing. */
	struct isa_limits limits = {.forced_bits = rte_vect_set_max_simd_bitwidth(bits) ? bits : 0};

	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
		limits.usable[isa] = isa_usable(isa);
		limits.keeps_frequency[isa] = isa_keeps_frequency(isa);
	}
	return limits;
}

static void log_wrong(unsigned wrong)
{
	for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++)
		if (wrong >> isa & 1)
			log_warning(
				"isa: this CPU, or its emulator, computes wrong results with %s, so the director does not use it",
				isa_name(isa));
}

int isa_start(enum conf_isa wanted, struct isa_choice *choice)
{
	struct isa_limits limits = find_limits();
	char error[2 * ISA_CHOICE_TEXT];
	unsigned candidates = isa_choice_candidates(wanted, &limits, error);
	unsigned wrong = 0;

	if (!candidates) {
		log_error("%s", error);
		return -EINVAL;
	}
	if (candidates != 1u << ISA_PLAIN)
		wrong = isa_check(lanes_by_isa, candidates);
	log_wrong(wrong);
	if (wanted != CONF_ISA_AUTO && wrong) {
		log_error("isa = \"%s\" cannot be used; use \"auto\"", isa_name((enum isa)(wanted - CONF_ISA_SCALAR)));
		return -EINVAL;
	}
	*choice = isa_choice_make(wanted, &limits, candidates, wrong);
	log_info("isa: %s, %s", isa_name(choice->isa), choice->why);
	if (choice->isa == ISA_AVX512 && !limits.forced_bits)
		rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_512);
	return 0;
}
