/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Follows connections through table sets in the order of time. In each set, new connections begin at the first hop of
 * every row, and nothing ends unless the caller says so. Pure, but allocates memory. One thread.
 */
#pragma once

#include "cli/diff/table_diff.h"

struct sequence {
	const struct table_set *set; /* the newest; borrowed, and used by the next step */
	/* One entry for each table of the set; an empty one: everyone who may hold connections by this table alone */
	struct holders *held;
};

/* The caller calls sequence_free(). */
void sequence_begin(struct sequence *sequence, const struct table_set *first);

/* Replaces the set by the next one. Fills *diff; the caller frees it, and frees the older set only after that. */
void sequence_step(struct sequence *sequence, const struct table_set *next, struct table_set_diff *diff);

/* The proxy has no connections of table `index` any more, except in the rows where it gets new ones. */
void sequence_drained(struct sequence *sequence, uint32_t index, const struct netaddr *proxy);

/* The connections that began before the newest set have ended. */
void sequence_older_ended(struct sequence *sequence);

void sequence_free(struct sequence *sequence);
