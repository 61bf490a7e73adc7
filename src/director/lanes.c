/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes.h"

#include <netinet/in.h>
#include <string.h>

#include "common/byteorder.h"
#include "director/lanes_vector.h"
#include "director/routes.h"
#include "gue/gue_wire.h"

enum {
	ETHERNET_SIZE = 14,
	V4_SMALLEST = ETHERNET_SIZE + 20 +
		      8, /* as many bytes must be readable to load all that is looked at */
	V6_SMALLEST = ETHERNET_SIZE + 40 + 8,
	TYPE_V4 = 0x0008, /* as loaded little-endian */
	TYPE_V6 = 0xdd86,
	MAX_WORDS = 5, /* of a hash's message: two IPv6 addresses and ports */
};

/* Packets of one family, gathered from the burst: as many as are loaded, then zeros up to the end
 * of a block. */
struct lanes {
	uint32_t count;
	const uint8_t *index; /* in the burst: all lanes, or those in the list */
	uint8_t list[BURST_MAX];
	uint32_t size[BURST_MAX];    /* behind the Ethernet header */
	uint32_t first[BURST_MAX];   /* IPv4: bytes 0..3. IPv6: the same */
	uint32_t second[BURST_MAX];  /* IPv4: bytes 6..9. IPv6: bytes 4..7 */
	uint32_t ports[BURST_MAX];   /* source, destination */
	uint64_t ends[4][BURST_MAX]; /* IPv4: source and destination in [0]. IPv6: two each */
};

/* A block's results, stage by stage. */
struct block {
	uint32_t total[BLOCK]; /* bytes of the IP packet */
	uint32_t ok[BLOCK];
	uint32_t udp[BLOCK];
	uint32_t map[BLOCK];
	uint32_t table[BLOCK];
	uint64_t hash[BLOCK];
	uint32_t hops[TEMPLATE_MAX_HOPS][BLOCK];
	uint32_t patches[BLOCK][4]; /* total length, checksum; first hop; source port, UDP length;
				       second hop */
	uint8_t hop_count[BLOCK];
} __attribute__((aligned(64)));

/* ---- load ---- */

INLINE void load_v4(struct lanes *lanes, const struct burst *burst, uint32_t at, uint32_t lane)
{
	const uint8_t *ip = burst->frame[lane] + ETHERNET_SIZE;

	lanes->size[at] = burst->size[lane] - ETHERNET_SIZE;
	lanes->first[at] = load_le32(ip);
	lanes->second[at] = load_le32(ip + 6);
	lanes->ports[at] = load_le32(ip + 20);
	lanes->ends[0][at] = load_le64(ip + 12);
}

INLINE void load_v6(struct lanes *lanes, const struct burst *burst, uint32_t at, uint32_t lane)
{
	static const uint8_t too_short[V6_SMALLEST];
	const uint8_t *ip =
		(burst->size[lane] < V6_SMALLEST ? too_short : burst->frame[lane]) + ETHERNET_SIZE;

	lanes->size[at] = burst->size[lane] - ETHERNET_SIZE;
	lanes->first[at] = load_le32(ip);
	lanes->second[at] = load_le32(ip + 4);
	lanes->ports[at] = load_le32(ip + 40);
	for (unsigned i = 0; i < 4; i++)
		lanes->ends[i][at] = load_le64(ip + 8 + 8 * i);
}

static const uint8_t all_lanes[BURST_MAX] = {
#define ROW(n) n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7
	ROW(0), ROW(8), ROW(16), ROW(24), ROW(32), ROW(40), ROW(48), ROW(56)
#undef ROW
};

/* Lanes that are not to be looked at: in pieces, too short, or without room before the frame. */
INLINE uint64_t find_unfit(const struct burst *burst)
{
	uint32_t any = 0;
	uint64_t unfit = 0;

	for (uint32_t lane = 0; lane < burst->count; lane++)
		any |= (burst->readable[lane] != burst->size[lane]) |
		       (burst->readable[lane] < V4_SMALLEST) |
		       (burst->headroom[lane] < BURST_HEADROOM);
	if (__builtin_expect(!any, 1))
		return 0;
	for (uint32_t lane = 0; lane < burst->count; lane++)
		unfit |= (uint64_t)(burst->readable[lane] != burst->size[lane] ||
				    burst->readable[lane] < V4_SMALLEST ||
				    burst->headroom[lane] < BURST_HEADROOM)
			 << lane;
	return unfit;
}

