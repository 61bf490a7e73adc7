/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A forwarding table made ready for packets: classifier, keys, rows, hop addresses. Built by the
 * control thread, then read-only; workers hold it no longer than a burst (RCU), the control thread
 * frees it.
 */
#ifndef GLB_PACKET_ROUTES_H
#define GLB_PACKET_ROUTES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/faults.h"
#include "packet/classify.h"
#include "packet/portmap.h"
#include "table/table.h"

/* So many backends a byte can name. */
#define ROUTES_FEW 256

struct routes_table {
	const uint8_t *hash_key;
	const uint16_t *rows; /* TABLE_ROWS * row_hops backend indices */
	const uint32_t *addresses; /* of the backends by index, network order */
	uint8_t row_hops;
	bool distinct; /* no row names an address twice */
};

struct routes {
	struct classifier *classifier;
	struct portmap *portmap; /* compiled from it, or NULL: too many prefix lengths or port maps */
	struct table_set set; /* what it was built from, for people */
	uint32_t *addresses; /* of all tables; of table t from ROUTES_FEW * t on, where few */
	bool few; /* no table has more than ROUTES_FEW backends */
	/*
	 * Copies of the rows for lookups of many at once, where every row has two different hops
	 * (pairs_only): one of the three, by table * TABLE_ROWS + row; the first hop in the low
	 * half. The smallest that is worth it: few tables' addresses fit the caches, and of the
	 * others less is better.
	 */
	bool pairs_only;
	uint64_t *pair_addresses;
	uint16_t *pair_bytes; /* indices in the table's addresses, where few */
	uint32_t *pair_indices; /* in `addresses` */
	uint64_t digest; /* table_set_digest() */
	struct routes_table tables[TABLE_MAX_TABLES];
	struct siphash_state keys[TABLE_MAX_TABLES]; /* with the hash key absorbed */
};

/*
 * Takes *set over and leaves it empty, also on failure. NULL: out of memory, or a backend that GUE
 * cannot reach (IPv6); faults says which. The caller frees the result with routes_free().
 */
struct routes *routes_create(struct table_set *set, struct faults *faults);
void routes_free(struct routes *routes);

/* Bytes of the classifier and what is compiled from it. */
size_t routes_classifier_memory(const struct routes *routes);

#endif
