/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The middle stages of the fast path: find the table, hash, find the hops.
 * Only lanes.c and bench/fused.c include this file.
 */
#pragma once

#include "packet/lanes/lanes_parse.h"
#include "packet/routes.h"
#include "packet/steer.h"

#if WIDE == 1
#include "common/siphash_mixed.h"
#endif

/* True: a packet of the block has no port map yet. */
INLINE bool any_without_map(const struct block *block)
{
	uint32_t any = 0;

	EACH (i)
		any |= block->map[i] == 0;
	return any;
}

/*
 * Finds the port map of each IPv4 destination. The levels go from the longest prefix to the shortest, and the first map
 * but 0 wins: if a prefix has map 0, all shorter ones that cover the destination have it, too. In plain C, where
 * vectors would be taken apart for each load, one loop does all steps of a level.
 */
#if WIDE == 1
/* again: packets that have a map keep it. */
INLINE void find_in_level(const struct portmap_v4_level *level, const uint64_t *addresses, bool again, struct block *block)
{
	const struct portmap_v4_slot *slots = level->slots;
	const struct perfect hash = level->hash;
	const uint32_t mask = level->mask;

	EACH (i) {
		uint32_t address = (uint32_t)(addresses[i] >> 32) & mask;
		const struct portmap_v4_slot *slot = &slots[perfect_slot(&hash, address)];
		uint32_t map = slot->maps[block->udp[i]] & -(uint32_t)(slot->address == address);

		block->map[i] = again && block->map[i] ? block->map[i] : map;
	}
}

INLINE void find_v4(const struct portmap *portmap, const uint64_t *addresses, struct block *block)
{
	if (portmap->v4_levels == 0)
		memset(block->map, 0, sizeof(block->map));
	else
		find_in_level(&portmap->v4[0], addresses, false, block);
	for (unsigned l = 1; l < portmap->v4_levels && any_without_map(block); l++)
		find_in_level(&portmap->v4[l], addresses, true, block);
}
#else
INLINE void find_v4(const struct portmap *portmap, const uint64_t *addresses, struct block *block)
{
	EACH (i)
		block->map[i] = 0;
	for (unsigned l = 0; l < portmap->v4_levels && (l == 0 || any_without_map(block)); l++) {
		const struct portmap_v4_level *level = &portmap->v4[l];
		uint32_t bucket_shift = level->hash.bucket_shift, slot_shift = level->hash.slot_shift;
		uint32_t address[BLOCK], at[BLOCK], multiplier[BLOCK];
		uint64_t slot[BLOCK];

		EACH (i) {
			address[i] = (uint32_t)(addresses[i] >> 32) & level->mask;
			at[i] = address[i] * level->hash.multipliers[0] >> slot_shift;
		}
		if (!level->hash.single) {
			EACH (i)
				at[i] = address[i] * PERFECT_BUCKET_MULTIPLIER >> bucket_shift;
			gather_u32(level->hash.multipliers, at, multiplier);
			EACH (i)
				at[i] = address[i] * multiplier[i] >> slot_shift;
		}
		gather_u64(level->slots, at, slot);
		EACH (i) {
			uint32_t map = (uint32_t)(slot[i] >> 32) >> 16 * block->udp[i] & 0xffff;
			bool hit = (uint32_t)slot[i] == address[i];

			block->map[i] = block->map[i] == 0 && hit ? map : block->map[i];
		}
	}
}

#endif

/* Finds the port map of each IPv6 destination, in the same way. */
INLINE void find_v6(const struct portmap *portmap, const struct lanes *lanes, uint32_t base, struct block *block)
{
	EACH (i)
		block->map[i] = 0;
	for (unsigned l = 0; l < portmap->v6_levels && (l == 0 || any_without_map(block)); l++) {
		const struct portmap_v6_level *level = &portmap->v6[l];

		EACH (i) {
			uint64_t low = lanes->addresses[2][base + i] & level->mask[0];
			uint64_t high = lanes->addresses[3][base + i] & level->mask[1];
			uint32_t key = portmap_fold(level->factors, low, high);
			const struct portmap_v6_slot *slot = &level->slots[perfect_slot(&level->hash, key)];
			bool hit = slot->address[0] == low && slot->address[1] == high;

			block->map[i] = block->map[i] == 0 && hit ? slot->maps[block->udp[i]] : block->map[i];
		}
	}
}