/* Sorts by Ethernet type, without a branch that depends on it. Returns the lanes of neither family.
 */
INLINE uint64_t list_families(
	const uint16_t types[BURST_MAX], uint32_t count, struct lanes *v4, struct lanes *v6)
{
	uint64_t rest = 0;

	v4->index = v4->list;
	v6->index = v6->list;
	v4->count = v6->count = 0;
	for (uint32_t lane = 0; lane < count; lane++) {
		bool is_v4 = types[lane] == TYPE_V4, is_v6 = types[lane] == TYPE_V6;

		v4->list[v4->count] = (uint8_t)lane;
		v4->count += is_v4;
		v6->list[v6->count] = (uint8_t)lane;
		v6->count += is_v6;
		rest |= (uint64_t) !(is_v4 | is_v6) << lane;
	}
	return rest;
}

/* Finds the lanes of each family; returns those of neither. */
INLINE uint64_t sort_families(const struct burst *burst, struct lanes *v4, struct lanes *v6)
{
	uint64_t unfit = find_unfit(burst);
	uint16_t types[BURST_MAX], differing = 0;

	types[0] = 0;
	for (uint32_t lane = 0; lane < burst->count; lane++) {
		if (__builtin_expect(unfit != 0, 0) && unfit >> lane & 1)
			types[lane] = 0;
		else
			types[lane] = load_le16(burst->frame[lane] + 12);
		differing |= types[lane] ^ types[0];
	}
	if (unfit || differing || (types[0] != TYPE_V4 && types[0] != TYPE_V6))
		return list_families(types, burst->count, v4, v6);
	v4->index = v6->index = all_lanes;
	v4->count = types[0] == TYPE_V4 ? burst->count : 0;
	v6->count = burst->count - v4->count;
	return 0;
}

INLINE void load_lanes(struct lanes *lanes, const struct burst *burst, bool v6)
{
	uint32_t at = 0;

	for (; at < lanes->count; at++) {
		if (v6)
			load_v6(lanes, burst, at, lanes->index[at]);
		else
			load_v4(lanes, burst, at, lanes->index[at]);
	}
	for (; at % BLOCK; at++) {
		lanes->size[at] = lanes->first[at] = lanes->second[at] = lanes->ports[at] = 0;
		for (unsigned i = 0; i < (v6 ? 4u : 1u); i++)
			lanes->ends[i][at] = 0;
	}
}

/* ---- parse ---- */

INLINE void check_v4(const struct lanes *lanes, uint32_t base, struct block *block)
{
	EACH (i) {
		uint32_t first = lanes->first[base + i], second = lanes->second[base + i];
		uint32_t total = (first >> 8 & 0xff00) | first >> 24;
		uint32_t protocol = second >> 24;
		uint32_t udp = protocol == IPPROTO_UDP;
		uint32_t ok = (first & 0xff) == 0x45;

		ok &= (second & 0xff3f) == 0; /* MF and offset */
		ok &= udp | (protocol == IPPROTO_TCP);
		ok &= total >= 40 - 12 * udp;
		ok &= total <= lanes->size[base + i];
		block->total[i] = total;
		block->udp[i] = udp;
		block->ok[i] = ok;
	}
}

INLINE void check_v6(const struct lanes *lanes, uint32_t base, struct block *block)
{
	EACH (i) {
		uint32_t second = lanes->second[base + i];
		uint32_t payload = (second << 8 & 0xff00) | (second >> 8 & 0xff);
		uint32_t protocol = second >> 16 & 0xff;
		uint32_t udp = protocol == IPPROTO_UDP;
		uint32_t ok = (lanes->first[base + i] & 0xf0) == 0x60;

		ok &= udp | (protocol == IPPROTO_TCP);
		ok &= payload >= 20 - 12 * udp;
		ok &= payload + 40 <= lanes->size[base + i];
		block->total[i] = payload + 40;
		block->udp[i] = udp;
		block->ok[i] = ok;
	}
}

/* ---- classify ---- */

INLINE void find_v4(const struct portmap *portmap, const uint64_t *ends, struct block *block)
{
	EACH (i)
		block->map[i] = 0;
	for (unsigned l = portmap->v4_levels; l-- > 0;) {
		const struct portmap_v4_level *level = &portmap->v4[l];
		uint32_t bucket_shift = level->hash.bucket_shift,
			 slot_shift = level->hash.slot_shift;
		uint32_t address[BLOCK], at[BLOCK], multiplier[BLOCK];
		uint64_t slot[BLOCK];

		EACH (i) {
			address[i] = (uint32_t)(ends[i] >> 32) & level->mask;
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

			block->map[i] = (uint32_t)slot[i] == address[i] ? map : block->map[i];
		}
	}
}

