/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables that share their rows: in memory, in files, and in damaged files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "table/file/table_file.h"
#include "table/file/table_file_layout.h"
#include "table/rows/table_build.h"
#include "table/table_share.h"
#include "tests/unit/table/image.h"
#include "tests/unit/table_helpers.h"

/* Tables with the same three backends and seed. The rows are not built. */
static struct table_set twins(uint32_t count)
{
	struct table_set set = random_set(count);

	for (uint32_t t = 0; t < count; t++) {
		struct table *table = &set.tables[t];

		random_table(table, 3, 1, 2, NETADDR_V4, ALL_GOOD);
		free(table->name);
		table->name = malloc(16);
		snprintf(table->name, 16, "t%u", t);
		memcpy(table->seed, set.tables[0].seed, sizeof(table->seed));
		memcpy(table->backends, set.tables[0].backends, 3 * sizeof(*table->backends));
	}
	return set;
}

static struct table_set built_twins(uint32_t count)
{
	struct table_set set = twins(count);

	assert_int_equal(table_build(&set, 2), 0);
	return set;
}

static struct table_set decode(const struct image *image)
{
	struct faults faults = {0};
	struct table_set set;

	assert_int_equal(table_file_parse(image->bytes, image->size, &set, NULL, &faults), 0);
	assert_no_fault(&faults);
	return set;
}

static void test_tables_with_the_same_input_share_their_rows(void **state)
{
	struct table_set set = built_twins(3), alone = random_set(1);

	(void)state;
	assert_ptr_equal(set.tables[0].rows, set.tables[1].rows);
	assert_ptr_equal(set.tables[0].rows, set.tables[2].rows);
	assert_false(set.tables[0].borrows_rows);
	assert_true(set.tables[1].borrows_rows && set.tables[2].borrows_rows);
	/* The rows are those of a table alone. */
	random_table(&alone.tables[0], 3, 0, 2, NETADDR_V4, ALL_GOOD);
	memcpy(alone.tables[0].seed, set.tables[0].seed, SIPHASH_KEY_SIZE);
	memcpy(alone.tables[0].backends, set.tables[0].backends, 3 * sizeof(struct table_backend));
	assert_int_equal(table_build(&alone, 1), 0);
	assert_memory_equal(set.tables[2].rows, alone.tables[0].rows, 4 * TABLE_ROWS);
	table_set_free(&alone);
	table_set_free(&set);
}

/* The first table owns the rows that the others use, so it must not take them away. */
static void test_the_health_of_one_table_does_not_reach_the_others(void **state)
{
	struct table_set set = built_twins(3);
	uint16_t before[2 * TABLE_ROWS];

	(void)state;
	memcpy(before, set.tables[0].rows, sizeof(before));
	for (uint32_t t = 0; t < 3; t++) {
		set.tables[t].backends[1].healthy = false;
		assert_int_equal(table_build(&set, 1), 0);
		for (uint32_t other = 0; other < 3; other++)
			if (other != t)
				assert_memory_equal(set.tables[other].rows, before, sizeof(before));
		assert_memory_not_equal(set.tables[t].rows, before, sizeof(before));
		for (size_t row = 0; row < TABLE_ROWS; row++)
			assert_int_not_equal(set.tables[t].rows[2 * row], 1);
		set.tables[t].backends[1].healthy = true;
		assert_int_equal(table_build(&set, 1), 0);
		assert_ptr_equal(set.tables[t].rows, set.tables[(t + 1) % 3].rows);
		assert_memory_equal(set.tables[t].rows, before, sizeof(before));
	}
	table_set_free(&set);
}