/* Loads the entry of each packet's destination port from its port map. */
INLINE void load_entries(
	const struct portmap *portmap, const uint32_t *ports, const uint32_t maps[BLOCK], uint32_t entry[BLOCK])
{
	const uint16_t *flat = portmap->flat;
	const uint32_t map_count = portmap->map_count;
	uint32_t at[BLOCK], page[BLOCK];

#if WIDE == 1
	if (flat) {
		EACH (i)
			entry[i] = flat[__builtin_bswap16((uint16_t)(ports[i] >> 16)) * map_count + maps[i]];
		return;
	}
#endif
	if (flat) {
		EACH (i)
			at[i] = swap16(ports[i] >> 16) * map_count + maps[i];
		gather_u16(flat, at, entry);
		EACH (i)
			entry[i] &= 0xffff;
		return;
	}
	EACH (i) /* the port is in the high half and not swapped, so its high byte comes first */
		at[i] = maps[i] * PORTMAP_PAGE_PORTS + (ports[i] >> 16 & 0xff);
	gather_u16(portmap->maps, at, page);
	EACH (i)
		at[i] = (page[i] & 0xffff) * PORTMAP_PAGE_PORTS + (ports[i] >> 24);
	gather_u16(portmap->pages, at, entry);
	EACH (i)
		entry[i] &= 0xffff;
}

/* Looks the destination port up in the port map of each packet. Packets with PORTMAP_MISFIT are not eligible. */
INLINE void find_tables(const struct lanes_job *job, const uint32_t *ports, struct block *block)
{
	uint32_t unmatched = steer_unmatched(job->steering);
	uint32_t entry[BLOCK];

	load_entries(job->routes->portmap, ports, block->map, entry);
	if (job->routes->quic)
		EACH (i)
			block->quic[i] = entry[i] & 1; /* as classify_order_has_quic() */
	EACH (i) {
		uint32_t none = entry[i] == PORTMAP_NONE, matched = !(none | (entry[i] == PORTMAP_MISFIT));

		block->refused[i] |= unmatched & -(block->eligible[i] & none); /* no eligible packet is refused yet */
		block->eligible[i] &= matched;
		block->table[i] = (entry[i] - 1) / 2 & -matched;
	}
}

/*
 * The layout of the hash message: the 64-bit word and the shift of each field. No port and no IPv4 address crosses a
 * word boundary. An IPv6 address fills two words.
 */
struct message {
	unsigned words; /* number of words, the last one with the length */
	unsigned destination; /* word of the destination address; the source address starts in word 0 */
	unsigned destination_shift; /* only in IPv4 */
	unsigned source_port, source_port_shift, destination_port, destination_port_shift;
	uint64_t length; /* bytes of the message, shifted to where SipHash wants it in the last word */
	uint8_t fields;
};

INLINE struct message plan_message(uint8_t fields, bool v6)
{
	unsigned bits = 0, address_bits = v6 ? 128 : 32;
	struct message message = {.fields = fields};

	if (fields & STEERING_SOURCE_ADDRESS)
		bits += address_bits;
	message.destination = bits / 64;
	message.destination_shift = bits % 64;
	if (fields & STEERING_DESTINATION_ADDRESS)
		bits += address_bits;
	message.source_port = bits / 64;
	message.source_port_shift = bits % 64;
	if (fields & STEERING_SOURCE_PORT)
		bits += 16;
	message.destination_port = bits / 64;
	message.destination_port_shift = bits % 64;
	if (fields & STEERING_DESTINATION_PORT)
		bits += 16;
	message.words = bits / 64 + 1;
	message.length = (uint64_t)(bits / 8) << 56;
	return message;
}

INLINE void write_message(const struct message *message, const struct lanes *lanes, uint32_t base, bool v6,
	uint64_t words[MAX_WORDS][BLOCK])
{
	if (message->fields == STEERING_SOURCE_ADDRESS && !v6) {
		EACH (i)
			words[0][i] = (lanes->addresses[0][base + i] & UINT32_MAX) | message->length;
		return;
	}
	for (unsigned w = 0; w < message->words; w++)
		EACH (i)
			words[w][i] = w + 1 == message->words ? message->length : 0;
	if (message->fields & STEERING_SOURCE_ADDRESS) {
		EACH (i)
			words[0][i] |= v6 ? lanes->addresses[0][base + i] : lanes->addresses[0][base + i] & UINT32_MAX;
		if (v6)
			EACH (i)
				words[1][i] |= lanes->addresses[1][base + i];
	}
	if (message->fields & STEERING_DESTINATION_ADDRESS) {
		uint64_t *to = words[message->destination];

		EACH (i)
			to[i] |= v6 ? lanes->addresses[2][base + i]
				    : (lanes->addresses[0][base + i] >> 32) << message->destination_shift;
		if (v6)
			EACH (i)
				words[message->destination + 1][i] |= lanes->addresses[3][base + i];
	}
	if (message->fields & STEERING_SOURCE_PORT) {
		uint64_t *to = words[message->source_port];

		EACH (i)
			to[i] |= (uint64_t)(lanes->ports[base + i] & 0xffff) << message->source_port_shift;
	}
	if (message->fields & STEERING_DESTINATION_PORT) {
		uint64_t *to = words[message->destination_port];

		EACH (i)
			to[i] |= (uint64_t)(lanes->ports[base + i] >> 16) << message->destination_port_shift;
	}
}

