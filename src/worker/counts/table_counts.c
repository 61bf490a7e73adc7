/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker/counts/table_counts.h"

#include <stdlib.h>

bool table_counts_alloc(struct table_counts *counts, const struct routes *routes, unsigned workers)
{
	uint32_t binds = 0;

	*counts = (struct table_counts){0};
	for (uint32_t t = 0; t < routes->set.count; t++) {
		counts->first_bind[t] = binds;
		binds += routes->set.tables[t].bind_count;
	}
	return count_rows_alloc(&counts->backends, BACKEND_COUNTS, routes->address_count, workers) &&
	       count_rows_alloc(&counts->binds, BIND_COUNTS, binds, workers);
}

void table_counts_free(struct table_counts *counts)
{
	count_rows_free(&counts->backends);
	count_rows_free(&counts->binds);
}

/* Returns what of a tally is not settled. */
static struct forwarded table_counts_unsettled(uint64_t tally, struct forwarded settled)
{
	uint64_t left = tally - settled.packets * TALLY_PACKET - settled.bytes;

	return (struct forwarded){.packets = left / TALLY_PACKET, .bytes = left % TALLY_PACKET};
}

static void settle(const struct count_rows *rows, unsigned worker, uint32_t backend)
{
	uint64_t *packets = &count_rows_of(rows, BACKEND_PACKETS, worker)[backend];
	uint64_t *bytes = &count_rows_of(rows, BACKEND_BYTES, worker)[backend];
	struct forwarded more = table_counts_unsettled(
		count_rows_of(rows, BACKEND_TALLY, worker)[backend], (struct forwarded){*packets, *bytes});

	if (!more.packets) /* memory that no packet needs stays untouched */
		return;
	/* Whoever sees one of these also sees the tally. */
	__atomic_store_n(packets, *packets + more.packets, __ATOMIC_RELEASE);
	__atomic_store_n(bytes, *bytes + more.bytes, __ATOMIC_RELEASE);
}

void table_counts_settle(const struct table_counts *counts, const struct routes *routes, unsigned worker,
	struct settler *settler, uint32_t packets)
{
	uint32_t backends = routes->address_count;

	settler->due += (uint64_t)packets * backends;
	for (; settler->due >= SETTLE_PACKETS; settler->due -= SETTLE_PACKETS) {
		uint32_t at = settler->next < backends ? settler->next : 0;

		settle(&counts->backends, worker, at);
		settler->next = at + 1;
	}
}

/* Returns what one row has counted. */
static struct forwarded read_row(const struct count_rows *rows, unsigned row, size_t index)
{
	size_t at = row * rows->stride + index;
	const uint64_t *packets = &count_rows_earlier(rows, BACKEND_PACKETS)[at];
	struct forwarded settled, more;
	uint64_t tally;

	do {
		/* Before the tally, so that they are not ahead of it. The bytes may be older than the packets. */
		settled.packets = __atomic_load_n(packets, __ATOMIC_ACQUIRE);
		settled.bytes = __atomic_load_n(&count_rows_earlier(rows, BACKEND_BYTES)[at], __ATOMIC_ACQUIRE);
		tally = __atomic_load_n(&count_rows_earlier(rows, BACKEND_TALLY)[at], __ATOMIC_ACQUIRE);
	} while (__atomic_load_n(packets, __ATOMIC_RELAXED) != settled.packets); /* this thread was stopped for long */
	more = table_counts_unsettled(tally, settled);
	return (struct forwarded){settled.packets + more.packets, settled.bytes + more.bytes};
}

struct forwarded table_counts_backend(const struct table_counts *counts, size_t index)
{
	struct forwarded sum = {0};

	for (unsigned row = 0; row <= counts->backends.workers; row++) {
		struct forwarded more = read_row(&counts->backends, row, index);

		sum.packets += more.packets;
		sum.bytes += more.bytes;
	}
	return sum;
}

