/* SPDX-License-Identifier: BSD-3-Clause */
/* What the benchmark steers: tables, and packets of a million flows to them. The same in every run.
 */
#ifndef GLB_BENCH_WORLD_H
#define GLB_BENCH_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/routes.h"

enum world_family {
	WORLD_V4,
	WORLD_V6,
	WORLD_MIXED, /* either, at random */
	WORLD_GENERAL, /* only packets that no fast path takes: of the kind `odd` */
};

/* Why a packet is odd. Those before WORLD_UNMATCHED are forwarded. */
enum world_kind {
	WORLD_ALL_KINDS, /* each of the eight that come next */
	WORLD_OPTIONS, /* of IPv4, as many as there can be */
	WORLD_FIRST_FRAGMENT,
	WORLD_ERROR, /* ICMP, from a router that quotes what a proxy sent */
	WORLD_PING,
	WORLD_TAGGED,
	WORLD_EXTENSIONS, /* of IPv6, eight */
	WORLD_V6_FRAGMENT,
	WORLD_V6_ERROR,
	WORLD_LATER_FRAGMENT,
	WORLD_EVERYTHING, /* two tags; an error with eight extensions, that quotes eight more */
	WORLD_ORDINARY, /* ordinary IPv4, for what only its mbuf makes odd */
	WORLD_UNMATCHED, /* ordinary, to a port that no table has */
};

struct world {
	unsigned tables, binds, backends, hops; /* binds: of each table, 16 ports an address */
	bool prefixes; /* binds are /28 and /64 instead of hosts */
	enum world_family family;
	enum world_kind kind;
};

#define WORLD_FRAME_MAX 288

/* Of bind n of a table: its address, in host order, and port. */
uint32_t world_vip(unsigned table, unsigned bind);
uint16_t world_port(unsigned bind);
void world_write_v6(uint8_t to[16], uint32_t address);

/* Scatters bits well. */
uint64_t world_mix(uint64_t number);

/* Without rows. False: no memory. The caller frees it with table_set_free(), in both cases. */
bool world_tables(const struct world *world, struct table_set *set);

/* Ends the process where there is no memory. The caller frees it with routes_free(). */
struct routes *world_routes(const struct world *world);

/* Writes packet `number` of the world, without padding; returns its size. */
uint32_t world_packet(const struct world *world, uint64_t number, uint8_t frame[WORLD_FRAME_MAX]);

#endif