static void change(struct table *table, unsigned what)
{
	struct table_backend backend = table->backends[0];

	switch (what) {
	case 0:
		table->seed[15] ^= 1;
		break;
	case 1:
		table->hops = 3;
		break;
	case 2:
		table->balance = 1050;
		break;
	case 3:
		table->backend_count = 2;
		break;
	case 4:
		table->backends[2].addr.bytes[3] ^= 1;
		break;
	case 5:
		table->backends[2].state = TABLE_FILLING;
		break;
	case 6:
		table->backends[2].healthy = false;
		break;
	case 7:
		table->backends[2].weight = 200;
		break;
	case 8:
		table->backends[0] = table->backends[1];
		table->backends[1] = backend;
		break;
	case 9:
		table->past_count = 1;
		break;
	}
}

static void test_whatever_decides_about_rows_is_compared(void **state)
{
	struct table_past_backend backend = {.weight = 100, .healthy = true};
	struct table_past past[2] = {{.time = 1, .backend_count = 1, .backends = &backend},
		{.time = 2, .backend_count = 1, .backends = &backend}};
	struct table_set set = twins(2);
	struct table *a = &set.tables[0], *b = &set.tables[1];

	(void)state;
	assert_true(table_same_rows_input(a, b));
	for (unsigned what = 0; what < 10; what++) {
		struct table saved = *b;
		struct table_backend backends[3];

		memcpy(backends, b->backends, sizeof(backends));
		b->past = past;
		change(b, what);
		assert_false(table_same_rows_input(a, b));
		memcpy(b->backends, backends, sizeof(backends));
		*b = saved;
	}
	a->past = &past[0];
	b->past = &past[1];
	a->past_count = b->past_count = 1;
	assert_true(table_same_rows_input(a, b)); /* the time of a state does not matter */
	past[1].balance = 1100;
	assert_false(table_same_rows_input(a, b));
	a->past = b->past = NULL;
	a->past_count = b->past_count = 0;
	table_set_free(&set);
}

static void test_a_file_has_shared_rows_once(void **state)
{
	struct table_set set = built_twins(3), back;
	struct image one, all = encode(&set, TABLE_FILE_V3), again;

	(void)state;
	set.count = 1;
	one = encode(&set, TABLE_FILE_V3);
	set.count = 3;
	assert_int_equal(all.size - one.size, 2 * (48 + 8 + 64 + 24)); /* entry, name, backends, bind */
	back = decode(&all);
	assert_ptr_equal(back.tables[0].rows, back.tables[2].rows);
	assert_memory_equal(back.tables[0].rows, set.tables[0].rows, 4 * TABLE_ROWS);
	assert_int_equal(table_set_digest(&set), table_set_digest(&back));
	again = encode(&back, TABLE_FILE_V3);
	assert_int_equal(again.size, all.size);
	assert_memory_equal(again.bytes, all.bytes, all.size);
	table_set_free(&back);
	free(again.bytes);
	if (backend_family == NETADDR_V4) { /* others do not fit version 2 */
		again = encode(&set, TABLE_FILE_V2);
		back = decode(&again);
		assert_ptr_equal(back.tables[0].rows, back.tables[2].rows);
		table_set_free(&back);
		free(again.bytes);
	}
	free(all.bytes);
	free(one.bytes);
	table_set_free(&set);
}

static void sign(struct image *image)
{
	static const uint8_t zero[SIPHASH_KEY_SIZE];
	uint64_t size = image->size, digest;

	memcpy(image->bytes + 8, &size, 8);
	memset(image->bytes + 16, 0, 8);
	digest = siphash(zero, image->bytes, image->size);
	memcpy(image->bytes + 16, &digest, 8);
}

static void assert_refused(struct image *image, const char *error)
{
	struct faults faults = {.file = "f"};
	struct table_set set;

	sign(image);
	assert_int_equal(table_file_parse(image->bytes, image->size, &set, NULL, &faults), -EINVAL);
	assert_string_equal(faults_first_error(&faults), error);
	assert_null(set.tables);
	faults_clear(&faults);
}

/* Three tables; the first two share rows at byte 280, and the third has rows at byte 262616. */
static struct image shared_image(void)
{
	struct table_set set = twins(3);
	struct image image;

