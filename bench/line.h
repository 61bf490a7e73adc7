/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port without hardware, with two queue pairs. A receive queue hands out each of its frames once. A
 * transmit queue keeps all frames that are sent. The port is installed below rte_eth_rx_burst(), so the
 * director's own workers run on it unchanged. In a pass the receive queues hand out all frames. The
 * pass ends, and sets *stop, at an empty poll after all frames were sent. During a pass each queue
 * belongs to one lcore; between passes all belong to the main lcore.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#define LINE_QUEUES 2

struct line_queue {
	struct line *line;
	struct rte_mbuf **received; /* borrowed: the frames to hand out */
	uint32_t count, at; /* number of frames, and of those handed out */
	bool flushed; /* an empty poll happened, after which the worker sends all frames that it holds */
	uint64_t begin, end; /* TSC */
	struct rte_mbuf **sent;
	uint32_t sent_count; /* atomic, because the other queue's lcore reads it */
} __attribute__((aligned(64)));

struct line {
	uint16_t port; /* an id that no DPDK port has */
	uint16_t burst; /* most frames that a poll returns */
	bool *stop;
	volatile bool busy; /* a pass is running */
	uint32_t expected; /* number of frames that a pass will send; 0 if the director drops all */
	struct line_queue queues[LINE_QUEUES];
};

/* capacity: most frames in a pass. Exits if out of memory. */
void line_open(struct line *line, uint16_t port, uint32_t capacity);
void line_close(struct line *line);

/* Prepares the next pass. */
void line_rewind(struct line *line, uint32_t expected);

/* The number of frames that the pass sent, and the TSC cycles that it took. */
uint32_t line_sent(const struct line *line);
uint64_t line_cycles(const struct line *line);
