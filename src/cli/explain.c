/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/explain.h"

#include <stdio.h>
#include <string.h>

#include "common/byteorder.h"
#include "common/siphash.h"
#include "packet/flow.h"

struct table_rank explain_rank(const uint8_t seed[SIPHASH_KEY_SIZE], uint16_t row, const struct table_backend *backend)
{
	const struct netaddr *addr = &backend->addr;
	uint8_t row_bytes[4], message[8 + 16];
	uint64_t row_seed;

	store_be32(row_bytes, row);
	row_seed = siphash(seed, row_bytes, sizeof(row_bytes));
	memcpy(message, &row_seed, 8);
	memcpy(message + 8, addr->bytes, netaddr_size(addr));
	return table_rank_of(
		__builtin_bswap64(siphash(seed, message, 8 + netaddr_size(addr))), table_backend_weight(backend));
}

/* Backends with equal ranks keep their order in the table. */
static bool is_before(const struct table_rank *a, uint32_t a_index, const struct table_rank *b, uint32_t b_index)
{
	return table_rank_before(a, b) || (!table_rank_before(b, a) && a_index < b_index);
}

/* Returns the backend's place in the row's natural order, from 1. Sets *owner to the backend in place 1. */
static uint32_t natural_place(const struct table *table, uint16_t row, uint32_t backend, uint32_t *owner)
{
	struct table_rank own = explain_rank(table->seed, row, &table->backends[backend]), least = own;
	uint32_t place = 1;

	*owner = backend;
	for (uint32_t i = 0; i < table->backend_count; i++) {
		struct table_rank other;

		if (table->backends[i].state == TABLE_INACTIVE || i == backend)
			continue;
		other = explain_rank(table->seed, row, &table->backends[i]);
		place += is_before(&other, i, &own, backend);
		if (is_before(&other, i, &least, *owner)) {
			least = other;
			*owner = i;
		}
	}
	return place;
}

const char *explain_hop(const struct table *table, uint16_t row, unsigned position, bool has_seed, char buf[EXPLAIN_MAX])
{
	uint32_t index = table->rows[(size_t)row * table->row_hops + position];
	const struct table_backend *backend = &table->backends[index];
	const char *rest = "", *state;
	uint32_t owner, place;
	char text[NETADDR_TEXT_MAX];

	if (!has_seed) {
		snprintf(buf, EXPLAIN_MAX, "hop %u of row %u", position + 1, row);
		return buf;
	}
	place = natural_place(table, row, index, &owner);
	if (position == 0 && !table_backend_is_good(backend))
		rest = backend->healthy ? "; none is good, it is the first healthy" : "; none is healthy";
	netaddr_format(&table->backends[owner].addr, text);
	state = table->backends[owner].healthy ? table_state_name(table->backends[owner].state) : "down";
	if (place == 1)
		snprintf(buf, EXPLAIN_MAX, "natural owner%s", rest);
	else if (position > 0 || *rest)
		snprintf(buf, EXPLAIN_MAX, "place %u in natural order%s", place, rest);
	else if (place == 2)
		snprintf(buf, EXPLAIN_MAX, "first good: %s is %s", text, state);
	else
		snprintf(buf, EXPLAIN_MAX, "first good: %s is %s (%u skipped)", text, state, place - 1);
	return buf;
}

const char *explain_unmatched(const struct flow *flow, const struct routes *routes, const struct steering_config *steering)
{
	if (flow->kind == FLOW_ECHO && !steering->forward_ping)
		return "forward_icmp_ping_responses is off";
	if (classify_address(routes->classifier, flow->family, flow->destination) != CLASSIFY_NONE)
		return "binds cover the destination address, but not this protocol and port";
	return "no bind covers the destination address";
}
