/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stages of the fast path for binds with `quic`: decode the connection IDs of all packets together, and move each
 * server to its place among the hops. Only lanes.c includes this file, and bursts skip it unless routes->quic.
 */
#pragma once

#include "packet/lanes/lanes_parse.h"
#include "packet/quic_routes.h"
#include "packet/routes.h"

/* The connection IDs of a family of packets. */
struct cids {
	uint32_t count;
	bool mixed; /* they have different configurations */
	uint8_t at[BURST_MAX]; /* entry in struct lanes */
	const struct quic_routes_config *config[BURST_MAX];
	uint8_t slots[BURST_MAX][QUIC_SLOT] __attribute__((aligned(64)));
};

/* Copies the bytes that the configuration reads. */
INLINE void copy_cid(uint8_t slot[QUIC_SLOT], const struct quic_dcid *cid, uint32_t cid_size)
{
	_Static_assert(QUIC_MAX_CID == 20, "the loads below have all bytes of a connection ID");
	if (__builtin_expect(cid->size >= QUIC_MAX_CID, 1)) {
		memcpy(slot, cid->bytes, 16);
		memcpy(slot + 16, cid->bytes + 16, 4);
	} else {
		memcpy(slot, cid->bytes, cid_size);
	}
}

/* Adds the connection ID of entry `at`. Returns QUIC_ROUTED, or why there is none. */
INLINE enum quic_fate add_cid(
	struct cids *cids, const struct quic_routes *routes, const uint8_t *payload, uint32_t size, uint32_t at)
{
	struct quic_dcid cid = {.bytes = payload + 1, .size = size - 1};
	const struct quic_routes_config *config;

	if ((size < 2 || payload[0] & 0x80) && !quic_find_dcid(payload, size, &cid))
		return QUIC_UNROUTABLE_SHORT;
	config = &routes->configs[quic_config_id(cid.bytes[0])];
	if (cid.size < config->cid_size)
		return config->codec ? QUIC_UNROUTABLE_SHORT : QUIC_UNROUTABLE_CONFIG;
	copy_cid(cids->slots[cids->count], &cid, config->cid_size);
	cids->at[cids->count] = (uint8_t)at;
	cids->config[cids->count] = config;
	cids->mixed |= config != cids->config[0];
	cids->count++;
	return QUIC_ROUTED;
}

/* Decodes connection IDs of several configurations: those of each configuration together. */
static __attribute__((noinline)) void decode_mixed(struct cids *cids)
{
	uint8_t slots[BURST_MAX][QUIC_SLOT] __attribute__((aligned(64)));
	uint64_t left = UINT64_MAX >> (BURST_MAX - cids->count);

	while (left) {
		const struct quic_routes_config *config = cids->config[__builtin_ctzll(left)];
		uint64_t same = 0;
		uint32_t count = 0;

		BURST_EACH (n, left) {
			if (cids->config[n] != config)
				continue;
			same |= 1ull << n;
			memcpy(slots[count++], cids->slots[n], QUIC_SLOT);
		}
		quic_decode_many(config->codec, slots, count);
		count = 0;
		BURST_EACH (n, same)
			memcpy(cids->slots[n], slots[count++], QUIC_SLOT);
		left &= ~same;
	}
}

/* Finds the backend that a decoded connection ID names. */
INLINE void find_named(const struct quic_routes *quic, const struct quic_routes_config *config, const struct lanes *lanes,
	const struct cids *cids, uint32_t n, struct block blocks[BURST_MAX / BLOCK], struct burst *burst)
{
	uint32_t at = cids->at[n];
	const uint8_t *slot = cids->slots[n];
	const struct quic_routes_server *server = quic_routes_server(
		quic, load_le64(slot), load_le64(slot + 8) | quic_routes_length(config->server_id_length));
	bool found = server->length != 0;

	blocks[at / BLOCK].server[at % BLOCK] = found ? server->backend : QUIC_NO_SERVER;
	burst->quic[lanes->index[at]] = (uint8_t)(found ? QUIC_ROUTED + server->down : QUIC_UNROUTABLE_SERVER);
}

/* Decodes the connection IDs and finds their servers. Nearly always they have the same configuration of a table. */
INLINE void find_all_named(const struct routes *routes, const struct lanes *lanes, struct cids *cids,
	struct block blocks[BURST_MAX / BLOCK], struct burst *burst)
{
	const struct quic_routes_config *first = cids->config[0];
	const struct quic_routes *quic = routes->tables[blocks[cids->at[0] / BLOCK].table[cids->at[0] % BLOCK]].quic;

