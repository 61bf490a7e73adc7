/* SPDX-License-Identifier: BSD-3-Clause */
/* The extension of tables in version 3: round trips, no extension for defaults, and every way in which one can be wrong. */
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

/* All tests run with IPv4 backends, and then with IPv6 backends. */
static bool is_ipv6(void)
{
	return backend_family == NETADDR_V6;
}

/* The size of the extension of known_set(). */
static size_t known_size(void)
{
	return is_ipv6() ? 88 : 64;
}

static void set_past(struct table_past *past, int64_t time, uint16_t balance, uint32_t count)
{
	*past = (struct table_past){.time = time, .balance = balance, .backend_count = count};
	past->backends = calloc(count + 1, sizeof(*past->backends));
	for (uint32_t i = 0; i < count; i++) {
		past->backends[i].addr = random_addr(backend_family, i);
		past->backends[i].weight = (uint16_t)(1 + i);
	}
}

/* One table with three backends of weights 100, 1000 and 1, balance 1.02, and two previous states. */
static struct table_set known_set(void)
{
	struct table_set set = random_set(1);
	struct table *table = &set.tables[0];

	random_table(table, 3, 2, 2, NETADDR_V4, ALL_GOOD);
	table->backends[1].weight = 1000;
	table->backends[2].weight = 1;
	table->balance = 1020;
	table->past = calloc(TABLE_MAX_PAST, sizeof(*table->past));
	table->past_count = 2;
	set_past(&table->past[0], 253402300799, 0, 2);
	set_past(&table->past[1], 0, 2000, 0);
	assert_int_equal(table_build(&set, 1), 0);
	return set;
}

static void assert_same(const struct table *a, const struct table *b)
{
	assert_int_equal(a->balance, b->balance);
	assert_int_equal(a->past_count, b->past_count);
	for (uint32_t i = 0; i < a->backend_count; i++)
		assert_int_equal(table_backend_weight(&a->backends[i]), b->backends[i].weight);
	for (uint32_t p = 0; p < a->past_count; p++) {
		const struct table_past *x = &a->past[p], *y = &b->past[p];

		assert_int_equal(x->time, y->time);
		assert_int_equal(x->balance, y->balance);
		assert_int_equal(x->backend_count, y->backend_count);
		for (uint32_t i = 0; i < x->backend_count; i++) {
			assert_int_equal(netaddr_compare(&x->backends[i].addr, &y->backends[i].addr), 0);
			assert_int_equal(x->backends[i].weight, y->backends[i].weight);
		}
	}
}

static void check_round_trip(const struct table_set *set)
{
	struct image image = encode(set, TABLE_FILE_V3), again;
	struct faults faults = {0};
	struct table_set back;

	assert_int_equal(table_file_parse(image.bytes, image.size, &back, NULL, &faults), 0);
	assert_no_fault(&faults);
	for (uint32_t t = 0; t < set->count; t++)
		assert_same(&set->tables[t], &back.tables[t]);
	again = encode(&back, TABLE_FILE_V3);
	assert_int_equal(again.size, image.size);
	assert_memory_equal(again.bytes, image.bytes, image.size);
	table_set_free(&back);
	free(again.bytes);
	free(image.bytes);
}

/* Each table has other members of the extension, or none. */
static void test_round_trips(void **state)
{
	struct table_set set = random_set(6);

	(void)state;
	for (uint32_t t = 0; t < set.count; t++) {
		random_table(&set.tables[t], 1 + 3 * t, 1, is_ipv6() ? 5 : 8, NETADDR_V4, ALL_GOOD);
		set.tables[t].name[0] = (char)('a' + t);
	}
	set.tables[1].balance = TABLE_MIN_BALANCE;
	set.tables[2].backends[6].weight = TABLE_MAX_WEIGHT;
	for (uint32_t t = 4; t < 6; t++) {
		struct table *table = &set.tables[t];

		table->past_count = t == 4 ? 1 : TABLE_MAX_PAST;
		table->past = calloc(table->past_count, sizeof(*table->past));
		for (uint32_t p = 0; p < table->past_count; p++)
			set_past(&table->past[p], 1000000000 - p, p % 2 ? 1020 : 0, p * 3);
	}
	assert_int_equal(table_build(&set, 1), 0);
	check_round_trip(&set);
	table_set_free(&set);
}

/* Weights that are not known, as in tables of version 2, count as defaults. */
static void test_a_table_with_defaults_has_no_extension(void **state)
{
	struct table_set set = known_set();
	struct table *table = &set.tables[0];
	struct image extended = encode(&set, TABLE_FILE_V3), image, same;

	(void)state;
	table->balance = 0;
	for (uint32_t p = 0; p < table->past_count; p++)
		free(table->past[p].backends);
	table->past_count = 0;
	for (uint32_t i = 0; i < 3; i++)
		table->backends[i].weight = TABLE_DEFAULT_WEIGHT;
	image = encode(&set, TABLE_FILE_V3);
	for (uint32_t i = 0; i < 3; i++)
		table->backends[i].weight = 0;
	same = encode(&set, TABLE_FILE_V3);
	assert_int_equal(same.size, image.size);
	assert_memory_equal(same.bytes, image.bytes, image.size);
	assert_int_equal(image.bytes[86] | image.bytes[87], 0);
	assert_int_equal(extended.size - image.size, 8 + 3 * 2 + 2 + 16 + 2 * (is_ipv6() ? 20 : 8) + 16);
	assert_memory_equal(extended.bytes + 88, image.bytes + 88, image.size - 88);
	check_round_trip(&set);
	free(extended.bytes);
	free(image.bytes);
	free(same.bytes);
	table_set_free(&set);
}