INLINE void find_v6(const struct portmap *portmap, const struct lanes *lanes, uint32_t base,
	struct block *block)
{
	EACH (i)
		block->map[i] = 0;
	for (unsigned l = portmap->v6_levels; l-- > 0;) {
		const struct portmap_v6_level *level = &portmap->v6[l];

		EACH (i) {
			uint64_t low = lanes->ends[2][base + i] & level->mask[0];
			uint64_t high = lanes->ends[3][base + i] & level->mask[1];
			uint32_t key = portmap_fold(level->factors, low, high);
			const struct portmap_v6_slot *slot =
				&level->slots[perfect_slot(&level->hash, key)];
			bool hit = slot->address[0] == low && slot->address[1] == high;

			block->map[i] = hit ? slot->maps[block->udp[i]] : block->map[i];
		}
	}
}

INLINE void find_tables(const struct portmap *portmap, const uint32_t *ports, struct block *block)
{
	uint32_t at[BLOCK], entry[BLOCK];

	EACH (i)
		at[i] = block->map[i] * PORTMAP_PORTS + ((ports[i] >> 8 & 0xff00) | ports[i] >> 24);
	gather_u8(portmap->maps, at, entry);
	EACH (i) {
		block->ok[i] &= entry[i] != 0;
		block->table[i] = entry[i] ? entry[i] - 1 : 0;
	}
}

/* ---- hash ---- */

/* Where the fields stand in the message: words and shifts, which no field straddles. */
struct message {
	unsigned words, source, destination; /* first word of an address */
	unsigned destination_shift;          /* IPv4 */
	unsigned source_port, source_port_shift, destination_port, destination_port_shift;
	uint64_t length; /* of the message, in its place in the last word */
	uint8_t fields;
};

INLINE struct message plan_message(uint8_t fields, bool v6)
{
	unsigned bits = 0, address_bits = v6 ? 128 : 32;
	struct message message = {.fields = fields};

	if (fields & RULES_SOURCE_ADDRESS)
		bits += address_bits;
	message.destination = bits / 64;
	message.destination_shift = bits % 64;
	if (fields & RULES_DESTINATION_ADDRESS)
		bits += address_bits;
	message.source_port = bits / 64;
	message.source_port_shift = bits % 64;
	if (fields & RULES_SOURCE_PORT)
		bits += 16;
	message.destination_port = bits / 64;
	message.destination_port_shift = bits % 64;
	if (fields & RULES_DESTINATION_PORT)
		bits += 16;
	message.words = bits / 64 + 1;
	message.length = (uint64_t)(bits / 8) << 56;
	return message;
}

INLINE void write_message(const struct message *message, const struct lanes *lanes, uint32_t base,
	bool v6, uint64_t words[MAX_WORDS][BLOCK])
{
	for (unsigned w = 0; w < message->words; w++)
		EACH (i)
			words[w][i] = w + 1 == message->words ? message->length : 0;
	if (message->fields & RULES_SOURCE_ADDRESS) {
		EACH (i)
			words[0][i] |= v6 ? lanes->ends[0][base + i]
					  : lanes->ends[0][base + i] & UINT32_MAX;
		if (v6)
			EACH (i)
				words[1][i] |= lanes->ends[1][base + i];
	}
	if (message->fields & RULES_DESTINATION_ADDRESS) {
		uint64_t *to = words[message->destination];

		EACH (i)
			to[i] |= v6 ? lanes->ends[2][base + i]
				    : (lanes->ends[0][base + i] >> 32)
						 << message->destination_shift;
		if (v6)
			EACH (i)
				words[message->destination + 1][i] |= lanes->ends[3][base + i];
	}
	if (message->fields & RULES_SOURCE_PORT) {
		uint64_t *to = words[message->source_port];

		EACH (i)
			to[i] |= (uint64_t)(lanes->ports[base + i] & 0xffff)
				 << message->source_port_shift;
	}
	if (message->fields & RULES_DESTINATION_PORT) {
		uint64_t *to = words[message->destination_port];

		EACH (i)
			to[i] |= (uint64_t)(lanes->ports[base + i] >> 16)
				 << message->destination_port_shift;
	}
}

