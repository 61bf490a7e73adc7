/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "table/table_guard.h"
#include "tests/unit/table_helpers.h"

#define COMMAND "run the command"

/* Parses "tcp 10.0.0.0/8 80-90". */
static struct table_bind parse_bind(const char *text)
{
	char protocol[4], prefix[NETPREFIX_TEXT_MAX];
	unsigned first, last;
	struct table_bind bind = {0};
	int count = sscanf(text, "%3s %49s %u-%u", protocol, prefix, &first, &last);

	assert_true(count >= 3);
	assert_true(netprefix_parse(prefix, &bind.prefix, NULL));
	bind.protocol = strcmp(protocol, "tcp") == 0 ? TABLE_TCP : TABLE_UDP;
	bind.port_start = (uint16_t)first;
	bind.port_end = (uint16_t)(count == 4 ? last : first);
	return bind;
}

/* A table with backends 192.168.0.1 to 192.168.0.N. binds: as for parse_bind(), with commas between. */
static struct table make_table(const char *name, const char *binds, uint32_t backends)
{
	struct table table = {
		.name = name ? strdup(name) : NULL,
		.hops = 2,
		.backend_count = backends,
		.backends = calloc(backends + 1, sizeof(*table.backends)),
		.binds = calloc(strlen(binds) + 1, sizeof(*table.binds)),
	};

	for (const char *at = binds; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		table.binds[table.bind_count++] = parse_bind(at);
	for (uint32_t i = 0; i < backends; i++)
		table.backends[i] = (struct table_backend){
			.addr = netaddr_from_bytes(
				NETADDR_V4, (const uint8_t[]){192, 168, (uint8_t)(i >> 8), (uint8_t)(i + 1)}),
			.state = TABLE_ACTIVE,
			.healthy = true,
		};
	return table;
}

struct change {
	struct table_set old, new;
	unsigned max_shrink;
	const bool *busy;
	bool forced;
	struct faults faults;
	bool allowed;
	char refusal[TABLE_GUARD_TEXT_MAX];
};

static void add(struct table_set *set, const char *name, const char *binds, uint32_t backends)
{
	set->tables = realloc(set->tables, (set->count + 1) * sizeof(*set->tables));
	set->tables[set->count++] = make_table(name, binds, backends);
}

static bool judge(struct change *change)
{
	struct table_guard guard = {.old = &change->old,
		.new = &change->new,
		.max_shrink = change->max_shrink ? change->max_shrink : TABLE_GUARD_MAX_SHRINK,
		.busy = change->busy,
		.forced = change->forced,
		.command = COMMAND};

	faults_clear(&change->faults);
	change->allowed = table_guard_allows(&guard, &change->faults);
	table_guard_refusal(&guard, &change->faults, change->refusal);
	return change->allowed;
}

static void discard(struct change *change)
{
	table_set_free(&change->old);
	table_set_free(&change->new);
	faults_clear(&change->faults);
}

#define assert_only_fault(change, is_warning, expected)                \
	do {                                                           \
		assert_fault(&(change)->faults, is_warning, expected); \
		assert_int_equal((change)->faults.count, 1);           \
	} while (0)

static void test_an_equal_set_is_allowed(void **state)
{
	static const bool busy[] = {true, true};
	struct change change = {.busy = busy};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct table_set *set = i ? &change.new : &change.old;

		add(set, "web", "tcp 10.0.0.1 80,tcp 10.0.0.1 443,udp fd00::/64 1-9", 3);
		add(set, "git", "tcp 10.0.0.1 22", 1);
	}
	assert_true(judge(&change));
	assert_no_fault(&change.faults);
	discard(&change);
}

static void test_all_tables_lost(void **state)
{
	struct change change = {0};

	(void)state;
	add(&change.old, "web", "tcp 10.0.0.1 80", 1);
	add(&change.old, NULL, "tcp 10.0.0.2 80", 1);
	assert_false(judge(&change));
	assert_only_fault(&change, false, "all tables vanish: web, #1");
	discard(&change);
}

static void test_a_first_table_that_is_empty_is_only_warned_about(void **state)
{
	struct change change = {0};

	(void)state;
	assert_true(judge(&change));
	assert_only_fault(&change, true, "has no tables: the director forwards nothing");
	add(&change.new, "web", "", 1);
	assert_true(judge(&change));
	assert_only_fault(&change, true, "has no binds: the director forwards nothing");
	discard(&change);
}