#if WIDE == 1
INLINE void hash_block(const struct routes *routes, const struct message *message, uint64_t words[MAX_WORDS][BLOCK],
	const uint32_t tables[BLOCK], uint64_t hash[BLOCK])
{
	for (unsigned at = 0; at < BLOCK; at += MIXED_LANES) {
		struct siphash_mixed s;

		if (routes->set.count == 1) {
			siphash_mixed_begin(&s, routes->keys, words[0] + at);
		} else {
			siphash_mixed_begin_each(&s, routes->keys, tables + at);
			siphash_mixed_absorb(&s, words[0] + at);
		}
		for (unsigned w = 1; w < message->words; w++)
			siphash_mixed_absorb(&s, words[w] + at);
		siphash_mixed_end(&s, hash + at);
	}
}
#else
/* The SipHash states that have absorbed the hash key of each lane's table. */
INLINE struct siphash_lanes load_keys(const struct routes *routes, const uint32_t *tables)
{
	const struct siphash_state *keys = routes->keys;
	uint64_t v0[WIDE], v1[WIDE];
	struct siphash_lanes s;

	if (routes->set.count == 1)
		return (struct siphash_lanes){
			wide_same(keys->v0), wide_same(keys->v1), wide_same(keys->v2), wide_same(keys->v3)};
	for (unsigned i = 0; i < WIDE; i++)
		v0[i] = keys[tables[i]].v0;
	for (unsigned i = 0; i < WIDE; i++)
		v1[i] = keys[tables[i]].v1;
	s.v0 = wide_load(v0);
	s.v1 = wide_load(v1);
	s.v2 = s.v0 ^ wide_same(SIPHASH_V0_TO_V2);
	s.v3 = s.v1 ^ wide_same(SIPHASH_V1_TO_V3);
	return s;
}

INLINE void hash_block(const struct routes *routes, const struct message *message, uint64_t words[MAX_WORDS][BLOCK],
	const uint32_t tables[BLOCK], uint64_t hash[BLOCK])
{
	for (unsigned at = 0; at < BLOCK; at += WIDE) {
		struct siphash_lanes s = load_keys(routes, tables + at);
		wide digest;

		for (unsigned w = 0; w < message->words; w++) {
			wide word = wide_load(words[w] + at);

			siphash_lanes_absorb(&s, &word, 1);
		}
		siphash_lanes_end(&s, &digest, 1);
		memcpy(hash + at, &digest, sizeof(digest));
	}
}
#endif

/* The number of a packet's first pair in routes->pairs, unless tables share rows. */
INLINE uint32_t pair_at(const struct routes *routes, uint32_t table, uint64_t hash)
{
	return (table * TABLE_ROWS + ((uint32_t)hash & 0xffff)) << routes->pair_shift;
}

/* The same for any tables. */
INLINE uint32_t shared_pair_at(const struct routes *routes, uint32_t table, uint64_t hash)
{
	return routes->row_starts[table] + (((uint32_t)hash & 0xffff) << routes->pair_shift);
}

/* The row of a packet, of which the copy has only the first two hops. */
INLINE const uint16_t *row_of(const struct routes_table *table, uint64_t hash)
{
	return table->rows + (hash & 0xffff) * table->row_hops;
}

/* Prefetches the rows of tables that have more than two hops, which their copies do not hold. */
INLINE void prefetch_long_rows(const struct routes *routes, const uint32_t tables[BLOCK], const uint64_t hash[BLOCK])
{
	for (uint32_t i = 0; i < BLOCK; i++) {
		const struct routes_table *table = &routes->tables[tables[i]];

		if (table->row_hops > 2)
			__builtin_prefetch(row_of(table, hash[i]));
	}
}