/* The state of each lane's key, member `m` of struct siphash_state. */
INLINE wide load_keys(const struct routes *routes, const uint32_t *tables, unsigned m)
{
	const uint64_t *keys = (const uint64_t *)routes->keys;
	const unsigned stride = sizeof(*routes->keys) / sizeof(*keys);
	uint64_t values[WIDE];

	if (routes->set.count == 1) {
		for (unsigned i = 0; i < WIDE; i++)
			values[i] = keys[m];
	} else {
		for (unsigned i = 0; i < WIDE; i++)
			values[i] = keys[tables[i] * stride + m];
	}
	return load_wide(values);
}

INLINE void hash_block(const struct routes *routes, const struct message *message,
	uint64_t words[MAX_WORDS][BLOCK], struct block *block)
{
	for (unsigned at = 0; at < BLOCK; at += WIDE) {
		struct sip s = {load_keys(routes, block->table + at, 0),
			load_keys(routes, block->table + at, 1),
			load_keys(routes, block->table + at, 2),
			load_keys(routes, block->table + at, 3)};

		for (unsigned w = 0; w < message->words; w++) {
			wide word = load_wide(words[w] + at);

			s.v3 ^= word;
			sip_round(&s);
			sip_round(&s);
			s.v0 ^= word;
		}
		s.v2 ^= 0xff;
		for (int i = 0; i < 4; i++)
			sip_round(&s);
		s.v0 ^= s.v1 ^ s.v2 ^ s.v3;
		memcpy(block->hash + at, &s.v0, sizeof(s.v0));
	}
}

/* ---- hops ---- */

/* While the next block is hashed: the rows of many tables are more than the caches hold. */
INLINE void prefetch_pairs(const struct routes *routes, const struct block *block)
{
	for (uint32_t i = 0; i < BLOCK; i++)
		__builtin_prefetch(&routes->pair_indices[block->table[i] * TABLE_ROWS +
							 ((uint32_t)block->hash[i] & 0xffff)]);
}

/* Where all rows have two hops. */
INLINE void find_pairs(const struct routes *routes, struct block *block)
{
	uint32_t at[BLOCK], pair[BLOCK], second[BLOCK];
	uint64_t both[BLOCK];

	EACH (i) {
		at[i] = block->table[i] * TABLE_ROWS + ((uint32_t)block->hash[i] & 0xffff);
		block->hop_count[i] = 2;
	}
	if (routes->pair_addresses) {
		gather_u64(routes->pair_addresses, at, both);
		EACH (i) {
			block->hops[0][i] = (uint32_t)both[i];
			block->hops[1][i] = (uint32_t)(both[i] >> 32);
		}
		return;
	}
	gather_u32(routes->pair_indices, at, pair);
	EACH (i) {
		at[i] = pair[i] & 0xffff;
		second[i] = pair[i] >> 16;
	}
	gather_u32(routes->addresses, at, block->hops[0]);
	gather_u32(routes->addresses, second, block->hops[1]);
}

INLINE void find_hops(const struct routes *routes, struct block *block)
{
	EACH (i) {
		const struct routes_table *table = &routes->tables[block->table[i]];
		const uint16_t *row = table->rows + (block->hash[i] & 0xffff) * table->row_hops;
		uint8_t hops = table->row_hops;

		block->hop_count[i] = hops;
		block->ok[i] &= table->distinct;
		block->hops[0][i] = table->addresses[row[0]];
		block->hops[1][i] = table->addresses[row[hops > 1]];
		if (hops > 2) {
			block->hops[2][i] = table->addresses[row[2]];
			block->hops[3][i] = table->addresses[row[hops - 1]];
		}
	}
}

/* ---- emit ---- */

INLINE uint32_t swap16(uint32_t value)
{
	return (value << 8 & 0xff00) | (value >> 8 & 0xff);
}

