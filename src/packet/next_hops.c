/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/next_hops.h"

#include <stdlib.h>

#define MASK_SHIFT 24
#define NONE       UINT32_MAX

/* A next hop while slots are assigned. */
struct member {
	const struct next_hop *next_hop;
	uint64_t total; /* of all weights */
	int64_t credit; /* the member with the highest one takes the next slot */
	uint32_t at, step; /* the order in which it prefers slots, modulo NEXT_HOPS_WIDTH */
};

/* The state of next_hops_create(). */
struct builder {
	struct next_hops *set;
	const struct next_hop_list *lists;
	uint32_t *known; /* a hash table of indices in `lists`, whose slots exist; or NONE */
	uint32_t known_mask; /* its size - 1 */
	struct member *members; /* as many as the longest list has */
	size_t mac_count, mac_room; /* of set->macs */
};

/* The finaliser of SplitMix64. It spreads a value over all bits. */
static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
	value = (value ^ value >> 27) * 0x94d049bb133111eb;
	return value ^ value >> 31;
}

static uint64_t hash_list(const struct next_hop_list *list)
{
	uint64_t hash = list->count;

	for (uint32_t i = 0; i < list->count; i++) {
		hash = mix(hash + list->next_hops[i].id);
		hash = mix(hash + list->next_hops[i].mac);
		hash = mix(hash + list->next_hops[i].weight);
	}
	return hash;
}

static bool lists_are_equal(const struct next_hop_list *a, const struct next_hop_list *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->next_hops[i].id != b->next_hops[i].id || a->next_hops[i].mac != b->next_hops[i].mac ||
			a->next_hops[i].weight != b->next_hops[i].weight)
			return false;
	return true;
}

/* Returns the entry of a list in builder->known: one that has an equal list, or a free one. */
static uint32_t *find_known(struct builder *builder, uint32_t index)
{
	uint64_t at = hash_list(&builder->lists[index]);

	for (;; at++) {
		uint32_t *known = &builder->known[at & builder->known_mask];

		if (*known == NONE || lists_are_equal(&builder->lists[*known], &builder->lists[index]))
			return known;
	}
}

/* Returns the first of `count` new entries in set->macs, or NONE. */
static uint32_t add_macs(struct builder *builder, uint32_t count)
{
	size_t first = builder->mac_count, room = builder->mac_room;

	while (room < first + count)
		room = room ? 2 * room : NEXT_HOPS_WIDTH;
	if (first + count > 1u << MASK_SHIFT)
		return NONE;
	if (room > builder->mac_room) {
		uint64_t *macs = realloc(builder->set->macs, room * sizeof(*macs));

		if (!macs)
			return NONE;
		builder->set->macs = macs;
		builder->mac_room = room;
	}
	builder->mac_count += count;
	return (uint32_t)first;
}

/* Lists the next hops that take part. Returns their number. */
static uint32_t gather_members(struct member *members, const struct next_hop_list *list, bool reachable)
{
	uint32_t count = 0;
	uint64_t total = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct next_hop *next_hop = &list->next_hops[i];
		uint64_t random = mix(next_hop->id + 1);

		if ((reachable && !next_hop->mac) || !next_hop->weight)
			continue;
		members[count++] = (struct member){
			.next_hop = next_hop, .at = (uint32_t)random, .step = (uint32_t)(random >> 32) | 1};
		total += next_hop->weight;
	}
	for (uint32_t i = 0; i < count; i++)
		members[i].total = total;
	return count;
}

static struct member *choose_member(struct member *members, uint32_t count)
{
	struct member *best = members;

	for (uint32_t i = 0; i < count; i++) {
		struct member *member = &members[i];

		member->credit += member->next_hop->weight;
		if (member->credit > best->credit ||
			(member->credit == best->credit && member->next_hop->id < best->next_hop->id))
			best = member;
	}
	best->credit -= (int64_t)best->total;
	return best;
}

/*
 * Gives each slot to a next hop, in the way of Maglev's lookup tables: the members take turns by their weights, and
 * each takes the next free slot in its own order. So few slots change their owner when a member comes or goes.
 * reachable: only next hops with a MAC take part.
 */
static void assign(struct builder *builder, const struct next_hop_list *list, bool reachable, uint64_t *macs)
{
	uint32_t count = gather_members(builder->members, list, reachable);
	bool taken[NEXT_HOPS_WIDTH] = {false};

	for (uint32_t i = 0; count && i < NEXT_HOPS_WIDTH; i++) {
		struct member *member = choose_member(builder->members, count);

		while (taken[member->at % NEXT_HOPS_WIDTH])
			member->at += member->step;
		taken[member->at % NEXT_HOPS_WIDTH] = true;
		macs[member->at % NEXT_HOPS_WIDTH] = member->next_hop->mac;
	}
}