	set.tables[2].seed[0] ^= 1;
	assert_int_equal(table_build(&set, 1), 0);
	image = encode(&set, TABLE_FILE_V3);
	table_set_free(&set);
	return image;
}

static void test_wrong_references_to_rows_are_refused(void **state)
{
	static const struct {
		uint32_t table, rows_offset;
		const char *error;
	} cases[] = {
		{1, 288, "f: byte 128 (tables[1].rows_offset): 288; expected 262520, where this section starts, or the rows_offset of an earlier table"},
		{1, 282, "f: byte 128 (tables[1].rows_offset): 282; expected 262520, where this section starts, or the rows_offset of an earlier table"},
		{1, 281, "f: byte 128 (tables[1].rows_offset): 281; expected 262520, where this section starts, or the rows_offset of an earlier table"},
		{1, 0, "f: byte 128 (tables[1].rows_offset): 0; expected 262520, where this section starts, or the rows_offset of an earlier table"},
		{1, 0xfffffff8,
			"f: byte 128 (tables[1].rows_offset): 4294967288; expected 262520, where this section starts, or the rows_offset of an earlier table"},
		/* of a later table */
		{1, 262616,
			"f: byte 128 (tables[1].rows_offset): 262616; expected 262520, where this section starts, or the rows_offset of an earlier table"},
		/* the section of the third table is then not used */
		{2, 280, "f: byte 262616 (size): 524760; expected no bytes after the last section"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct image image = shared_image();

		memcpy(image.bytes + 40 + 48 * cases[i].table + 40, &cases[i].rows_offset, 4);
		assert_refused(&image, cases[i].error);
		free(image.bytes);
	}
}

static void test_shared_rows_must_fit_each_table(void **state)
{
	struct image image = shared_image();
	struct v3_table *entry = (void *)(image.bytes + 40 + 48);
	struct v3_backend *backends = (void *)(image.bytes + entry->backends_offset);

	(void)state;
	backends[2].state = TABLE_INACTIVE;
	for (size_t row = 0; row < TABLE_ROWS; row++)
		memcpy(image.bytes + entry->rows_offset + 4 * row, (uint16_t[]){0, 1}, 4);
	memcpy(image.bytes + entry->rows_offset + 4 * 17, (uint16_t[]){0, 2}, 4);
	assert_refused(&image, "f: byte 350 (tables[1].rows[17].hop[1]): 2; expected a backend that is not inactive");
	backends[2].state = TABLE_ACTIVE;
	entry->hops = 3;
	entry->row_hops = 3;
	assert_refused(&image,
		"f: byte 132 (tables[1].row_hops): 3; expected 2, as in tables[0], which has the same rows_offset");
	free(image.bytes);
}

/* Three backends need three numbers, so a table with two of them cannot have these rows. */
static void test_shared_rows_name_only_backends_of_each_table(void **state)
{
	struct image image = shared_image(), cut;
	struct v3_table *entry = (void *)(image.bytes + 40 + 48);
	size_t from = entry->binds_offset;

	(void)state;
	cut.size = image.size - 24;
	cut.bytes = malloc(cut.size);
	entry->backend_count = 2; /* 40 bytes instead of 60 and 4 of padding */
	entry->binds_offset -= 24;
	for (unsigned i = 0; i < 4; i++)
		((uint32_t *)(image.bytes + 40 + 2 * 48 + 16))[2 * i] -= 24;
	memcpy(cut.bytes, image.bytes, from - 24);
	memcpy(cut.bytes + from - 24, image.bytes + from, image.size - from);
	for (size_t row = 0; row < TABLE_ROWS; row++)
		memcpy(cut.bytes + entry->rows_offset + 4 * row, (uint16_t[]){0, 1}, 4);
	memcpy(cut.bytes + entry->rows_offset + 4 * 65535, (uint16_t[]){2, 1}, 4);
	assert_refused(
		&cut, "f: byte 262420 (tables[1].rows[65535].hop[0]): backend index 2, but the table has 2 backends");
	free(cut.bytes);
	free(image.bytes);
}

static void test_equal_rows_are_stored_once(void **state)
{
	struct image image = shared_image();

	(void)state;
	memcpy(image.bytes + 262616, image.bytes + 280, 4 * TABLE_ROWS);
	assert_refused(&image,
		"f: byte 176 (tables[2].rows_offset): 262616; expected 280, because tables[0] has the same rows");
	free(image.bytes);
}

static void test_a_file_cut_inside_shared_rows_is_refused(void **state)
{
	static const size_t sizes[] = {279, 280, 281, 65536, 262423, 262424, 262568, 524759};
	struct image image = shared_image();

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct image cut = {malloc(sizes[i]), sizes[i]};
		struct faults faults = {.file = "f"};
		struct table_set set;

		memcpy(cut.bytes, image.bytes, cut.size);
		assert_int_equal(table_file_parse(cut.bytes, cut.size, &set, NULL, &faults), -EINVAL);
		faults_clear(&faults);
		sign(&cut); /* a writer that stopped, and believed that it was done */
		assert_int_equal(table_file_parse(cut.bytes, cut.size, &set, NULL, &faults), -EINVAL);
		assert_null(set.tables);
		faults_clear(&faults);
		free(cut.bytes);
	}
	free(image.bytes);
}