INLINE void prepare_patches(
	const struct lanes_job *job, const struct lanes *lanes, uint32_t base, struct block *block)
{
	uint32_t template_sum = job->templates[0].sum, mtu = job->rules->outbound_mtu;
	uint32_t lengths[BLOCK], udp[BLOCK];

	EACH (i) {
		uint32_t total =
			block->total[i] + GUE_OUTER_SIZE(0) + 4 * (block->hop_count[i] - 1u);
		uint32_t sum = template_sum + swap16(total) + (block->hops[0][i] & 0xffff) +
			       (block->hops[0][i] >> 16);
		uint32_t hint = lanes->ports[base + i] & 0xffff; /* as it is on the wire */
		uint32_t port = (swap16((uint32_t)block->hash[i]) ^ hint) | 0x80;

		sum = (sum & 0xffff) + (sum >> 16);
		sum = (sum & 0xffff) + (sum >> 16);
		block->ok[i] &= total <= mtu;
		lengths[i] = swap16(total) | (~sum & 0xffff) << 16;
		udp[i] = port | swap16(total - GUE_IPV4_SIZE) << 16;
		block->total[i] = total;
	}
	interleave(lengths, block->hops[0], udp, block->hops[1], block->patches);
}

/* The template with its patches, as far as the second hop. */
INLINE void write_outer(
	uint8_t *out, const struct template *template, const uint32_t patch[4], unsigned hops)
{
#if defined(__AVX512F__)
	/* Which byte of the patch goes where, and nowhere else. */
	static const uint8_t from[TEMPLATE_SIZE] __attribute__((aligned(64))) = {[16] = 0,
		[17] = 1,
		[24] = 2,
		[25] = 3,
		[30] = 4,
		[31] = 5,
		[32] = 6,
		[33] = 7,
		[34] = 8,
		[35] = 9,
		[38] = 10,
		[39] = 11,
		[50] = 12,
		[51] = 13,
		[52] = 14,
		[53] = 15};
	const uint64_t patched =
		3ull << 16 | 3ull << 24 | 0x3full << 30 | 3ull << 38 | 0xfull << 50;
	__m512i four = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)patch));

	_mm512_mask_storeu_epi8(out, (1ull << encapsulate_size(hops)) - 1,
		_mm512_mask_shuffle_epi8(_mm512_loadu_si512(template->bytes), patched, four,
			_mm512_load_si512(from)));
#elif defined(__AVX2__)
	static const uint8_t from[2][32] __attribute__((aligned(32))) = {
#define NONE8 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80
		{NONE8, NONE8, 0, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2, 3, 0x80, 0x80, 0x80,
			0x80, 4, 5},
		{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2, 3, 0x80, 0x80, 0x80, 0x80, 4, 5, 6, 7, 8, 9,
			0x80, 0x80, 10, 11, NONE8, 0x80, 0x80},
#undef NONE8
	};
	__m256i two = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)patch));

	_mm256_storeu_si256((__m256i *)out,
		_mm256_or_si256(_mm256_loadu_si256((const __m256i *)template->bytes),
			_mm256_shuffle_epi8(two, _mm256_load_si256((const __m256i *)from[0]))));
	_mm256_storeu_si256((__m256i *)(out + 18),
		_mm256_or_si256(_mm256_loadu_si256((const __m256i *)(template->bytes + 18)),
			_mm256_shuffle_epi8(two, _mm256_load_si256((const __m256i *)from[1]))));
	if (hops > 1)
		memcpy(out + TEMPLATE_HOPS, &patch[3], 4);
#else
	memcpy(out, template->bytes, TEMPLATE_HOPS);
	memcpy(out + TEMPLATE_TOTAL_LENGTH, &patch[0], 2);
	memcpy(out + TEMPLATE_CHECKSUM, (const uint8_t *)&patch[0] + 2, 2);
	memcpy(out + TEMPLATE_DESTINATION, &patch[1], 4);
	memcpy(out + TEMPLATE_SOURCE_PORT, &patch[2], 2);
	memcpy(out + TEMPLATE_UDP_LENGTH, (const uint8_t *)&patch[2] + 2, 2);
	if (hops > 1)
		memcpy(out + TEMPLATE_HOPS, &patch[3], 4);
#endif
}

INLINE void write_lane(const struct lanes_job *job, bool v6, const struct block *block, uint32_t i,
	unsigned hops, uint8_t *out)
{
	write_outer(out, &job->templates[TEMPLATE_INDEX(v6, hops)], block->patches[PATCH(i)], hops);
	for (unsigned hop = 2; hop < hops; hop++)
		memcpy(out + TEMPLATE_HOPS + 4 * (hop - 1), &block->hops[hop][i], 4);
}

