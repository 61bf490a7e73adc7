/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/isa/isa_check.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "common/byteorder.h"
#include "common/net.h"
#include "packet/pipeline.h"

enum {
	PACKETS = 8 * BURST_MAX,
	BACKENDS = 64,
	PORTS = 16, /* of the VIP */
	FIRST_PORT = 80,
	ROOM = 320, /* bytes for a packet and its outer headers */
	START = 232, /* of the frame in its room, so that the outer headers start at a cache line */
	FRAME = NET_ETHERNET_SIZE + 46, /* bytes of a packet of IPv4 */
	FRAME6 = NET_ETHERNET_SIZE + 40 + 20,
};

#define VIP         0x0a000001u
#define OWN_MAC     0x020202020202 /* the first byte is the lowest, here and below */
#define GATEWAY_MAC 0x010000000002

_Static_assert(START >= BURST_HEADROOM, "the outer headers of any packet fit");
_Static_assert(START + FRAME6 <= ROOM, "the frames fit");

static const uint8_t vip6[16] = {0xfd, 0, 0xdb, 0x4, [15] = 1};

struct trial {
	struct routes *routes;
	struct next_hops next_hops;
	struct steering_config steering;
	struct pipeline pipeline;
	struct burst burst;
	bool v6; /* the packets are IPv6 */
	uint8_t rooms[PACKETS][ROOM] __attribute__((aligned(64)));
};

/* A hash with good diffusion (splitmix64). */
static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* The rows are random, because hashing backends would take longer than the check. */
static bool fill_table(struct table *table, enum netaddr_family outer)
{
	uint8_t bytes[16] = {0};

	*table = (struct table){
		.hops = 2,
		.row_hops = 2,
		.backend_count = BACKENDS,
		.backends = calloc(BACKENDS, sizeof(*table->backends)),
		.bind_count = 2,
		.binds = calloc(2, sizeof(*table->binds)),
		.rows = calloc(TABLE_ROWS * 2ul, sizeof(*table->rows)),
	};
	if (!table->backends || !table->binds || !table->rows)
		return false;
	for (uint32_t i = 0; i < BACKENDS; i++) {
		store_be32(bytes, 0xac100001u + i);
		table->backends[i] = (struct table_backend){
			.addr = netaddr_from_bytes(outer, bytes), .state = TABLE_ACTIVE, .healthy = true};
	}
	for (uint32_t row = 0; row < TABLE_ROWS; row++) {
		uint64_t hash = mix(row);
		uint16_t first = (uint16_t)(hash % BACKENDS);

		table->rows[2 * row] = first;
		table->rows[2 * row + 1] = (uint16_t)((first + 1 + (hash >> 32) % (BACKENDS - 1)) % BACKENDS);
	}
	store_be32(bytes, VIP);
	table->binds[0] = (struct table_bind){.prefix = {netaddr_from_bytes(NETADDR_V4, bytes), 32},
		.port_start = FIRST_PORT,
		.port_end = FIRST_PORT + PORTS - 1,
		.protocol = TABLE_TCP};
	table->binds[1] = table->binds[0];
	table->binds[1].prefix = (struct netprefix){netaddr_from_bytes(NETADDR_V6, vip6), 128};
	return true;
}

static struct routes *make_routes(enum netaddr_family outer)
{
	struct table_set set = {.tables = calloc(1, sizeof(*set.tables))};
	struct faults faults = {0};
	struct routes *routes = NULL;

	set.count = set.tables ? 1 : 0;
	if (set.tables && fill_table(set.tables, outer))
		routes = routes_create(&set, &faults);
	else
		table_set_free(&set);
	faults_clear(&faults);
	return routes;
}

static void write_tcp(uint8_t *tcp, uint64_t hash)
{
	store_be16(tcp, (uint16_t)(1024 + (hash >> 32) % 60000));
	store_be16(tcp + 2, (uint16_t)(FIRST_PORT + (hash >> 48) % PORTS));
	tcp[12] = 5 << 4;
}

/* Both write an ordinary TCP packet from a client of its own. The room is zero. */
static void write_v4(uint8_t *ip, uint64_t hash)
{
	ip[0] = 0x45;
	store_be16(ip + 2, FRAME - NET_ETHERNET_SIZE);
	store_be16(ip + 6, NET_DONT_FRAGMENT);
	ip[8] = 60;
	ip[9] = IPPROTO_TCP;
	store_be32(ip + 12, 0x80000000u | (hash & 0x1fffffff)); /* 128.0.0.0/3, which has no martians */
	store_be32(ip + 16, VIP);
	write_tcp(ip + 20, hash);
}

