/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set has exactly one encoding, because the order of the sections and the zeros between them are fixed, and equal
 * rows are stored once. So the reader can check every byte, and sections cannot overlap.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/file/table_file_codec.h"
#include "table/file/table_file_layout.h"
#include "table/table_share.h"

/* Offsets of the sections of one table, and their end, where those of the next table start. A table with the rows of an
 * earlier one has none in its sections. */
struct sections {
	size_t name, backends, binds, rows, end;
};

static size_t align(size_t offset)
{
	return (offset + V3_ALIGNMENT - 1) / V3_ALIGNMENT * V3_ALIGNMENT;
}

static struct sections place_sections(
	size_t start, uint32_t name_size, uint32_t backend_count, uint32_t bind_count, uint8_t row_hops)
{
	struct sections at = {.name = start};

	at.backends = align(at.name + name_size);
	at.binds = align(at.backends + backend_count * sizeof(struct v3_backend));
	at.rows = align(at.binds + bind_count * sizeof(struct v3_bind));
	at.end = align(at.rows + (size_t)TABLE_ROWS * row_hops * sizeof(uint16_t));
	return at;
}

static uint64_t file_digest(const uint8_t *bytes, size_t size)
{
	static const uint8_t zero[SIPHASH_KEY_SIZE];
	const size_t field = offsetof(struct v3_header, digest), after = field + sizeof(uint64_t);
	struct siphash_state state;

	siphash_begin(&state, zero);
	siphash_update(&state, bytes, field);
	siphash_update(&state, zero, sizeof(uint64_t));
	return siphash_end(&state, bytes + after, size - after);
}

static bool parse_header(struct binary_reader *reader, uint32_t *tables, uint64_t *replaces)
{
	const struct v3_header *header = (const void *)reader->bytes;
	char expected[80];

	if (!binary_reader_check(
		    reader, reader->size >= sizeof(*header), reader->bytes, "size", reader->size, "at least 40 bytes"))
		return false;
	snprintf(expected, sizeof(expected), "%zu, the size of the file; build or copy it again", reader->size);
	if (!BINARY_CHECK(reader, header, total_size, header->total_size == reader->size, expected))
		return false;
	if (header->digest != file_digest(reader->bytes, reader->size)) {
		binary_reader_reject(reader, &header->digest, "digest",
			"the file is damaged, because its bytes have another digest; build or copy it again");
		return false;
	}
	*tables = header->table_count;
	*replaces = header->replaces;
	return BINARY_CHECK(reader, header, table_count, header->table_count <= TABLE_MAX_TABLES, "at most 1024") &&
	       BINARY_CHECK(reader, header, rows, header->rows == TABLE_ROWS, "65536") &&
	       BINARY_CHECK(reader, header, table_count,
		       header->table_count * sizeof(struct v3_table) <= reader->size - sizeof(*header),
		       "no more entries than the file has bytes for");
}

static bool check_offset(struct binary_reader *reader, const void *at, const char *field, uint32_t value, size_t expected)
{
	char text[48];

	snprintf(text, sizeof(text), "%zu, where this section starts", expected);
	return binary_reader_check(reader, value == expected, at, field, value, text);
}

/* Returns the first table whose rows are at the offset that entry `index` has: itself, if it has rows of its own. */
static uint32_t find_owner(const struct v3_table *entries, uint32_t index)
{
	uint32_t owner = 0;

	while (owner < index && entries[owner].rows_offset != entries[index].rows_offset)
		owner++;
	return owner;
}

/* Checks where the rows are: in a section of their own, or in the one of an earlier table. */
static bool check_rows_offset(
	struct binary_reader *reader, const struct v3_table *entries, uint32_t index, const struct sections *at)
{
	const struct v3_table *entry = &entries[index];
	uint32_t owner = find_owner(entries, index);
	char expected[96];

	if (owner == index) {
		snprintf(expected, sizeof(expected), "%zu, where this section starts%s", at->rows,
			index ? ", or the rows_offset of an earlier table" : "");
		return BINARY_CHECK(reader, entry, rows_offset, entry->rows_offset == at->rows, expected);
	}
	snprintf(expected, sizeof(expected), "%u, as in tables[%u], which has the same rows_offset",
		entries[owner].row_hops, owner);
	return BINARY_CHECK(reader, entry, row_hops, entry->row_hops == entries[owner].row_hops, expected);
}

