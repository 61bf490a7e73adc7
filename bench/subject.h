/* SPDX-License-Identifier: BSD-3-Clause */
/* The director's own workers (src/worker/worker.c), and the state that they share. */
#pragma once

#include "bench/line.h"
#include "worker/tap/tap.h"
#include "worker/worker.h"

enum subject_capture { SUBJECT_NO_CAPTURE, SUBJECT_CAPTURE_OF_ALL, SUBJECT_CAPTURE_OF_NONE };

struct subject {
	struct worker_shared shared;
	struct live_table live;
	struct next_hops *next_hops;
	struct steering_config steering;
	struct worker *workers[LINE_QUEUES];
	struct flow_path paths[LINE_QUEUES];
	struct exception_limits limits;
	struct tap_choice choice; /* of the capture */
	struct tap *taps[LINE_QUEUES]; /* only the first worker has one; NULL: no capture was wanted yet */
	struct distributor *distributor; /* runs on the first worker; the second one takes a share of the packets */
};

/*
 * Sets up workers that receive from and send to `port`. `routes` is borrowed. next_hops: how many lead to
 * each backend; 0: one for all backends. `pool` has the mbufs for copies of frames. Exits if out of memory.
 */
void subject_open(
	struct subject *subject, uint16_t port, struct routes *routes, unsigned next_hops, struct rte_mempool *pool);
void subject_close(struct subject *subject);

/*
 * Call before each pass. distributor: the first worker receives all packets and distributes them to
 * both; otherwise each worker receives from its own queue. fast: the fast path, or NULL for none.
 */
void subject_arrange(struct subject *subject, bool distributor, lanes_fn *fast);

/*
 * Call after subject_arrange(). tap: the interface that unmatched packets go to; -1: they are dropped. limited: the
 * default limits of director.conf apply, and their buckets are empty, as in a flood.
 */
void subject_set_exceptions(struct subject *subject, int tap, bool limited);

/*
 * Call before each pass. A capture of all packets, of those of a client that sends none, or no capture. Its ring is empty, and it
 * may take all the time that a capture can save.
 */
void subject_set_capture(struct subject *subject, enum subject_capture capture);

/* Gives the port another MAC than the one that all frames go to. */
void subject_take_other_mac(struct subject *subject);

/* Limits the too-big replies of each worker, as the director does. */
void subject_limit_replies(struct subject *subject);
