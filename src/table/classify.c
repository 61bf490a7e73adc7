/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/classify.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/byteorder.h"
#include "common/netaddr.h"

enum {
	PROTOCOLS = 2, /* TCP, UDP */
	MAX_LENGTHS = 129,
	NO_NODE = CLASSIFY_NO_PREFIX,
};

struct node {
	struct netprefix prefix;
	uint32_t parent; /* or NO_NODE */
	uint32_t first[PROTOCOLS], count[PROTOCOLS]; /* its port ranges in `ranges`, by table */
	uint32_t first_range[PROTOCOLS], range_count[PROTOCOLS]; /* its port ranges in `bind_ranges` */
	uint32_t first_bind; /* for this prefix or an ancestor, as a lookup returns it */
	uint16_t highest_table; /* with binds for this prefix or an ancestor */
};

struct family_index {
	unsigned length_count;
	uint8_t lengths[MAX_LENGTHS]; /* the prefix lengths in use, longest first */
};

struct classifier {
	struct family_index families[3]; /* by enum netaddr_family */
	uint32_t node_count, range_count, bind_range_count;
	struct node *nodes;
	struct classify_range *ranges;
	struct classify_bind_range *bind_ranges;
	uint32_t slot_mask;
	uint32_t *slots; /* hash table of nodes with open addressing: node index or NO_NODE; at most half full */
};

/* A bind and its number, as a lookup returns it, while the classifier is built. */
struct claim {
	const struct table_bind *bind;
	uint32_t number;
};

static unsigned protocol_index(uint8_t protocol)
{
	return protocol == TABLE_UDP;
}

static uint32_t hash_prefix(uint8_t family, const uint8_t masked[16], uint8_t length)
{
	uint64_t hash = load_le64(masked) * 0x9e3779b97f4a7c15u;

	hash = (hash ^ hash >> 29 ^ load_le64(masked + 8)) * 0xbf58476d1ce4e5b9u;
	hash = (hash ^ hash >> 32 ^ length ^ (uint64_t)family << 8) * 0x94d049bb133111ebu;
	return (uint32_t)(hash >> 32);
}

static uint32_t find_exact(const struct classifier *classifier, uint8_t family, const uint8_t masked[16], uint8_t length)
{
	uint32_t slot = hash_prefix(family, masked, length) & classifier->slot_mask;

	for (; classifier->slots[slot] != NO_NODE; slot = (slot + 1) & classifier->slot_mask) {
		const struct netprefix *prefix = &classifier->nodes[classifier->slots[slot]].prefix;

		if (prefix->length == length && prefix->addr.family == family &&
			memcmp(prefix->addr.bytes, masked, 16) == 0)
			return classifier->slots[slot];
	}
	return NO_NODE;
}

/* The longest prefix of at most `longest` bits that covers the address, or NO_NODE. */
static uint32_t find_longest(const struct classifier *classifier, uint8_t family, const uint8_t *address, unsigned longest)
{
	const struct family_index *index = &classifier->families[family];
	unsigned size = family == NETADDR_V4 ? 4 : 16;
	uint8_t masked[16] = {0};

	memcpy(masked, address, size);
	for (unsigned i = 0; i < index->length_count; i++) {
		uint32_t node;

		if (index->lengths[i] > longest)
			continue;
		netprefix_mask(masked, size, index->lengths[i]);
		node = find_exact(classifier, family, masked, index->lengths[i]);
		if (node != NO_NODE)
			return node;
	}
	return NO_NODE;
}

static int find_range(const struct classify_bind_range *ranges, uint32_t count, uint16_t port)
{
	uint32_t low;

	ARRAY_BISECT(low, count, ranges[low].end < port);
	return low < count && ranges[low].start <= port ? (int)ranges[low].number : CLASSIFY_NONE;
}