/* Checks the counts of an entry, and then its offsets, which follow from the counts. Sets *at. */
static bool check_entry(
	struct binary_reader *reader, const struct v3_table *entries, uint32_t index, size_t start, struct sections *at)
{
	const struct v3_table *entry = &entries[index];
	bool owns_rows = find_owner(entries, index) == index;
	bool ok = BINARY_CHECK(reader, entry, name_size, entry->name_size <= TABLE_MAX_NAME, "at most 255");

	ok &= BINARY_CHECK(reader, entry, backend_count,
		entry->backend_count >= 1 && entry->backend_count <= TABLE_MAX_BACKENDS, "1 to 4096");
	ok &= BINARY_CHECK(reader, entry, bind_count, entry->bind_count <= TABLE_MAX_BINDS, "at most 4096");
	ok &= BINARY_CHECK(reader, entry, hops, entry->hops >= TABLE_MIN_HOPS && entry->hops <= TABLE_MAX_HOPS, "2 to 8");
	ok &= BINARY_CHECK(reader, entry, row_hops, entry->row_hops >= 1 && entry->row_hops <= entry->hops, "1 to hops");
	ok &= BINARY_CHECK(reader, entry, extended, entry->extended <= 1, "1 (yes) or 0 (no)");
	ok &= binary_reader_check_zero(reader, &entry->zero, 1, "zero");
	if (!ok)
		return false;
	*at = place_sections(
		start, entry->name_size, entry->backend_count, entry->bind_count, owns_rows ? entry->row_hops : 0);
	return binary_reader_check(
		       reader, at->end <= reader->size, entry, "end", at->end, "sections that end within the file") &&
	       check_offset(reader, &entry->name_offset, "name_offset", entry->name_offset, at->name) &&
	       check_offset(reader, &entry->backends_offset, "backends_offset", entry->backends_offset, at->backends) &&
	       check_offset(reader, &entry->binds_offset, "binds_offset", entry->binds_offset, at->binds) &&
	       check_rows_offset(reader, entries, index, at);
}

/* Reads an address, and checks the zeros that follow an IPv4 address. */
static bool parse_address(
	struct binary_reader *reader, const uint8_t *family, const uint8_t address[16], struct netaddr *addr)
{
	if (!binary_reader_check_family(reader, family, *family))
		return false;
	*addr = netaddr_from_bytes(*family, address);
	return binary_reader_check_zero(reader, address + netaddr_size(addr), 16 - netaddr_size(addr), "address");
}

static void parse_backend(struct binary_reader *reader, const struct v3_backend *wire, struct table_backend *backend)
{
	parse_address(reader, &wire->family, wire->address, &backend->addr);
	BINARY_CHECK(reader, wire, state, wire->state <= TABLE_INACTIVE,
		"0 (filling), 1 (active), 2 (draining) or 3 (inactive)");
	binary_reader_check_health(reader, &wire->health, wire->health);
	binary_reader_check_zero(reader, &wire->zero, 1, "zero");
	backend->state = wire->state;
	backend->healthy = wire->health;
}

static void parse_bind(struct binary_reader *reader, const struct v3_bind *wire, struct table_bind *bind)
{
	struct netaddr masked;
	char text[NETADDR_TEXT_MAX];

	if (parse_address(reader, &wire->family, wire->address, &bind->prefix.addr) &&
		binary_reader_check_prefix(reader, &wire->prefix_length, wire->prefix_length, wire->family)) {
		masked = bind->prefix.addr;
		netprefix_mask(masked.bytes, netaddr_size(&masked), wire->prefix_length);
		if (netaddr_compare(&masked, &bind->prefix.addr) != 0)
			binary_reader_reject(reader, wire->address, "address",
				"'%s' has bits set beyond the prefix length", netaddr_format(&bind->prefix.addr, text));
	}
	binary_reader_check_protocol(reader, &wire->protocol, wire->protocol);
	binary_reader_check_ports(reader, &wire->port_end, wire->port_start, wire->port_end);
	BINARY_CHECK(reader, wire, flags, wire->flags <= V3_BIND_QUIC, "1 (QUIC) or 0");
	bind->prefix.length = wire->prefix_length;
	bind->port_start = wire->port_start;
	bind->port_end = wire->port_end;
	bind->protocol = wire->protocol;
	bind->quic = wire->flags & V3_BIND_QUIC;
}

