/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of each row: which of them each table in use reaches, and how many connections they are. For flows.c. */
#ifndef GLB_CLI_SIMULATE_FLOWS_ROWS_H
#define GLB_CLI_SIMULATE_FLOWS_ROWS_H

#include "cli/simulate/flows.h"

/* Makes room for `count` proxies in flows->dead. Returns false if out of memory. */
bool flows_rows_know(struct flows *flows, uint32_t count);

/* Sets the first of flows->times_ms. Returns false if out of memory. */
bool flows_rows_start(struct flows *flows);

/*
 * Brings the runs of every row to what the versions in use say now: removes and counts the runs that are lost, ends the
 * runs of proxies that are not the first hop any more, and begins others. If a lane has just replaced the version `old`
 * by `new`, only the rows in which they differ can change. If both are NULL, every row can. Returns false if out of
 * memory.
 */
bool flows_rows_settle(struct flows *flows, const struct flows_version *old, const struct flows_version *new);

#endif
