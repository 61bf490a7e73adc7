/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/text.h"

struct table_totals table_set_totals(const struct table_set *set)
{
	struct table_totals totals = {0};

	for (uint32_t t = 0; t < set->count; t++) {
		totals.binds += set->tables[t].bind_count;
		totals.backends += set->tables[t].backend_count;
	}
	return totals;
}

void table_set_free(struct table_set *set)
{
	for (uint32_t i = 0; i < set->count; i++) {
		struct table *table = &set->tables[i];

		for (uint32_t p = 0; p < table->past_count; p++)
			free(table->past[p].backends);
		free(table->past);
		free(table->name);
		free(table->backends);
		free(table->binds);
		if (!table->borrows_rows)
			free(table->rows);
		explicit_bzero(table, sizeof(*table)); /* the keys */
	}
	free(set->tables);
	*set = (struct table_set){0};
}

bool table_name_is_valid(const char *name, size_t size)
{
	if (size == 0 || size > TABLE_MAX_NAME)
		return false;
	for (size_t at = 0, step; at < size; at += step) {
		step = text_character(name + at, size - at);
		if (step == 0)
			return false;
	}
	return true;
}

const char *table_protocol_name(uint8_t protocol)
{
	return protocol == TABLE_TCP ? "tcp" : protocol == TABLE_UDP ? "udp" : "unknown";
}

