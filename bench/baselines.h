/* SPDX-License-Identifier: BSD-3-Clause */
/* What to compare the director with. Each runs until *stop, on the port and queue. */
#ifndef GLB_BENCH_BASELINES_H
#define GLB_BENCH_BASELINES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/isa.h"

typedef void baseline_fn(uint16_t port, uint16_t queue, const bool *stop);

/* Receives and sends. */
baseline_fn baseline_io;

/* And exchanges the Ethernet addresses, as testpmd's engine of that name. */
baseline_fn baseline_macswap;

/*
 * What no encapsulation can do without: reads the mbuf and the header, stores 54 bytes before the
 * packet. There are several ways, and which is the fastest depends on the machine and on where the
 * frames are: the floor is whichever takes the least. floor.c is compiled once for each ISA.
 */
struct baseline_floor {
	const char *store, *prefetch; /* how it does it */
	baseline_fn *run;
};

#define BASELINE_AHEADS     3
#define BASELINE_MAX_FLOORS (ISA_COUNT * BASELINE_AHEADS)

/* Those that this CPU can run. */
unsigned baseline_floors(struct baseline_floor floors[BASELINE_MAX_FLOORS]);

extern baseline_fn *const floors_plain[BASELINE_AHEADS];
extern baseline_fn *const floors_avx2[BASELINE_AHEADS], *const floors_avx512[BASELINE_AHEADS];

#endif