/* All lanes of a block with two hops, which are neighbours in the burst. */
INLINE void emit_row(const struct lanes_job *job, bool v6, const struct block *block,
	struct burst *burst, uint32_t base)
{
	EACH (i) {
		burst->verdict[base + i] = VERDICT_FORWARDED;
		burst->table[base + i] = (uint8_t)block->table[i];
		burst->out_size[base + i] = ENCAPSULATE_ETHERNET_SIZE + block->total[i];
	}
	EACH (i) {
		uint8_t *out = burst->frame[base + i] + ETHERNET_SIZE - encapsulate_size(2);

		write_lane(job, v6, block, i, 2, out);
		burst->out[base + i] = out;
	}
}

/* Returns the lanes of the burst that are not forwarded here. */
INLINE uint64_t emit(const struct lanes_job *job, const struct lanes *lanes, uint32_t base, bool v6,
	const struct block *block, struct burst *burst)
{
	const uint8_t *index = lanes->index + base;
	uint32_t end = lanes->count - base < BLOCK ? lanes->count - base : BLOCK, all = 1;
	uint64_t rest = 0;

	EACH (i)
		all &= block->ok[i];
	if (__builtin_expect(all && job->routes->pairs_only && lanes->index == all_lanes, 1)) {
		emit_row(job, v6, block, burst, base);
		return 0;
	}
	for (uint32_t i = 0; i < end; i++) {
		uint32_t lane = index[i], hops = block->hop_count[i];
		uint8_t *out = burst->frame[lane] + ETHERNET_SIZE - encapsulate_size(hops);

		if (!block->ok[i]) {
			rest |= 1ull << lane;
			continue;
		}
		write_lane(job, v6, block, i, hops, out);
		burst->verdict[lane] = VERDICT_FORWARDED;
		burst->table[lane] = (uint8_t)block->table[i];
		burst->out[lane] = out;
		burst->out_size[lane] = ENCAPSULATE_ETHERNET_SIZE + block->total[i];
	}
	return rest;
}

/*
 * Stage by stage over all blocks: within a block each stage waits for the one before, and the
 * blocks fill each other's waiting times.
 */
INLINE uint64_t forward_family(
	const struct lanes_job *job, struct lanes *lanes, bool v6, struct burst *burst)
{
	const struct portmap *portmap = job->routes->portmap;
	struct message message = plan_message(job->rules->hash_fields, v6);
	struct block blocks[BURST_MAX / BLOCK];
	uint32_t count = (lanes->count + BLOCK - 1) / BLOCK, ordinary = 0;
	uint64_t rest = 0;

	load_lanes(lanes, burst, v6);
	for (uint32_t b = 0; b < count; b++) {
		if (v6)
			check_v6(lanes, b * BLOCK, &blocks[b]);
		else
			check_v4(lanes, b * BLOCK, &blocks[b]);
	}
	for (uint32_t b = 0; b < count; b++)
		EACH (i)
			ordinary |= blocks[b].ok[i];
	if (__builtin_expect(!ordinary, 0)) {
		for (uint32_t at = 0; at < lanes->count; at++)
			rest |= 1ull << lanes->index[at];
		return rest;
	}
	for (uint32_t b = 0; b < count; b++) {
		if (v6)
			find_v6(portmap, lanes, b * BLOCK, &blocks[b]);
		else
			find_v4(portmap, lanes->ends[0] + b * BLOCK, &blocks[b]);
	}
	for (uint32_t b = 0; b < count; b++)
		find_tables(portmap, lanes->ports + b * BLOCK, &blocks[b]);
	for (uint32_t b = 0; b < count; b++) {
		uint64_t words[MAX_WORDS][BLOCK];

		write_message(&message, lanes, b * BLOCK, v6, words);
		hash_block(job->routes, &message, words, &blocks[b]);
		if (job->routes->pair_indices)
			prefetch_pairs(job->routes, &blocks[b]);
	}
	for (uint32_t b = 0; b < count; b++) {
		if (job->routes->pairs_only)
			find_pairs(job->routes, &blocks[b]);
		else
			find_hops(job->routes, &blocks[b]);
	}
	for (uint32_t b = 0; b < count; b++)
		prepare_patches(job, lanes, b * BLOCK, &blocks[b]);
	for (uint32_t b = 0; b < count; b++)
		rest |= emit(job, lanes, b * BLOCK, v6, &blocks[b], burst);
	return rest;
}

uint64_t LANES_NAME(const struct lanes_job *job, struct burst *burst)
{
	struct lanes v4, v6;
	uint64_t rest = sort_families(burst, &v4, &v6);

	if (v4.count)
		rest |= forward_family(job, &v4, false, burst);
	if (v6.count)
		rest |= forward_family(job, &v6, true, burst);
	return rest;
}