int classify_port(const struct classifier *classifier, uint8_t family, const uint8_t *destination, uint8_t protocol,
	uint16_t port)
{
	unsigned p = protocol_index(protocol);
	uint32_t at = find_longest(classifier, family, destination, 128);
	int first = CLASSIFY_NONE;

	for (; at != NO_NODE; at = classifier->nodes[at].parent) {
		const struct node *node = &classifier->nodes[at];
		int found = find_range(classifier->bind_ranges + node->first_range[p], node->range_count[p], port);

		if (found != CLASSIFY_NONE && (first == CLASSIFY_NONE || found < first))
			first = found;
	}
	return first;
}

int classify_address_of(const struct classifier *classifier, uint32_t prefix)
{
	return prefix == CLASSIFY_NO_PREFIX ? CLASSIFY_NONE : (int)classifier->nodes[prefix].first_bind;
}

int classify_address(const struct classifier *classifier, uint8_t family, const uint8_t *destination)
{
	return classify_address_of(classifier, find_longest(classifier, family, destination, 128));
}

bool classify_covers(const struct classifier *classifier, uint8_t family, const uint8_t *address)
{
	uint32_t at = find_longest(classifier, family, address, 128);

	return at != NO_NODE && classifier->nodes[at].prefix.length > 0;
}

int classify_fragment_of(const struct classifier *classifier, uint32_t prefix)
{
	const struct node *node = prefix == CLASSIFY_NO_PREFIX ? NULL : &classifier->nodes[prefix];

	if (!node)
		return CLASSIFY_NONE;
	return node->first_bind / CLASSIFY_BINDS == node->highest_table ? (int)node->first_bind : CLASSIFY_AMBIGUOUS;
}

int classify_fragment(const struct classifier *classifier, uint8_t family, const uint8_t *destination)
{
	return classify_fragment_of(classifier, find_longest(classifier, family, destination, 128));
}

static int compare_claims(const void *left, const void *right)
{
	const struct claim *a = left, *b = right;
	int order = netaddr_compare(&a->bind->prefix.addr, &b->bind->prefix.addr);

	if (order == 0)
		order = a->bind->prefix.length - b->bind->prefix.length;
	return order;
}

static bool same_prefix(const struct claim *a, const struct claim *b)
{
	return compare_claims(a, b) == 0;
}

/* A claim begins at port `start` and ends before port `end`. */
struct extent {
	uint32_t start, end; /* 0..65536 */
	uint32_t number;
};

/* The extents that have begun, as a binary heap: the one with the lowest number is at the root. */
struct extent_heap {
	size_t count;
	struct extent *items;
};

static void heap_push(struct extent_heap *heap, struct extent item)
{
	size_t at = heap->count++;

	for (; at > 0 && heap->items[(at - 1) / 2].number > item.number; at = (at - 1) / 2)
		heap->items[at] = heap->items[(at - 1) / 2];
	heap->items[at] = item;
}

static void heap_pop(struct extent_heap *heap)
{
	struct extent last = heap->items[--heap->count];
	size_t at = 0;

	for (size_t child = 1; child < heap->count; child = 2 * at + 1) {
		if (child + 1 < heap->count && heap->items[child + 1].number < heap->items[child].number)
			child++;
		if (heap->items[child].number >= last.number)
			break;
		heap->items[at] = heap->items[child];
		at = child;
	}
	heap->items[at] = last;
}

