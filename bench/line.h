/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port without hardware, of two queue pairs: a receive queue hands out its frames once, a
 * transmit queue takes all that is sent. It is installed below rte_eth_rx_burst(), so the
 * director's own workers run on it unchanged. A pass is all frames once; it ends, and *stop is set,
 * at an empty poll when all have been sent. Each queue belongs to one lcore, what is between the
 * passes to the main one.
 */
#ifndef GLB_BENCH_LINE_H
#define GLB_BENCH_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#define LINE_QUEUES 2

struct line_queue {
	struct line *line;
	struct rte_mbuf **received; /* borrowed: what it will hand out */
	uint32_t count, at;
	bool flushed; /* an empty poll has told the worker to send what it may hold back */
	uint64_t begin, end; /* TSC */
	struct rte_mbuf **sent;
	uint32_t sent_count; /* atomic: the other queue's lcore reads it */
} __attribute__((aligned(64)));

struct line {
	uint16_t port; /* not one of DPDK's */
	uint16_t burst;
	bool *stop;
	volatile bool busy; /* within a pass */
	uint32_t expected; /* frames that will be sent: fewer where some are to be dropped */
	struct line_queue queues[LINE_QUEUES];
};

/* capacity: of frames a pass. Ends the process where there is no memory. */
void line_open(struct line *line, uint16_t port, uint32_t capacity);
void line_close(struct line *line);

/* Before a pass. */
void line_rewind(struct line *line, uint32_t expected);

/* After a pass. */
uint32_t line_sent(const struct line *line);
uint64_t line_cycles(const struct line *line);

#endif
