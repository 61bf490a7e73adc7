/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/count_backends.h"

void count_backends(const struct live_table *live, unsigned worker, const struct outcome *outcomes,
	const uint32_t *backends, const uint32_t *sizes, uint32_t sent, uint32_t weight)
{
	uint64_t *packets = count_rows_of(&live->counts.backends, BACKEND_FORWARDED, worker);
	uint64_t *bytes = count_rows_of(&live->counts.backends, BACKEND_BYTES, worker);

	for (uint32_t i = 0; i < sent; i++) {
		if (outcomes && outcomes[i].verdict != VERDICT_FORWARDED)
			continue;
		counters_add(&packets[backends[i]], weight);
		counters_add(&bytes[backends[i]], (uint64_t)sizes[i] * weight);
	}
}
