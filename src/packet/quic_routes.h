/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the server that a connection ID of QUIC names, among the backends of a table
 * (docs/reference/steering.md#quic). The control thread builds it, and it is read-only afterwards. Pure.
 */
#pragma once

#include <stdint.h>

#include "common/byteorder.h"
#include "quic/quic.h"
#include "table/table.h"

/* The counter of a packet to a bind with `quic`. */
enum quic_fate {
	QUIC_NONE, /* no such packet; a fragment; an ICMP error that quotes no connection ID */
	QUIC_ROUTED,
	QUIC_DOWN, /* its server is down */
	QUIC_UNROUTABLE_CONFIG,
	QUIC_UNROUTABLE_SHORT,
	QUIC_UNROUTABLE_SERVER,
	QUIC_FATES,
};

/* "routed", "down", "unroutable_config" ...; NULL: QUIC_NONE. */
const char *quic_fate_name(enum quic_fate fate);

#define QUIC_NO_SERVER UINT32_MAX

struct quic_routes_config {
	struct quic_codec *codec; /* NULL: no such configuration */
	uint32_t cid_size; /* bytes of a connection ID that the codec reads; UINT32_MAX without a codec */
	uint8_t server_id_length;
	uint64_t plain_mask; /* the bytes of the server ID, if it has no key and at most 8 bytes; else 0 */
};

/* A server ID in the form of quic_decode_many(), with its length as the last byte. */
struct quic_routes_server {
	uint64_t id[2];
	uint32_t backend; /* index in routes->addresses */
	uint16_t down; /* 1: the backend is down */
	uint16_t length; /* of the server ID; 0: a free slot */
};

struct quic_routes {
	struct quic_routes_config configs[QUIC_MAX_CONFIGS + 1]; /* by the three bits in the connection ID */
	/* A hash table with open addressing, at most half full. A slot has the server IDs whose hash has its number in
	 * the bits from `shift` on. */
	struct quic_routes_server *servers;
	uint32_t shift, mask;
};

/* first_backend: index in routes->addresses of the table's first backend. NULL: out of memory. The caller frees the
 * result with quic_routes_free(). */
struct quic_routes *quic_routes_create(const struct table *table, uint32_t first_backend);
void quic_routes_free(struct quic_routes *routes);

/*
 * Finds the server of a UDP payload, or of one that an ICMP error quotes. *backend: index in routes->addresses, or
 * QUIC_NO_SERVER unless the result is QUIC_ROUTED or QUIC_DOWN. payload, size: as in struct flow.
 */
enum quic_fate quic_routes_find(
	const struct quic_routes *routes, const uint8_t *payload, uint32_t size, bool quoted, uint32_t *backend);

/* The length of a server ID, at its place in the second half of a padded server ID. */
static inline uint64_t quic_routes_length(uint8_t length)
{
	return (uint64_t)length << 56;
}

/* The slot where the search for the server ID of these halves begins. */
static inline uint32_t quic_routes_slot(const struct quic_routes *routes, uint64_t low, uint64_t high)
{
	return (uint32_t)((low * 0x9e3779b97f4a7c15u ^ high * 0xbf58476d1ce4e5b9u) >> routes->shift);
}

/* Returns the server with the server ID of these halves, or a free slot if there is none. */
static inline const struct quic_routes_server *quic_routes_server(
	const struct quic_routes *routes, uint64_t low, uint64_t high)
{
	uint32_t at = quic_routes_slot(routes, low, high);

	while (routes->servers[at].length && (routes->servers[at].id[0] != low || routes->servers[at].id[1] != high))
		at = (at + 1) & routes->mask;
	return &routes->servers[at];
}
