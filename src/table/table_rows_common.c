/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled once, beside the variants of table_rows.c. */
#include "table/table_rows.h"

#include "common/byteorder.h"

table_rows_fn *const table_rows_by_isa[ISA_COUNT] = ISA_VARIANTS(table_rows);

/* Good backends come first; without any, healthy ones; without any, all. */
static unsigned backend_rank(const struct table_backend *backend)
{
	return table_backend_is_good(backend) ? 2 : backend->healthy ? 1 : 0;
}

/* The message after the row's seed: address bytes, then SipHash's last word with the length of the
 * whole message on top. */
static void candidate_words(const struct netaddr *addr, struct table_candidate *out)
{
	if (addr->family == NETADDR_V4) {
		out->words[0] = (uint64_t)(8 + 4) << 56 | load_le32(addr->bytes);
		out->word_count = 1;
		return;
	}
	out->words[0] = load_le64(addr->bytes);
	out->words[1] = load_le64(addr->bytes + 8);
	out->words[2] = (uint64_t)(8 + 16) << 56;
	out->word_count = 3;
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
		out[count] = (struct table_candidate){.backend = (uint16_t)i};
		candidate_words(&backend->addr, &out[count]);
		count++;
	}
	for (uint32_t i = 0; i < count; i++)
		out[i].preferred = backend_rank(&table->backends[out[i].backend]) == top;
	return count;
}