static void test_1024_tables_and_one_wrong(void **state)
{
	struct table_set set = built_twins(1024), back;
	struct image image = encode(&set, TABLE_FILE_V3);
	struct v3_table *last = (void *)(image.bytes + 40 + 1023 * 48);

	(void)state;
	back = decode(&image);
	assert_int_equal(back.count, 1024);
	assert_ptr_equal(back.tables[1023].rows, back.tables[0].rows);
	assert_true(image.size < 600000);
	image.bytes[last->backends_offset + 20] = 9;
	assert_int_equal(last->backends_offset, 409552);
	assert_refused(&image, "f: byte 409572 (tables[1023].backends[1].family): 9; expected 1 (IPv4) or 2 (IPv6)");
	table_set_free(&back);
	table_set_free(&set);
	free(image.bytes);
}

static void test_more_tables_than_a_version_holds(void **state)
{
	static const struct {
		uint32_t count;
		enum table_file_format format;
		const char *error;
	} cases[] = {
		{65, TABLE_FILE_V2, "tables: there are 65 tables; version 2 of the binary format has room for 64"},
		{1025, TABLE_FILE_V3, "tables: there are 1025 tables; version 3 of the binary format has room for 1024"},
	};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct table_set set = twins(cases[i].count);
		struct faults faults = {0};
		struct image image;

		assert_int_equal(table_file_encode(&set, cases[i].format, &image.bytes, &image.size, &faults), -EINVAL);
		assert_string_equal(faults_first_error(&faults), cases[i].error);
		faults_clear(&faults);
		table_set_free(&set);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables_with_the_same_input_share_their_rows),
		cmocka_unit_test(test_the_health_of_one_table_does_not_reach_the_others),
		cmocka_unit_test(test_whatever_decides_about_rows_is_compared),
		cmocka_unit_test(test_a_file_has_shared_rows_once),
		cmocka_unit_test(test_wrong_references_to_rows_are_refused),
		cmocka_unit_test(test_shared_rows_must_fit_each_table),
		cmocka_unit_test(test_shared_rows_name_only_backends_of_each_table),
		cmocka_unit_test(test_equal_rows_are_stored_once),
		cmocka_unit_test(test_a_file_cut_inside_shared_rows_is_refused),
		cmocka_unit_test(test_1024_tables_and_one_wrong),
		cmocka_unit_test(test_more_tables_than_a_version_holds),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	backend_family = NETADDR_V6;
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
