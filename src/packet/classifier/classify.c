/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/classifier/classify.h"

#include <stdlib.h>
#include <string.h>

#include "common/byteorder.h"
#include "common/netaddr.h"

enum {
	PROTOCOLS = 2, /* TCP, UDP */
	MAX_LENGTHS = 129,
	NO_NODE = CLASSIFY_NO_PARENT,
};

struct node {
	struct netprefix prefix;
	uint32_t parent; /* or NO_NODE */
	uint32_t first[PROTOCOLS], count[PROTOCOLS]; /* its port ranges in `ranges` */
	uint8_t lowest_table, highest_table; /* with binds for this prefix or an ancestor */
};

struct family_index {
	unsigned length_count;
	uint8_t lengths[MAX_LENGTHS]; /* the prefix lengths in use, longest first */
};

struct classifier {
	struct family_index families[3]; /* by enum netaddr_family */
	uint32_t node_count, range_count;
	struct node *nodes;
	struct classify_range *ranges;
	uint32_t slot_mask;
	uint32_t *slots; /* hash table of nodes with open addressing: node index or NO_NODE; at most half full */
};

/* A bind and its table, while the classifier is built. */
struct claim {
	const struct table_bind *bind;
	uint8_t table;
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

static int find_range(const struct classify_range *ranges, uint32_t count, uint16_t port)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ranges[middle].end < port)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && ranges[low].start <= port ? ranges[low].table : CLASSIFY_NONE;
}

int classify_port(const struct classifier *classifier, uint8_t family, const uint8_t *destination, uint8_t protocol,
	uint16_t port)
{
	unsigned p = protocol_index(protocol);
	uint32_t at = find_longest(classifier, family, destination, 128);
	int lowest = CLASSIFY_NONE;

	for (; at != NO_NODE; at = classifier->nodes[at].parent) {
		const struct node *node = &classifier->nodes[at];
		int table = find_range(classifier->ranges + node->first[p], node->count[p], port);

		if (table != CLASSIFY_NONE && (lowest == CLASSIFY_NONE || table < lowest))
			lowest = table;
	}
	return lowest;
}

int classify_address(const struct classifier *classifier, uint8_t family, const uint8_t *destination)
{
	uint32_t at = find_longest(classifier, family, destination, 128);

	return at == NO_NODE ? CLASSIFY_NONE : classifier->nodes[at].lowest_table;
}

bool classify_covers(const struct classifier *classifier, uint8_t family, const uint8_t *address)
{
	uint32_t at = find_longest(classifier, family, address, 128);

	return at != NO_NODE && classifier->nodes[at].prefix.length > 0;
}