static void sign(struct image *image)
{
	static const uint8_t zero[SIPHASH_KEY_SIZE];
	uint64_t digest, size = image->size;

	memcpy(image->bytes + 8, &size, 8);
	memset(image->bytes + 16, 0, 8);
	digest = siphash(zero, image->bytes, image->size);
	memcpy(image->bytes + 16, &digest, 8);
}

struct corruption {
	size_t at, size; /* `at` from the start of the extension of known_set() with IPv4 backends */
	uint64_t value;
	const char *error; /* behind the byte offset */
};

static const struct corruption cases[] = {
	{0, 2, 1004, "(tables[0].balance): 1004; expected 1005 to 2000 thousandths, or 0"},
	{0, 2, 2001, "(tables[0].balance): 2001; expected 1005 to 2000 thousandths, or 0"},
	{2, 2, 17, "(tables[0].past_count): 17; expected at most 16"},
	{2, 2, 1, "(size): "},
	{2, 2, 3, "(tables[0].previous[2].past): 16; expected no more bytes than the file has"},
	{5, 1, 1, "(tables[0].zero): 1; expected 0"},
	{8, 2, 0, "(tables[0].weight): 0; expected 1 to 1000"},
	{12, 2, 1001, "(tables[0].weight): 1001; expected 1 to 1000"},
	{15, 1, 1, "(tables[0].padding): 1; expected 0"},
	{16, 8, 253402300800, "(tables[0].previous[0].time): 253402300800; expected seconds from 1970 to 9999"},
	{16, 8, UINT64_MAX, "(tables[0].previous[0].time): 18446744073709551615; expected seconds from 1970 to 9999"},
	{24, 4, 4097, "(tables[0].previous[0].backend_count): 4097; expected at most 4096"},
	{24, 4, 4096, "expected no more bytes than the file has"},
	{28, 2, 1, "(tables[0].previous[0].balance): 1; expected 1005 to 2000 thousandths, or 0"},
	{31, 1, 1, "(tables[0].previous[0].zero): 1; expected 0"},
	{36, 2, 0, "(tables[0].previous[0].weight): 0; expected 1 to 1000"},
	{38, 1, 2, "(tables[0].previous[0].unhealthy): 2; expected 0 or 1"},
	{47, 1, 9, "(tables[0].previous[0].zero): 9; expected 0"},
};

/* Changes the bytes from `at` on, then cuts `cut` bytes off. */
static void check_corruption(const struct image *good, size_t at, const struct corruption *corruption, size_t cut)
{
	struct image bad = {malloc(good->size), good->size - cut};
	struct faults faults = {.file = "f"};
	struct table_set set;

	memcpy(bad.bytes, good->bytes, good->size);
	memcpy(bad.bytes + at, &corruption->value, corruption->size);
	sign(&bad);
	assert_int_equal(table_file_parse(bad.bytes, bad.size, &set, NULL, &faults), -EINVAL);
	assert_non_null(strstr(faults_first_error(&faults), corruption->error));
	assert_null(set.tables);
	faults_clear(&faults);
	free(bad.bytes);
}

static void test_every_field(void **state)
{
	struct table_set set = known_set();
	struct image image = encode(&set, TABLE_FILE_V3);

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		/* Bytes 32 and 40 are the first ones of addresses. */
		size_t longer = is_ipv6() ? 12 * ((cases[i].at > 32) + (cases[i].at > 40)) : 0;

		check_corruption(&image, image.size - known_size() + cases[i].at + longer, &cases[i], 0);
	}
	check_corruption(&image, 86,
		&(struct corruption){.size = 1, .value = 2, .error = "extended): 2; expected 1 (yes) or 0 (no)"}, 0);
	check_corruption(
		&image, 86, &(struct corruption){.size = 1, .error = "expected no bytes after the last section"}, 0);
	free(image.bytes);
	table_set_free(&set);
}

/* A cut file has an error wherever it ends, and no byte after its end is read. */
static void test_a_cut_extension_is_refused(void **state)
{
	struct table_set set = known_set();
	struct image image = encode(&set, TABLE_FILE_V3);

	(void)state;
	for (size_t cut = 1; cut <= known_size(); cut += STEP)
		check_corruption(&image, 0, &(struct corruption){.error = "the file has"}, cut);
	free(image.bytes);
	table_set_free(&set);
}

static void test_an_extension_of_defaults_is_refused(void **state)
{
	struct table_set set = known_set();
	struct image image = encode(&set, TABLE_FILE_V3);
	const uint8_t defaults[16] = {[8] = 100, [10] = 100, [12] = 100};

	(void)state;
	memcpy(image.bytes + image.size - known_size(), defaults, sizeof(defaults));
	check_corruption(&image, 0,
		&(struct corruption){.error = "(tables[0].extension): has only defaults; expected none"},
		known_size() - 16);
	free(image.bytes);
	table_set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_a_table_with_defaults_has_no_extension),
		cmocka_unit_test(test_every_field),
		cmocka_unit_test(test_a_cut_extension_is_refused),
		cmocka_unit_test(test_an_extension_of_defaults_is_refused),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	backend_family = NETADDR_V6;
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
