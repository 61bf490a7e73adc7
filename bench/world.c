/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/byteorder.h"
#include "table/rows/table_build.h"

#define PORTS_PER_ADDRESS 16
#define FIRST_PORT        80

uint64_t world_mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* 10.TABLE.N.1, so that prefixes of 28 bits do not overlap */
uint32_t world_vip(unsigned table, unsigned bind)
{
	return 10u << 24 | table << 16 | (bind / PORTS_PER_ADDRESS) << 8 | 1;
}

uint16_t world_port(unsigned bind)
{
	return (uint16_t)(FIRST_PORT + bind % PORTS_PER_ADDRESS);
}

void world_write_v6(uint8_t to[16], uint32_t address)
{
	static const uint8_t prefix[16] = {0x20, 0x01, 0x0d, 0xb8};

	memcpy(to, prefix, 16);
	store_be32(to + 4, address);
	to[15] = 1;
}

static struct netprefix bind_prefix(const struct world *world, bool v6, uint32_t address)
{
	struct netprefix prefix;
	uint8_t bytes[16];

	if (v6) {
		world_write_v6(bytes, address);
		prefix.addr = netaddr_from_bytes(NETADDR_V6, bytes);
		prefix.length = (uint8_t)(128 - world->cut);
	} else {
		store_be32(bytes, address);
		prefix.addr = netaddr_from_bytes(NETADDR_V4, bytes);
		prefix.length = (uint8_t)(32 - world->cut);
	}
	netprefix_mask(prefix.addr.bytes, netaddr_size(&prefix.addr), prefix.length);
	return prefix;
}

/* 11.0.0.0/31, 11.0.0.0/30, ... and 12.0.0.0/32, 12.0.0.1/32, ..., and IPv6 prefixes in the same way */
static void fill_further(const struct world *world, struct table_bind *bind)
{
	const struct world single = {.cut = 0};

	for (unsigned i = 0; i < 2 * world->lengths; i++, bind++) {
		bind->prefix = bind_prefix(&single, i % 2, 11u << 24);
		bind->prefix.length = (uint8_t)(bind->prefix.length - i / 2 - 1);
		netprefix_mask(bind->prefix.addr.bytes, netaddr_size(&bind->prefix.addr), bind->prefix.length);
		bind->port_start = bind->port_end = 1;
		bind->protocol = TABLE_TCP;
	}
	for (unsigned i = 0; i < world->port_maps; i++, bind++) {
		bind->prefix = bind_prefix(&single, i % 2, 12u << 24 | i);
		bind->port_start = bind->port_end = (uint16_t)(i + 1);
		bind->protocol = TABLE_TCP;
	}
}

/* The configuration of a table for QUIC packets, by enum world_data. */
static const struct quic_config quic_configs[] = {
	[WORLD_QUIC_PASSES] = {0, 3, 8, true, {1, 2, 3}},
	[WORLD_QUIC_ONE_PASS] = {0, 3, 13, true, {4, 5, 6}},
	[WORLD_QUIC_PLAIN] = {0, 3, 8, false, {0}},
};

static struct quic_server_id server_id(unsigned table, unsigned backend)
{
	return (struct quic_server_id){3, {(uint8_t)table, (uint8_t)(backend >> 8), (uint8_t)backend}};
}

uint32_t world_cid(const struct world *world, unsigned table, unsigned backend, uint64_t number, uint8_t *cid)
{
	static struct quic_codec *codecs[sizeof(quic_configs) / sizeof(*quic_configs)]; /* kept until the end */
	const struct quic_config *config = &quic_configs[world->data];
	uint64_t nonce[4] = {world_mix(number)};

	if (!codecs[world->data])
		codecs[world->data] = quic_codec_create(config);
	quic_encode(codecs[world->data], (uint8_t)number, server_id(table, backend).bytes, (const uint8_t *)nonce, cid);
	return quic_cid_size(config);
}

static void fill_quic(const struct world *world, unsigned index, struct table *table)
{
	table->quic_count = 1;
	table->quic[0] = quic_configs[world->data];
	for (unsigned i = 0; i < world->backends; i++)
		table->backends[i].server_ids[0] = server_id(index, i);
}

static bool fill_table(const struct world *world, unsigned index, struct table *table)
{
	unsigned further = index == 0 ? 2 * world->lengths + world->port_maps : 0;

	*table = (struct table){
		.hops = (uint8_t)world->hops,
		.backend_count = world->backends,
		.backends = calloc(world->backends, sizeof(*table->backends)),
		.bind_count = 2 * world->binds + further,
		.binds = calloc(2 * world->binds + further, sizeof(*table->binds)),
	};
	if (!table->backends || !table->binds)
		return false;
	for (unsigned i = 0; i < SIPHASH_KEY_SIZE; i++) {
		table->hash_key[i] = (uint8_t)world_mix(index * 64 + i);
		table->seed[i] = (uint8_t)world_mix(index * 64 + 32 + i);
	}
	for (unsigned i = 0; i < world->backends; i++) {
		uint8_t bytes[16];

		if (world->ipv6_hops)
			world_write_v6(bytes, 172u << 24 | index << 16 | (i + 1));
		else
			store_be32(bytes, 172u << 24 | index << 16 | (i + 1));
		table->backends[i].addr = netaddr_from_bytes(world->ipv6_hops ? NETADDR_V6 : NETADDR_V4, bytes);
		table->backends[i].state = TABLE_ACTIVE;
		table->backends[i].healthy = true;
	}
	for (unsigned i = 0; i < 2 * world->binds; i++) {
		unsigned bind = i / 2;
		struct table_bind *at = &table->binds[i];

		at->prefix = bind_prefix(world, i % 2, world_vip(index, bind));
		at->port_start = at->port_end = world_port(bind);
		at->protocol = world->data ? TABLE_UDP : TABLE_TCP;
		at->quic = world->data > WORLD_UDP;
	}
	if (world->data > WORLD_UDP)
		fill_quic(world, index, table);
	if (further)
		fill_further(world, &table->binds[2 * world->binds]);
	return true;
}

bool world_tables(const struct world *world, struct table_set *set)
{
	*set = (struct table_set){.tables = calloc(world->tables + 1, sizeof(struct table))};
	while (set->tables && set->count < world->tables && fill_table(world, set->count, &set->tables[set->count]))
		set->count++;
	return set->count == world->tables;
}

struct routes *world_routes(const struct world *world)
{
	struct table_set set;
	struct faults faults = {0};
	struct routes *routes = NULL;

	if (world_tables(world, &set) && table_build(&set, 1) == 0)
		routes = routes_create(&set, &faults);
	if (!routes) {
		fprintf(stderr, "out of memory for %u tables\n", world->tables);
		exit(EXIT_FAILURE);
	}
	return routes;
}