static int compare_extents(const void *left, const void *right)
{
	const struct extent *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Ranges of the same order that touch are one range in `ranges`. */
static void add_range(
	struct classifier *classifier, struct node *node, unsigned p, uint32_t start, uint32_t end, uint32_t number)
{
	struct classify_range *last = classifier->ranges + classifier->range_count - 1;
	uint16_t order = (uint16_t)classify_order((int)number);

	classifier->bind_ranges[classifier->bind_range_count++] =
		(struct classify_bind_range){.start = (uint16_t)start, .end = (uint16_t)(end - 1), .number = number};
	node->range_count[p]++;
	if (node->count[p] && last->order == order && (uint32_t)last->end + 1 == start) {
		last->end = (uint16_t)(end - 1);
		return;
	}
	classifier->ranges[classifier->range_count++] =
		(struct classify_range){.start = (uint16_t)start, .end = (uint16_t)(end - 1), .order = order};
	node->count[p]++;
}

/*
 * Sweeps over the ports of one prefix and protocol. From port to port at which an extent begins or ends, the first bind
 * whose extent covers the ports gets them. There are at most twice as many ranges as claims.
 */
static void build_ranges(struct classifier *classifier, struct node *node, unsigned p, const struct claim *claims,
	size_t count, struct extent *extents)
{
	struct extent_heap heap = {.items = extents + count};
	size_t extent_count = 0, next = 0;
	uint32_t at = 0;

	node->first[p] = classifier->range_count;
	node->first_range[p] = classifier->bind_range_count;
	for (size_t i = 0; i < count; i++)
		if (protocol_index(claims[i].bind->protocol) == p)
			extents[extent_count++] = (struct extent){
				claims[i].bind->port_start, claims[i].bind->port_end + 1u, claims[i].number};
	qsort(extents, extent_count, sizeof(*extents), compare_extents);
	while (next < extent_count || heap.count) {
		uint32_t end;

		if (!heap.count && at < extents[next].start)
			at = extents[next].start;
		for (; next < extent_count && extents[next].start <= at; next++)
			heap_push(&heap, extents[next]);
		while (heap.count && heap.items[0].end <= at)
			heap_pop(&heap);
		if (!heap.count)
			continue;
		end = heap.items[0].end;
		if (next < extent_count && extents[next].start < end)
			end = extents[next].start;
		add_range(classifier, node, p, at, end, heap.items[0].number);
		at = end;
	}
}

static void insert_node(struct classifier *classifier, uint32_t at)
{
	const struct netprefix *prefix = &classifier->nodes[at].prefix;
	uint32_t slot = hash_prefix(prefix->addr.family, prefix->addr.bytes, prefix->length) & classifier->slot_mask;

	while (classifier->slots[slot] != NO_NODE)
		slot = (slot + 1) & classifier->slot_mask;
	classifier->slots[slot] = at;
}

/* claims: sorted, so that claims with the same prefix are neighbours. */
static void build_nodes(struct classifier *classifier, const struct claim *claims, size_t count, struct extent *extents)
{
	for (size_t from = 0, to; from < count; from = to) {
		uint32_t at = classifier->node_count++;
		struct node *node = &classifier->nodes[at];

		*node = (struct node){.prefix = claims[from].bind->prefix, .first_bind = UINT32_MAX};
		for (to = from; to < count && same_prefix(&claims[from], &claims[to]); to++) {
			if (claims[to].number < node->first_bind)
				node->first_bind = claims[to].number;
			if (claims[to].number / CLASSIFY_BINDS > node->highest_table)
				node->highest_table = (uint16_t)(claims[to].number / CLASSIFY_BINDS);
		}
		for (unsigned p = 0; p < PROTOCOLS; p++)
			build_ranges(classifier, node, p, claims + from, to - from, extents);
		insert_node(classifier, at);
	}
}

static void collect_lengths(struct classifier *classifier)
{
	bool seen[3][MAX_LENGTHS] = {0};

	for (uint32_t i = 0; i < classifier->node_count; i++) {
		const struct netprefix *prefix = &classifier->nodes[i].prefix;

		seen[prefix->addr.family][prefix->length] = true;
	}
	for (unsigned family = NETADDR_V4; family <= NETADDR_V6; family++) {
		struct family_index *index = &classifier->families[family];

		for (unsigned length = MAX_LENGTHS; length-- > 0;)
			if (seen[family][length])
				index->lengths[index->length_count++] = (uint8_t)length;
	}
}

/* Nodes are sorted, so the first bind and the highest table of a parent are final before its children need them. */
static void link_parents(struct classifier *classifier)
{
	for (uint32_t i = 0; i < classifier->node_count; i++) {
		struct node *node = &classifier->nodes[i];
		const struct node *parent;

		node->parent = NO_NODE;
		if (node->prefix.length == 0)
			continue;
		node->parent = find_longest(
			classifier, node->prefix.addr.family, node->prefix.addr.bytes, node->prefix.length - 1u);
		if (node->parent == NO_NODE)
			continue;
		parent = &classifier->nodes[node->parent];
		if (parent->first_bind < node->first_bind)
			node->first_bind = parent->first_bind;
		if (parent->highest_table > node->highest_table)
			node->highest_table = parent->highest_table;
	}
}

/* Without configurations of QUIC no CID can be decoded. */
static uint32_t number_of(const struct table_set *set, uint32_t t, uint32_t bind)
{
	bool quic = set->tables[t].quic_count && set->tables[t].binds[bind].quic &&
		    set->tables[t].binds[bind].protocol == TABLE_UDP;

	return t * CLASSIFY_BINDS + bind + (quic ? 0 : CLASSIFY_NOT_QUIC);
}

static struct claim *collect_claims(const struct table_set *set, size_t count)
{
	struct claim *claims = calloc(count + 1, sizeof(*claims));
	size_t at = 0;

	for (uint32_t t = 0; claims && t < set->count; t++)
		for (uint32_t i = 0; i < set->tables[t].bind_count; i++)
			claims[at++] = (struct claim){&set->tables[t].binds[i], number_of(set, t, i)};
	if (claims)
		qsort(claims, count, sizeof(*claims), compare_claims);
	return claims;
}

static struct classifier *allocate(size_t claims)
{
	struct classifier *classifier = calloc(1, sizeof(*classifier));
	uint32_t slots = 16;

	if (!classifier)
		return NULL;
	while (slots < 2 * claims)
		slots *= 2;
	classifier->slot_mask = slots - 1;
	classifier->nodes = calloc(claims + 1, sizeof(*classifier->nodes));
	classifier->ranges = calloc(2 * claims + 1, sizeof(*classifier->ranges));
	classifier->slots = malloc(slots * sizeof(*classifier->slots));
	classifier->bind_ranges = calloc(2 * claims + 1, sizeof(*classifier->bind_ranges));
	if (!classifier->nodes || !classifier->ranges || !classifier->bind_ranges || !classifier->slots) {
		classify_free(classifier);
		return NULL;
	}
	memset(classifier->slots, 0xff, slots * sizeof(*classifier->slots));
	return classifier;
}

struct classifier *classify_build(const struct table_set *set)
{
	struct classifier *classifier;
	struct claim *claims;
	struct extent *extents;
	size_t count = table_set_totals(set).binds;

	claims = collect_claims(set, count);
	extents = calloc(2 * count + 1, sizeof(*extents)); /* and the heap */
	classifier = claims && extents ? allocate(count) : NULL;
	if (classifier) {
		build_nodes(classifier, claims, count, extents);
		collect_lengths(classifier);
		link_parents(classifier);
	}
	free(claims);
	free(extents);
	return classifier;
}

void classify_free(struct classifier *classifier)
{
	if (!classifier)
		return;
	free(classifier->nodes);
	free(classifier->ranges);
	free(classifier->bind_ranges);
	free(classifier->slots);
	free(classifier);
}

size_t classify_memory(const struct classifier *classifier)
{
	return sizeof(*classifier) + classifier->node_count * sizeof(*classifier->nodes) +
	       classifier->range_count * sizeof(*classifier->ranges) +
	       classifier->bind_range_count * sizeof(*classifier->bind_ranges) +
	       (classifier->slot_mask + 1ull) * sizeof(*classifier->slots);
}

uint32_t classify_prefix_count(const struct classifier *classifier)
{
	return classifier->node_count;
}

struct classify_prefix classify_prefix_at(const struct classifier *classifier, uint32_t index)
{
	const struct node *node = &classifier->nodes[index];

	return (struct classify_prefix){
		.prefix = node->prefix,
		.parent = node->parent,
		.ranges = {classifier->ranges + node->first[0], classifier->ranges + node->first[1]},
		.counts = {node->count[0], node->count[1]},
		.binds = {classifier->bind_ranges + node->first_range[0], classifier->bind_ranges + node->first_range[1]},
		.bind_counts = {node->range_count[0], node->range_count[1]},
	};
}

uint32_t classify_prefix_of(const struct classifier *classifier, const struct netaddr *addr)
{
	return find_longest(classifier, addr->family, addr->bytes, 128);
}
