/* SPDX-License-Identifier: BSD-3-Clause */
/* What the benchmark steers: tables, and packets of 64k flows and more to them. The same in every
 * run. */
#ifndef GLB_BENCH_WORLD_H
#define GLB_BENCH_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "director/routes.h"

enum world_family {
	WORLD_V4,
	WORLD_V6,
	WORLD_MIXED, /* either, at random */
	WORLD_ODD,   /* only packets that no fast path takes, of every kind */
	WORLD_WORST, /* the packet that costs most: eight extension headers */
};

struct world {
	unsigned tables, binds, backends, hops; /* binds: of each table, 16 ports an address */
	bool prefixes;                          /* binds are /28 and /64 instead of hosts */
	enum world_family family;
};

#define WORLD_FRAME_MAX 192

/* Ends the process where there is no memory. The caller frees it with routes_free(). */
struct routes *world_routes(const struct world *world);

/* Writes packet `number` of the world, without padding; returns its size. */
uint32_t world_packet(const struct world *world, uint64_t number, uint8_t frame[WORLD_FRAME_MAX]);

#endif
