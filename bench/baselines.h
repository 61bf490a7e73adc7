/* SPDX-License-Identifier: BSD-3-Clause */
/* Forwarding loops to compare the director with. Each runs on one queue pair of a port until *stop is set. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/isa.h"

typedef void baseline_fn(uint16_t port, uint16_t queue, const bool *stop);

/* Receives and sends; reads no frame. */
baseline_fn baseline_io;

/* Swaps the Ethernet addresses of each frame, as testpmd's engine of that name. */
baseline_fn baseline_macswap;

/*
 * The work that no encapsulation can avoid: reads the mbuf and the IP header, and stores 54 bytes in
 * front of the packet. Which combination of store and prefetch is the fastest depends on the machine
 * and on where the frames are, so the floor is the fastest one. floor.c is compiled once for each ISA.
 */
struct baseline_floor {
	const char *store, *prefetch; /* descriptions for the report */
	baseline_fn *run;
};

#define BASELINE_AHEADS     3 /* kinds of prefetch: none, the burst, ahead */
#define BASELINE_MAX_FLOORS (ISA_COUNT * BASELINE_AHEADS)

/* Fills floors with those that this CPU can run, and returns their number. */
unsigned baseline_floors(struct baseline_floor floors[BASELINE_MAX_FLOORS]);

extern baseline_fn *const floors_plain[BASELINE_AHEADS];
extern baseline_fn *const floors_avx2[BASELINE_AHEADS], *const floors_avx512[BASELINE_AHEADS];

/*
 * The work that no build of rows can avoid: SipHash of each backend in each row, after the row's seed has been absorbed. rows: a multiple
 * of 32. Returns a value that depends on all digests, so that the compiler drops none.
 */
typedef uint64_t floor_hashing_fn(uint32_t rows, uint32_t backends);

floor_hashing_fn floor_hashing_plain, floor_hashing_avx2, floor_hashing_avx512;