/* The hop is the index of a backend. Returns what is expected there instead, or NULL if the hop is right. */
static const char *hop_fault(const struct table *table, const uint16_t *hops, unsigned hop)
{
	if (table->backends[hops[hop]].state == TABLE_INACTIVE)
		return "a backend that is not inactive";
	for (unsigned i = 0; i < hop; i++)
		if (hops[i] == hops[hop])
			return "a backend that is not already in the row";
	return NULL;
}

static void check_rows(struct binary_reader *reader, const uint8_t *wire, const struct table *table)
{
	char field[32];

	for (size_t row = 0; row < TABLE_ROWS; row++) {
		const uint16_t *hops = table->rows + row * table->row_hops;

		for (unsigned hop = 0; hop < table->row_hops; hop++) {
			const uint8_t *at = wire + (row * table->row_hops + hop) * sizeof(*hops);
			const char *expected;

			if (!binary_reader_check_hop(reader, at, row, hop, hops[hop], table))
				continue;
			expected = hop_fault(table, hops, hop);
			if (!expected)
				continue;
			snprintf(field, sizeof(field), "rows[%zu].hop[%u]", row, hop);
			binary_reader_check(reader, false, at, field, hops[hop], expected);
		}
	}
}

static bool parse_name(struct binary_reader *reader, const uint8_t *at, uint32_t size, struct table *table)
{
	if (size == 0)
		return true;
	if (!table_name_is_valid((const char *)at, size)) {
		binary_reader_reject(reader, at, "name", "has control characters or is not UTF-8");
		return false;
	}
	table->name = strndup((const char *)at, size);
	if (!table->name)
		faults_error(reader->faults, NULL, "out of memory");
	return table->name != NULL;
}

/* Checks the zeros between the sections. */
static void check_gaps(struct binary_reader *reader, const struct v3_table *entry, const struct sections *at)
{
	const size_t ends[] = {
		at->name + entry->name_size,
		at->backends + entry->backend_count * sizeof(struct v3_backend),
	};
	const size_t next[] = {at->backends, at->binds};

	/* No gap follows binds and rows, because their sizes are multiples of the alignment. */
	for (unsigned i = 0; i < 2; i++)
		binary_reader_check_zero(reader, reader->bytes + ends[i], next[i] - ends[i], "padding");
}

/* The backends that the rows of a table name. */
struct rows_use {
	bool known;
	bool backends[TABLE_MAX_BACKENDS];
};

static void find_used(struct rows_use *use, const struct table *table)
{
	for (size_t i = 0; !use->known && i < (size_t)TABLE_ROWS * table->row_hops; i++)
		use->backends[table->rows[i]] = true;
	use->known = true;
}

/* Returns whether the table can have these rows, which were checked for their owner. */
static bool rows_fit(const struct rows_use *use, const struct table *table)
{
	for (uint32_t i = 0; i < TABLE_MAX_BACKENDS; i++)
		if (use->backends[i] && (i >= table->backend_count || table->backends[i].state == TABLE_INACTIVE))
			return false;
	return true;
}

/* A set while it is read. */
struct parse {
	struct binary_reader *reader;
	const struct v3_table *entries;
	struct table_set *set;
	struct rows_use *uses; /* by table; filled for the owners of shared rows */
};

