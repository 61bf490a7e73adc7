/* SPDX-License-Identifier: BSD-3-Clause */
/* Binary tables: round trips, and every way in which a file can be wrong. Offsets are written as numbers, as in
 * docs/reference/table-binary.md. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "table/file/table_file.h"
#include "table/rows/table_build.h"
#include "tests/unit/table/image.h"
#include "tests/unit/table_helpers.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint32_t version_of(const struct image *image)
{
	struct faults faults = {0};
	struct table_set set;
	uint32_t version = 0;

	assert_int_equal(table_file_parse(image->bytes, image->size, &set, &version, &faults), 0);
	table_set_free(&set);
	return version;
}

/* Builds `count` different tables that version 2 can hold. */
static struct table_set small_set(uint32_t count)
{
	struct table_set set = random_set(count);

	for (uint32_t i = 0; i < count; i++) {
		random_table(&set.tables[i], 1 + 3 * i, i, 2, NETADDR_NONE, ANY_STATE);
		set.tables[i].name[2] = (char)('0' + i);
	}
	assert_int_equal(table_build(&set, 1), 0);
	return set;
}

static void assert_same_backends(const struct table *a, const struct table *b, uint32_t version)
{
	assert_int_equal(a->backend_count, b->backend_count);
	for (uint32_t i = 0; i < a->backend_count; i++) {
		uint8_t state = a->backends[i].state;

		if (version == 2 && state == TABLE_INACTIVE)
			state = TABLE_DRAINING;
		assert_int_equal(netaddr_compare(&a->backends[i].addr, &b->backends[i].addr), 0);
		assert_int_equal(state, b->backends[i].state);
		assert_int_equal(a->backends[i].healthy, b->backends[i].healthy);
	}
}

static void assert_same_binds(const struct table *a, const struct table *b)
{
	assert_int_equal(a->bind_count, b->bind_count);
	for (uint32_t i = 0; i < a->bind_count; i++) {
		const struct table_bind *x = &a->binds[i], *y = &b->binds[i];

		assert_int_equal(netaddr_compare(&x->prefix.addr, &y->prefix.addr), 0);
		assert_int_equal(x->prefix.length, y->prefix.length);
		assert_int_equal(x->port_start, y->port_start);
		assert_int_equal(x->port_end, y->port_end);
		assert_int_equal(x->protocol, y->protocol);
	}
}

static void assert_same_tables(const struct table_set *a, const struct table_set *b, uint32_t version)
{
	assert_int_equal(a->count, b->count);
	for (uint32_t i = 0; i < a->count; i++) {
		const struct table *x = &a->tables[i], *y = &b->tables[i];

		if (version == 3)
			assert_string_equal(x->name, y->name);
		else
			assert_null(y->name);
		if (version == 3)
			assert_int_equal(x->hops, y->hops);
		assert_memory_equal(x->hash_key, y->hash_key, sizeof(x->hash_key));
		assert_same_backends(x, y, version);
		assert_same_binds(x, y);
		assert_int_equal(x->row_hops, y->row_hops);
		assert_memory_equal(x->rows, y->rows, sizeof(*x->rows) * TABLE_ROWS * x->row_hops);
	}
	assert_int_equal(table_set_digest(a), table_set_digest(b));
	assert_int_equal(table_set_fingerprint(a), table_set_fingerprint(b));
	assert_int_equal(b->replaces, version == 3 ? a->replaces : 0);
}

static void check_round_trip(const struct table_set *set, uint32_t version)
{
	struct image image = encode(set, (enum table_file_format)version), again;
	struct faults faults = {0};
	struct table_set back;
	uint32_t found;
	/* The bytes may have any alignment. */
	uint8_t *odd = malloc(image.size + 1);

	memcpy(odd + 1, image.bytes, image.size);
	assert_int_equal(table_file_parse(odd + 1, image.size, &back, &found, &faults), 0);
	assert_no_fault(&faults);
	assert_int_equal(found, version);
	assert_same_tables(set, &back, version);
	again = encode(&back, (enum table_file_format)version);
	assert_int_equal(again.size, image.size);
	assert_memory_equal(again.bytes, image.bytes, image.size);
	table_set_free(&back);
	free(again.bytes);
	free(image.bytes);
	free(odd);
}

