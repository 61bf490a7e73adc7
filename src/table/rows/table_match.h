/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stable matching of rows and proxies (docs/reference/table-rows.md#matching), by deferred acceptance (Gale, Shapley
 * 1962). Each row proposes to proxies in its order of preference. Each proxy holds the rows that it prefers, up to its
 * cap, and rejects the others, which then propose to their next proxy. The result does not depend on the order of the
 * proposals. Pure; a call changes only its own memory and that of its context.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TABLE_MATCH_NONE UINT32_MAX

struct table_proposal {
	uint32_t proxy;
	uint64_t score; /* the proxy prefers low scores; with equal scores, low row numbers */
};

struct table_match_job {
	uint32_t row_count, proxy_count;
	const uint32_t *caps; /* [proxy] */
	/* Sets *proposal to the next preference of the row: the first call to the first one, and so on. False: none is
	 * left. */
	bool (*next)(void *context, uint32_t row, struct table_proposal *proposal);
	void *context;
};

/*
 * Sets matched[row] to the proxy of each row; TABLE_MATCH_NONE: all proxies rejected the row. `order` is NULL, or lists
 * all rows in the order in which they propose first. Returns 0 or -ENOMEM.
 */
int table_match(const struct table_match_job *job, const uint32_t *order, uint32_t *matched);
