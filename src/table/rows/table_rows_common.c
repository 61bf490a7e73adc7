/* SPDX-License-Identifier: BSD-3-Clause */
/* The part that is the same for all ISAs, and compiled once. */
#include "table/rows/table_rows.h"

#include "common/byteorder.h"

table_rows_fn *const table_rows_by_isa[ISA_COUNT] = ISA_VARIANTS(table_rows);
table_scores_fn *const table_scores_by_isa[ISA_COUNT] = ISA_VARIANTS(table_scores);

/* Only the backends of the highest rank can be first hops: the good ones; if there are none, the healthy ones; if there
 * are none, all. */
static unsigned backend_rank(const struct table_backend *backend)
{
	return table_backend_is_good(backend) ? 2 : backend->healthy ? 1 : 0;
}

uint64_t table_rows_word(const uint8_t seed[SIPHASH_KEY_SIZE], const struct netaddr *addr)
{
	if (addr->family == NETADDR_V4)
		return (uint64_t)(8 + 4) << 56 | load_le32(addr->bytes);
	return (uint64_t)(8 + 7) << 56 | siphash(seed, addr->bytes, 16) >> 8;
}

uint64_t table_rows_seed(const uint8_t seed[SIPHASH_KEY_SIZE], uint32_t row)
{
	uint8_t number[4];

	store_be32(number, row);
	return siphash(seed, number, sizeof(number));
}

uint64_t table_rows_score(const uint8_t seed[SIPHASH_KEY_SIZE], uint64_t row_seed, uint64_t word)
{
	const uint64_t message[2] = {row_seed, word};

	return __builtin_bswap64(siphash(seed, message, word >> 56));
}

uint32_t table_rows_candidates(const struct table *table, struct table_candidate *out)
{
	uint32_t count = 0;
	unsigned top = 0;

	for (uint32_t i = 0; i < table->backend_count; i++) {
		const struct table_backend *backend = &table->backends[i];

		if (backend->state == TABLE_INACTIVE)
			continue;
		if (backend_rank(backend) > top)
			top = backend_rank(backend);
		out[count++] = (struct table_candidate){
			.word = table_rows_word(table->seed, &backend->addr),
			.backend = (uint16_t)i,
			.weight = (uint16_t)table_backend_weight(backend),
		};
	}
	for (uint32_t i = 0; i < count; i++)
		out[i].preferred = backend_rank(&table->backends[out[i].backend]) == top;
	return count;
}

bool table_rows_weighted(const struct table_candidate *candidates, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (candidates[i].weight != candidates[0].weight)
			return true;
	return false;
}
