/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker's part of a capture (docs/reference/cli.md#capture): it chooses packets and copies them with their verdict
 * into a ring for the director's capture thread. Forwarding has priority: a tap takes at most a part of the lcore's
 * time and never waits for room. What it leaves out for these reasons, it counts. The capture thread creates a tap for
 * each worker and frees it after all workers have let go of it (RCU). In between, the worker owns it, and the capture
 * thread reads the counters and takes the records.
 *
 * The pipeline overwrites the frames of the packets that it sends. So a tap usually copies packets before the pipeline
 * runs, and learns the verdict afterwards. If only verdicts are wanted that leave the frame as it is, it chooses by the
 * verdict first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <pcap/pcap.h>
#include <rte_mbuf.h>

#include "packet/burst.h"
#include "packet/capture_messages.h"
#include "packet/steering.h"
#include "worker/tap/tap_ring.h"
#include "worker/worker_shared.h"

#define TAP_RING_SIZE (2u << 20) /* bytes */
#define TAP_SHARE     8 /* a tap may take one part of so many of the lcore's time */

/* What all taps of a capture choose. Read-only while they exist. */
struct tap_choice {
	const struct bpf_insn *program; /* checked by bpf_validate(); NULL: every packet */
	uint32_t verdicts; /* as in struct capture_request */
	int slot; /* of the table in live_table.slot; -1: every packet */
	uint32_t snaplen;
};

/* A packet of the current burst that may be captured. */
struct tap_packet {
	const struct rte_mbuf *mbuf; /* its address identifies the packet; it may be freed already */
	bool wanted; /* false: it turned out that it is not */
	bool has_flow;
	uint8_t lane; /* in the burst */
	struct flow flow;
	uint8_t *copy; /* of the frame that arrived, then of the one that was sent */
	struct capture_record record; /* without data */
};

struct tap {
	const struct tap_choice *choice;
	const struct steering_config *steering;
	uint16_t lcore, worker;
	bool late; /* packets are chosen after the pipeline */
	struct tap_ring ring;
	struct capture_counters counters; /* atomic */

	/* Private to the worker. */
	uint64_t number; /* of packets so far */
	uint64_t last; /* of rte_rdtsc(): when the allowance was last raised */
	int64_t allowance, most; /* ticks that the tap may take now, and the most it may save */
	uint64_t began; /* of rte_rdtsc(): the current step */
	const struct live_table *live; /* of the current burst; NULL: there is none */
	uint16_t out_port;
	uint16_t count; /* of packets[] */
	struct tap_packet packets[BURST_MAX];
	uint8_t *copies; /* BURST_MAX * 2 * snaplen bytes */
};

/*
 * Fills a tap, which may be all zeros, with the memory for its ring and copies (tap_memory() bytes, aligned to 8). hz:
 * of rte_rdtsc().
 */
void tap_init(struct tap *tap, const struct tap_choice *choice, uint8_t *memory, uint64_t hz);
size_t tap_memory(const struct tap_choice *choice);

/*
 * The steps of a burst, in this order. tap_before(): when the burst is loaded. tap_between(): after the pipeline,
 * before a packet is sent or freed. tap_ready(): before the packets are sent; burst->verdict[] and out[] are those of
 * the packets that are left. tap_after(): when all packets are sent or freed.
 */
void tap_before(struct tap *tap, const struct burst *burst, struct rte_mbuf *const *mbufs,
	const struct live_table *live, uint16_t out_port);
void tap_between(struct tap *tap, const struct burst *burst, struct rte_mbuf *const *mbufs);
void tap_ready(struct tap *tap, const struct burst *burst);
void tap_after(struct tap *tap);

/* Marks the packets of the burst that may be captured, in mbuf->hash.usr, before another lcore gets them. */
void tap_mark(const struct tap *tap, struct rte_mbuf **mbufs, uint16_t count);
#define TAP_MARK (1u << 16)

/*
 * A packet is about to be freed, and its verdict is this one. If the packet is in the current burst, its verdict
 * changes. If another lcore has marked it and handed it over, it is captured again, as the frame that is freed.
 */
void tap_drop(struct tap *tap, const struct rte_mbuf *mbuf, uint8_t verdict, uint16_t out_port);

/* Captures a packet that has no part in a burst. in_port, out_port: CAPTURE_NO_PORT if it was not received, or not
 * sent. */
void tap_single(struct tap *tap, const struct rte_mbuf *mbuf, uint8_t verdict, uint16_t in_port, uint16_t out_port);