/*
 * Prefetches the rows that the second cache does not hold, while the next block is hashed. They go to the second cache,
 * and not to the first one, where the next packets arrive at the same time. This is faster (bench/targets.md), and so
 * is no prefetch of rows that the second cache holds.
 */
INLINE void prefetch_rows(const struct routes *routes, const uint32_t tables[BLOCK], const uint64_t hash[BLOCK])
{
	const uint8_t *pairs = routes->pairs;
	const uint32_t pair_bits = 2 * routes->hop_bits;

	if (routes->pairs_far && routes->rows_shared)
		for (uint32_t i = 0; i < BLOCK; i++)
			__builtin_prefetch(pairs + shared_pair_at(routes, tables[i], hash[i]) * pair_bits / 8, 0, 2);
	else if (routes->pairs_far)
		for (uint32_t i = 0; i < BLOCK; i++)
			__builtin_prefetch(pairs + pair_at(routes, tables[i], hash[i]) * pair_bits / 8, 0, 2);
	if (!routes->pairs_whole)
		prefetch_long_rows(routes, tables, hash);
}

/* Hashes the fields of `message` of all packets in a block. */
INLINE void hash_lanes(const struct routes *routes, const struct message *message, const struct lanes *lanes,
	uint32_t base, bool v6, const uint32_t tables[BLOCK], uint64_t hash[BLOCK])
{
	uint64_t words[MAX_WORDS][BLOCK];

	write_message(message, lanes, base, v6, words);
	hash_block(routes, message, words, tables, hash);
	prefetch_rows(routes, tables, hash);
}

#if WIDE == 1
/* Loads pair number `number` of each row. backend: the index of its first hop in routes->addresses. */
INLINE void load_pairs(const struct routes *routes, const uint32_t tables[BLOCK], const uint64_t hash[BLOCK],
	uint32_t number, uint32_t backend[BLOCK], uint32_t first[BLOCK], uint32_t second[BLOCK])
{
	const uint32_t *addresses = routes->addresses, stride = routes->stride, hop_bits = routes->hop_bits;
	const uint32_t mask = (1u << hop_bits) - 1;
	const uint8_t *pairs = routes->pairs;

	EACH (i) {
		uint32_t start = tables[i] * stride;
		uint32_t at = number + (routes->rows_shared ? shared_pair_at(routes, tables[i], hash[i])
							    : pair_at(routes, tables[i], hash[i]));
		uint32_t bit = at * 2 * hop_bits;
		uint32_t pair = hop_bits == 8 ? load_le16(pairs + (size_t)at * 2) : load_le32(pairs + bit / 8) >> bit % 8;
		uint32_t one = hop_bits == 8 ? pair & 0xff : pair & mask;
		uint32_t other = hop_bits == 8 ? pair >> 8 : pair >> hop_bits & mask;

		backend[i] = start + one;
		first[i] = addresses[start + one];
		second[i] = addresses[start + other];
	}
}
#else
/* Loads pair number `number` of each row as indices in routes->addresses. */
INLINE void load_indices(const struct routes *routes, const uint32_t tables[BLOCK], const uint64_t hash[BLOCK],
	uint32_t number, uint32_t first[BLOCK], uint32_t second[BLOCK])
{
	const uint32_t hop_bits = routes->hop_bits, mask = (1u << hop_bits) - 1;
	uint32_t at[BLOCK], bit[BLOCK], pair[BLOCK];

	EACH (i)
		at[i] = pair_at(routes, tables[i], hash[i]) + number;
	if (routes->rows_shared)
		EACH (i)
			at[i] = shared_pair_at(routes, tables[i], hash[i]) + number;
	if (hop_bits == 8) {
		gather_u16(routes->pairs, at, pair);
		EACH (i) {
			first[i] = tables[i] * routes->stride + (pair[i] & 0xff);
			second[i] = tables[i] * routes->stride + (pair[i] >> 8 & 0xff);
		}
		return;
	}
	EACH (i) {
		bit[i] = at[i] * 2 * hop_bits;
		at[i] = bit[i] / 8;
	}
	gather_u32_at(routes->pairs, at, pair);
	EACH (i) {
		pair[i] >>= bit[i] % 8;
		first[i] = tables[i] * routes->stride + (pair[i] & mask);
		second[i] = tables[i] * routes->stride + (pair[i] >> hop_bits & mask);
	}
}