/* Takes the rows, which are checked once for each backend of a table that shares them, or else once for each row. */
static bool parse_rows(struct parse *parse, uint32_t index)
{
	struct table *table = &parse->set->tables[index], *from;
	const uint8_t *wire = parse->reader->bytes + parse->entries[index].rows_offset;
	uint32_t owner = find_owner(parse->entries, index);

	if (owner == index) {
		memcpy(table->rows, wire, (size_t)TABLE_ROWS * table->row_hops * sizeof(*table->rows));
		check_rows(parse->reader, wire, table);
		return parse->reader->rejected == 0;
	}
	from = &parse->set->tables[owner];
	table_borrow_rows(table, from);
	find_used(&parse->uses[owner], from);
	if (!rows_fit(&parse->uses[owner], table))
		check_rows(parse->reader, wire, table);
	return parse->reader->rejected == 0;
}

static bool parse_sections(struct parse *parse, uint32_t index, const struct sections *at)
{
	struct binary_reader *reader = parse->reader;
	const struct v3_table *entry = &parse->entries[index];
	const struct v3_backend *backends = (const void *)(reader->bytes + at->backends);
	const struct v3_bind *binds = (const void *)(reader->bytes + at->binds);
	uint8_t own_hops = at->end > at->rows ? entry->row_hops : 0;
	struct table *table = &parse->set->tables[index];

	check_gaps(reader, entry, at);
	if (!parse_name(reader, reader->bytes + at->name, entry->name_size, table) ||
		!binary_reader_alloc_table(reader, table, entry->backend_count, entry->bind_count, own_hops))
		return false;
	table->hops = entry->hops;
	memcpy(table->hash_key, entry->hash_key, sizeof(table->hash_key));
	for (uint32_t i = 0; i < table->backend_count; i++) {
		binary_reader_at(reader, "tables[%u].backends[%u]", index, i);
		parse_backend(reader, &backends[i], &table->backends[i]);
	}
	for (uint32_t i = 0; i < table->bind_count; i++) {
		binary_reader_at(reader, "tables[%u].binds[%u]", index, i);
		parse_bind(reader, &binds[i], &table->binds[i]);
	}
	binary_reader_at(reader, "tables[%u]", index);
	return parse_rows(parse, index);
}

/* Checks that equal rows are stored once, so that a set has one encoding. */
static bool check_shared(struct parse *parse)
{
	uint32_t same[TABLE_MAX_TABLES];

	table_share_rows(parse->set, same);
	for (uint32_t t = 0; t < parse->set->count; t++) {
		const struct v3_table *entry = &parse->entries[t];
		char expected[96];

		if (same[t] == t || parse->set->tables[t].borrows_rows)
			continue;
		binary_reader_at(parse->reader, "tables[%u]", t);
		snprintf(expected, sizeof(expected), "%u, because tables[%u] has the same rows",
			parse->entries[same[t]].rows_offset, same[t]);
		return BINARY_CHECK(parse->reader, entry, rows_offset, false, expected);
	}
	return true;
}

static bool parse_tables(struct parse *parse)
{
	struct binary_reader *reader = parse->reader;
	uint32_t count = parse->set->count;
	struct sections at = {.end = sizeof(struct v3_header) + count * sizeof(*parse->entries)};

	for (uint32_t i = 0; i < count; i++) {
		binary_reader_at(reader, "tables[%u]", i);
		/* After a bad entry, the offsets of the next table are not known. */
		if (!check_entry(reader, parse->entries, i, at.end, &at) || !parse_sections(parse, i, &at))
			return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		binary_reader_at(reader, "tables[%u]", i);
		at.end = table_extension_parse(reader, at.end, parse->entries[i].extended, &parse->set->tables[i]);
		if (!at.end)
			return false;
	}
	binary_reader_at(reader, "%s", "");
	return binary_reader_check(reader, at.end == reader->size, reader->bytes + at.end, "size", reader->size,
		       "no bytes after the last section") &&
	       check_shared(parse);
}

bool table_file_parse_v3(struct binary_reader *reader, struct table_set *set)
{
	struct parse parse = {
		.reader = reader,
		.entries = (const void *)(reader->bytes + sizeof(struct v3_header)),
		.set = set,
	};
	uint32_t count;
	bool done;

	if (!parse_header(reader, &count, &set->replaces) || !binary_reader_alloc_set(reader, set, count))
		return false;
	parse.uses = calloc(count + 1, sizeof(*parse.uses));
	if (!parse.uses)
		faults_error(reader->faults, NULL, "out of memory");
	done = parse.uses && parse_tables(&parse);
	free(parse.uses);
	return done;
}

