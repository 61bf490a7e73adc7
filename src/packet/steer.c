/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/steer.h"

#include <netinet/in.h>
#include <string.h>

#include "common/byteorder.h"
#include "common/netaddr.h"
#include "common/siphash.h"

/* Some functions are compiled twice, with and without QUIC. */
#define INLINE static inline __attribute__((always_inline))

const char *const steering_field_names[STEERING_FIELD_COUNT] = {
#define X(symbol, name) name,
	STEERING_FIELDS(X)
#undef X
};

static bool is_ping(const struct flow *flow)
{
	return flow->kind == FLOW_ECHO ||
	       (flow->kind == FLOW_FRAGMENT && (flow->protocol == IPPROTO_ICMP || flow->protocol == IPPROTO_ICMPV6));
}

int steer_find_bind(const struct flow *flow, const struct routes *routes)
{
	switch (flow->kind) {
	case FLOW_ECHO:
		return classify_address_of(
			routes->classifier, portmap_prefix(routes->portmap, flow->family, flow->destination));
	case FLOW_FRAGMENT:
		return classify_fragment_of(
			routes->classifier, portmap_prefix(routes->portmap, flow->family, flow->destination));
	default:
		return classify_port(
			routes->classifier, flow->family, flow->destination, flow->protocol, flow->destination_port);
	}
}

/* Returns classify_order(), CLASSIFY_* or PORTMAP_UNKNOWN. */
static int find_by_port(const struct flow *flow, const struct routes *routes)
{
	if (flow->kind != FLOW_TRANSPORT && flow->kind != FLOW_ICMP_ERROR)
		return PORTMAP_UNKNOWN;
	return portmap_find(routes->portmap, flow->family, flow->destination, flow->protocol, flow->destination_port);
}

/* Returns classify_order() or CLASSIFY_*. */
static int find_order(const struct flow *flow, const struct routes *routes, const struct steering_config *steering)
{
	int found;

	if (is_ping(flow) && !steering->forward_ping)
		return CLASSIFY_NONE;
	found = find_by_port(flow, routes);
	return found == PORTMAP_UNKNOWN ? classify_order(steer_find_bind(flow, routes)) : found;
}

int steer_find_packet_bind(const uint8_t *ip, uint32_t readable, uint32_t size, const struct routes *routes)
{
	uint8_t family = ip[0] >> 4 == 4 ? NETADDR_V4 : NETADDR_V6;
	struct flow flow;

	if (flow_parse_ip(family, ip, readable, size, &flow) != VERDICT_FORWARDED)
		return CLASSIFY_NONE;
	return steer_find_bind(&flow, routes);
}

/* quic: 1 if the packet matches a bind with QUIC. */
INLINE enum verdict classify(const struct flow *flow, const struct routes *routes,
	const struct steering_config *steering, uint16_t *table, uint8_t *quic)
{
	int found = find_order(flow, routes, steering);

	if (found == CLASSIFY_NONE)
		return steer_unmatched(steering);
	if (found == CLASSIFY_AMBIGUOUS || (flow->kind == FLOW_FRAGMENT && steering->hash_fields & STEERING_PORTS))
		return VERDICT_DROP_FRAGMENT;
	*table = (uint16_t)(found / 2);
	*quic = classify_order_has_quic(found);
	return VERDICT_FORWARDED;
}

/* Returns what the packet counts as. */
static enum quic_fate find_server(
	const struct flow *flow, const struct routes *routes, uint16_t table, uint8_t quic, uint32_t *server)
{
	*server = QUIC_NO_SERVER;
	if (!quic)
		return QUIC_NONE;
	return quic_routes_find(
		routes->tables[table].quic, flow->payload, flow->payload_size, flow->kind == FLOW_ICMP_ERROR, server);
}

/* Returns the size. memcpy() gets constants, so that the compiler does not call it. */
static size_t copy_address(uint8_t *to, const uint8_t address[16], uint8_t family)
{
	if (family == NETADDR_V4) {
		memcpy(to, address, 4);
		return 4;
	}
	memcpy(to, address, 16);
	return 16;
}