static void test_a_table_loses_all_its_binds(void **state)
{
	struct change change = {0};

	(void)state;
	add(&change.old, "web", "tcp 10.0.0.1 80,tcp 10.0.0.1 443,tcp 10.0.0.2 80,tcp 10.0.0.2 443,udp 10.0.0.2 443", 1);
	add(&change.old, "git", "tcp 10.0.0.1 22", 1);
	add(&change.new, "web", "", 1);
	add(&change.new, "git", "tcp 10.0.0.1 22", 1);
	assert_false(judge(&change));
	assert_only_fault(&change, false,
		"table web loses all its binds: tcp 10.0.0.1 port 80, tcp 10.0.0.1 port 443, tcp 10.0.0.2 port 80 and 2 more");
	discard(&change);
}

/* Another table still has the address, but no packet of the lost table is matched. */
static void test_a_table_vanishes_beside_one_with_the_same_address(void **state)
{
	for (int named = 0; named < 2; named++) {
		struct change change = {0};

		(void)state;
		add(&change.old, named ? "web" : NULL, "tcp 10.0.0.1 80", 2);
		add(&change.old, named ? "git" : NULL, "tcp 10.0.0.1 22", 2);
		add(&change.new, named ? "git" : NULL, "tcp 10.0.0.1 22", 2);
		assert_false(judge(&change));
		if (named)
			assert_only_fault(&change, false, "table web vanishes with all its binds: tcp 10.0.0.1 port 80");
		else
			assert_only_fault(&change, false, "table #0 vanishes with all its binds: tcp 10.0.0.1 port 80");
		discard(&change);
	}
}

static void test_a_renamed_table_is_not_lost(void **state)
{
	static const char *const names[][2] = {{"web", "www"}, {"web", NULL}, {NULL, "web"}, {NULL, NULL}};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct change change = {0};

		add(&change.old, names[i][0], "tcp 10.0.0.1 80", 4);
		add(&change.old, "git", "tcp 10.0.0.2 22", 1);
		add(&change.new, "git", "tcp 10.0.0.2 22", 1);
		add(&change.new, names[i][1], "tcp 10.0.0.1 80", 2);
		assert_true(judge(&change));
		assert_no_fault(&change.faults);
		change.new.tables[1].backend_count = 1;
		assert_false(judge(&change));
		discard(&change);
	}
}

static void test_a_lost_vip_is_an_error_only_if_its_table_has_traffic(void **state)
{
	static const bool busy[] = {false, true};
	struct change change = {.busy = busy};

	(void)state;
	add(&change.old, "web", "tcp 10.0.0.1 80,tcp 10.0.0.1 443,tcp 10.0.0.2 80", 1);
	add(&change.old, "git", "tcp 10.0.0.3 22,tcp 10.0.0.4 22", 1);
	add(&change.new, "web", "tcp 10.0.0.2 80", 1);
	add(&change.new, "git", "tcp 10.0.0.4 22", 1);
	assert_false(judge(&change));
	assert_fault(&change.faults, true, "table web loses 1 VIP: 10.0.0.1");
	assert_fault(&change.faults, false, "table git loses 1 VIP, and it has traffic: 10.0.0.3");
	assert_int_equal(change.faults.count, 2);
	change.busy = NULL;
	assert_true(judge(&change));
	discard(&change);
}

static void test_a_bind_that_moves_to_another_table_is_not_lost(void **state)
{
	static const bool busy[] = {true, true};
	struct change change = {.busy = busy};

	(void)state;
	add(&change.old, "web", "tcp 10.0.0.1 80,tcp 10.0.0.2 80", 1);
	add(&change.old, "git", "tcp 10.0.0.3 22", 1);
	add(&change.new, "web", "tcp 10.0.0.1 80", 1);
	add(&change.new, "git", "tcp 10.0.0.3 22,tcp 10.0.0.2 80", 1);
	assert_true(judge(&change));
	assert_no_fault(&change.faults);
	discard(&change);
}

