/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Next hops of the table in use: built before a table is published, and replaced while packets flow (RCU). Called by
 * the control thread, or by the main thread before workers run.
 */
#pragma once

#include "director/reload/reload.h"

/* Builds the next hops of all ports for a table that no worker uses yet. 0, or -ENOMEM. */
int reload_next_hops_build(struct reload *reload, struct live_table *live);

/*
 * Replaces the next hops of a port for the table in use, and takes them over. It never waits: the old next hops are
 * freed by a later call, when no worker uses them.
 */
void reload_next_hops_publish(struct reload *reload, uint16_t port, struct next_hops *next_hops);

/* Frees what was replaced and is no longer used. Called now and then. */
void reload_next_hops_collect(struct reload *reload);

/* Frees the next hops of a table that no worker uses. */
void reload_next_hops_free(struct live_table *live);