static inline uint64_t hash_flow(const struct flow *flow, const struct siphash_state *key, uint8_t fields)
{
	uint8_t message[16 + 16 + 2 + 2];
	struct siphash_state state = *key;
	size_t size = 0;

	if (fields & STEERING_SOURCE_ADDRESS)
		size += copy_address(message, flow->source, flow->family);
	if (fields & STEERING_DESTINATION_ADDRESS)
		size += copy_address(message + size, flow->destination, flow->family);
	if (fields & STEERING_SOURCE_PORT) {
		store_be16(message + size, flow->source_port);
		size += 2;
	}
	if (fields & STEERING_DESTINATION_PORT) {
		store_be16(message + size, flow->destination_port);
		size += 2;
	}
	return siphash_end(&state, message, size);
}

uint64_t steer_hash(const struct flow *flow, const struct routes *routes, uint16_t table, uint8_t fields)
{
	return hash_flow(flow, &routes->keys[table], fields);
}

/* Appends the hops of a row that are not among the first `count` already, as long as there is room for their outer
 * headers. Returns the new count. */
static uint8_t append_row(const struct routes_table *table, uint16_t row, uint32_t *hops, uint8_t count)
{
	const uint16_t *backends = table->rows + (size_t)row * table->row_hops;
	uint8_t most = (uint8_t)encapsulate_hops(table->ipv6, ENCAPSULATE_MAX_HOPS);

	for (uint8_t i = 0; i < table->row_hops && count < most; i++) {
		uint32_t hop = table->addresses[backends[i]];
		uint8_t at = 0;

		while (at < count && hops[at] != hop)
			at++;
		if (at == count)
			hops[count++] = hop;
	}
	return count;
}

/* The same for the first row of a packet, which has no address twice. */
static uint8_t copy_row(const struct routes_table *table, uint16_t row, uint32_t *hops)
{
	const uint16_t *backends = table->rows + (size_t)row * table->row_hops;

	for (uint8_t i = 0; i < table->row_hops; i++)
		hops[i] = table->addresses[backends[i]];
	return table->row_hops;
}

/* The place of the server among the hops of a packet: 1 behind the first hop of its row if only the server is down. */
static inline unsigned server_place(const struct routes *routes, uint32_t first, uint32_t server)
{
	return routes->down && routes->down[server] && !routes->down[first];
}

/* Inserts the server into the hops of a row. The hops up to the place where the server was move back. Returns their
 * number: that of the row, but at least 2 if there are two addresses. */
static __attribute__((noinline)) uint8_t insert_server(uint32_t server, unsigned place, uint32_t *hops, uint8_t count)
{
	uint32_t hop = server;

	if (hops[0] == server)
		return count;
	for (unsigned i = place; i < count; i++) {
		uint32_t moved = hops[i];

		hops[i] = hop;
		hop = moved;
		if (hop == server)
			return count;
	}
	if (count < TABLE_MIN_HOPS)
		hops[count++] = hop;
	return count;
}

/* Returns the backend of a row's first hop. */
static inline uint32_t first_backend(const struct routes *routes, uint16_t table, uint16_t row)
{
	const struct routes_table *from = &routes->tables[table];

	return routes_backend(routes, table, from->rows[(size_t)row * from->row_hops]);
}

/* Fills the hops of the row, with the server among them, then those of the row by alt_hash_fields. Returns their
 * number. */
INLINE uint8_t collect_hops(const struct flow *flow, const struct routes *routes,
	const struct steering_config *steering, uint16_t table, uint16_t row, uint32_t server, uint32_t *hops)
{
	const struct routes_table *from = &routes->tables[table];
	bool distinct = routes->hop_counts[table] > 2; /* else it may be 0, as for rows that have an address twice */
	uint8_t alt = steering->alt_hash_fields, count;

	count = distinct ? copy_row(from, row, hops) : append_row(from, row, hops, 0);
	if (server != QUIC_NO_SERVER)
		count = insert_server(routes->addresses[server],
			server_place(routes, first_backend(routes, table, row), server), hops, count);

	/* A later fragment has no ports to hash. Its first hop accepts it in any case. */
	if (!alt || (flow->kind == FLOW_FRAGMENT && alt & STEERING_PORTS))
		return count;
	return append_row(from, (uint16_t)hash_flow(flow, &routes->keys[table], alt), hops, count);
}