/* The first table keeps its name, but its binds move: what counts are the backends of the table that has the binds now. */
static void test_all_binds_of_a_table_move_to_another_table(void **state)
{
	struct change change = {0};

	(void)state;
	add(&change.old, "web", "tcp 10.0.0.1 80", 4);
	add(&change.new, "web", "", 4);
	add(&change.new, "new", "tcp 10.0.0.1 80", 1);
	assert_false(judge(&change));
	assert_only_fault(&change, false,
		"table web loses 3 of its 4 usable backends, and max_shrink is 50 %: 192.168.0.2, 192.168.0.3, 192.168.0.4");
	discard(&change);
}

static void test_a_table_that_is_split_in_two_keeps_the_backends_of_both(void **state)
{
	struct change change = {0};

	(void)state;
	add(&change.old, "web", "tcp 10.0.0.1 80,tcp 10.0.0.2 80", 6);
	add(&change.new, "one", "tcp 10.0.0.1 80", 2);
	add(&change.new, "two", "tcp 10.0.0.2 80", 6);
	for (uint32_t i = 0; i < 4; i++)
		change.new.tables[1].backends[i].addr = change.old.tables[0].backends[i + 2].addr;
	change.new.tables[1].backend_count = 4;
	assert_true(judge(&change));
	assert_no_fault(&change.faults);
	discard(&change);
}

static void expect_binds(const char *old, const char *new, const char *error, const char *warning)
{
	static const bool busy[] = {true};
	struct change change = {.busy = busy};

	add(&change.old, "web", old, 1);
	add(&change.new, "web", new, 1);
	assert_int_equal(judge(&change), error == NULL);
	if (error)
		assert_only_fault(&change, false, error);
	if (warning)
		assert_only_fault(&change, true, warning);
	if (!error && !warning)
		assert_no_fault(&change.faults);
	discard(&change);
}

static void test_prefixes_and_ports(void **state)
{
	(void)state;
	expect_binds("tcp 10.0.0.0/24 80", "tcp 10.0.0.0/25 80",
		"table web loses 1 VIP, and it has traffic: part of 10.0.0.0/24", NULL);
	expect_binds("tcp 10.0.0.0/24 80", "tcp 10.0.0.0/25 80,tcp 10.0.0.128/25 80", NULL, NULL);
	expect_binds("tcp 10.0.0.0/24 80", "tcp 10.0.0.0/23 80", NULL, NULL);
	expect_binds("tcp 10.0.0.0/24 80", "tcp 10.0.0.0/25 80,tcp 10.0.0.128/25 81", NULL,
		"table web loses ports or protocols of 1 bind: tcp 10.0.0.0/24 port 80");
	expect_binds("tcp 10.0.0.1 80-90", "tcp 10.0.0.1 80,tcp 10.0.0.0/8 82-90,tcp 10.0.0.1 81-81", NULL, NULL);
	expect_binds("tcp 10.0.0.1 80-90", "tcp 10.0.0.1 80-89", NULL,
		"table web loses ports or protocols of 1 bind: tcp 10.0.0.1 port 80-90");
	expect_binds("tcp 10.0.0.1 0-65535", "tcp 10.0.0.1 0-65535", NULL, NULL);
	expect_binds("tcp 10.0.0.1 80", "udp 10.0.0.1 80", NULL,
		"table web loses ports or protocols of 1 bind: tcp 10.0.0.1 port 80");
	expect_binds("tcp 10.0.0.1 80", "tcp 10.0.0.2 80", "table web loses 1 VIP, and it has traffic: 10.0.0.1", NULL);
	expect_binds("tcp 0.0.0.0/0 80", "tcp ::/0 80", "table web loses 1 VIP, and it has traffic: 0.0.0.0/0", NULL);
	expect_binds("tcp ::/0 80", "tcp ::/1 80,tcp 8000::/1 80", NULL, NULL);
	expect_binds("tcp ffff::/16 80", "tcp ffff::/17 80",
		"table web loses 1 VIP, and it has traffic: part of ffff::/16", NULL);
}