static void test_round_trips(void **state)
{
	(void)state;
	for (uint32_t count = 0; count <= 5; count++) {
		struct table_set set = small_set(count);

		check_round_trip(&set, 2);
		set.replaces = UINT64_MAX - count;
		check_round_trip(&set, 3);
		table_set_free(&set);
	}
}

/* Fills rows with any valid hops, much faster than table_build(). */
static void fill_rows(struct table *table)
{
	table->row_hops = (uint8_t)(table->hops < table->backend_count ? table->hops : table->backend_count);
	table->rows = malloc(sizeof(*table->rows) * TABLE_ROWS * table->row_hops);
	for (size_t i = 0; i < (size_t)TABLE_ROWS * table->row_hops; i++)
		table->rows[i] = (uint16_t)(i % table->backend_count);
}

static void test_round_trip_of_tables_that_only_version_3_can_hold(void **state)
{
	static const struct {
		uint32_t backends, binds;
		uint8_t hops;
	} shapes[] = {{257, 1, 2}, {10, 257, 2}, {10, 1, 3}, {10, 1, 4}, {4096, 4096, 4}, {3, 0, 4}};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT(shapes); i++) {
		struct table_set set = random_set(1);

		backend_family = i % 2 ? NETADDR_V6 : NETADDR_V4;
		random_table(&set.tables[0], shapes[i / 2].backends, shapes[i / 2].binds, shapes[i / 2].hops,
			NETADDR_NONE, ALL_GOOD);
		fill_rows(&set.tables[0]);
		check_round_trip(&set, 3);
		table_set_free(&set);
	}
	backend_family = NETADDR_V4;
}

static void test_version_2_holds_tables_up_to_its_limits(void **state)
{
	static const struct {
		uint32_t backends, binds;
		uint8_t hops;
	} shapes[] = {{1, 0, 2}, {256, 256, 2}, {1, 1, 4}, {2, 1, 3}};

	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		struct table_set set = random_set(1);
		struct image image;

		random_table(&set.tables[0], shapes[i].backends, shapes[i].binds, shapes[i].hops, NETADDR_NONE, ALL_GOOD);
		fill_rows(&set.tables[0]);
		image = encode(&set, TABLE_FILE_V2);
		assert_int_equal(version_of(&image), 2);
		free(image.bytes);
		table_set_free(&set);
	}
}