int classify_fragment(const struct classifier *classifier, uint8_t family, const uint8_t *destination)
{
	uint32_t at = find_longest(classifier, family, destination, 128);
	const struct node *node = at == NO_NODE ? NULL : &classifier->nodes[at];

	if (!node)
		return CLASSIFY_NONE;
	return node->lowest_table == node->highest_table ? node->lowest_table : CLASSIFY_AMBIGUOUS;
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

/* A claim of a table begins (+1) or ends (-1) at `port`. */
struct edge {
	uint32_t port; /* 0..65536 */
	int8_t change;
	uint8_t table;
};

static int compare_edges(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;

	return a->port < b->port ? -1 : a->port > b->port;
}

static void add_range(
	struct classifier *classifier, struct node *node, unsigned p, uint32_t start, uint32_t end, uint64_t active)
{
	uint8_t table = (uint8_t)__builtin_ctzll(active);
	struct classify_range *last = classifier->ranges + classifier->range_count - 1;

	if (node->count[p] && last->table == table && (uint32_t)last->end + 1 == start) {
		last->end = (uint16_t)(end - 1);
		return;
	}
	classifier->ranges[classifier->range_count++] =
		(struct classify_range){.start = (uint16_t)start, .end = (uint16_t)(end - 1), .table = table};
	node->count[p]++;
}

/*
 * Sweeps over the ports of one prefix and protocol. Between two edges, the lowest table with an active claim gets the
 * ports. There is at least one edge more than there are ranges.
 */
static void build_ranges(struct classifier *classifier, struct node *node, unsigned p, const struct claim *claims,
	size_t count, struct edge *edges)
{
	uint32_t active_binds[TABLE_MAX_TABLES] = {0};
	uint64_t active = 0;
	size_t edge_count = 0;

	node->first[p] = classifier->range_count;
	for (size_t i = 0; i < count; i++) {
		if (protocol_index(claims[i].bind->protocol) != p)
			continue;
		edges[edge_count++] = (struct edge){claims[i].bind->port_start, 1, claims[i].table};
		edges[edge_count++] = (struct edge){claims[i].bind->port_end + 1u, -1, claims[i].table};
	}
	qsort(edges, edge_count, sizeof(*edges), compare_edges);
	for (size_t i = 0; i < edge_count; i++) {
		uint8_t table = edges[i].table;

		active_binds[table] += (uint32_t)edges[i].change;
		if (active_binds[table])
			active |= 1ull << table;
		else
			active &= ~(1ull << table);
		if (active && edges[i + 1].port > edges[i].port)
			add_range(classifier, node, p, edges[i].port, edges[i + 1].port, active);
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
static void build_nodes(struct classifier *classifier, const struct claim *claims, size_t count, struct edge *edges)
{
	for (size_t from = 0, to; from < count; from = to) {
		uint32_t at = classifier->node_count++;
		struct node *node = &classifier->nodes[at];

		*node = (struct node){.prefix = claims[from].bind->prefix, .lowest_table = UINT8_MAX};
		for (to = from; to < count && same_prefix(&claims[from], &claims[to]); to++) {
			if (claims[to].table < node->lowest_table)
				node->lowest_table = claims[to].table;
			if (claims[to].table > node->highest_table)
				node->highest_table = claims[to].table;
		}
		for (unsigned p = 0; p < PROTOCOLS; p++)
			build_ranges(classifier, node, p, claims + from, to - from, edges);
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

/* Nodes are sorted, so the lowest and highest table of a parent are final before its children need them. */
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
		if (parent->lowest_table < node->lowest_table)
			node->lowest_table = parent->lowest_table;
		if (parent->highest_table > node->highest_table)
			node->highest_table = parent->highest_table;
	}
}

static struct claim *collect_claims(const struct table_set *set, size_t count)
{
	struct claim *claims = calloc(count + 1, sizeof(*claims));
	size_t at = 0;

	for (uint32_t t = 0; claims && t < set->count; t++)
		for (uint32_t i = 0; i < set->tables[t].bind_count; i++)
			claims[at++] = (struct claim){&set->tables[t].binds[i], (uint8_t)t};
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
	if (!classifier->nodes || !classifier->ranges || !classifier->slots) {
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
	struct edge *edges;
	size_t count = 0;

	for (uint32_t t = 0; t < set->count; t++)
		count += set->tables[t].bind_count;
	claims = collect_claims(set, count);
	edges = calloc(2 * count + 1, sizeof(*edges));
	classifier = claims && edges ? allocate(count) : NULL;
	if (classifier) {
		build_nodes(classifier, claims, count, edges);
		collect_lengths(classifier);
		link_parents(classifier);
	}
	free(claims);
	free(edges);
	return classifier;
}

void classify_free(struct classifier *classifier)
{
	if (!classifier)
		return;
	free(classifier->nodes);
	free(classifier->ranges);
	free(classifier->slots);
	free(classifier);
}

size_t classify_memory(const struct classifier *classifier)
{
	return sizeof(*classifier) + classifier->node_count * sizeof(*classifier->nodes) +
	       classifier->range_count * sizeof(*classifier->ranges) +
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
	};
}
