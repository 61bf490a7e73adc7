/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader checks every value that it uses. It accepts any bytes in unused slots and padding, because other writers
 * of this version may not clear them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/file/table_file_codec.h"
#include "common/text.h"
#include "table/file/table_file_layout.h"
#include "table/table_share.h"

static bool parse_header(struct binary_reader *reader, uint32_t *tables)
{
	const struct v2_header *header = (const void *)reader->bytes;
	char expected[64];
	size_t size;

	if (!binary_reader_check(reader, reader->size >= sizeof(*header), reader->bytes, "size", reader->size,
		    "at least 24 bytes") ||
		!BINARY_CHECK(reader, header, table_count, header->table_count <= V2_TABLES, "at most 64") ||
		!BINARY_CHECK(reader, header, rows, header->rows == TABLE_ROWS, "65536") ||
		!BINARY_CHECK(reader, header, backend_slots, header->backend_slots == V2_SLOTS, "256") ||
		!BINARY_CHECK(reader, header, bind_slots, header->bind_slots == V2_SLOTS, "256"))
		return false;
	size = sizeof(*header) + header->table_count * sizeof(struct v2_table);
	snprintf(expected, sizeof(expected), "%zu bytes for %u table%s", size, header->table_count,
		text_plural(header->table_count));
	*tables = header->table_count;
	return binary_reader_check(
		reader, reader->size == size, reader->bytes + reader->size, "size", reader->size, expected);
}

static void parse_backend(struct binary_reader *reader, const struct v2_backend *wire, struct table_backend *backend)
{
	bool ok = BINARY_CHECK(reader, wire, family, wire->family == NETADDR_V4, "1 (IPv4)");

	ok &= BINARY_CHECK(reader, wire, state, wire->state <= TABLE_DRAINING, "0 (filling), 1 (active) or 2 (draining)");
	ok &= binary_reader_check_health(reader, &wire->health, wire->health);
	if (!ok)
		return;
	backend->addr = netaddr_from_bytes(wire->family, wire->address);
	backend->state = (uint8_t)wire->state;
	backend->healthy = wire->health;
}

static void parse_bind(struct binary_reader *reader, const struct v2_bind *wire, struct table_bind *bind)
{
	bool ok = binary_reader_check_family(reader, &wire->family, wire->family);
	struct netaddr whole;

	ok = ok && binary_reader_check_prefix(reader, &wire->prefix_length, wire->prefix_length, wire->family);
	ok &= binary_reader_check_ports(reader, &wire->port_end, wire->port_start, wire->port_end);
	ok &= binary_reader_check_protocol(reader, &wire->protocol, wire->protocol);
	if (!ok)
		return;
	whole = netaddr_from_bytes(wire->family, wire->address);
	bind->prefix = (struct netprefix){.addr = whole, .length = (uint8_t)wire->prefix_length};
	netprefix_mask(bind->prefix.addr.bytes, netaddr_size(&whole), bind->prefix.length);
	if (netaddr_compare(&whole, &bind->prefix.addr) != 0)
		binary_reader_warn(
			reader, wire->address, "address", "has bits set beyond the prefix length; they are ignored");
	bind->port_start = wire->port_start;
	bind->port_end = wire->port_end;
	bind->protocol = wire->protocol;
}

/* A row with one hop has it twice. If all rows have one hop, stores them with row_hops = 1. */
static void shrink_rows(struct table *table)
{
	for (size_t row = 0; row < TABLE_ROWS; row++)
		if (table->rows[2 * row] != table->rows[2 * row + 1])
			return;
	for (size_t row = 0; row < TABLE_ROWS; row++)
		table->rows[row] = table->rows[2 * row];
	table->row_hops = 1;
}

static void parse_rows(struct binary_reader *reader, const struct v2_table *wire, struct table *table)
{
	for (size_t row = 0; row < TABLE_ROWS; row++) {
		for (unsigned hop = 0; hop < V2_HOPS; hop++) {
			const void *at = &wire->rows[row][hop];

			if (binary_reader_check_hop(reader, at, row, hop, wire->rows[row][hop], table))
				table->rows[row * V2_HOPS + hop] = (uint16_t)wire->rows[row][hop];
		}
	}
	shrink_rows(table);
}

