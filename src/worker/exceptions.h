/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker's end of the exception path. It sorts unmatched frames by class, drops those beyond the limit of their class
 * before they cost a system call, and sends the control plane first. Each lcore owns its struct exceptions. All lcores
 * share the limits: the packets of a class may all arrive at one lcore, which then needs the whole limit.
 */
#pragma once

#include <stdint.h>

#include "common/shared_bucket.h"
#include "packet/exception_class.h"
#include "worker/transmit.h"

struct exception_limits {
	struct shared_bucket buckets[EXCEPTION_CLASSES];
};

/* The limits of the configuration: packets a second of the control plane and of all else. second: in ticks of
 * rte_rdtsc(). */
struct exception_limits exceptions_limits(uint32_t control, uint32_t other, uint64_t second);

struct exceptions {
	struct exception_limits *limits; /* shared; NULL: none */
	uint16_t count;
	struct rte_mbuf *mbufs[BURST_MAX]; /* not sorted yet */
	struct tap *tap; /* told about packets beyond the limits; NULL: none */
	struct outbox control, other;
};

/* Keeps an unmatched frame until exceptions_send(). At most BURST_MAX between two calls. */
static inline void exceptions_put(struct exceptions *exceptions, struct rte_mbuf *mbuf)
{
	exceptions->mbufs[exceptions->count++] = mbuf;
}

/* The same for a frame that another lcore has sorted and that is within its limit. */
void exceptions_put_sorted(struct exceptions *exceptions, struct rte_mbuf *mbuf, uint8_t class);

/* Sends the frames that were put and drops those beyond their limits. Counts all of them. */
void exceptions_send(struct exceptions *exceptions, const struct queue *queue, struct counters *counters);