static void write_v6(uint8_t *ip, uint64_t hash)
{
	ip[0] = 0x60;
	store_be16(ip + 4, FRAME6 - NET_ETHERNET_SIZE - 40);
	ip[6] = 6;
	ip[7] = 60;
	store_be32(ip + 8, 0x20010db8);
	store_be32(ip + 20, (uint32_t)hash);
	memcpy(ip + 24, vip6, sizeof(vip6));
	write_tcp(ip + 40, hash);
}

static void write_packets(struct trial *trial, bool v6)
{
	trial->v6 = v6;
	memset(trial->rooms, 0, sizeof(trial->rooms));
	for (unsigned i = 0; i < PACKETS; i++)
		(v6 ? write_v6 : write_v4)(trial->rooms[i] + START + NET_ETHERNET_SIZE, mix(i));
}

static struct trial *open_trial(enum netaddr_family outer)
{
	struct trial *trial = aligned_alloc(_Alignof(struct trial), sizeof(*trial));

	if (!trial)
		return NULL;
	memset(trial, 0, sizeof(*trial));
	trial->routes = make_routes(outer);
	if (!trial->routes) {
		free(trial);
		return NULL;
	}
	trial->next_hops = (struct next_hops){.single = true, .mac = GATEWAY_MAC};
	trial->steering = (struct steering_config){.hash_fields = STEERING_SOURCE_ADDRESS,
		.outbound_mtu = 1500,
		.admission = {.accept = ADMISSION_LISTED, .drop_martians = true}};
	trial->pipeline = (struct pipeline){.routes = trial->routes,
		.next_hops = &trial->next_hops,
		.steering = &trial->steering,
		.port_mac = OWN_MAC};
	trial->pipeline.outer.source_ip = htonl(0xc0000201);
	return trial;
}

static void close_trial(struct trial *trial)
{
	routes_free(trial->routes);
	free(trial);
}

/* The outer headers of the ISA before have overwritten the Ethernet headers. */
static void restore(struct trial *trial)
{
	for (unsigned i = 0; i < PACKETS; i++) {
		uint8_t *frame = trial->rooms[i] + START;

		memset(frame, 2, 12);
		store_be16(frame + 12, trial->v6 ? NET_TYPE_IPV6 : NET_TYPE_IPV4);
	}
}

static void run_burst(struct trial *trial, unsigned first)
{
	struct burst *burst = &trial->burst;

	burst->count = BURST_MAX;
	for (unsigned i = 0; i < BURST_MAX; i++) {
		burst->frame[i] = trial->rooms[first + i] + START;
		burst->headroom[i] = START;
		burst->readable[i] = burst->size[i] = trial->v6 ? FRAME6 : FRAME;
	}
	pipeline_run(&trial->pipeline, burst);
}

/* Returns a digest of the verdicts and frames of all packets. */
static uint64_t digest(struct trial *trial, lanes_fn *variant)
{
	const struct burst *burst = &trial->burst;
	uint64_t sum = 0;

	trial->pipeline.fast = variant;
	restore(trial);
	for (unsigned i = 0; i < PACKETS; i += BURST_MAX) {
		run_burst(trial, i);
		for (unsigned lane = 0; lane < BURST_MAX; lane++) {
			sum = mix(sum ^ burst->verdict[lane]);
			for (uint32_t at = 0; burst->out[lane] && at < burst->out_size[lane]; at++)
				sum = (sum ^ burst->out[lane][at]) * 0x100000001b3;
		}
	}
	return sum;
}

/* Returns those of the set that give other results than plain C. */
static unsigned find_wrong(struct trial *trial, lanes_fn *const variants[ISA_COUNT], unsigned set)
{
	uint64_t expected = digest(trial, variants[ISA_PLAIN]);
	unsigned wrong = 0;

	for (enum isa isa = ISA_PLAIN + 1; isa < ISA_COUNT; isa++)
		if (set >> isa & 1 && digest(trial, variants[isa]) != expected)
			wrong |= 1u << isa;
	return wrong;
}

unsigned isa_check(lanes_fn *const variants[ISA_COUNT], unsigned set)
{
	unsigned wrong = 0;

	for (enum netaddr_family outer = NETADDR_V4; outer <= NETADDR_V6; outer++) {
		struct trial *trial = open_trial(outer);

		for (int v6 = 0; trial && v6 < 2; v6++) {
			write_packets(trial, v6);
			wrong |= find_wrong(trial, variants, set);
		}
		if (trial)
			close_trial(trial);
	}
	return wrong;
}