static void expect_shrink(unsigned max_shrink, uint32_t before, uint32_t after, uint32_t inactive, bool allowed)
{
	struct change change = {.max_shrink = max_shrink};
	struct table_guard guard = {.old = &change.old, .new = &change.new, .max_shrink = max_shrink};

	add(&change.old, "web", "tcp 10.0.0.1 80", before);
	add(&change.new, "web", "tcp 10.0.0.1 80", after);
	for (uint32_t i = 0; i < inactive; i++)
		change.new.tables[0].backends[i].state = TABLE_INACTIVE;
	assert_int_equal(table_guard_allows(&guard, &change.faults), allowed);
	discard(&change);
}

static void test_max_shrink(void **state)
{
	(void)state;
	expect_shrink(50, 10, 5, 0, true);
	expect_shrink(50, 10, 4, 0, false);
	expect_shrink(50, 10, 10, 5, true);
	expect_shrink(50, 10, 10, 6, false);
	expect_shrink(50, 1, 1, 1, false);
	expect_shrink(50, 2, 1, 0, true);
	expect_shrink(50, 3, 1, 0, false);
	expect_shrink(0, 100, 99, 0, false);
	expect_shrink(0, 100, 100, 0, true);
	expect_shrink(0, 100, 101, 0, true);
	expect_shrink(99, 100, 1, 0, true);
	expect_shrink(99, 100, 100, 100, false);
	expect_shrink(100, 100, 100, 100, true);
	expect_shrink(100, 100, 0, 0, true);
	expect_shrink(50, TABLE_MAX_BACKENDS, TABLE_MAX_BACKENDS / 2, 0, true);
	expect_shrink(50, TABLE_MAX_BACKENDS, TABLE_MAX_BACKENDS / 2 - 1, 0, false);
}

static void test_backends_that_are_replaced_by_others_are_lost(void **state)
{
	struct change change = {0};

	(void)state;
	add(&change.old, "web", "tcp 10.0.0.1 80", 3);
	add(&change.new, "web", "tcp 10.0.0.1 80", 3);
	for (uint32_t i = 0; i < 2; i++)
		change.new.tables[0].backends[i].addr.bytes[0] = 172;
	assert_false(judge(&change));
	assert_only_fault(&change, false,
		"table web loses 2 of its 3 usable backends, and max_shrink is 50 %: 192.168.0.1, 192.168.0.2");
	discard(&change);
}

/* An inactive backend serves nobody, a draining or unhealthy one still does. */
static void test_states_and_health(void **state)
{
	struct change change = {0};

	(void)state;
	add(&change.old, "web", "tcp 10.0.0.1 80", 4);
	add(&change.new, "web", "tcp 10.0.0.1 80", 4);
	for (uint32_t i = 0; i < 4; i++) {
		change.new.tables[0].backends[i].state = i % 2 ? TABLE_DRAINING : TABLE_FILLING;
		change.new.tables[0].backends[i].healthy = false;
	}
	assert_true(judge(&change));
	for (uint32_t i = 0; i < 4; i++)
		change.old.tables[0].backends[i].state = TABLE_INACTIVE;
	change.new.tables[0].backend_count = 1;
	assert_true(judge(&change));
	assert_no_fault(&change.faults);
	discard(&change);
}

/* A change from 4 backends to 1, which needs a confirmation. */
static struct change shrinking(void)
{
	struct change change = {0};

	add(&change.old, "web", "tcp 10.0.0.1 80", 4);
	add(&change.new, "web", "tcp 10.0.0.1 80", 1);
	return change;
}

/* Gives the table rows of two hops, with the backends `first` and `second` by turns. */
static void add_rows(struct table *table, uint16_t first, uint16_t second)
{
	table->row_hops = 2;
	table->rows = calloc((size_t)2 * TABLE_ROWS, sizeof(*table->rows));
	for (size_t i = 0; i < (size_t)2 * TABLE_ROWS; i++)
		table->rows[i] = i % 2 ? first : second;
}

/* Version 2 stores an inactive backend as draining. It is in no row. */
static void test_backends_in_no_row_are_not_usable(void **state)
{
	struct change change = {0};

	(void)state;
	add(&change.old, "web", "tcp 10.0.0.1 80", 6);
	add(&change.new, "web", "tcp 10.0.0.1 80", 6);
	for (uint32_t i = 2; i < 6; i++) {
		change.old.tables[0].backends[i].state = TABLE_DRAINING;
		change.new.tables[0].backends[i].state = TABLE_INACTIVE;
	}
	assert_false(judge(&change));
	add_rows(&change.old.tables[0], 0, 1);
	assert_true(judge(&change));
	for (uint32_t i = 0; i < 6; i++)
		change.new.tables[0].backends[i].state = TABLE_DRAINING;
	add_rows(&change.new.tables[0], 2, 3);
	assert_false(judge(&change));
	assert_only_fault(&change, false,
		"table web loses 2 of its 2 usable backends, and max_shrink is 50 %: 192.168.0.1, 192.168.0.2");
	discard(&change);
}

