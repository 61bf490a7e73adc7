/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/steer.h"

#include <string.h>

#include "common/byteorder.h"
#include "common/netaddr.h"
#include "common/siphash.h"

static int find_table(const struct burst *burst, uint32_t lane, const struct routes *routes)
{
	uint8_t family = burst->family[lane];
	const uint8_t *destination = burst->destination[lane];

	switch (burst->kind[lane]) {
	case FLOW_ECHO:
		return classify_address(routes->classifier, family, destination);
	case FLOW_FRAGMENT:
		return classify_fragment(routes->classifier, family, destination);
	default:
		if (routes->portmap)
			return portmap_find(routes->portmap, family, destination, burst->protocol[lane],
				burst->destination_port[lane]);
		return classify_port(
			routes->classifier, family, destination, burst->protocol[lane], burst->destination_port[lane]);
	}
}

void steer_classify(
	struct burst *burst, uint64_t lanes, const struct routes *routes, const struct steering_config *steering)
{
	BURST_EACH (lane, lanes) {
		int table;

		if (burst->verdict[lane] != VERDICT_FORWARDED)
			continue;
		table = find_table(burst, (uint32_t)lane, routes);
		if (table == CLASSIFY_NONE)
			burst->verdict[lane] = VERDICT_DROP_UNMATCHED;
		else if (table == CLASSIFY_AMBIGUOUS ||
			 (burst->kind[lane] == FLOW_FRAGMENT && steering->hash_fields & STEERING_PORTS))
			burst->verdict[lane] = VERDICT_DROP_FRAGMENT;
		else
			burst->table[lane] = (uint8_t)table;
	}
}

/* Of one of two sizes that the compiler knows: not a call. Returns the size. */
static size_t copy_address(uint8_t *to, const uint8_t address[16], uint8_t family)
{
	if (family == NETADDR_V4) {
		memcpy(to, address, 4);
		return 4;
	}
	memcpy(to, address, 16);
	return 16;
}

static uint64_t hash_lane(const struct burst *burst, uint32_t lane, const struct siphash_state *key, uint8_t fields)
{
	uint8_t family = burst->family[lane];
	uint8_t message[16 + 16 + 2 + 2];
	struct siphash_state state = *key;
	size_t size = 0;

	if (fields & STEERING_SOURCE_ADDRESS)
		size += copy_address(message, burst->source[lane], family);
	if (fields & STEERING_DESTINATION_ADDRESS)
		size += copy_address(message + size, burst->destination[lane], family);
	if (fields & STEERING_SOURCE_PORT) {
		store_be16(message + size, burst->source_port[lane]);
		size += 2;
	}
	if (fields & STEERING_DESTINATION_PORT) {
		store_be16(message + size, burst->destination_port[lane]);
		size += 2;
	}
	return siphash_end(&state, message, size);
}

void steer_hash(struct burst *burst, uint64_t lanes, const struct routes *routes, const struct steering_config *steering)
{
	BURST_EACH (lane, lanes) {
		const struct routes_table *table;

		if (burst->verdict[lane] != VERDICT_FORWARDED)
			continue;
		table = &routes->tables[burst->table[lane]];
		burst->hash[lane] =
			hash_lane(burst, (uint32_t)lane, &routes->keys[burst->table[lane]], steering->hash_fields);
		burst->row[lane] = (uint16_t)burst->hash[lane];
		__builtin_prefetch(table->rows + (size_t)burst->row[lane] * table->row_hops);
	}
}

static void append_hop(struct burst *burst, uint32_t lane, uint32_t address)
{
	uint32_t *hops = burst->hops[lane];
	uint8_t count = burst->hop_count[lane];

	for (uint8_t i = 0; i < count; i++)
		if (hops[i] == address)
			return;
	hops[count] = address;
	burst->hop_count[lane] = count + 1;
}

static void append_row(struct burst *burst, uint32_t lane, const struct routes_table *table, uint16_t row)
{
	const uint16_t *backends = table->rows + (size_t)row * table->row_hops;

	for (uint8_t i = 0; i < table->row_hops; i++)
		append_hop(burst, lane, table->addresses[backends[i]]);
}

void steer_hops(struct burst *burst, uint64_t lanes, const struct routes *routes, const struct steering_config *steering)
{
	BURST_EACH (lane, lanes) {
		const struct routes_table *table;
		uint8_t alt = steering->alt_hash_fields;

		if (burst->verdict[lane] != VERDICT_FORWARDED)
			continue;
		table = &routes->tables[burst->table[lane]];
		burst->hop_count[lane] = 0;
		append_row(burst, (uint32_t)lane, table, burst->row[lane]);
		/* A later fragment has no ports to hash, and is taken by its first hop anyway. */
		if (alt && !(burst->kind[lane] == FLOW_FRAGMENT && alt & STEERING_PORTS))
			append_row(burst, (uint32_t)lane, table,
				(uint16_t)hash_lane(burst, (uint32_t)lane, &routes->keys[burst->table[lane]], alt));
	}
}
