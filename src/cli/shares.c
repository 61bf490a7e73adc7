/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/shares.h"

#include <stdlib.h>

#include "cli/alloc.h"

void shares_count_rows(struct shares *shares, const struct table *table)
{
	unsigned hops = table->row_hops, weight = 0;
	double most = 0, sum = 0;

	*shares = (struct shares){.row_hops = hops};
	shares->counts = alloc_zeroed((size_t)table->backend_count * hops, sizeof(*shares->counts));
	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		const uint16_t *backends = table->rows + (size_t)row * hops;

		for (unsigned hop = 0; hop < hops; hop++)
			if (hop == 0 || backends[hop] != backends[0])
				shares->counts[backends[hop] * hops + hop]++;
	}
	for (uint32_t i = 0; i < table->backend_count; i++) {
		const struct table_backend *backend = &table->backends[i];
		unsigned own = table_backend_weight(backend);
		double rows = shares_count(shares, i, 0);

		if (rows == 0 && !table_backend_is_good(backend))
			continue;
		shares->used++;
		shares->weighted |= weight && own != weight;
		weight = own;
		sum += own;
		most = rows / own > most ? rows / own : most;
	}
	shares->imbalance = most * sum / TABLE_ROWS;
}

void shares_free(struct shares *shares)
{
	free(shares->counts);
}
