/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forwarding tables whose rows are simple to predict: hop i of row r is backend (r + i) % backends, and backend b of
 * table t is 192.168.t.b, or fd00::192.168.t.b. All 16 bytes of the hash key of table t are t.
 */
#pragma once

#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "packet/routes.h"
#include "table/table.h"

static inline uint32_t handmade_address(uint32_t table, uint32_t backend)
{
	return htonl(0xc0a80000 | table << 8 | backend);
}

static inline struct table *handmade_table(struct table_set *set, uint32_t backends, uint8_t row_hops)
{
	uint32_t t = set->count++;
	struct table *table;

	set->tables = realloc(set->tables, set->count * sizeof(*set->tables));
	table = &set->tables[t];
	*table = (struct table){.hops = row_hops, .row_hops = row_hops, .backend_count = backends};
	memset(table->hash_key, (int)t, sizeof(table->hash_key));
	table->backends = calloc(backends, sizeof(*table->backends));
	for (uint32_t i = 0; i < backends; i++) {
		uint32_t address = handmade_address(t, i);

		table->backends[i] = (struct table_backend){
			.addr = netaddr_from_bytes(NETADDR_V4, &address),
			.state = TABLE_ACTIVE,
			.healthy = true,
		};
	}
	table->rows = malloc(sizeof(uint16_t) * TABLE_ROWS * row_hops);
	for (uint32_t at = 0; at < (uint32_t)TABLE_ROWS * row_hops; at++)
		table->rows[at] = (uint16_t)((at / row_hops + at % row_hops) % backends);
	return table;
}

/* Gives the backends of a table IPv6 addresses. */
static inline void handmade_ipv6(struct table *table)
{
	for (uint32_t i = 0; i < table->backend_count; i++) {
		struct netaddr *addr = &table->backends[i].addr;
		struct net_ipv6_address bytes = {{0xfd}};

		memcpy(bytes.bytes + 12, addr->bytes, 4);
		*addr = netaddr_from_bytes(NETADDR_V6, &bytes);
	}
}

static inline void handmade_bind(
	struct table_set *set, uint32_t t, const char *prefix, uint8_t protocol, uint16_t port_start, uint16_t port_end)
{
	struct table *table = &set->tables[t];
	struct table_bind *bind;
	bool host_bits;

	table->binds = realloc(table->binds, (table->bind_count + 1) * sizeof(*table->binds));
	bind = &table->binds[table->bind_count++];
	*bind = (struct table_bind){.protocol = protocol, .port_start = port_start, .port_end = port_end};
	assert(netprefix_parse(prefix, &bind->prefix, &host_bits) && !host_bits);
}

/* Gives a table a configuration of each kind. Backend b has the server IDs 11 BBBB and 11 0000 BBBB, so that the
 * shorter one is a part of a longer one. */
static inline void handmade_quic(struct table *table)
{
	static const struct quic_config configs[] = {{0, 3, 4, true, {1}}, {2, 3, 13, true, {2}}, {4, 8, 4, false, {0}},
		{1, 3, 16, true, {3}}, {3, 3, 7, true, {4}}};

	table->quic_count = sizeof(configs) / sizeof(*configs);
	memcpy(table->quic, configs, sizeof(configs));
	for (uint32_t b = 0; b < table->backend_count; b++) {
		struct quic_server_id *ids = table->backends[b].server_ids;

		ids[0] = (struct quic_server_id){3, {0x11, (uint8_t)(b >> 8), (uint8_t)b}};
		ids[1] = (struct quic_server_id){8, {0x11, [6] = (uint8_t)(b >> 8), [7] = (uint8_t)b}};
	}
}

/* Writes a connection ID of the table's configuration `config` that names a backend. Returns its size. */
static inline uint32_t handmade_cid(const struct table *table, uint32_t config, uint32_t backend, uint8_t *cid)
{
	struct quic_codec *codec = quic_codec_create(&table->quic[config]);
	const struct quic_server_id *ids = table->backends[backend].server_ids;
	uint8_t nonce[QUIC_MAX_NONCE] = {(uint8_t)backend, 1, 2, 3};

	quic_encode(codec, 5, ids[table->quic[config].server_id_length == 8].bytes, nonce, cid);
	quic_codec_free(codec);
	return quic_cid_size(&table->quic[config]);
}

/* Takes over the set. */
static inline struct routes *handmade_routes(struct table_set *set)
{
	struct faults faults = {0};
	struct routes *routes = routes_create(set, &faults);

	assert(routes && faults.count == 0);
	return routes;
}