/* Loads pair number `number` of each row. backend: the index of its first hop in routes->addresses. */
INLINE void load_pairs(const struct routes *routes, const uint32_t tables[BLOCK], const uint64_t hash[BLOCK],
	uint32_t number, uint32_t backend[BLOCK], uint32_t first[BLOCK], uint32_t second[BLOCK])
{
	uint32_t other[BLOCK];

	load_indices(routes, tables, hash, number, backend, other);
	gather_u32(routes->addresses, backend, first);
	gather_u32(routes->addresses, other, second);
}
#endif

/* Loads the third and later hops of the copies of rows. Rows with fewer hops have any backend in their place. */
INLINE void load_later_pairs(const struct routes *routes, struct block *block)
{
	for (uint32_t number = 1; number < 1u << routes->pair_shift; number++) {
		uint32_t unused[BLOCK], even[BLOCK], odd[BLOCK];

		load_pairs(routes, block->table, block->hash, number, unused, even, odd);
		EACH (i)
			block->later[number - 1][i] = even[i] | (uint64_t)odd[i] << 32;
	}
}

/* The same from the rows themselves, for rows that have more than two hops. */
INLINE void load_later_hops(const struct routes *routes, struct block *block)
{
	for (uint32_t i = 0; i < BLOCK; i++) {
		const struct routes_table *table = &routes->tables[block->table[i]];
		const uint16_t *row = row_of(table, block->hash[i]);

		for (unsigned hop = 2; hop < table->row_hops; hop += 2) {
			uint32_t even = table->addresses[row[hop]], odd = 0;

			if (hop + 1 < table->row_hops)
				odd = table->addresses[row[hop + 1]];
			block->later[hop / 2 - 1][i] = even | (uint64_t)odd << 32;
		}
	}
}

/* With routes->pairs_scalar: loads the pair of one packet's row. */
INLINE void load_pair(const struct routes *routes, struct block *block, uint32_t i)
{
	block->pair[i] = load_le16(routes->pairs + 2 * (block->hash[i] & 0xffff));
}

/* The same for the hops of the pairs. The barrier keeps the compiler from making a gather of the loads. */
INLINE void load_hops(const struct routes *routes, struct block *block)
{
	EACH (i) {
		uint32_t pair = block->pair[i];

		__asm__("" : "+r"(pair));
		block->backend[i] = pair & 0xff;
		block->hops[0][i] = routes->addresses[pair & 0xff];
		block->hops[1][i] = routes->addresses[pair >> 8];
	}
}

/* Finds the hops of each row. */
INLINE void find_hops(const struct routes *routes, struct block *block)
{
	uint32_t any_later = 0;

	if (routes->pairs_scalar)
		load_hops(routes, block);
	else
		load_pairs(routes, block->table, block->hash, 0, block->backend, block->hops[0], block->hops[1]);
	if (routes->pairs_only) {
		EACH (i)
			block->hop_count[i] = 2;
		return;
	}
	gather_u32(routes->hop_counts, block->table, block->hop_count);
	EACH (i) {
		block->eligible[i] &= block->hop_count[i] != 0;
		block->hop_count[i] -= block->hop_count[i] == 2 && block->hops[0][i] == block->hops[1][i];
		any_later |= block->hop_count[i] > 2;
	}
	if (any_later && routes->pairs_whole)
		load_later_pairs(routes, block);
	else if (any_later)
		load_later_hops(routes, block);
}

/*
 * Appends the hops of the row by alt_hash_fields, without repeating one. Packets whose first row has more than two hops
 * are not eligible.
 */
INLINE void find_alternative_hops(const struct routes *routes, struct block *block)
{
	uint32_t unused[BLOCK], third[BLOCK], fourth[BLOCK];

	load_pairs(routes, block->table, block->alt_hash, 0, unused, third, fourth);
	EACH (i)
		block->eligible[i] &= block->hop_count[i] <= 2;
	EACH (i) {
		bool two = block->hop_count[i] == 2; /* else the only hop */
		uint32_t first = block->hops[0][i], second = two ? block->hops[1][i] : first;
		bool adds_third = third[i] != first && third[i] != second;
		bool adds_fourth = fourth[i] != first && fourth[i] != second && fourth[i] != third[i];
		uint32_t next = adds_third ? third[i] : fourth[i];

		block->hops[1][i] = two ? second : next;
		block->later[0][i] = (two ? next : fourth[i]) | (uint64_t)fourth[i] << 32;
		block->hop_count[i] += 0u + adds_third + adds_fourth;
	}
}
