/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/binary_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/text.h"

#define MAX_REJECTED 20 /* nobody repairs a binary file by hand, so more errors do not help */

void binary_reader_at(struct binary_reader *reader, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reader->place, sizeof(reader->place), format, args);
	va_end(args);
}

/* Writes "byte 12 (tables[0].backends[1].family)". */
static const char *describe_place(const struct binary_reader *reader, const void *at, const char *field, char buf[128])
{
	snprintf(buf, 128, "byte %zu (%s%s%s)", (size_t)((const uint8_t *)at - reader->bytes), reader->place,
		*reader->place ? "." : "", field);
	return buf;
}

void binary_reader_reject(struct binary_reader *reader, const void *at, const char *field, const char *format, ...)
{
	char where[128], what[160];
	va_list args;

	if (reader->rejected++ > MAX_REJECTED)
		return;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	if (reader->rejected <= MAX_REJECTED)
		faults_error(reader->faults, describe_place(reader, at, field, where), "%s", what);
	else
		faults_error(reader->faults, NULL, "more than %d faults: the rest is not listed", MAX_REJECTED);
}

bool binary_reader_check(
	struct binary_reader *reader, bool ok, const void *at, const char *field, uint64_t value, const char *expected)
{
	if (!ok)
		binary_reader_reject(reader, at, field, "%llu; expected %s", (unsigned long long)value, expected);
	return ok;
}

void binary_reader_warn(struct binary_reader *reader, const void *at, const char *field, const char *what)
{
	char where[128];

	faults_warn(reader->faults, describe_place(reader, at, field, where), "%s", what);
}

bool binary_reader_check_family(struct binary_reader *reader, const void *at, uint32_t value)
{
	return binary_reader_check(
		reader, value == NETADDR_V4 || value == NETADDR_V6, at, "family", value, "1 (IPv4) or 2 (IPv6)");
}

bool binary_reader_check_prefix(struct binary_reader *reader, const void *at, uint32_t value, uint32_t family)
{
	return binary_reader_check(reader, value <= (family == NETADDR_V4 ? 32 : 128), at, "prefix_length", value,
		family == NETADDR_V4 ? "at most 32 (IPv4)" : "at most 128 (IPv6)");
}

bool binary_reader_check_protocol(struct binary_reader *reader, const void *at, uint32_t value)
{
	return binary_reader_check(
		reader, value == TABLE_TCP || value == TABLE_UDP, at, "protocol", value, "6 (TCP) or 17 (UDP)");
}

bool binary_reader_check_ports(struct binary_reader *reader, const void *at, uint32_t start, uint32_t end)
{
	char expected[40];

	snprintf(expected, sizeof(expected), "at least port_start (%u)", start);
	return binary_reader_check(reader, start <= end, at, "port_end", end, expected);
}

bool binary_reader_check_zero(struct binary_reader *reader, const uint8_t *at, size_t size, const char *field)
{
	for (size_t i = 0; i < size; i++)
		if (!binary_reader_check(reader, at[i] == 0, at + i, field, at[i], "0"))
			return false;
	return true;
}

bool binary_reader_check_health(struct binary_reader *reader, const void *at, uint32_t value)
{
	return binary_reader_check(reader, value <= 1, at, "health", value, "1 (up) or 0 (down)");
}

bool binary_reader_check_hop(struct binary_reader *reader, const void *at, size_t row, unsigned hop, uint32_t index,
	const struct table *table)
{
	char field[32];

	if (index < table->backend_count)
		return true;
	snprintf(field, sizeof(field), "rows[%zu].hop[%u]", row, hop);
	binary_reader_reject(reader, at, field, "backend index %u, but the table has %u backend%s", index,
		table->backend_count, text_plural(table->backend_count));
	return false;
}

bool binary_reader_alloc_set(struct binary_reader *reader, struct table_set *set, uint32_t count)
{
	set->tables = calloc(count + 1, sizeof(*set->tables));
	if (!set->tables) {
		faults_error(reader->faults, NULL, "out of memory");
		return false;
	}
	set->count = count;
	return true;
}

bool binary_reader_alloc_table(
	struct binary_reader *reader, struct table *table, uint32_t backends, uint32_t binds, uint8_t row_hops)
{
	table->backends = calloc(backends + 1, sizeof(*table->backends));
	table->binds = calloc(binds + 1, sizeof(*table->binds));
	if (row_hops)
		table->rows = malloc(sizeof(*table->rows) * TABLE_ROWS * row_hops);
	if (table->backends && table->binds && (table->rows || !row_hops)) {
		table->backend_count = backends;
		table->bind_count = binds;
		table->row_hops = row_hops;
		return true;
	}
	faults_error(reader->faults, NULL, "out of memory");
	return false;
}
