/* SPDX-License-Identifier: BSD-3-Clause */
/* Random tables with weights, balance and previous states. Include cmocka.h first. */
#pragma once

#include "tests/unit/table_helpers.h"

static inline uint16_t random_weight(void)
{
	static const uint16_t weights[] = {100, 100, 100, 1, 50, 200, 1000};

	return weights[random_below(7)];
}

/* Fills a state with most of the table's backends, some with other weights, and with a few others. */
static inline void random_past(struct table_past *past, const struct table *table)
{
	*past = (struct table_past){.balance = random_below(2) ? (uint16_t)(1005 + random_below(300)) : 0,
		.backends = calloc(table->backend_count + 3, sizeof(*past->backends))};
	for (uint32_t i = 0; i < table->backend_count; i++)
		if (random_below(8))
			past->backends[past->backend_count++] =
				(struct table_past_backend){.addr = table->backends[i].addr,
					.weight = random_below(8) ? table->backends[i].weight : random_weight(),
					.healthy = random_below(6)};
	for (uint32_t i = 0; i < 3 && random_below(2); i++)
		past->backends[past->backend_count++] =
			(struct table_past_backend){.addr = random_addr(backend_family, 0xfff000 + i),
				.weight = random_weight(),
				.healthy = random_below(4)};
}

static inline void random_matched_table(
	struct table *table, uint32_t backends, uint8_t hops, uint32_t past, enum random_health health)
{
	random_table(table, backends, 0, hops, NETADDR_V4, health);
	for (uint32_t i = 0; i < backends; i++)
		table->backends[i].weight = random_weight();
	table->balance = random_below(4) ? (uint16_t)(1005 + random_below(200)) : 0;
	table->past_count = past;
	table->past = calloc(past + 1, sizeof(*table->past));
	for (uint32_t p = 0; p < past; p++)
		random_past(&table->past[p], table);
}
