/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The director's state, which all its threads share. There is one, in main.c. The main thread fills it before it starts
 * other threads, and it is read-only from then on. Exceptions: the comments of the ports, of the workers and of the
 * members after started_ns name the threads that write them.
 */
#pragma once

#include <stdint.h>

#include "director/conf/conf.h"
#include "director/health/health_watch.h"
#include "director/health/underlay_report.h"
#include "director/isa/isa_choice.h"
#include "director/options.h"
#include "director/plan.h"
#include "director/ports/ports.h"
#include "director/reload/reload.h"
#include "director/workers.h"
#include "worker/worker_shared.h"

struct capture;
struct nexthop;

struct director {
	struct options options;
	struct conf conf;
	struct plan plan;
	struct ports ports;
	struct workers workers;
	struct isa_choice isa; /* of the fast path of all workers */
	uint64_t started_ns; /* CLOCK_MONOTONIC */
	uint64_t started; /* Unix time in seconds */

	/* Finds the next hops; NULL: the MAC is configured. Open as long as the control thread is. */
	struct nexthop *nexthop;
	struct capture *capture; /* NULL: packets cannot be captured */
	struct health_watch watch; /* the control thread writes it; see health_report_now() */
	struct underlay_report underlay; /* its comments say which thread writes what */
	struct reload reload; /* its comments say which thread writes what */
	struct worker_drain drain;
	struct worker_shared shared; /* the control thread writes it */
};

/*
 * Logs warnings if the table in use does not fit the source addresses or outbound_mtu. Main thread at the start, then
 * the control thread.
 */
void director_lint_table(const struct director *director);