struct steer_result steer_flow(
	const struct flow *flow, const struct routes *routes, const struct steering_config *steering)
{
	struct steer_result result = {.server = QUIC_NO_SERVER};

	if (flow->martian && steering->admission.drop_martians) {
		result.verdict = VERDICT_DROP_MARTIAN;
		return result;
	}
	result.verdict = classify(flow, routes, steering, &result.table, &result.quic);
	if (result.verdict != VERDICT_FORWARDED)
		return result;
	if (routes->quic)
		result.quic = (uint8_t)find_server(flow, routes, result.table, result.quic, &result.server);
	result.hash = steer_hash(flow, routes, result.table, steering->hash_fields);
	result.row = (uint16_t)result.hash;
	result.hop_count = collect_hops(flow, routes, steering, result.table, result.row, result.server, result.hops);
	return result;
}

void steer_classify(
	struct burst *burst, uint64_t lanes, const struct routes *routes, const struct steering_config *steering)
{
	BURST_EACH (lane, lanes) {
		if (burst->verdict[lane] == VERDICT_FORWARDED)
			burst->verdict[lane] = (uint8_t)classify(
				&burst->flow[lane], routes, steering, &burst->table[lane], &burst->quic[lane]);
		else if (burst->verdict[lane] == VERDICT_DROP_UNMATCHED)
			burst->verdict[lane] = (uint8_t)steer_unmatched(steering);
	}
	if (!routes->quic)
		return;
	BURST_EACH (lane, lanes)
		if (burst->verdict[lane] == VERDICT_FORWARDED)
			burst->quic[lane] = (uint8_t)find_server(&burst->flow[lane], routes, burst->table[lane],
				burst->quic[lane], &burst->server[lane]);
}

void steer_hash_lanes(
	struct burst *burst, uint64_t lanes, const struct routes *routes, const struct steering_config *steering)
{
	BURST_EACH (lane, lanes)
		burst->hash[lane] = steer_hash(&burst->flow[lane], routes, burst->table[lane], steering->hash_fields);
	if (!steering->alt_hash_fields)
		return;
	BURST_EACH (lane, lanes)
		burst->alt_hash[lane] =
			steer_hash(&burst->flow[lane], routes, burst->table[lane], steering->alt_hash_fields);
}

static void hash_lanes(struct burst *burst, uint64_t lanes, const struct routes *routes, uint8_t fields)
{
	BURST_EACH (lane, lanes) {
		const struct routes_table *table;

		if (burst->verdict[lane] != VERDICT_FORWARDED)
			continue;
		table = &routes->tables[burst->table[lane]];
		burst->hash[lane] = hash_flow(&burst->flow[lane], &routes->keys[burst->table[lane]], fields);
		burst->row[lane] = (uint16_t)burst->hash[lane];
		__builtin_prefetch(table->rows + (size_t)burst->row[lane] * table->row_hops);
	}
}

/* quic: routes->quic, as a constant. */
INLINE void collect_lanes(struct burst *burst, uint64_t lanes, const struct routes *routes,
	const struct steering_config *steering, bool quic)
{
	BURST_EACH (lane, lanes)
		if (burst->verdict[lane] == VERDICT_FORWARDED) {
			uint32_t first = first_backend(routes, burst->table[lane], burst->row[lane]);
			uint32_t server = quic ? burst->server[lane] : QUIC_NO_SERVER;
			bool server_first = server != QUIC_NO_SERVER && !server_place(routes, first, server);

			burst->backend[lane] = server_first ? server : first;
			burst->hop_count[lane] = collect_hops(&burst->flow[lane], routes, steering, burst->table[lane],
				burst->row[lane], server, burst->hops[lane]);
		}
}

void steer_find_hops(
	struct burst *burst, uint64_t lanes, const struct routes *routes, const struct steering_config *steering)
{
	hash_lanes(burst, lanes, routes, steering->hash_fields);
	if (routes->quic)
		collect_lanes(burst, lanes, routes, steering, true);
	else
		collect_lanes(burst, lanes, routes, steering, false);
}
