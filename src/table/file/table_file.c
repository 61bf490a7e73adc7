/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/table_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/file/table_file_codec.h"
#include "table/file/table_file_layout.h"
#include "table/table_lint.h"
#include "table/table_share.h"

static bool parse(struct binary_reader *reader, struct table_set *set, uint32_t *version)
{
	const struct table_file_start *start = (const void *)reader->bytes;

	if (reader->size < sizeof(*start) || memcmp(start->magic, TABLE_FILE_MAGIC, sizeof(start->magic)) != 0) {
		faults_error(reader->faults, "byte 0",
			"not a binary forwarding table: it does not begin with \"" TABLE_FILE_MAGIC "\" and a version");
		return false;
	}
	if (!BINARY_CHECK(reader, start, version, start->version == 2 || start->version == 3,
		    "2 or 3: build the file with glb-director-cli of this release"))
		return false;
	*version = start->version;
	if (start->version == 2 ? !table_file_parse_v2(reader, set) : !table_file_parse_v3(reader, set))
		return false;
	table_lint_families(set, reader->faults);
	table_lint_names(set, reader->faults);
	table_lint_quic(set, reader->faults);
	return true;
}

int table_file_parse(const uint8_t *bytes, size_t size, struct table_set *set, uint32_t *version, struct faults *faults)
{
	struct binary_reader reader = {.bytes = bytes, .size = size, .faults = faults};
	size_t errors = faults->errors;
	uint32_t found;

	*set = (struct table_set){0};
	if (!parse(&reader, set, &found) || faults->errors != errors) {
		table_set_free(set);
		return -EINVAL;
	}
	if (version)
		*version = found;
	return 0;
}

/* Returns true if the table has only what GLB's directors know. */
static bool suits_glb(const struct table_set *set, uint32_t t, struct faults *faults)
{
	const struct table *table = &set->tables[t];
	const char *what = table->quic_count ? "QUIC configurations, which GLB's directors do not know" : NULL;
	char label[16], where[32];

	if (table->backend_count && table->backends[0].addr.family == NETADDR_V6)
		what = "proxies with IPv6 addresses, which GLB's directors cannot reach";
	snprintf(where, sizeof(where), "tables[%u]", t);
	if (what)
		faults_error(faults, where, "'%s' has %s: version 2 of the binary format has no room for them",
			table_label(set, t, label), what);
	return !what;
}

/* Returns true if every table is within the limits of the version. Otherwise adds an error for each excess. */
static bool fits(const struct table_set *set, uint32_t version, struct faults *faults)
{
	const uint32_t limits[] = {
		version == 2 ? V2_SLOTS : TABLE_MAX_BACKENDS,
		version == 2 ? V2_SLOTS : TABLE_MAX_BINDS,
		version == 2 ? V2_HOPS : TABLE_MAX_HOPS,
	};
	static const char *const names[] = {"backends", "binds", "hops in a row"};
	const uint32_t tables = version == 2 ? V2_TABLES : TABLE_MAX_TABLES;
	bool fit = set->count <= tables;

	if (!fit)
		faults_error(faults, "tables", "there are %u tables; version %u of the binary format has room for %u",
			set->count, version, tables);
	for (uint32_t t = 0; t < set->count; t++) {
		const struct table *table = &set->tables[t];
		const uint32_t has[] = {table->backend_count, table->bind_count, table->row_hops};

		for (unsigned i = 0; i < 3; i++) {
			char label[16], where[32];

			if (has[i] <= limits[i])
				continue;
			fit = false;
			snprintf(where, sizeof(where), "tables[%u]", t);
			faults_error(faults, where, "'%s' has %u %s; version %u of the binary format has room for %u",
				table_label(set, t, label), has[i], names[i], version, limits[i]);
		}
		fit &= version != 2 || suits_glb(set, t, faults);
	}
	return fit;
}

/* Checks that every table has rows, and that no row repeats a hop if the version is 3. Rows that were read from version
 * 2 may do that. */
static bool check_rows(const struct table_set *set, uint32_t version, struct faults *faults)
{
	for (uint32_t t = 0; t < set->count; t++) {
		const struct table *table = &set->tables[t];
		char where[32];

		snprintf(where, sizeof(where), "tables[%u]", t);
		if (!table->rows) {
			faults_error(faults, where, "its rows have not been built");
			return false;
		}
		for (size_t row = 0; version == 3 && table->row_hops == 2 && row < TABLE_ROWS; row++) {
			if (table->rows[2 * row] == table->rows[2 * row + 1]) {
				faults_error(faults, where,
					"row %zu has one hop, but other rows have two; only version 2 can hold that",
					row);
				return false;
			}
		}
	}
	return true;
}

int table_file_encode(const struct table_set *set, enum table_file_format format, uint8_t **bytes, size_t *size,
	struct faults *faults)
{
	uint32_t version = format, same[TABLE_MAX_TABLES];

	if (!fits(set, version, faults) || !check_rows(set, version, faults))
		return -EINVAL;
	if (version == 2 && set->replaces)
		faults_warn(faults, "replaces", "is lost: version 2 of the binary format has no room for it");
	table_share_rows(set, same);
	*size = version == 2 ? table_file_size_v2(set) : table_file_size_v3(set, same);
	*bytes = calloc(1, *size);
	if (!*bytes) {
		faults_error(faults, NULL, "out of memory");
		return -ENOMEM;
	}
	if (version == 2)
		table_file_encode_v2(set, *bytes);
	else
		table_file_encode_v3(set, same, *bytes);
	return 0;
}
