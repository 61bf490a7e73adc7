/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of the benchmark, and packets of a million flows for them. They are the same in every run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packet/routes.h"

enum world_family {
	WORLD_V4,
	WORLD_V6,
	WORLD_MIXED, /* IPv4 or IPv6 at random */
	WORLD_GENERAL, /* only packets of the kind `kind`, which take the general path */
};

/* Why a packet takes the general path. The director forwards all kinds before WORLD_UNMATCHED. */
enum world_kind {
	WORLD_ALL_KINDS, /* the next eight kinds in turn */
	WORLD_OPTIONS, /* 40 bytes of IPv4 options */
	WORLD_FIRST_FRAGMENT,
	WORLD_ERROR, /* an ICMP error from a router, which quotes a proxy's packet */
	WORLD_PING,
	WORLD_TAGGED,
	WORLD_EXTENSIONS, /* eight IPv6 extension headers */
	WORLD_V6_FRAGMENT,
	WORLD_V6_ERROR,
	WORLD_LATER_FRAGMENT,
	/* Two tags, and an ICMPv6 error with eight extension headers, which quotes a packet with eight. */
	WORLD_EVERYTHING,
	WORLD_ORDINARY, /* IPv4 that takes the general path only because of its mbuf */
	WORLD_UNMATCHED, /* to a port that no table has */
};

/* The kinds of ordinary packets. All but TCP have the same size. */
enum world_data {
	WORLD_TCP,
	WORLD_UDP,
	/* UDP to binds with QUIC: short headers, whose connection IDs name any backend. */
	WORLD_QUIC_PASSES, /* more than one pass of AES */
	WORLD_QUIC_ONE_PASS,
	WORLD_QUIC_PLAIN, /* no key */
};

struct world {
	unsigned tables, binds, backends, hops; /* binds of each table, with 16 ports for an address */
	unsigned cut; /* bits that the prefixes of the binds are shorter than addresses */
	/* Further binds of the first table, which no packet matches: each adds a prefix length of both families, or a port map. */
	unsigned lengths, port_maps;
	bool half_unmatched; /* one of two packets goes to a port that no table has */
	enum world_family family;
	enum world_data data;
	bool ipv6_hops; /* the backends have IPv6 addresses */
	enum world_kind kind;
	bool few; /* one of WORLD_FEW packets is of the kind `kind`, the others are ordinary */
};

#define WORLD_FEW 16

#define WORLD_FRAME_MAX 288

/* The IPv4 address and the port of a bind, in host byte order. */
uint32_t world_vip(unsigned table, unsigned bind);
uint16_t world_port(unsigned bind);

/* Writes the IPv6 address that stands for an IPv4 address. */
void world_write_v6(uint8_t to[16], uint32_t address);

/* Writes the connection ID of a backend. Returns its size. */
uint32_t world_cid(const struct world *world, unsigned table, unsigned backend, uint64_t number, uint8_t *cid);

/* A hash with good diffusion (splitmix64). */
uint64_t world_mix(uint64_t number);

/*
 * Makes the tables without rows. Returns false if out of memory. The caller calls table_set_free() in
 * either case.
 */
bool world_tables(const struct world *world, struct table_set *set);

/* Makes the tables with rows. Exits if out of memory. The caller calls routes_free(). */
struct routes *world_routes(const struct world *world);

/* Writes frame `number` of the world without padding, and returns its size in bytes. */
uint32_t world_packet(const struct world *world, uint64_t number, uint8_t frame[WORLD_FRAME_MAX]);
