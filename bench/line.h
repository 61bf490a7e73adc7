/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port without hardware: one queue that hands out the same frames over and over, and takes every
 * frame that is sent. It is installed below rte_eth_rx_burst(), so the director's own worker runs
 * on it unchanged. A pass is all frames once; between passes they are written anew, outside of the
 * time that is measured. Belongs to one thread.
 */
#ifndef GLB_BENCH_LINE_H
#define GLB_BENCH_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "world.h"

struct line {
	uint16_t port; /* not one of DPDK's */
	uint16_t burst;
	bool *stop; /* set at the end of a pass */
	uint32_t count, at;
	struct rte_mbuf **mbufs; /* in the order of arrival, which is not that of their addresses */
	bool flushed;            /* the pass is over, and the worker was told so by an empty poll */
	uint64_t begin, end;     /* TSC */
	uint64_t sent;
	uint64_t numbers; /* packets so far: the flows go on from pass to pass */
};

/* Ends the process where there is no memory. */
void line_open(struct line *line, uint16_t port, uint32_t count);
void line_close(struct line *line);

/* Writes all frames. cold: and has them, and their mbufs, leave all caches. */
void line_refill(struct line *line, const struct world *world, bool cold);

/* After a pass: of all frames as they are now. Equal for equal frames. */
uint64_t line_digest(const struct line *line);

#endif