/* Returns the slot of a list whose next hops have several MACs, or NONE. */
static uint32_t add_wide(struct builder *builder, const struct next_hop_list *list)
{
	uint64_t others[NEXT_HOPS_WIDTH] = {0}, *macs;
	uint32_t first = add_macs(builder, NEXT_HOPS_WIDTH);

	if (first == NONE)
		return NONE;
	macs = builder->set->macs + first;
	assign(builder, list, false, macs);
	assign(builder, list, true, others);
	/* The slots of an unreachable next hop go to the others. All other slots stay. */
	for (uint32_t i = 0; i < NEXT_HOPS_WIDTH; i++)
		macs[i] = macs[i] ? macs[i] : others[i];
	return first | (uint32_t)(NEXT_HOPS_WIDTH - 1) << MASK_SHIFT;
}

/* Returns the slot of a list whose next hops have one MAC, or NONE. mac: 0 for none. */
static uint32_t add_narrow(struct builder *builder, uint64_t mac)
{
	uint32_t first = mac ? add_macs(builder, 1) : 0;

	if (first != NONE && mac)
		builder->set->macs[first] = mac;
	return first;
}

/* Returns whether the reachable next hops have at most one MAC. It is in *mac, 0 if there is none. */
static bool has_one_mac(const struct next_hop_list *list, uint64_t *mac)
{
	*mac = 0;
	for (uint32_t i = 0; i < list->count; i++) {
		uint64_t found = list->next_hops[i].weight ? list->next_hops[i].mac : 0;

		if (found && *mac && found != *mac)
			return false;
		*mac = found ? found : *mac;
	}
	return true;
}

/* Returns the slot of lists[index], or NONE. */
static uint32_t find_slot(struct builder *builder, uint32_t index)
{
	uint32_t *known = find_known(builder, index);
	uint64_t mac;

	if (*known != NONE)
		return builder->set->slots[*known];
	*known = index;
	return has_one_mac(&builder->lists[index], &mac) ? add_narrow(builder, mac)
							 : add_wide(builder, &builder->lists[index]);
}

static bool fill(struct builder *builder)
{
	struct next_hops *set = builder->set;
	bool unreachable = false; /* a backend has no next hop */

	if (add_macs(builder, 1) == NONE)
		return false;
	set->macs[0] = 0;
	for (uint32_t i = 0; i < set->count; i++) {
		if (!builder->lists[i].count)
			continue;
		set->slots[i] = find_slot(builder, i);
		if (set->slots[i] == NONE)
			return false;
		unreachable |= set->slots[i] == 0;
	}
	set->mac = builder->mac_count > 1 ? set->macs[1] : 0;
	set->single = !unreachable || !set->mac;
	for (size_t i = 1; i < builder->mac_count; i++)
		set->single &= set->macs[i] == set->mac;
	return true;
}

static bool alloc(struct builder *builder, uint32_t count)
{
	uint32_t longest = 0, size = 1;

	for (uint32_t i = 0; i < count; i++)
		longest = builder->lists[i].count > longest ? builder->lists[i].count : longest;
	while (size < 2 * (uint64_t)count)
		size *= 2;
	builder->known_mask = size - 1;
	builder->known = malloc(size * sizeof(*builder->known));
	builder->members = calloc(longest + 1, sizeof(*builder->members));
	builder->set = calloc(1, sizeof(*builder->set));
	if (!builder->known || !builder->members || !builder->set)
		return false;
	for (uint32_t i = 0; i < size; i++)
		builder->known[i] = NONE;
	builder->set->count = count;
	builder->set->slots = calloc(count + 1, sizeof(*builder->set->slots));
	return builder->set->slots;
}

struct next_hops *next_hops_create(const struct next_hop_list *lists, uint32_t count)
{
	struct builder builder = {.lists = lists};
	bool complete = alloc(&builder, count) && fill(&builder);

	free(builder.known);
	free(builder.members);
	if (complete)
		return builder.set;
	next_hops_free(builder.set);
	return NULL;
}

struct next_hops *next_hops_create_single(uint64_t mac)
{
	struct next_hops *set = calloc(1, sizeof(*set));

	if (set)
		*set = (struct next_hops){.single = true, .mac = mac};
	return set;
}

void next_hops_free(struct next_hops *next_hops)
{
	if (!next_hops)
		return;
	free(next_hops->slots);
	free(next_hops->macs);
	free(next_hops);
}
