/* SPDX-License-Identifier: BSD-3-Clause */
#include "world.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/byteorder.h"
#include "table/table_build.h"

#define PORTS_PER_ADDRESS 16
#define FIRST_PORT        80

struct flow_key {
	bool v6;
	uint32_t client;
	uint32_t address; /* of the VIP, host order */
	uint16_t source_port, destination_port;
};

static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* 10.TABLE.N.1: apart enough for /28 */
static uint32_t vip(unsigned table, unsigned bind)
{
	return 10u << 24 | table << 16 | (bind / PORTS_PER_ADDRESS) << 8 | 1;
}

static void write_v6(uint8_t to[16], uint32_t address)
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
		write_v6(bytes, address);
		prefix.addr = netaddr_from_bytes(NETADDR_V6, bytes);
		prefix.length = world->prefixes ? 64 : 128;
	} else {
		store_be32(bytes, address);
		prefix.addr = netaddr_from_bytes(NETADDR_V4, bytes);
		prefix.length = world->prefixes ? 28 : 32;
	}
	netprefix_mask(prefix.addr.bytes, netaddr_size(&prefix.addr), prefix.length);
	return prefix;
}

static bool fill_table(const struct world *world, unsigned index, struct table *table)
{
	*table = (struct table){
		.hops = (uint8_t)world->hops,
		.backend_count = world->backends,
		.backends = calloc(world->backends, sizeof(*table->backends)),
		.bind_count = 2 * world->binds,
		.binds = calloc(2 * world->binds, sizeof(*table->binds)),
	};
	if (!table->backends || !table->binds)
		return false;
	for (unsigned i = 0; i < SIPHASH_KEY_SIZE; i++) {
		table->hash_key[i] = (uint8_t)mix(index * 64 + i);
		table->seed[i] = (uint8_t)mix(index * 64 + 32 + i);
	}
	for (unsigned i = 0; i < world->backends; i++) {
		uint8_t bytes[4];

		store_be32(bytes, 172u << 24 | index << 16 | (i + 1));
		table->backends[i].addr = netaddr_from_bytes(NETADDR_V4, bytes);
		table->backends[i].state = TABLE_ACTIVE;
		table->backends[i].healthy = true;
	}
	for (unsigned i = 0; i < table->bind_count; i++) {
		unsigned bind = i / 2;
		struct table_bind *at = &table->binds[i];

		at->prefix = bind_prefix(world, i % 2, vip(index, bind));
		at->port_start = at->port_end = (uint16_t)(FIRST_PORT + bind % PORTS_PER_ADDRESS);
		at->protocol = TABLE_TCP;
	}
	return true;
}

struct routes *world_routes(const struct world *world)
{
	struct table_set set = {.tables = calloc(world->tables + 1, sizeof(struct table))};
	struct faults faults = {0};
	struct routes *routes = NULL;

	while (set.tables && set.count < world->tables &&
		fill_table(world, set.count, &set.tables[set.count]))
		set.count++;
	if (set.count == world->tables && table_build(&set) == 0)
		routes = routes_create(&set, &faults);
	if (!routes) {
		fprintf(stderr, "no memory for %u tables\n", world->tables);
		exit(EXIT_FAILURE);
	}
	return routes;
}

static struct flow_key pick_flow(const struct world *world, uint64_t number)
{
	uint64_t h = mix(number % (1u << 20));
	unsigned table = (unsigned)(h >> 32) % world->tables;
	unsigned bind = (unsigned)(h >> 48) % world->binds;