static uint32_t name_size(const struct table *table)
{
	return table->name ? (uint32_t)strlen(table->name) : 0;
}

static struct sections table_sections(const struct table *table, bool owns_rows, size_t start)
{
	return place_sections(
		start, name_size(table), table->backend_count, table->bind_count, owns_rows ? table->row_hops : 0);
}

size_t table_file_size_v3(const struct table_set *set, const uint32_t *same)
{
	size_t end = sizeof(struct v3_header) + set->count * sizeof(struct v3_table);

	for (uint32_t i = 0; i < set->count; i++)
		end = table_sections(&set->tables[i], same[i] == i, end).end;
	for (uint32_t i = 0; i < set->count; i++)
		end += table_extension_size(&set->tables[i]);
	return end;
}

static void encode_backends(const struct table *table, struct v3_backend *wire)
{
	for (uint32_t i = 0; i < table->backend_count; i++) {
		const struct table_backend *backend = &table->backends[i];

		wire[i].family = backend->addr.family;
		wire[i].state = backend->state;
		wire[i].health = backend->healthy;
		memcpy(wire[i].address, backend->addr.bytes, 16);
	}
}

static void encode_binds(const struct table *table, struct v3_bind *wire)
{
	for (uint32_t i = 0; i < table->bind_count; i++) {
		const struct table_bind *bind = &table->binds[i];

		wire[i].family = bind->prefix.addr.family;
		wire[i].protocol = bind->protocol;
		wire[i].prefix_length = bind->prefix.length;
		wire[i].flags = bind->quic ? V3_BIND_QUIC : 0;
		memcpy(wire[i].address, bind->prefix.addr.bytes, 16);
		wire[i].port_start = bind->port_start;
		wire[i].port_end = bind->port_end;
	}
}

/* owner: the entry of the earlier table with the same rows, or `entry`. Returns the offset where the sections of the
 * next table start. */
static size_t encode_table(
	const struct table *table, uint8_t *bytes, size_t start, const struct v3_table *owner, struct v3_table *entry)
{
	struct sections at = table_sections(table, owner == entry, start);

	memcpy(entry->hash_key, table->hash_key, sizeof(entry->hash_key));
	entry->name_offset = (uint32_t)at.name;
	entry->name_size = name_size(table);
	entry->backends_offset = (uint32_t)at.backends;
	entry->backend_count = table->backend_count;
	entry->binds_offset = (uint32_t)at.binds;
	entry->bind_count = table->bind_count;
	entry->rows_offset = owner == entry ? (uint32_t)at.rows : owner->rows_offset;
	entry->row_hops = table->row_hops;
	entry->hops = table->hops;
	entry->extended = table_extension_size(table) > 0;
	if (entry->name_size)
		memcpy(bytes + at.name, table->name, entry->name_size);
	encode_backends(table, (void *)(bytes + at.backends));
	encode_binds(table, (void *)(bytes + at.binds));
	if (owner == entry)
		memcpy(bytes + at.rows, table->rows, (size_t)TABLE_ROWS * table->row_hops * sizeof(*table->rows));
	return at.end;
}

void table_file_encode_v3(const struct table_set *set, const uint32_t *same, uint8_t *bytes)
{
	struct v3_header *header = (void *)bytes;
	struct v3_table *entries = (void *)(bytes + sizeof(*header));
	size_t end = sizeof(*header) + set->count * sizeof(*entries);

	memcpy(header->start.magic, TABLE_FILE_MAGIC, 4);
	header->start.version = 3;
	header->table_count = set->count;
	header->rows = TABLE_ROWS;
	header->replaces = set->replaces;
	for (uint32_t i = 0; i < set->count; i++)
		end = encode_table(&set->tables[i], bytes, end, &entries[same[i]], &entries[i]);
	for (uint32_t i = 0; i < set->count; i++) {
		table_extension_encode(&set->tables[i], bytes + end);
		end += table_extension_size(&set->tables[i]);
	}
	header->total_size = end;
	header->digest = file_digest(bytes, end);
}