	if (__builtin_expect(!cids->mixed, 1)) {
		quic_decode_many(first->codec, cids->slots, cids->count);
		for (uint32_t n = 0; n < cids->count; n++)
			find_named(quic, first, lanes, cids, n, blocks, burst);
		return;
	}
	decode_mixed(cids);
	for (uint32_t n = 0; n < cids->count; n++) {
		quic = routes->tables[blocks[cids->at[n] / BLOCK].table[cids->at[n] % BLOCK]].quic;
		find_named(quic, cids->config[n], lanes, cids, n, blocks, burst);
	}
}

#if WIDE > 1
/*
 * The packets of a block whose connection IDs are read as vectors: those with a short header whose table and
 * configuration are the first packet's, if this configuration has no key.
 */
struct plain {
	const struct quic_routes *quic; /* NULL: no packet */
	uint64_t length; /* of the server IDs */
	uint32_t is[BLOCK]; /* 1: such a packet */
	uint32_t at[BLOCK]; /* the slot where the search begins */
	uint64_t id[BLOCK]; /* the server ID */
	uint64_t slot[2][BLOCK]; /* the first and the last word of the slot */
};

enum { PLAIN_LOADED = 16 }; /* bytes of each payload */

/* packets: the bits of those to binds with `quic`; not 0. */
INLINE void read_plain(const struct routes *routes, const struct lanes *lanes, uint32_t base, uint32_t headers,
	uint32_t packets, const struct block *block, struct plain *plain)
{
	static const uint8_t zeros[V6_SMALLEST + PLAIN_LOADED];
	const uint32_t first = (uint32_t)__builtin_ctz(packets), table = block->table[first];
	const struct quic_routes *quic = routes->tables[table].quic;
	const struct quic_routes_config *config;
	const uint8_t *some[BLOCK], *const *frames = lanes->frame + base;
	uint64_t words[2][BLOCK];
	uint32_t octet, all = 0;

	plain->quic = NULL;
	EACH (i) {
		plain->is[i] = block->quic[i] & block->eligible[i] & (block->table[i] == table) &
			       (block->total[i] >= headers + PLAIN_LOADED);
		all |= plain->is[i] << i;
	}
	if (!plain->is[first])
		return;
	octet = frames[first][NET_ETHERNET_SIZE + headers + 1];
	config = &quic->configs[quic_config_id((uint8_t)octet)];
	if (!config->plain_mask)
		return;
	if (all != UINT16_MAX) {
		for (uint32_t i = 0; i < BLOCK; i++)
			some[i] = plain->is[i] ? frames[i] : zeros;
		frames = some;
	}
	load_two_words(frames, NET_ETHERNET_SIZE + headers, words);
	plain->quic = quic;
	plain->length = config->server_id_length;
	EACH (i) {
		plain->is[i] &= ((words[0][i] ^ octet << 8) & 0xe080) == 0; /* short header, configuration */
		plain->id[i] = (words[0][i] >> 16 | words[1][i] << 48) & config->plain_mask;
		plain->at[i] = quic_routes_slot(quic, plain->id[i], quic_routes_length(config->server_id_length));
	}
}

/* The barrier keeps the compiler from making gathers of the loads, which are slower on AMD's CPUs. */
INLINE void load_slots(struct plain *plain)
{
	EACH (i) {
		const struct quic_routes_server *server = plain->quic->servers + plain->at[i];

		__asm__("" : "+r"(server));
		plain->slot[0][i] = server->id[0];
		plain->slot[1][i] = load_le64((const uint8_t *)&server->backend);
	}
}

/* Returns the bits of the packets that are done. The others have another server ID in their slot. */
INLINE uint32_t find_plain(
	const struct plain *plain, const struct lanes *lanes, uint32_t base, struct block *block, struct burst *burst)
{
	uint32_t fate[BLOCK], done = 0;
	uint8_t bytes[BLOCK];

	EACH (i) {
		uint32_t length = (uint32_t)(plain->slot[1][i] >> 48), down = (uint32_t)(plain->slot[1][i] >> 32) & 1;
		bool here = plain->is[i] & (plain->slot[0][i] == plain->id[i]) & (length == plain->length);
		bool nowhere = plain->is[i] & (length == 0);

		block->server[i] = here ? (uint32_t)plain->slot[1][i] : QUIC_NO_SERVER;
		fate[i] = here ? QUIC_ROUTED + down : nowhere ? QUIC_UNROUTABLE_SERVER : QUIC_NONE;
		done |= (uint32_t)(here | nowhere) << i;
	}
	EACH (i)
		bytes[i] = (uint8_t)fate[i];
	if (lanes->index == all_lanes)
		memcpy(burst->quic + base, bytes, BLOCK);
	else
		BURST_EACH (i, done)
			burst->quic[lanes->index[base + i]] = bytes[i];
	return done;
}