const char *table_state_name(uint8_t state)
{
	static const char *const names[] = {
		[TABLE_FILLING] = "filling",
		[TABLE_ACTIVE] = "active",
		[TABLE_DRAINING] = "draining",
		[TABLE_INACTIVE] = "inactive",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

bool table_state_parse(const char *name, uint8_t *state)
{
	for (*state = 0; *state <= TABLE_INACTIVE; ++*state)
		if (strcmp(name, table_state_name(*state)) == 0)
			return true;
	return false;
}

int table_bind_compare_prefixes(const struct table_bind *a, const struct table_bind *b)
{
	int order = (int)a->protocol - b->protocol;

	return order ? order : netprefix_compare(&a->prefix, &b->prefix);
}

int table_bind_compare(const void *a, const void *b)
{
	const struct table_bind *x = a, *y = b;
	int order = table_bind_compare_prefixes(x, y);

	if (!order)
		order = (int)x->port_start - y->port_start;
	return order ? order : (int)x->port_end - y->port_end;
}

const char *table_bind_text(const struct table_bind *bind, char buf[TABLE_BIND_TEXT_MAX])
{
	char prefix[NETPREFIX_TEXT_MAX], last[8] = "";

	if (bind->port_end != bind->port_start)
		snprintf(last, sizeof(last), "-%u", bind->port_end);
	snprintf(buf, TABLE_BIND_TEXT_MAX, "%s %s port %u%s", bind->quic ? "quic" : table_protocol_name(bind->protocol),
		netprefix_format(&bind->prefix, prefix), bind->port_start, last);
	return buf;
}

/* Returns the only table of this name, or TABLE_NONE. */
static uint32_t find_name(const struct table_set *set, const char *name)
{
	uint32_t found = TABLE_NONE;

	for (uint32_t i = 0; name && i < set->count; i++) {
		if (!set->tables[i].name || strcmp(set->tables[i].name, name) != 0)
			continue;
		if (found != TABLE_NONE)
			return TABLE_NONE;
		found = i;
	}
	return found;
}

uint32_t table_namesake(const struct table_set *before, uint32_t index, const struct table_set *after)
{
	const char *name = before->tables[index].name;

	return find_name(before, name) == index ? find_name(after, name) : TABLE_NONE;
}

bool table_parse_balance(const char *text, uint32_t *value)
{
	if (strcmp(text, "off") != 0)
		return text_thousandths(text, TABLE_MIN_BALANCE, TABLE_MAX_BALANCE, value);
	*value = 0;
	return true;
}

const char *table_matching_text(const struct table *table, char buf[TABLE_MATCHING_TEXT_MAX])
{
	char balance[24] = "", past[32] = "";

	if (table->balance)
		snprintf(balance, sizeof(balance), ", balance %g", table->balance / 1000.0);
	if (table->past_count)
		snprintf(past, sizeof(past), ", %u previous state%s", table->past_count, text_plural(table->past_count));
	snprintf(buf, TABLE_MATCHING_TEXT_MAX, "%s%s", balance, past);
	return buf;
}

static int compare_order(const void *a, const void *b, void *table)
{
	const struct table_backend *backends = ((const struct table *)table)->backends;
	const uint32_t *x = a, *y = b;
	int order = netaddr_compare(&backends[*x].addr, &backends[*y].addr);

	return order ? order : (*x > *y) - (*x < *y);
}

uint32_t *table_backend_order(const struct table *table)
{
	uint32_t *order = malloc((table->backend_count + 1) * sizeof(*order));

	for (uint32_t i = 0; order && i < table->backend_count; i++)
		order[i] = i;
	if (order)
		qsort_r(order, table->backend_count, sizeof(*order), compare_order, (void *)table);
	return order;
}

uint32_t table_find_backend(const struct table *table, const uint32_t *order, const struct netaddr *addr)
{
	uint32_t low = 0, count = table->backend_count;

	while (!order && low < count && netaddr_compare(&table->backends[low].addr, addr) != 0)
		low++;
	if (order)
		ARRAY_BISECT(low, count, netaddr_compare(&table->backends[order[low]].addr, addr) < 0);
	if (!order || low == count)
		return low;
	return netaddr_compare(&table->backends[order[low]].addr, addr) == 0 ? order[low] : table->backend_count;
}

const char *table_quic_change(const struct table *before, const struct table *after, uint8_t id)
{
	const struct quic_config *old = before ? table_quic(before, id) : NULL,
				 *new = after ? table_quic(after, id) : NULL;

	if (!old || !new)
		return old ? "removed" : new ? "added" : NULL;
	if (old->server_id_length != new->server_id_length || old->nonce_length != new->nonce_length)
		return "other lengths";
	return old->keyed != new->keyed || memcmp(old->key, new->key, sizeof(old->key)) != 0 ? "another key" : NULL;
}

const char *table_label(const struct table_set *set, uint32_t index, char buf[16])
{
	if (set->tables[index].name)
		return set->tables[index].name;
	snprintf(buf, 16, "#%u", (unsigned)index);
	return buf;
}

/* The digests need no secret: they detect differences, not forgery. */
#define DIGEST_HOPS 4 /* a digest has this many hops of a row, unless the table has longer rows */

static const uint8_t no_key[SIPHASH_KEY_SIZE];

/* Returns the sum of the digests of all backends, which does not depend on their order. */
static uint64_t sum_backends(const struct table *table)
{
	struct {
		uint32_t family, zero;
		uint8_t address[16];
	} entry = {0};
	uint64_t sum = 0;

	for (uint32_t i = 0; i < table->backend_count; i++) {
		entry.family = table->backends[i].addr.family;
		memcpy(entry.address, table->backends[i].addr.bytes, sizeof(entry.address));
		sum += siphash(no_key, &entry, sizeof(entry));
	}
	return sum;
}

uint64_t table_binds_digest(const struct table *table)
{
	struct {
		uint32_t family, length_and_protocol;
		uint8_t address[16];
		uint32_t port_start, port_end;
	} entry = {0};
	uint64_t sum = 0;

	for (uint32_t i = 0; i < table->bind_count; i++) {
		const struct table_bind *bind = &table->binds[i];

		entry.family = bind->prefix.addr.family;
		entry.length_and_protocol =
			bind->prefix.length | (uint32_t)bind->protocol << 8 | (uint32_t)bind->quic << 16;
		memcpy(entry.address, bind->prefix.addr.bytes, sizeof(entry.address));
		entry.port_start = bind->port_start;
		entry.port_end = bind->port_end;
		sum += siphash(no_key, &entry, sizeof(entry));
	}
	return sum;
}

/* Returns the sum of the digests of all configurations and server IDs, which does not depend on their order. route:
 * only those that get packets count, and their health. */
static uint64_t sum_quic(const struct table *table, bool route)
{
	struct {
		uint32_t family, down;
		uint8_t address[16];
		struct quic_server_id ids[QUIC_MAX_SERVER_IDS];
	} entry = {0};
	uint64_t sum = 0;

	for (uint32_t i = 0; i < table->quic_count; i++) {
		const struct quic_config *config = &table->quic[i];
		uint8_t bytes[4 + QUIC_KEY_SIZE] = {
			config->id, config->server_id_length, config->nonce_length, config->keyed};

		memcpy(bytes + 4, config->key, sizeof(config->key));
		sum += siphash(no_key, bytes, sizeof(bytes));
	}
	for (uint32_t i = 0; i < table->backend_count; i++) {
		const struct table_backend *backend = &table->backends[i];

		if (!backend->server_ids[0].length || (route && backend->state == TABLE_INACTIVE))
			continue;
		entry.family = backend->addr.family;
		entry.down = route && !backend->healthy;
		memcpy(entry.address, backend->addr.bytes, sizeof(entry.address));
		memcpy(entry.ids, backend->server_ids, sizeof(entry.ids));
		sum += siphash(no_key, &entry, sizeof(entry));
	}
	return sum;
}

/* Adds sum_quic() of a table with `quic`. */
static void digest_quic(struct siphash_state *state, const struct table *table, bool route)
{
	uint64_t sum = sum_quic(table, route);

	if (table->quic_count)
		siphash_update(state, &sum, sizeof(sum));
}

/*
 * Hashes the addresses of the first `hops` hops of each row, padded with zeros to `width` hops. Leaves out the repeated
 * hop of version 2, so that all versions give the same digest. Pieces of two rows have a multiple of 8 bytes.
 */
static void digest_rows(struct siphash_state *state, const struct table *table, unsigned hops, unsigned width)
{
	size_t size = netaddr_size(&table->backends[0].addr);

	for (uint32_t first = 0; first < TABLE_ROWS; first += 2) {
		uint8_t out[2 * TABLE_MAX_HOPS * 16] = {0};

		for (unsigned half = 0; half < 2; half++) {
			const uint16_t *row = table->rows + (size_t)(first + half) * table->row_hops;

			for (unsigned i = 0; i < hops; i++)
				if (i == 0 || row[i] != row[0])
					memcpy(out + (half * width + i) * size, table->backends[row[i]].addr.bytes, size);
		}
		siphash_update(state, out, 2 * width * size);
	}
}

static uint64_t digest_set(const struct table_set *set, bool first_only)
{
	struct siphash_state state;

	siphash_begin(&state, no_key);
	for (uint32_t t = 0; t < set->count; t++) {
		const struct table *table = &set->tables[t];
		uint64_t binds = table_binds_digest(table);

		siphash_update(&state, table->hash_key, sizeof(table->hash_key));
		siphash_update(&state, &binds, sizeof(binds));
		digest_quic(&state, table, true);
		if (first_only)
			digest_rows(&state, table, 1, 1);
		else
			digest_rows(&state, table, table->row_hops,
				table->row_hops > DIGEST_HOPS ? TABLE_MAX_HOPS : DIGEST_HOPS);
	}
	return siphash_end(&state, NULL, 0);
}

uint64_t table_set_digest(const struct table_set *set)
{
	return digest_set(set, false);
}

uint64_t table_set_first_hops(const struct table_set *set)
{
	return digest_set(set, true);
}

uint64_t table_set_fingerprint(const struct table_set *set)
{
	struct siphash_state state;

	siphash_begin(&state, no_key);
	for (uint32_t t = 0; t < set->count; t++) {
		const struct table *table = &set->tables[t];
		uint64_t sums[2] = {table_binds_digest(table), sum_backends(table)};

		siphash_update(&state, table->hash_key, sizeof(table->hash_key));
		siphash_update(&state, sums, sizeof(sums));
		digest_quic(&state, table, false);
	}
	return siphash_end(&state, NULL, 0);
}