static void test_version_2_refuses_tables_that_it_cannot_hold(void **state)
{
	static const struct {
		uint32_t backends, binds;
		uint8_t hops;
		const char *error;
	} cases[] = {
		{257, 1, 2, "f: tables[0]: 'web' has 257 backends; version 2 of the binary format has room for 256"},
		{1, 300, 2, "f: tables[0]: 'web' has 300 binds; version 2 of the binary format has room for 256"},
		{3, 1, 3, "f: tables[0]: 'web' has 3 hops in a row; version 2 of the binary format has room for 2"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct table_set set = random_set(1);
		struct faults faults = {.file = "f"};
		struct image image = {0};

		random_table(&set.tables[0], cases[i].backends, cases[i].binds, cases[i].hops, NETADDR_V4, ALL_GOOD);
		fill_rows(&set.tables[0]);
		assert_int_equal(table_file_encode(&set, TABLE_FILE_V2, &image.bytes, &image.size, &faults), -EINVAL);
		assert_fault(&faults, false, cases[i].error);
		assert_null(image.bytes);
		faults_clear(&faults);
		table_set_free(&set);
	}
}

static void test_tables_without_rows_are_not_encoded(void **state)
{
	struct table_set set = random_set(1);
	struct faults faults = {.file = "f"};
	struct image image = {0};

	(void)state;
	random_table(&set.tables[0], 3, 1, 2, NETADDR_V4, ALL_GOOD);
	assert_int_equal(table_file_encode(&set, TABLE_FILE_V3, &image.bytes, &image.size, &faults), -EINVAL);
	assert_fault(&faults, false, "f: tables[0]: its rows have not been built");
	faults_clear(&faults);
	table_set_free(&set);
}

/* Other programs may write tables of one name. Version 2 has no names. */
static void test_two_tables_of_one_name_are_an_error(void **state)
{
	struct table_set set = small_set(3), read;
	struct faults faults = {.file = "f"};
	struct image image;

	(void)state;
	strcpy(set.tables[2].name, "#1");
	free(set.tables[1].name);
	set.tables[1].name = NULL;
	image = encode(&set, TABLE_FILE_V3);
	assert_int_equal(table_file_parse(image.bytes, image.size, &read, NULL, &faults), -EINVAL);
	assert_fault(&faults, false,
		"f: tables[2].name: '#1' is also the name of tables[1], which has no name and is called by its index: give each table its own name");
	faults_clear(&faults);
	free(image.bytes);
	set.tables[1].name = strdup("we0");
	image = encode(&set, TABLE_FILE_V3);
	assert_int_equal(table_file_parse(image.bytes, image.size, &read, NULL, &faults), -EINVAL);
	assert_fault(
		&faults, false, "f: tables[1].name: 'we0' is also the name of tables[0]: give each table its own name");
	faults_clear(&faults);
	free(image.bytes);
	image = encode(&set, TABLE_FILE_V2);
	assert_int_equal(version_of(&image), 2);
	free(image.bytes);
	table_set_free(&set);
}

/* Corruption */

static bool is_refused(const uint8_t *bytes, size_t size)
{
	struct faults faults = {.file = "f"};
	struct table_set set;
	int error = table_file_parse(bytes, size, &set, NULL, &faults);

	if (error) {
		assert_int_equal(error, -EINVAL);
		assert_true(faults.errors > 0);
		assert_null(set.tables);
	}
	table_set_free(&set);
	faults_clear(&faults);
	return error != 0;
}

/* Parses a copy of exactly this size, so that a sanitizer reports reads beyond it. */
static bool prefix_is_refused(const struct image *image, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	bool refused;

	memcpy(copy, image->bytes, size);
	refused = is_refused(copy, size);
	free(copy);
	return refused;
}

static void check_truncations(const struct image *image)
{
	/* All sizes up to the rows and near the end, and some between. */
	for (size_t size = 0; size < image->size; size += size < 14000 || size + 100 > image->size ? 1 : 997)
		assert_true(prefix_is_refused(image, size));
}

static void test_every_truncation_is_refused(void **state)
{
	struct table_set set = small_set(2);

	(void)state;
	for (uint32_t version = 2; version <= 3; version++) {
		struct image image = encode(&set, (enum table_file_format)version);

		check_truncations(&image);
		free(image.bytes);
	}
	table_set_free(&set);
}

static void test_trailing_bytes_are_refused(void **state)
{
	struct table_set set = small_set(1);

	(void)state;
	for (uint32_t version = 2; version <= 3; version++) {
		struct image image = encode(&set, (enum table_file_format)version);

		image.bytes = realloc(image.bytes, image.size + 8);
		memset(image.bytes + image.size, 0, 8);
		assert_false(is_refused(image.bytes, image.size));
		assert_true(is_refused(image.bytes, image.size + 1));
		assert_true(is_refused(image.bytes, image.size + 8));
		free(image.bytes);
	}
	table_set_free(&set);
}

/* Changes each bit before the rows, and some bits of the rows, because the digest covers all of them in the same way. */
static void test_every_changed_byte_of_version_3_is_refused(void **state)
{
	struct table_set set = small_set(1);
	struct image image = encode(&set, TABLE_FILE_V3);
	size_t rows = image.size - sizeof(uint16_t) * TABLE_ROWS;

	(void)state;
	assert_true(rows < 200);
	for (size_t at = 0; at < image.size; at += at < rows ? 1 : 131) {
		for (unsigned bit = 0; bit < (at < rows ? 8 : 1); bit++) {
			image.bytes[at] ^= (uint8_t)(1u << bit);
			assert_true(is_refused(image.bytes, image.size));
			image.bytes[at] ^= (uint8_t)(1u << bit);
		}
	}
	assert_false(is_refused(image.bytes, image.size));
	free(image.bytes);
	table_set_free(&set);
}

/* One changed field of a file, and the first error that it must cause. */
struct corruption {
	size_t at;
	unsigned size; /* bytes, little-endian */
	uint64_t value;
	const char *error;
};

static void sign_v3(struct image *image)
{
	static const uint8_t zero[SIPHASH_KEY_SIZE];
	uint64_t digest;

	memset(image->bytes + 16, 0, 8);
	digest = siphash(zero, image->bytes, image->size);
	memcpy(image->bytes + 16, &digest, 8);
}

static void check_corruption(const struct image *good, const struct corruption *corruption)
{
	struct image bad = {malloc(good->size), good->size};
	struct faults faults = {.file = "f"};
	struct table_set set;

	memcpy(bad.bytes, good->bytes, good->size);
	memcpy(bad.bytes + corruption->at, &corruption->value, corruption->size);
	if (bad.bytes[4] == 3 && corruption->at != 16)
		sign_v3(&bad);
	assert_int_equal(table_file_parse(bad.bytes, bad.size, &set, NULL, &faults), -EINVAL);
	assert_string_equal(faults_first_error(&faults), corruption->error);
	assert_null(set.tables);
	faults_clear(&faults);
	free(bad.bytes);
}

/* One table with the backends 10.0.0.1, 10.0.0.2 and 10.0.0.3, which is inactive, and the binds 10.1.0.0/16 and
 * fd01::/16. */
static struct table_set known_set(void)
{
	struct table_set set = random_set(1);
	struct table *table = &set.tables[0];

	random_table(table, 3, 2, 2, NETADDR_V4, ALL_GOOD);
	assert_true(netaddr_parse("10.0.0.1", &table->backends[0].addr));
	assert_true(netaddr_parse("10.0.0.2", &table->backends[1].addr));
	assert_true(netaddr_parse("10.0.0.3", &table->backends[2].addr));
	table->backends[2].state = TABLE_INACTIVE;
	assert_true(netprefix_parse("10.1.0.0/16", &table->binds[0].prefix, NULL));
	assert_true(netprefix_parse("fd01::/16", &table->binds[1].prefix, NULL));
	for (uint32_t i = 0; i < 2; i++) {
		table->binds[i].protocol = TABLE_TCP;
		table->binds[i].port_start = 80;
		table->binds[i].port_end = 81;
	}
	assert_int_equal(table_build(&set, 1), 0);
	return set;
}

static const struct corruption v2_cases[] = {
	{0, 1, 'g', "f: byte 0: not a binary forwarding table: it does not begin with \"GLBD\" and a version"},
	{4, 4, 1, "f: byte 4 (version): 1; expected 2 or 3: build the file with glb-director-cli of this release"},
	{4, 4, 0x02000000,
		"f: byte 4 (version): 33554432; expected 2 or 3: build the file with glb-director-cli of this release"},
	{8, 4, 65, "f: byte 8 (table_count): 65; expected at most 64"},
	{8, 4, 0, "f: byte 537648 (size): 537648; expected 24 bytes for 0 tables"},
	{8, 4, 2, "f: byte 537648 (size): 537648; expected 1075272 bytes for 2 tables"},
	{12, 4, 65535, "f: byte 12 (rows): 65535; expected 65536"},
	{16, 4, 255, "f: byte 16 (backend_slots): 255; expected 256"},
	{20, 4, 257, "f: byte 20 (bind_slots): 257; expected 256"},
	{24, 4, 0, "f: byte 24 (tables[0].backend_count): 0; expected 1 to 256"},
	{24, 4, 257, "f: byte 24 (tables[0].backend_count): 257; expected 1 to 256"},
	{28, 4, 0, "f: byte 28 (tables[0].backends[0].family): 0; expected 1 (IPv4)"},
	{52, 4, 2, "f: byte 52 (tables[0].backends[1].family): 2; expected 1 (IPv4)"},
	{48, 2, 3, "f: byte 48 (tables[0].backends[0].state): 3; expected 0 (filling), 1 (active) or 2 (draining)"},
	{50, 2, 2, "f: byte 50 (tables[0].backends[0].health): 2; expected 1 (up) or 0 (down)"},
	{6172, 4, 257, "f: byte 6172 (tables[0].bind_count): 257; expected at most 256"},
	{6176, 4, 7, "f: byte 6176 (tables[0].binds[0].family): 7; expected 1 (IPv4) or 2 (IPv6)"},
	{6196, 2, 33, "f: byte 6196 (tables[0].binds[0].prefix_length): 33; expected at most 32 (IPv4)"},
	{6224, 2, 129, "f: byte 6224 (tables[0].binds[1].prefix_length): 129; expected at most 128 (IPv6)"},
	{6198, 2, 82, "f: byte 6200 (tables[0].binds[0].port_end): 81; expected at least port_start (82)"},
	{6200, 2, 0, "f: byte 6200 (tables[0].binds[0].port_end): 0; expected at least port_start (80)"},
	{6202, 1, 1, "f: byte 6202 (tables[0].binds[0].protocol): 1; expected 6 (TCP) or 17 (UDP)"},
	{13360, 4, 3, "f: byte 13360 (tables[0].rows[0].hop[0]): backend index 3, but the table has 3 backends"},
	{13360 + 17 * 8 + 4, 4, 0x10000,
		"f: byte 13500 (tables[0].rows[17].hop[1]): backend index 65536, but the table has 3 backends"},
	{537644, 4, 300, "f: byte 537644 (tables[0].rows[65535].hop[1]): backend index 300, but the table has 3 backends"},
};

static const struct corruption v3_cases[] = {
	{4, 4, 4, "f: byte 4 (version): 4; expected 2 or 3: build the file with glb-director-cli of this release"},
	{8, 8, 262351, "f: byte 8 (total_size): 262351; expected 262352, the size of the file; build or copy it again"},
	{8, 8, UINT64_MAX,
		"f: byte 8 (total_size): 18446744073709551615; expected 262352, the size of the file; build or copy it again"},
	{24, 4, 1025, "f: byte 24 (table_count): 1025; expected at most 1024"},
	{24, 4, 0, "f: byte 40 (size): 262352; expected no bytes after the last section"},
	{24, 4, 2, "f: byte 40 (tables[0].end): 262400; expected sections that end within the file"},
	{28, 4, 65537, "f: byte 28 (rows): 65537; expected 65536"},
	{56, 4, 87, "f: byte 56 (tables[0].name_offset): 87; expected 88, where this section starts"},
	{60, 4, 256, "f: byte 60 (tables[0].name_size): 256; expected at most 255"},
	{60, 4, 0, "f: byte 64 (tables[0].backends_offset): 96; expected 88, where this section starts"},
	{64, 4, 88, "f: byte 64 (tables[0].backends_offset): 88; expected 96, where this section starts"},
	{64, 4, 0xfffffff8, "f: byte 64 (tables[0].backends_offset): 4294967288; expected 96, where this section starts"},
	{68, 4, 0, "f: byte 68 (tables[0].backend_count): 0; expected 1 to 4096"},
	{68, 4, 4097, "f: byte 68 (tables[0].backend_count): 4097; expected 1 to 4096"},
	{68, 4, 4096, "f: byte 40 (tables[0].end): 344208; expected sections that end within the file"},
	{72, 4, 164, "f: byte 72 (tables[0].binds_offset): 164; expected 160, where this section starts"},
	{76, 4, 4097, "f: byte 76 (tables[0].bind_count): 4097; expected at most 4096"},
	{80, 4, 210, "f: byte 80 (tables[0].rows_offset): 210; expected 208, where this section starts"},
	{84, 1, 0, "f: byte 84 (tables[0].row_hops): 0; expected 1 to hops"},
	{84, 1, 3, "f: byte 84 (tables[0].row_hops): 3; expected 1 to hops"},
	{84, 1, 1, "f: byte 131280 (size): 262352; expected no bytes after the last section"},
	{85, 1, 9, "f: byte 85 (tables[0].hops): 9; expected 2 to 8"},
	{85, 1, 1, "f: byte 85 (tables[0].hops): 1; expected 2 to 8"},
	{86, 2, 0x0100, "f: byte 87 (tables[0].zero): 1; expected 0"},
	{88, 1, 0, "f: byte 88 (tables[0].name): has control characters or is not UTF-8"},
	{89, 1, '\n', "f: byte 88 (tables[0].name): has control characters or is not UTF-8"},
	{90, 1, 0xff, "f: byte 88 (tables[0].name): has control characters or is not UTF-8"},
	{91, 1, 'x', "f: byte 91 (tables[0].padding): 120; expected 0"},
	{95, 1, 1, "f: byte 95 (tables[0].padding): 1; expected 0"},
	{96, 1, 0, "f: byte 96 (tables[0].backends[0].family): 0; expected 1 (IPv4) or 2 (IPv6)"},
	{117, 1, 4,
		"f: byte 117 (tables[0].backends[1].state): 4; expected 0 (filling), 1 (active), 2 (draining) or 3 (inactive)"},
	{98, 1, 2, "f: byte 98 (tables[0].backends[0].health): 2; expected 1 (up) or 0 (down)"},
	{99, 1, 1, "f: byte 99 (tables[0].backends[0].zero): 1; expected 0"},
	{104, 1, 9, "f: byte 104 (tables[0].backends[0].address): 9; expected 0"},
	{115, 1, 9, "f: byte 115 (tables[0].backends[0].address): 9; expected 0"},
	{116, 1, 2,
		"f: tables[0].backends[1].ip: 'a00:2::' is an IPv6 address, but backends[0] has 10.0.0.1: all proxies of a table, and of its previous states, need addresses of one family; make a second table for the others"},
	{135, 1, 1, "f: byte 135 (tables[0].backends[1].address): 1; expected 0"},
	{156, 1, 1, "f: byte 156 (tables[0].padding): 1; expected 0"},
	{160, 1, 3, "f: byte 160 (tables[0].binds[0].family): 3; expected 1 (IPv4) or 2 (IPv6)"},
	{161, 1, 0, "f: byte 161 (tables[0].binds[0].protocol): 0; expected 6 (TCP) or 17 (UDP)"},
	{162, 1, 33, "f: byte 162 (tables[0].binds[0].prefix_length): 33; expected at most 32 (IPv4)"},
	{186, 1, 129, "f: byte 186 (tables[0].binds[1].prefix_length): 129; expected at most 128 (IPv6)"},
	{163, 1, 2, "f: byte 163 (tables[0].binds[0].flags): 2; expected 1 (QUIC) or 0"},
	{166, 1, 1, "f: byte 164 (tables[0].binds[0].address): '10.1.1.0' has bits set beyond the prefix length"},
	{168, 1, 1, "f: byte 168 (tables[0].binds[0].address): 1; expected 0"},
	{180, 2, 82, "f: byte 182 (tables[0].binds[0].port_end): 81; expected at least port_start (82)"},
	{208, 2, 3, "f: byte 208 (tables[0].rows[0].hop[0]): backend index 3, but the table has 3 backends"},
	{208 + 17 * 4 + 2, 2, 2, "f: byte 278 (tables[0].rows[17].hop[1]): 2; expected a backend that is not inactive"},
	{262348, 4, 0x00010001,
		"f: byte 262350 (tables[0].rows[65535].hop[1]): 1; expected a backend that is not already in the row"},
};

static void test_every_field_of_version_2(void **state)
{
	struct table_set set = known_set();
	struct image image = encode(&set, TABLE_FILE_V2);

	(void)state;
	for (size_t i = 0; i < COUNT(v2_cases); i++)
		check_corruption(&image, &v2_cases[i]);
	free(image.bytes);
	table_set_free(&set);
}

static void test_every_field_of_version_3(void **state)
{
	struct table_set set = known_set();
	struct image image = encode(&set, TABLE_FILE_V3);

	(void)state;
	for (size_t i = 0; i < COUNT(v3_cases); i++)
		check_corruption(&image, &v3_cases[i]);
	free(image.bytes);
	table_set_free(&set);
}

static void test_the_digest_reveals_damage(void **state)
{
	struct table_set set = known_set();
	struct image image = encode(&set, TABLE_FILE_V3);
	struct faults faults = {.file = "f"};
	struct table_set back;

	(void)state;
	image.bytes[40] ^= 1; /* a bit of the hash key, which can have any value */
	assert_int_equal(table_file_parse(image.bytes, image.size, &back, NULL, &faults), -EINVAL);
	assert_string_equal(faults_first_error(&faults),
		"f: byte 16 (digest): the file is damaged, because its bytes have another digest; build or copy it again");
	faults_clear(&faults);
	free(image.bytes);
	table_set_free(&set);
}

/* GLB's directors do not know IPv6 backends. */
static void test_version_2_has_no_ipv6_backends(void **state)
{
	struct table_set set = random_set(2);
	struct faults faults = {.file = "f"};
	uint8_t *bytes;
	size_t size;

	(void)state;
	random_table(&set.tables[0], 3, 1, 2, NETADDR_V4, ALL_GOOD);
	backend_family = NETADDR_V6;
	random_table(&set.tables[1], 3, 1, 2, NETADDR_V4, ALL_GOOD);
	backend_family = NETADDR_V4;
	assert_int_equal(table_build(&set, 1), 0);
	assert_int_equal(table_file_encode(&set, TABLE_FILE_V2, &bytes, &size, &faults), -EINVAL);
	assert_int_equal(faults.count, 1);
	assert_string_equal(faults_first_error(&faults),
		"f: tables[1]: 'web' has proxies with IPv6 addresses, which GLB's directors cannot reach: version 2 of the binary format has no room for them");
	faults_clear(&faults);
	table_set_free(&set);
}

/* Other writers of version 2 may leave any bytes in unused places. */
static void test_version_2_ignores_unused_bytes(void **state)
{
	struct table_set set = known_set(), back;
	struct image image = encode(&set, TABLE_FILE_V2);
	struct faults faults = {0};

	(void)state;
	memset(image.bytes + 28 + 8, 0xee, 12); /* after an IPv4 address */
	memset(image.bytes + 28 + 3 * 24, 0xee, 253 * 24);
	memset(image.bytes + 6176 + 8, 0xee, 12);
	image.bytes[6176 + 27] = 0xee;
	memset(image.bytes + 6176 + 2 * 28, 0xee, 254 * 28);
	assert_int_equal(table_file_parse(image.bytes, image.size, &back, NULL, &faults), 0);
	assert_no_fault(&faults);
	assert_same_tables(&set, &back, 2);
	table_set_free(&back);
	free(image.bytes);
	table_set_free(&set);
}

static void test_version_2_masks_host_bits(void **state)
{
	struct table_set set = known_set(), back;
	struct image image = encode(&set, TABLE_FILE_V2);
	struct faults faults = {.file = "f"};

	(void)state;
	image.bytes[6176 + 4 + 3] = 1; /* 10.1.0.1/16 */
	assert_int_equal(table_file_parse(image.bytes, image.size, &back, NULL, &faults), 0);
	assert_fault(&faults, true,
		"f: byte 6180 (tables[0].binds[0].address): has bits set beyond the prefix length; they are ignored");
	assert_same_tables(&set, &back, 2);
	faults_clear(&faults);
	table_set_free(&back);
	free(image.bytes);
	table_set_free(&set);
}

/* This project writes no table like this one, but other writers of version 2 may. */
static void test_rows_of_one_hop_between_others_stay_version_2(void **state)
{
	struct table_set set = known_set(), back;
	struct image image = encode(&set, TABLE_FILE_V2), other;
	struct faults faults = {.file = "f"};

	(void)state;
	memset(image.bytes + 13360 + 5 * 8, 0, 8);
	assert_int_equal(table_file_parse(image.bytes, image.size, &back, NULL, &faults), 0);
	assert_int_equal(back.tables[0].row_hops, 2);
	other = encode(&back, TABLE_FILE_V2);
	assert_int_equal(other.size, image.size);
	assert_memory_equal(other.bytes + 13360, image.bytes + 13360, 524288);
	free(other.bytes);
	assert_int_equal(table_file_encode(&back, TABLE_FILE_V3, &other.bytes, &other.size, &faults), -EINVAL);
	assert_fault(&faults, false,
		"f: tables[0]: row 5 has one hop, but other rows have two; only version 2 can hold that");
	faults_clear(&faults);
	table_set_free(&back);
	free(image.bytes);
	table_set_free(&set);
}

static void test_a_ruined_file_has_a_limited_number_of_errors(void **state)
{
	struct table_set set = small_set(2), back;
	struct image image = encode(&set, TABLE_FILE_V2);
	struct faults faults = {.file = "f"};

	(void)state;
	memset(image.bytes + 13360, 0xff, 524288);
	assert_int_equal(table_file_parse(image.bytes, image.size, &back, NULL, &faults), -EINVAL);
	assert_int_equal(faults.errors, 21);
	assert_fault(&faults, false, "f: more than 20 faults: the rest is not listed");
	faults_clear(&faults);
	free(image.bytes);
	table_set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_round_trip_of_tables_that_only_version_3_can_hold),
		cmocka_unit_test(test_version_2_holds_tables_up_to_its_limits),
		cmocka_unit_test(test_version_2_refuses_tables_that_it_cannot_hold),
		cmocka_unit_test(test_tables_without_rows_are_not_encoded),
		cmocka_unit_test(test_two_tables_of_one_name_are_an_error),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_trailing_bytes_are_refused),
		cmocka_unit_test(test_every_changed_byte_of_version_3_is_refused),
		cmocka_unit_test(test_every_field_of_version_2),
		cmocka_unit_test(test_every_field_of_version_3),
		cmocka_unit_test(test_the_digest_reveals_damage),
		cmocka_unit_test(test_version_2_has_no_ipv6_backends),
		cmocka_unit_test(test_version_2_ignores_unused_bytes),
		cmocka_unit_test(test_version_2_masks_host_bits),
		cmocka_unit_test(test_rows_of_one_hop_between_others_stay_version_2),
		cmocka_unit_test(test_a_ruined_file_has_a_limited_number_of_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