	return (struct flow_key){
		.v6 = world->family == WORLD_V6 || world->family == WORLD_WORST ||
		      (world->family != WORLD_V4 && mix(h) & 1),
		.client = (uint32_t)h,
		.address = vip(table, bind),
		.source_port = (uint16_t)(1024 + (h >> 40) % 60000),
		.destination_port = (uint16_t)(FIRST_PORT + bind % PORTS_PER_ADDRESS),
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

static uint8_t *put_ipv4(uint8_t *ip, const struct flow_key *key, unsigned option_words)
{
	memset(ip, 0, 20 + 4 * option_words);
	ip[0] = (uint8_t)(0x45 + option_words);
	ip[8] = 60;
	ip[9] = IPPROTO_TCP;
	store_be32(ip + 12, key->client);
	store_be32(ip + 16, key->address);
	memset(ip + 20, 1, 4 * option_words);
	return ip + 20 + 4 * option_words;
}

static uint8_t *put_ipv6(uint8_t *ip, const struct flow_key *key, unsigned extensions)
{
	uint8_t *at = ip + 40;

	memset(ip, 0, 40);
	ip[0] = 0x60;
	ip[6] = extensions ? IPPROTO_DSTOPTS : IPPROTO_TCP;
	ip[7] = 60;
	write_v6(ip + 8, key->client);
	write_v6(ip + 24, key->address);
	for (unsigned i = 0; i < extensions; i++, at += 8) {
		memset(at, 0, 8);
		at[0] = i + 1 < extensions ? IPPROTO_DSTOPTS : IPPROTO_TCP;
	}
	return at;
}

/* An error from a router that quotes what a proxy sent. */
static uint8_t *put_error(uint8_t *ip, const struct flow_key *key)
{
	uint8_t *icmp = put_ipv4(ip, key, 0), *quote = icmp + 8, *tcp;

	ip[9] = IPPROTO_ICMP;
	memset(icmp, 0, 8);
	icmp[0] = 3;
	icmp[1] = 4;
	tcp = put_ipv4(quote, key, 0);
	store_be16(quote + 2, 1500);
	store_be32(quote + 12, key->address);
	store_be32(quote + 16, key->client);
	store_be16(tcp, key->destination_port);
	store_be16(tcp + 2, key->source_port);
	store_be32(tcp + 4, 0);
	return tcp + 8;
}

static uint8_t *put_odd(uint8_t *ip, const struct flow_key *key, uint64_t number)
{
	uint8_t *at;

	switch (number % 4) {
	case 0: /* options */
		return put_tcp(put_ipv4(ip, key, 1 + (unsigned)(number / 4 % 10)), key);
	case 1: /* a first fragment */
		at = put_tcp(put_ipv4(ip, key, 0), key);
		ip[6] = 0x20;
		return at;
	case 2:
		return put_error(ip, key);
	default: /* a ping */
		at = put_ipv4(ip, key, 0);
		ip[9] = IPPROTO_ICMP;
		memset(at, 0, 8);
		at[0] = 8;
		return at + 8;
	}
}

uint32_t world_packet(const struct world *world, uint64_t number, uint8_t frame[WORLD_FRAME_MAX])
{
	struct flow_key key = pick_flow(world, number);
	uint8_t *ip = frame + 14, *end;
	bool worst = world->family == WORLD_WORST;
	bool tagged = world->family == WORLD_ODD && mix(number) & 1;

	memset(frame, 2, 12);
	if (tagged) {
		store_be32(frame + 12, 0x81000007);
		ip += 4;
	}
	if (world->family == WORLD_ODD) {
		key.v6 = key.v6 && tagged; /* an IPv6 packet is odd by its tag alone */
		end = key.v6 ? put_tcp(put_ipv6(ip, &key, 0), &key) : put_odd(ip, &key, number);
	} else if (key.v6) {
		end = put_tcp(put_ipv6(ip, &key, worst ? 8 : 0), &key);
	} else {
		end = put_tcp(put_ipv4(ip, &key, 0), &key);
	}
	store_be16(ip - 2, key.v6 ? 0x86dd : 0x0800);
	if (key.v6)
		store_be16(ip + 4, (uint16_t)(end - ip - 40));
	else
		store_be16(ip + 2, (uint16_t)(end - ip));
	return (uint32_t)(end - frame);
}
