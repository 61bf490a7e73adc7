/* SPDX-License-Identifier: BSD-3-Clause */
/* Random tables, which are the same in every run, and assertions about faults. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/byteorder.h"
#include "common/faults.h"
#include "table/table.h"
#include "tests/unit/random.h"

/* Returns a different address for each `number`. Family NETADDR_NONE: IPv4 or IPv6. */
static inline struct netaddr random_addr(enum netaddr_family family, uint32_t number)
{
	uint8_t bytes[16];

	random_fill(bytes, sizeof(bytes));
	memcpy(bytes + 1, &number, 3);
	if (family == NETADDR_NONE)
		family = random_below(2) ? NETADDR_V4 : NETADDR_V6;
	return netaddr_from_bytes(family, bytes);
}

/* The family of the backends of random tables. A test may set it. */
static enum netaddr_family backend_family = NETADDR_V4;

enum random_health { ALL_GOOD, ANY_STATE };

static inline void random_backend(struct table_backend *backend, enum random_health health)
{
	backend->state = TABLE_ACTIVE;
	backend->healthy = true;
	if (health == ALL_GOOD)
		return;
	backend->state = (uint8_t)random_below(4);
	backend->healthy = random_below(3) != 0;
}

/* Fills a table with a name, `backends` backends, of which the first is not inactive, and `binds` binds, but no rows. */
static inline void random_table(struct table *table, uint32_t backends, uint32_t binds, uint8_t hops,
	enum netaddr_family family, enum random_health health)
{
	*table = (struct table){.name = strdup("web"),
		.hops = hops,
		.backend_count = backends,
		.backends = calloc(backends + 1, sizeof(*table->backends)),
		.bind_count = binds,
		.binds = calloc(binds + 1, sizeof(*table->binds))};
	random_fill(table->hash_key, sizeof(table->hash_key));
	random_fill(table->seed, sizeof(table->seed));
	for (uint32_t i = 0; i < backends; i++) {
		table->backends[i].addr = random_addr(backend_family, i);
		random_backend(&table->backends[i], health);
	}
	if (backends && table->backends[0].state == TABLE_INACTIVE)
		table->backends[0].state = TABLE_DRAINING;
	for (uint32_t i = 0; i < binds; i++) {
		struct table_bind *bind = &table->binds[i];

		bind->prefix.addr = random_addr(family, i);
		bind->prefix.length = (uint8_t)random_below(netaddr_bits(&bind->prefix.addr) + 1);
		netprefix_mask(bind->prefix.addr.bytes, netaddr_size(&bind->prefix.addr), bind->prefix.length);
		bind->port_start = (uint16_t)random_u64();
		bind->port_end = (uint16_t)(bind->port_start + random_below(65536u - bind->port_start));
		bind->protocol = random_below(2) ? TABLE_TCP : TABLE_UDP;
	}
}

/* The plain twin of a score, as a number (docs/reference/table-rows.md#natural-order). */
static inline uint64_t twin_score(const uint8_t seed[SIPHASH_KEY_SIZE], uint32_t row, const struct netaddr *addr)
{
	uint8_t number[4], message[8 + 7], digest[8];
	size_t size = addr->family == NETADDR_V4 ? 4 : 7;

	store_be32(number, row);
	memcpy(message, &(uint64_t){siphash(seed, number, sizeof(number))}, 8);
	memcpy(digest, &(uint64_t){siphash(seed, addr->bytes, 16)}, 8);
	memcpy(message + 8, addr->family == NETADDR_V4 ? addr->bytes : digest + 1, size);
	memcpy(digest, &(uint64_t){siphash(seed, message, 8 + size)}, 8);
	return load_be64(digest);
}

static inline struct table_set random_set(uint32_t count)
{
	return (struct table_set){.count = count, .tables = calloc(count + 1, sizeof(struct table))};
}

/* False if the families differ. */
static inline bool prefixes_overlap(const struct netprefix *a, const struct netprefix *b)
{
	return a->length <= b->length ? netprefix_covers(a, &b->addr) : netprefix_covers(b, &a->addr);
}

static inline void print_faults(const struct faults *faults)
{
	for (size_t i = 0; i < faults->count; i++)
		fprintf(stderr, "%s: %s\n", faults->items[i].warning ? "warning" : "error", faults->items[i].text);
}

/* Fails the test, and prints all faults, unless there is this one. */
#define assert_fault(faults, is_warning, expected)                                                \
	do {                                                                                      \
		bool there_ = false;                                                              \
		for (size_t i_ = 0; i_ < (faults)->count; i_++)                                   \
			there_ |= (faults)->items[i_].warning == (is_warning) &&                  \
				  strcmp((faults)->items[i_].text, (expected)) == 0;              \
		if (!there_) {                                                                    \
			print_faults(faults);                                                     \
			fail_msg("no such %s: %s", (is_warning) ? "warning" : "error", expected); \
		}                                                                                 \
	} while (0)

#define assert_no_fault(faults)                       \
	do {                                          \
		print_faults(faults);                 \
		assert_int_equal((faults)->count, 0); \
	} while (0)