/* Finds the servers of a burst as vectors. Takes the packets that are done out of packets[]. */
INLINE void find_all_plain(const struct routes *routes, const struct lanes *lanes, uint32_t headers,
	uint32_t packets[BURST_MAX / BLOCK], struct block blocks[BURST_MAX / BLOCK], struct burst *burst)
{
	uint32_t count = (lanes->count + BLOCK - 1) / BLOCK;
	struct plain plains[BURST_MAX / BLOCK];

	for (uint32_t b = 0; b < count; b++) {
		plains[b].quic = NULL;
		if (packets[b])
			read_plain(routes, lanes, b * BLOCK, headers, packets[b], &blocks[b], &plains[b]);
	}
	for (uint32_t b = 0; b < count; b++)
		if (plains[b].quic)
			load_slots(&plains[b]);
	for (uint32_t b = 0; b < count; b++)
		if (plains[b].quic)
			packets[b] &= ~find_plain(&plains[b], lanes, b * BLOCK, &blocks[b], burst);
}
#endif

/* Finds the server of each packet to a bind with `quic`. */
static __attribute__((noinline)) void find_servers(const struct lanes_job *job, const struct lanes *lanes, bool v6,
	struct block blocks[BURST_MAX / BLOCK], struct burst *burst)
{
	uint32_t headers = (v6 ? NET_IPV6_SIZE : NET_IPV4_SIZE) + NET_UDP_SIZE;
	uint32_t count = (lanes->count + BLOCK - 1) / BLOCK, quic[BURST_MAX / BLOCK] = {0};
	struct cids cids;

	cids.count = 0;
	cids.mixed = false;
	for (uint32_t b = 0; b < count; b++) {
		struct block *block = &blocks[b];

		EACH (i)
			block->server[i] = QUIC_NO_SERVER;
		EACH (i)
			quic[b] |= (block->quic[i] & block->eligible[i]) << i;
	}
#if WIDE > 1
	find_all_plain(job->routes, lanes, headers, quic, blocks, burst);
#endif
	for (uint32_t b = 0; b < count; b++)
		BURST_EACH (i, quic[b]) {
			uint32_t at = b * BLOCK + (uint32_t)i, lane = lanes->index[at];

			burst->quic[lane] = (uint8_t)add_cid(&cids, job->routes->tables[blocks[b].table[i]].quic,
				lanes->frame[at] + NET_ETHERNET_SIZE + headers, blocks[b].total[i] - headers, at);
		}
	if (cids.count)
		find_all_named(job->routes, lanes, &cids, blocks, burst);
}

/*
 * Inserts each server into the hops of the row, as insert_server() in steer.c. The hops up to the place where the
 * server was move back. A packet without a server has the first hop inserted, which changes nothing.
 */
INLINE void insert_into_block(const struct routes *routes, struct block *block)
{
	uint32_t server[BLOCK], hop[BLOCK], behind[BLOCK] = {0}, first_down[BLOCK], done[BLOCK], moved[BLOCK], most = 0;

	EACH (i)
		server[i] = block->server[i] == QUIC_NO_SERVER ? block->backend[i] : block->server[i];
	gather_u32(routes->addresses, server, hop);
	if (routes->down) {
		gather_u32(routes->down, server, behind);
		gather_u32(routes->down, block->backend, first_down);
		EACH (i)
			behind[i] &= first_down[i] ^ 1;
	}
	EACH (i) {
		uint32_t first = block->hops[0][i], second = block->hops[1][i];

		done[i] = first == hop[i];
		block->hop_count[i] += (block->hop_count[i] == 1) & (done[i] ^ 1);
		block->hops[0][i] = behind[i] ? first : hop[i];
		block->hops[1][i] = done[i] ? second : behind[i] ? hop[i] : first;
		block->backend[i] = behind[i] ? block->backend[i] : server[i];
		done[i] |= second == hop[i];
		moved[i] = second;
		most |= block->hop_count[i];
	}
	for (uint32_t pair = 0; 2 * pair + 2 < PREBUILT_MAX_HOPS && most > 2 * pair + 2; pair++)
		EACH (i) {
			uint32_t even = (uint32_t)block->later[pair][i], odd = (uint32_t)(block->later[pair][i] >> 32);
			uint32_t new_even = done[i] ? even : moved[i];

			done[i] |= even == hop[i];
			block->later[pair][i] = new_even | (uint64_t)(done[i] ? odd : even) << 32;
			done[i] |= odd == hop[i];
			moved[i] = odd;
		}
}

static __attribute__((noinline)) void insert_servers(
	const struct routes *routes, uint32_t count, struct block blocks[BURST_MAX / BLOCK])
{
	for (uint32_t b = 0; b < count; b++)
		insert_into_block(routes, &blocks[b]);
}
