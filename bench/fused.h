/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work that no director can avoid, in one loop and with the functions of the fast path: checks the mbuf, loads the header, hashes the
 * flow, loads one row and two addresses, writes the outer headers and updates the mbuf. It neither classifies nor admits nor counts
 * packets. It takes bursts of full blocks of IPv4 packets of the only table, with two hops in each row, and ends the program if another one arrives.
 */
#pragma once

struct fused {
	const char *prefetch; /* description for the report */
	int (*run)(void *worker); /* in the place of worker_run(); NULL: this architecture has no AVX-512 */
};

/* Which is the fastest depends on where the frames are. Call only with isa_usable(ISA_AVX512). */
#define FUSED_COUNT 2
extern const struct fused fused[FUSED_COUNT];
