/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the packets of a world: ordinary ones, and each kind of packet that takes the general path. */
#include "bench/world.h"

#include <string.h>

#include "common/byteorder.h"
#include "common/net.h"

enum {
	FLOWS = 1 << 20,
	TAG = 0x81000007,
	FRAGMENT = 44,
	MAX_EXTENSIONS = 8,
	MAX_OPTION_WORDS = 10,
	NO_TABLE_PORT = 9, /* less than every port of a bind */
};

struct flow_key {
	uint32_t client, address; /* host byte order; `address` is the VIP */
	uint16_t source_port, destination_port;
};

static unsigned pick_table(const struct world *world, uint64_t hash)
{
	return (unsigned)(hash >> 32) % world->tables;
}

static struct flow_key pick_flow(const struct world *world, uint64_t hash)
{
	unsigned table = pick_table(world, hash);
	unsigned bind = (unsigned)(hash >> 48) % world->binds;

	return (struct flow_key){
		.client = 0x80000000 | (hash & 0x1fffffff), /* 128.0.0.0/3, which has no martians */
		.address = world_vip(table, bind),
		.source_port = (uint16_t)(1024 + (hash >> 40) % 60000),
		.destination_port = world_port(bind),
	};
}

/* Returns the flow from proxy to client, which an ICMP error quotes. */
static struct flow_key reverse(const struct flow_key *key)
{
	return (struct flow_key){
		.client = key->address,
		.address = key->client,
		.source_port = key->destination_port,
		.destination_port = key->source_port,
	};
}

static uint8_t *put_tcp(uint8_t *at, const struct flow_key *key)
{
	memset(at, 0, 20);
	store_be16(at, key->source_port);
	store_be16(at + 2, key->destination_port);
	at[12] = 5 << 4;
	return at + 20;
}

/* Writes a UDP packet of the length of a short acknowledgement of QUIC. */
static uint8_t *put_udp(uint8_t *at, const struct world *world, const struct flow_key *key, unsigned table, uint64_t hash)
{
	enum { DATA = 40 };

	store_be16(at, key->source_port);
	store_be16(at + 2, key->destination_port);
	store_be16(at + 4, 8 + DATA);
	store_be16(at + 6, 0);
	memset(at + 8, 0x55, DATA);
	if (world->data > WORLD_UDP)
		world_cid(world, table, (unsigned)(hash >> 8) % world->backends, hash, at + 9);
	return at + 8 + DATA;
}

static uint8_t *put_ipv4(uint8_t *ip, const struct flow_key *key, uint8_t protocol, unsigned option_words)
{
	memset(ip, 0, 20);
	ip[0] = (uint8_t)(0x45 + option_words);
	store_be16(ip + 6, NET_DONT_FRAGMENT);
	ip[8] = 60;
	ip[9] = protocol;
	store_be32(ip + 12, key->client);
	store_be32(ip + 16, key->address);
	memset(ip + 20, 1, 4 * option_words);
	return ip + 20 + 4 * option_words;
}

/* type: the protocol number of each extension header. */
static uint8_t *put_ipv6(uint8_t *ip, const struct flow_key *key, uint8_t protocol, unsigned extensions, uint8_t type)
{
	uint8_t *at = ip + 40;

	memset(ip, 0, 40);
	ip[0] = 0x60;
	ip[6] = extensions ? type : protocol;
	ip[7] = 60;
	world_write_v6(ip + 8, key->client);
	world_write_v6(ip + 24, key->address);
	for (unsigned i = 0; i < extensions; i++, at += 8) {
		memset(at, 0, 8);
		at[0] = i + 1 < extensions ? type : protocol;
	}
	return at;
}

/* Writes an ICMP or ICMPv6 header. */
static uint8_t *put_icmp(uint8_t *at, uint8_t type, uint8_t code)
{
	memset(at, 0, 8);
	at[0] = type;
	at[1] = code;
	return at + 8;
}

static uint8_t *put_error(uint8_t *ip, const struct flow_key *key)
{
	struct flow_key quoted = reverse(key);
	uint8_t *quote = put_icmp(put_ipv4(ip, key, IPPROTO_ICMP, 0), 3, 4);
	uint8_t *tcp = put_ipv4(quote, &quoted, IPPROTO_TCP, 0);

	store_be16(quote + 2, 1500);
	put_tcp(tcp, &quoted);
	return tcp + 8; /* a router must quote at least 8 bytes */
}

static uint8_t *put_error_v6(uint8_t *ip, const struct flow_key *key, unsigned extensions)
{
	struct flow_key quoted = reverse(key);
	uint8_t *quote = put_icmp(put_ipv6(ip, key, IPPROTO_ICMPV6, extensions, IPPROTO_DSTOPTS), 2, 0);
	uint8_t *tcp = put_ipv6(quote, &quoted, IPPROTO_TCP, extensions, IPPROTO_DSTOPTS);

	store_be16(quote + 4, 1400);
	put_tcp(tcp, &quoted);
	return tcp + 8;
}