static void test_force_makes_the_errors_warnings(void **state)
{
	struct change change = shrinking();

	(void)state;
	change.forced = true;
	assert_true(judge(&change));
	assert_only_fault(&change, true,
		"table web loses 3 of its 4 usable backends, and max_shrink is 50 %: 192.168.0.2, 192.168.0.3, 192.168.0.4");
	discard(&change);
}

static void test_replaces_confirms_the_change_from_exactly_one_table(void **state)
{
	struct change change = shrinking();

	(void)state;
	change.new.replaces = table_set_fingerprint(&change.old);
	assert_true(judge(&change));
	assert_int_equal(change.faults.errors, 0);
	assert_int_equal(change.faults.count, 1);

	/* Two generations later, the member is still in the file, but another table is in use. */
	change.old.tables[0].backend_count = 3;
	assert_false(judge(&change));
	discard(&change);
}

/* The first change made backends inactive, so the fingerprint is still the same. */
static void test_replaces_counts_once(void **state)
{
	struct change change = shrinking();

	(void)state;
	change.new.replaces = table_set_fingerprint(&change.old);
	change.old.replaces = change.new.replaces;
	assert_false(judge(&change));
	assert_non_null(strstr(change.refusal,
		"the table in use has the same \"replaces\", which confirms one change only: load that table without it first"));
	discard(&change);
}

static void test_refusal_names_the_member_to_add(void **state)
{
	struct change change = shrinking();
	char expected[TABLE_GUARD_TEXT_MAX];
	unsigned long long fingerprint = table_set_fingerprint(&change.old);

	(void)state;
	change.faults.file = "table.bin";
	change.new.tables[0].bind_count = 0;
	assert_false(judge(&change));
	snprintf(expected, sizeof(expected),
		"table.bin: table web loses all its binds: tcp 10.0.0.1 port 80. If this is intended, add \"replaces\": \"%016llx\" to the JSON table; or: run the command",
		fingerprint);
	assert_string_equal(change.refusal, expected);
	change.new.replaces = 0x1234;
	assert_false(judge(&change));
	snprintf(expected, sizeof(expected),
		"set \"replaces\": \"%016llx\" in the JSON table (it names another table: 0000000000001234); or: run the command",
		fingerprint);
	assert_non_null(strstr(change.refusal, expected));
	discard(&change);
}

static void test_a_long_name_does_not_cut_the_remedy(void **state)
{
	struct change change = {0};
	char name[TABLE_MAX_NAME + 1];
	char file[400];

	(void)state;
	memset(name, 'n', TABLE_MAX_NAME);
	name[TABLE_MAX_NAME] = '\0';
	memset(file, 'f', sizeof(file) - 1);
	file[sizeof(file) - 1] = '\0';
	change.faults.file = file;
	for (int i = 0; i < 3; i++)
		add(&change.old, name, "tcp 10.0.0.1 80", 1);
	add(&change.new, "web", "tcp 10.0.0.2 80", 1);
	assert_false(judge(&change));
	assert_non_null(strstr(change.refusal, " (and 1 more). If this is intended, add \"replaces\": \""));
	assert_string_equal(change.refusal + strlen(change.refusal) - strlen(COMMAND), COMMAND);
	discard(&change);
}