struct forwarded table_counts_table(const struct table_counts *counts, const struct routes *routes, uint32_t table)
{
	struct forwarded sum = counts->gone[table];

	for (uint32_t i = 0; i < routes->set.tables[table].backend_count; i++) {
		struct forwarded more = table_counts_backend(counts, routes_backend(routes, table, i));

		sum.packets += more.packets;
		sum.bytes += more.bytes;
	}
	return sum;
}

static int compare_backends(const void *a, const void *b)
{
	const struct table_backend *left = a, *right = b;

	return netaddr_compare(&left->addr, &right->addr);
}

/* Lists the backends of a table. NULL: out of memory. The caller frees the list. */
static struct count_key *list_backends(const struct routes *routes, uint32_t t)
{
	const struct table *table = &routes->set.tables[t];
	struct count_key *keys = calloc(table->backend_count + 1u, sizeof(*keys));

	for (uint32_t i = 0; keys && i < table->backend_count; i++)
		keys[i] = (struct count_key){&table->backends[i], routes_backend(routes, t, i)};
	return keys;
}

static struct count_key *list_binds(const struct table_counts *counts, const struct routes *routes, uint32_t t)
{
	const struct table *table = &routes->set.tables[t];
	struct count_key *keys = calloc(table->bind_count + 1u, sizeof(*keys));

	for (uint32_t i = 0; keys && i < table->bind_count; i++)
		keys[i] = (struct count_key){&table->binds[i], table_counts_bind(counts, t, i)};
	return keys;
}

/* From a table to another. */
struct carriage {
	struct table_counts *counts;
	const struct table_counts *old;
	uint32_t table;
};

static void carry_backend(void *context, size_t to, size_t from)
{
	struct carriage *carriage = context;
	struct count_rows *rows = &carriage->counts->backends;
	struct forwarded sum = table_counts_backend(carriage->old, from);

	if (to == COUNT_GONE) {
		carriage->counts->gone[carriage->table].packets += sum.packets;
		carriage->counts->gone[carriage->table].bytes += sum.bytes;
		return;
	}
	count_rows_earlier(rows, BACKEND_TALLY)[to] = sum.packets * TALLY_PACKET + sum.bytes;
	count_rows_earlier(rows, BACKEND_PACKETS)[to] = sum.packets;
	count_rows_earlier(rows, BACKEND_BYTES)[to] = sum.bytes;
	count_rows_earlier(rows, BACKEND_NO_NEXT_HOP)[to] =
		count_rows_sum(&carriage->old->backends, BACKEND_NO_NEXT_HOP, from);
}

static void carry_bind(void *context, size_t to, size_t from)
{
	struct carriage *carriage = context;

	for (unsigned kind = 0; kind < BIND_COUNTS && to != COUNT_GONE; kind++)
		count_rows_earlier(&carriage->counts->binds, kind)[to] =
			count_rows_sum(&carriage->old->binds, kind, from);
}

void table_counts_carry(struct table_counts *counts, const struct routes *routes, uint32_t to,
	const struct table_counts *old, const struct routes *old_routes, uint32_t from)
{
	const struct table *table = &routes->set.tables[to], *old_table = &old_routes->set.tables[from];
	struct count_key *keys = list_backends(routes, to), *old_keys = list_backends(old_routes, from);
	struct carriage carriage = {.counts = counts, .old = old, .table = to};

	if (keys && old_keys) {
		counts->gone[to] = old->gone[from];
		count_rows_match(keys, table->backend_count, old_keys, old_table->backend_count, compare_backends,
			carry_backend, &carriage);
	}
	free(keys);
	free(old_keys);
	keys = list_binds(counts, routes, to);
	old_keys = list_binds(old, old_routes, from);
	if (keys && old_keys)
		count_rows_match(keys, table->bind_count, old_keys, old_table->bind_count, table_bind_compare,
			carry_bind, &carriage);
	free(keys);
	free(old_keys);
}