static uint8_t *put_fragment(uint8_t *ip, const struct flow_key *key, bool first)
{
	uint8_t *end = put_tcp(put_ipv4(ip, key, IPPROTO_TCP, 0), key);

	store_be16(ip + 6, first ? 0x2000 : 185);
	return end;
}

static uint8_t *put_ping(uint8_t *ip, const struct flow_key *key)
{
	return put_icmp(put_ipv4(ip, key, IPPROTO_ICMP, 0), 8, 0);
}

/* Returns whether packet `number` is of the kind that the world names. */
static bool is_of_kind(const struct world *world, uint64_t number)
{
	if (world->few)
		return number % WORLD_FEW == world_mix(number / WORLD_FEW) % WORLD_FEW;
	return world->family == WORLD_GENERAL;
}

static bool is_v6(const struct world *world, enum world_kind kind, uint64_t hash)
{
	if (kind != WORLD_ORDINARY)
		return kind == WORLD_EXTENSIONS || kind == WORLD_V6_FRAGMENT || kind == WORLD_V6_ERROR ||
		       kind == WORLD_EVERYTHING;
	return world->family == WORLD_V6 || (world->family == WORLD_MIXED && world_mix(hash) & 1);
}

static unsigned count_tags(enum world_kind kind)
{
	return kind == WORLD_TAGGED ? 1 : kind == WORLD_EVERYTHING ? 2 : 0;
}

static uint8_t *put_kind(uint8_t *ip, const struct flow_key *key, enum world_kind kind)
{
	switch (kind) {
	case WORLD_OPTIONS:
		return put_tcp(put_ipv4(ip, key, IPPROTO_TCP, MAX_OPTION_WORDS), key);
	case WORLD_FIRST_FRAGMENT:
	case WORLD_LATER_FRAGMENT:
		return put_fragment(ip, key, kind == WORLD_FIRST_FRAGMENT);
	case WORLD_ERROR:
		return put_error(ip, key);
	case WORLD_PING:
		return put_ping(ip, key);
	case WORLD_EXTENSIONS:
		return put_tcp(put_ipv6(ip, key, IPPROTO_TCP, MAX_EXTENSIONS, IPPROTO_DSTOPTS), key);
	case WORLD_V6_FRAGMENT:
		return put_tcp(put_ipv6(ip, key, IPPROTO_TCP, 1, FRAGMENT), key);
	case WORLD_V6_ERROR:
		return put_error_v6(ip, key, 0);
	case WORLD_EVERYTHING:
		return put_error_v6(ip, key, MAX_EXTENSIONS);
	default:
		return put_tcp(put_ipv4(ip, key, IPPROTO_TCP, 0), key);
	}
}

uint32_t world_packet(const struct world *world, uint64_t number, uint8_t frame[WORLD_FRAME_MAX])
{
	uint64_t hash = world_mix(number % FLOWS);
	struct flow_key key = pick_flow(world, hash);
	enum world_kind kind = is_of_kind(world, number) ? world->kind : WORLD_ORDINARY;
	uint8_t *ip = frame + NET_ETHERNET_SIZE, *end;
	bool v6;

	if (kind == WORLD_ALL_KINDS)
		kind = WORLD_OPTIONS + number % (WORLD_LATER_FRAGMENT - WORLD_OPTIONS);
	if (kind == WORLD_UNMATCHED)
		key.destination_port = NO_TABLE_PORT;
	if (world->half_unmatched && (number ^ world_mix(number / 2)) & 1) /* exactly one of two, in random order */
		key.destination_port = NO_TABLE_PORT;
	v6 = is_v6(world, kind, hash);
	memset(frame, 2, 12);
	for (unsigned i = 0; i < count_tags(kind); i++, ip += 4)
		store_be32(ip - 2, TAG);
	if (kind == WORLD_ORDINARY && world->data && v6)
		end = put_udp(put_ipv6(ip, &key, IPPROTO_UDP, 0, 0), world, &key, pick_table(world, hash), hash);
	else if (kind == WORLD_ORDINARY && world->data)
		end = put_udp(put_ipv4(ip, &key, IPPROTO_UDP, 0), world, &key, pick_table(world, hash), hash);
	else if (kind == WORLD_ORDINARY && v6)
		end = put_tcp(put_ipv6(ip, &key, IPPROTO_TCP, 0, 0), &key);
	else
		end = put_kind(ip, &key, kind);
	store_be16(ip - 2, v6 ? NET_TYPE_IPV6 : NET_TYPE_IPV4);
	if (v6)
		store_be16(ip + 4, (uint16_t)(end - ip - 40));
	else
		store_be16(ip + 2, (uint16_t)(end - ip));
	return (uint32_t)(end - frame);
}
