/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/shares.h"

#include <stdlib.h>

bool shares_count_rows(struct shares *shares, const struct table *table)
{
	unsigned hops = table->row_hops;
	uint32_t most = 0;

	*shares = (struct shares){.row_hops = hops};
	shares->counts = calloc((size_t)table->backend_count * hops + 1, sizeof(*shares->counts));
	if (!shares->counts)
		return false;
	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		const uint16_t *backends = table->rows + (size_t)row * hops;

		for (unsigned hop = 0; hop < hops; hop++)
			if (hop == 0 || backends[hop] != backends[0])
				shares->counts[backends[hop] * hops + hop]++;
	}
	for (uint32_t i = 0; i < table->backend_count; i++) {
		uint32_t count = shares_count(shares, i, 0);

		shares->used += count || table_backend_is_good(&table->backends[i]);
		most = count > most ? count : most;
	}
	shares->imbalance = (double)most * shares->used / TABLE_ROWS;
	return true;
}

void shares_free(struct shares *shares)
{
	free(shares->counts);
}
