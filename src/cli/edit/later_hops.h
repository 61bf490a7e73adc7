/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which proxies rows lose as later hops if a table forgets its oldest previous states, and whether these proxies still
 * accept packets there. One thread.
 */
#ifndef GLB_CLI_EDIT_LATER_HOPS_H
#define GLB_CLI_EDIT_LATER_HOPS_H

#include "cli/edit/proxies.h"

/* Places in rows that are lost, for each backend of the table: bit h: as hop h, from 0, which is the first one. */
struct later_hops {
	const struct table *table; /* borrowed */
	uint8_t *lost[TABLE_MAX_PAST + 1]; /* by the number of states that remain: 0..past_count - 1; owned */
};

/* Compares the rows. False: an error was printed. The caller calls later_hops_free() in either case. */
bool later_hops_find(struct later_hops *hops, const struct table *table);
void later_hops_free(struct later_hops *hops);

/* Packets that a proxy has accepted at each hop. */
struct accepted {
	bool known;
	uint64_t at_hop[TABLE_MAX_HOPS];
	uint64_t last_resort; /* of them, those that no proxy knew */
	size_t samples;
};

/* Reads what the proxy has accepted since its program was attached. The result is not known if an error was printed. */
struct accepted later_hops_read(const struct proxies *proxies, const struct netaddr *backend);

/*
 * Returns true if the proxy has accepted nothing between the readings at the places of the bits `lost`, but packets
 * that belong to no connection. Otherwise *hop is the place with packets, from 1, and *count their number.
 */
bool later_hops_unused(
	const struct accepted *first, const struct accepted *second, uint8_t lost, unsigned *hop, uint64_t *count);

#endif