/* 64 tables of 4096 binds and backends each, and every table is renamed. More tables would take minutes in an emulator. */
static void test_a_large_set(void **state)
{
	enum { TABLES = 64 };
	struct change change = {0};

	(void)state;
	for (int side = 0; side < 2; side++) {
		struct table_set *set = side ? &change.new : &change.old;

		*set = random_set(TABLES);
		for (uint32_t t = 0; t < TABLES; t++) {
			struct table *table = &set->tables[t];

			*table = make_table(NULL, "", TABLE_MAX_BACKENDS);
			free(table->binds);
			table->binds = calloc(TABLE_MAX_BINDS, sizeof(*table->binds));
			table->bind_count = TABLE_MAX_BINDS;
			for (uint32_t i = 0; i < TABLE_MAX_BINDS; i++) {
				uint8_t bytes[4] = {10, (uint8_t)t, (uint8_t)(i >> 8), (uint8_t)i};

				table->binds[i] =
					(struct table_bind){.prefix = {netaddr_from_bytes(NETADDR_V4, bytes), 32},
						.port_start = 80,
						.port_end = (uint16_t)(80 + side),
						.protocol = TABLE_TCP};
			}
		}
	}
	assert_true(judge(&change));
	assert_no_fault(&change.faults);
	discard(&change);
}

/* As many tables as there may be, and all their binds overlap. Comparing each bind with each other one would take minutes. */
static void test_many_overlapping_binds(void **state)
{
	enum { BINDS = 64 };
	struct change change = {0};

	(void)state;
	for (int which = 0; which < 2; which++) {
		struct table_set *set = which ? &change.new : &change.old;

		set->tables = calloc(TABLE_MAX_TABLES, sizeof(*set->tables));
		for (uint32_t t = 0; t < TABLE_MAX_TABLES; t++) {
			struct table *table = &set->tables[set->count++];

			*table = make_table(which ? NULL : "old", "tcp 10.0.0.1 80", 64);
			table->binds = realloc(table->binds, BINDS * sizeof(*table->binds));
			for (table->bind_count = 0; table->bind_count < BINDS; table->bind_count++) {
				struct table_bind *bind = &table->binds[table->bind_count];

				*bind = parse_bind("tcp 10.0.0.1 0-65535");
				/* No bind of the new set is equal to one of the old set. */
				if (which)
					bind->port_start = bind->port_end = (uint16_t)(BINDS * t + table->bind_count);
				else
					bind->port_end = (uint16_t)(2000 + BINDS * t / 2 + table->bind_count / 2);
			}
		}
	}
	assert_true(judge(&change));
	assert_no_fault(&change.faults);
	/* Port 18384 is lost. All binds of table 512 have it, and none of table 511. */
	assert_int_equal(change.new.tables[287].binds[16].port_start, 18384);
	change.new.tables[287].binds[16] = parse_bind("tcp 10.0.0.1 18385");
	assert_true(judge(&change));
	assert_int_equal(change.faults.count, TABLE_MAX_TABLES - 512);
	assert_non_null(strstr(
		change.faults.items[0].text, "loses ports or protocols of 64 binds: tcp 10.0.0.1 port 0-18384, "));
	discard(&change);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_equal_set_is_allowed),
		cmocka_unit_test(test_all_tables_lost),
		cmocka_unit_test(test_a_first_table_that_is_empty_is_only_warned_about),
		cmocka_unit_test(test_a_table_loses_all_its_binds),
		cmocka_unit_test(test_a_table_vanishes_beside_one_with_the_same_address),
		cmocka_unit_test(test_a_renamed_table_is_not_lost),
		cmocka_unit_test(test_a_lost_vip_is_an_error_only_if_its_table_has_traffic),
		cmocka_unit_test(test_a_bind_that_moves_to_another_table_is_not_lost),
		cmocka_unit_test(test_all_binds_of_a_table_move_to_another_table),
		cmocka_unit_test(test_a_table_that_is_split_in_two_keeps_the_backends_of_both),
		cmocka_unit_test(test_prefixes_and_ports),
		cmocka_unit_test(test_max_shrink),
		cmocka_unit_test(test_backends_that_are_replaced_by_others_are_lost),
		cmocka_unit_test(test_states_and_health),
		cmocka_unit_test(test_backends_in_no_row_are_not_usable),
		cmocka_unit_test(test_force_makes_the_errors_warnings),
		cmocka_unit_test(test_replaces_confirms_the_change_from_exactly_one_table),
		cmocka_unit_test(test_replaces_counts_once),
		cmocka_unit_test(test_refusal_names_the_member_to_add),
		cmocka_unit_test(test_a_long_name_does_not_cut_the_remedy),
		cmocka_unit_test(test_a_large_set),
		cmocka_unit_test(test_many_overlapping_binds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