static bool parse_table(struct binary_reader *reader, const struct v2_table *wire, uint32_t index, struct table *table)
{
	bool ok;

	binary_reader_at(reader, "tables[%u]", index);
	ok = BINARY_CHECK(
		reader, wire, backend_count, wire->backend_count >= 1 && wire->backend_count <= V2_SLOTS, "1 to 256");
	ok &= BINARY_CHECK(reader, wire, bind_count, wire->bind_count <= V2_SLOTS, "at most 256");
	if (!ok || !binary_reader_alloc_table(reader, table, wire->backend_count, wire->bind_count, V2_HOPS))
		return false;
	table->hops = TABLE_DEFAULT_HOPS;
	memcpy(table->hash_key, wire->hash_key, sizeof(table->hash_key));
	parse_rows(reader, wire, table);
	for (uint32_t i = 0; i < table->backend_count; i++) {
		binary_reader_at(reader, "tables[%u].backends[%u]", index, i);
		parse_backend(reader, &wire->backends[i], &table->backends[i]);
	}
	for (uint32_t i = 0; i < table->bind_count; i++) {
		binary_reader_at(reader, "tables[%u].binds[%u]", index, i);
		parse_bind(reader, &wire->binds[i], &table->binds[i]);
	}
	return reader->rejected == 0;
}

bool table_file_parse_v2(struct binary_reader *reader, struct table_set *set)
{
	const struct v2_table *wire = (const void *)(reader->bytes + sizeof(struct v2_header));
	bool ok = true;
	uint32_t count;

	if (!parse_header(reader, &count) || !binary_reader_alloc_set(reader, set, count))
		return false;
	for (uint32_t i = 0; i < count; i++)
		ok &= parse_table(reader, &wire[i], i, &set->tables[i]);
	if (ok)
		table_merge_rows(set);
	return ok;
}

size_t table_file_size_v2(const struct table_set *set)
{
	return sizeof(struct v2_header) + set->count * sizeof(struct v2_table);
}

static void encode_table(const struct table *table, struct v2_table *wire)
{
	wire->backend_count = table->backend_count;
	for (uint32_t i = 0; i < table->backend_count; i++) {
		const struct table_backend *backend = &table->backends[i];

		wire->backends[i].family = backend->addr.family;
		memcpy(wire->backends[i].address, backend->addr.bytes, 16);
		wire->backends[i].state = backend->state == TABLE_INACTIVE ? TABLE_DRAINING : backend->state;
		wire->backends[i].health = backend->healthy;
	}
	wire->bind_count = table->bind_count;
	for (uint32_t i = 0; i < table->bind_count; i++) {
		const struct table_bind *bind = &table->binds[i];

		wire->binds[i].family = bind->prefix.addr.family;
		memcpy(wire->binds[i].address, bind->prefix.addr.bytes, 16);
		wire->binds[i].prefix_length = bind->prefix.length;
		wire->binds[i].port_start = bind->port_start;
		wire->binds[i].port_end = bind->port_end;
		wire->binds[i].protocol = bind->protocol;
	}
	memcpy(wire->hash_key, table->hash_key, sizeof(wire->hash_key));
	for (size_t row = 0; row < TABLE_ROWS; row++) {
		const uint16_t *hops = table->rows + row * table->row_hops;

		wire->rows[row][0] = hops[0];
		wire->rows[row][1] = hops[table->row_hops - 1];
	}
}

void table_file_encode_v2(const struct table_set *set, uint8_t *bytes)
{
	struct v2_header *header = (void *)bytes;
	struct v2_table *wire = (void *)(bytes + sizeof(*header));

	memcpy(header->start.magic, TABLE_FILE_MAGIC, 4);
	header->start.version = 2;
	header->table_count = set->count;
	header->rows = TABLE_ROWS;
	header->backend_slots = V2_SLOTS;
	header->bind_slots = V2_SLOTS;
	for (uint32_t i = 0; i < set->count; i++)
		encode_table(&set->tables[i], &wire[i]);
}
