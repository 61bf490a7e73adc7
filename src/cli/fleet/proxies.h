/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the connections of the proxies of a table from the metrics of glb-redirect exporter. The file of --proxies
 * names the hosts. The pages come from other hosts and may be anything. One thread; asking blocks. All functions print
 * their errors.
 */
#pragma once

#include "cli/fleet/peers.h"
#include "table/table.h"

struct proxies {
	const char *file; /* borrowed */
	uint32_t timeout_s; /* for a page */
	bool forced; /* by --force: errors about the proxies are printed as warnings */
	struct peers peers;
};

/* Reads the file. The caller calls proxies_close() in either case. */
bool proxies_open(struct proxies *proxies, const char *file, uint32_t timeout_s, bool forced);
void proxies_close(struct proxies *proxies);

/* Asks the hosts in the file that are, or may be, one of these backends. */
bool proxies_ask(struct proxies *proxies, const struct netaddr *backends, size_t count);

/*
 * Like proxies_ask(), but asks again until the backends have counted their connections anew: a page has the count of
 * the last seconds, in which connections may have begun.
 */
bool proxies_ask_for_new_counts(struct proxies *proxies, const struct netaddr *backends, size_t count);

/* Returns the only host that is the backend, or NULL. */
const struct peer *proxies_peer(const struct proxies *proxies, const struct netaddr *backend);

/* Returns the metrics of the backend, or NULL: they are not known. */
const struct samples *proxies_find(const struct proxies *proxies, const struct netaddr *backend);

/* Prints an error about a proxy: a warning if its user insists. */
void proxies_complain(const struct proxies *proxies, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Counts the connections that the backend has for VIPs of the table. False: not known. */
bool proxies_count_left(
	const struct proxies *proxies, const struct netaddr *backend, const struct table *table, uint64_t *left);
