/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole documents, as docs/reference/table-json.md describes them: members, structure, syntax, and the form of faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/table/table_json_helpers.h"

static void test_all_members_are_read(void **state)
{
	struct faults faults;
	struct table_set set;
	const struct table *table;

	(void)state;
	assert_int_equal(parse("{'healthchecks': {'interval_ms': 2000, 'timeout_ms': 1000, 'trigger': 3},"
			       " 'tables': [{'name': 'w\xc3\xa4"
			       "b', " KEYS ", 'hops': 4,"
			       " 'healthchecks': {'trigger_healthy': 1, 'trigger_unhealthy': 2},"
			       " 'binds': [{'ip': '10.0.0.1', 'proto': 'tcp', 'port': 0},"
			       "  {'ip': 'fdb4::/64', 'proto': 'udp', 'port_start': 1000, 'port_end': "
			       "65535}],"
			       " 'backends': [{'ip': '192.168.0.1', 'state': 'filling', 'healthy': true,"
			       "   'healthchecks': {'http': 80, 'http_uri': '/', 'tcp': 22, 'gue': 19523, "
			       "'fou': 1}},"
			       "  {'ip': '192.168.0.2', 'state': 'active', 'healthy': false},"
			       "  {'ip': '192.168.0.3', 'state': 'draining'},"
			       "  {'ip': '192.168.0.4', 'state': 'inactive'}]}]}",
				 &set, &faults),
		0);
	assert_no_fault(&faults);
	assert_int_equal(set.count, 1);
	table = &set.tables[0];
	assert_string_equal(table->name, "w\xc3\xa4"
					 "b");
	assert_int_equal(table->hash_key[1], 0x11);
	assert_int_equal(table->seed[15], 0x00);
	assert_int_equal(table->seed[0], 0xff);
	assert_int_equal(table->hops, 4);
	assert_int_equal(table->bind_count, 2);
	assert_int_equal(table->binds[0].protocol, TABLE_TCP);
	assert_int_equal(table->binds[0].port_end, 0);
	assert_int_equal(table->binds[1].protocol, TABLE_UDP);
	assert_int_equal(table->binds[1].prefix.length, 64);
	assert_int_equal(table->binds[1].port_start, 1000);
	assert_int_equal(table->binds[1].port_end, 65535);
	assert_int_equal(table->backend_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(table->backends[i].addr.bytes[3], i + 1);
		assert_int_equal(table->backends[i].state, i);
		assert_int_equal(table->backends[i].healthy, i != 1);
	}
	assert_null(table->rows);
	table_set_free(&set);
}

static void test_a_file_without_tables_is_valid(void **state)
{
	struct faults faults;
	struct table_set set;

	(void)state;
	assert_int_equal(parse("{'tables': []}", &set, &faults), 0);
	assert_placed(&faults, true, "t.json: tables: is empty: the director forwards nothing");
	assert_int_equal(faults.count, 1);
	assert_int_equal(set.count, 0);
	table_set_free(&set);
	faults_clear(&faults);
}

static void test_missing_members_have_defaults(void **state)
{
	struct faults faults;
	struct table_set set;

	(void)state;
	assert_int_equal(parse(WITH("'_': 0"), &set, &faults), 0);
	assert_int_equal(set.tables[0].hops, 2);
	assert_true(set.tables[0].backends[0].healthy);
	table_set_free(&set);
}

static void test_comments_are_ignored_everywhere(void **state)
{
	struct faults faults;
	struct table_set set;

	(void)state;
	assert_int_equal(parse("{'_comment': [1, 2], 'x-owner': {'a': null}, 'healthchecks': {'_': 1},"
			       " 'tables': [{'name': 'web', 'x-': 1, " KEYS ", 'healthchecks': {'x-a': 1},"
			       " 'binds': [{'ip': '10.0.0.1', 'proto': 'tcp', 'port': 80, '_why': 'x'}],"
			       " 'backends': [{'ip': '1.1.1.1', 'state': 'active', 'x-rack': 7,"
			       "  'healthchecks': {'_': 0}}]}]}",
				 &set, &faults),
		0);
	assert_no_fault(&faults);
	table_set_free(&set);
}

/* GLB's health checks write null for all that is not set, and GLB's tables have no names. */
static void test_what_the_programs_of_glb_write_is_read(void **state)
{
	static const char *const names[] = {"", "'name': '', ", "'name': null, "};
	char document[1024];

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		struct faults faults;
		struct table_set set;

		snprintf(document, sizeof(document),
			"{'healthchecks': null, 'tables': [{%s" KEYS ", 'hops': null, 'healthchecks': null, " BINDS
			", 'backends': [{'ip': '192.168.0.1', 'state': 'active', 'healthy': true, 'healthchecks': "
			"{'http': 80, 'http_uri': null, 'gue': null}}, {'ip': '192.168.0.2', 'state': 'inactive', "
			"'healthy': null, 'healthchecks': null}]}]}",
			names[i]);
		assert_int_equal(parse(document, &set, &faults), 0);
		assert_no_fault(&faults);
		assert_int_equal(set.count, 1);
		assert_null(set.tables[0].name);
		assert_int_equal(set.tables[0].hops, TABLE_DEFAULT_HOPS);
		assert_int_equal(set.tables[0].backend_count, 2);
		assert_true(set.tables[0].backends[1].healthy);
		table_set_free(&set);
	}
}

static void test_replaces_is_a_number_of_16_hex_digits(void **state)
{
	struct faults faults;
	struct table_set set;

	(void)state;
	assert_int_equal(parse("{'tables': [], 'replaces': '0123456789abCDEF'}", &set, &faults), 0);
	assert_int_equal(set.replaces, 0x0123456789abcdef);
	table_set_free(&set);
	faults_clear(&faults);
	assert_int_equal(parse("{'tables': [], 'replaces': null}", &set, &faults), 0);
	assert_int_equal(set.replaces, 0);
	table_set_free(&set);
	faults_clear(&faults);
}

static void test_null_instead_of_an_array_is_an_empty_array(void **state)
{
	struct faults faults;
	struct table_set set;

	(void)state;
	assert_int_equal(parse("{'tables': null}", &set, &faults), 0);
	assert_int_equal(set.count, 0);
	table_set_free(&set);
	faults_clear(&faults);
	assert_warned(TABLE(KEYS ", " BACKENDS ", 'binds': null"),
		"t.json: tables[0].binds: is empty: this table gets no packets");
}

static const struct example structure_examples[] = {
	{"[]", "t.json: an array is not an object"},
	{"{}", "t.json: tables: missing; expected an array of tables"},
	{"{'tables': {}}", "t.json: tables: an object is not an array"},
	{"{'tables': [7]}", "t.json: tables[0]: '7' (a number) is not an object"},
	{"{'tables': [], 'tabels': []}",
		"t.json: tabels: unknown key; did you mean tables? (keys that begin with \"x-\" or \"_\" are comments)"},
	{WITH("'xname': 1"),
		"t.json: tables[0].xname: unknown key; did you mean name? (keys that begin with \"x-\" or \"_\" are comments)"},
	{BIND("'ip': '10.0.0.1', 'proto': 'tcp', 'port': 80, 'ports': 1"),
		"t.json: tables[0].binds[0].ports: unknown key; did you mean port? (keys that begin with \"x-\" or \"_\" are comments)"},
	{BACKEND("'ip': '1.1.1.1', 'state': 'active', 'colour': 1"),
		"t.json: tables[0].backends[0].colour: unknown key; known here: ip, state, healthy, weight, server_id, healthchecks (keys that begin with \"x-\" or \"_\" are comments)"},
	{TABLE(BINDS ", " BACKENDS ", 'hash_key': '00112233445566778899aabbccddeeff'"),
		"t.json: tables[0].seed: missing; expected 32 hex digits"},
	{TABLE(BINDS ", " BACKENDS ", 'seed': '00112233445566778899aabbccddeeff'"),
		"t.json: tables[0].hash_key: missing; expected 32 hex digits"},
	{TABLE(KEYS ", " BINDS), "t.json: tables[0].backends: missing; expected an array of backends"},
	{TABLE(KEYS ", " BACKENDS), "t.json: tables[0].binds: missing; expected an array of binds"},
	{"{'tables': [null]}", "t.json: tables[0]: 'null' is not an object"},
	{TABLE(BINDS ", " BACKENDS ", 'hash_key': '00112233445566778899aabbccddeeff', 'seed': null"),
		"t.json: tables[0].seed: 'null' is not exactly 32 hex digits"},
	{TABLE(KEYS ", " BINDS ", 'backends': null"),
		"t.json: tables[0].backends: no backend; a table needs at least one that is not inactive"},
	{TABLE(KEYS ", " BACKENDS ", 'binds': [null]"), "t.json: tables[0].binds[0]: 'null' is not an object"},
	{"{'tables': [{'name': 'a\\nb', " KEYS ", " BINDS ", " BACKENDS "}]}",
		"t.json: tables[0].name: 'a\\x0ab' is not a name: at most 255 bytes without control characters"},
	{"{'tables': [{'name': 7, " KEYS ", " BINDS ", " BACKENDS "}]}",
		"t.json: tables[0].name: '7' (a number) is not a name: at most 255 bytes without control characters"},
	{"{'tables': [], 'replaces': '0123456789abcde'}",
		"t.json: replaces: '0123456789abcde' is not a fingerprint: 16 hex digits, as glb-director-cli show prints it"},
	{"{'tables': [], 'replaces': '0123456789abcdef0'}",
		"t.json: replaces: '0123456789abcdef0' is not a fingerprint: 16 hex digits, as glb-director-cli show prints it"},
	{"{'tables': [], 'replaces': '0x123456789abcde'}",
		"t.json: replaces: '0x123456789abcde' is not a fingerprint: 16 hex digits, as glb-director-cli show prints it"},
	{"{'tables': [], 'replaces': '0000000000000000'}",
		"t.json: replaces: '0000000000000000' is not a fingerprint: 16 hex digits, as glb-director-cli show prints it"},
	{"{'tables': [], 'replaces': 123}",
		"t.json: replaces: '123' (a number) is not a fingerprint: 16 hex digits, as glb-director-cli show prints it"},
	{WITH("'hops': 1"), "t.json: tables[0].hops: '1' is not an integer from 2 to 8"},
	{WITH("'hops': 9"), "t.json: tables[0].hops: '9' is not an integer from 2 to 8"},
	{WITH("'hops': '2'"), "t.json: tables[0].hops: '2' (a string) is not an integer from 2 to 8"},
	{WITH("'hops': 2.0"), "t.json: tables[0].hops: '2' (a real number) is not an integer from 2 to 8"},
};

static const struct example syntax_examples[] = {
	{"", "t.json:1:0: not JSON: '[' or '{' expected near end of file"},
	{"\xef\xbb\xbf{'tables': []}",
		"t.json: begins with a byte order mark, which JSON does not have: save it as UTF-8 without one"},
	{"{'tables': [\n  {]}", "t.json:2:4: not JSON: string or '}' expected"},
	{"{'tables': [],\n 'tables': []}", "t.json:2:9: not JSON: duplicate object key"},
	{"{'tables': []} x", "t.json:1:16: not JSON: end of file expected"},
	{"{'tables': 99999999999999999999}", "t.json:1:31: not JSON: too big integer"},
	{"{'tables': ['\x01']}", "t.json:1:13: not JSON: control character 0x1"},
	{"{'tables': '\\u0000'}", "t.json:1:19: not JSON: \\u0000 is not allowed without JSON_ALLOW_NUL"},
	{"{'tables': '\xff'}", "t.json:1:12: not JSON: unable to decode byte 0xff"},
};

static void test_wrong_structure_is_named(void **state)
{
	(void)state;
	check_examples(structure_examples, COUNT(structure_examples));
}

static void test_syntax_errors_name_line_and_column(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(syntax_examples); i++) {
		struct faults faults;
		struct table_set set;

		assert_int_equal(parse(syntax_examples[i].document, &set, &faults), -EINVAL);
		assert_string_equal(faults_first_error(&faults), syntax_examples[i].fault);
		faults_clear(&faults);
	}
}

static void test_a_byte_0_is_no_json(void **state)
{
	/* jansson accepts it behind a number. */
	static const char text[] = "{\"x-number\":\n 443\0, \"tables\": []}";
	struct faults faults = {.file = "t.json"};
	struct table_set set;

	(void)state;
	assert_int_equal(table_json_parse(text, sizeof(text) - 1, &set, &faults), -EINVAL);
	assert_string_equal(
		faults_first_error(&faults), "t.json:2: not JSON: has a byte 0, as UTF-16 does: save it as UTF-8");
	faults_clear(&faults);
}

static void test_all_faults_are_named_and_not_only_the_first(void **state)
{
	struct faults faults;
	struct table_set set;

	(void)state;
	assert_int_equal(parse("{'tables': [{'name': 'a', " KEYS ", 'hops': 9, 'colour': 'red',"
			       " 'binds': [{'ip': 'x', 'proto': 'sctp', 'port': 70000}],"
			       " 'backends': [{'ip': '1.1.1.1', 'state': 'up'}, {'ip': '1.1.1.1'}]},"
			       " {'name': 'b'}]}",
				 &set, &faults),
		-EINVAL);
	assert_int_equal(faults.errors, 12);
	assert_placed(&faults, false, "t.json: tables[0].binds[0].ip: 'x' is not an IPv4 or IPv6 address or CIDR prefix");
	assert_placed(&faults, false,
		"t.json: tables[0].backends[1].ip: '1.1.1.1' is listed twice: backends[0] has this address already");
	assert_placed(&faults, false, "t.json: tables[1].hash_key: missing; expected 32 hex digits");
	faults_clear(&faults);
}

static const struct example place_examples[] = {
	/* A value, behind a CRLF and characters of several bytes. */
	{"{\r\n'_': '\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80', 'tables': 7}",
		"t.json:2:23: tables: '7' (a number) is not an array"},
	/* A missing member: the object that should have it. */
	{"{'tables': [\n  {'name': 'a', " KEYS ", " BINDS "}]}",
		"t.json:2:3: tables[0].backends: missing; expected an array of backends"},
	{"\n {}", "t.json:2:2: tables: missing; expected an array of tables"},
	/* An unknown member: its key, also if the key looks like a path or is escaped. */
	{"{'tables': [],\n 'tables[0].x': {'tables': 1}}",
		"t.json:2:2: tables[0].x: unknown key; known here: tables, healthchecks, replaces (keys that begin with \"x-\" or \"_\" are comments)"},
	{"{'_': ['\\'', {'b': 1}],\n 'tables': [], '\\u0062': 1}",
		"t.json:2:16: b: unknown key; known here: tables, healthchecks, replaces (keys that begin with \"x-\" or \"_\" are comments)"},
	/* A warning of table_lint(). */
	{TABLE(KEYS ", " BINDS ",\n'backends': [\n{'state': 'active', 'ip': '127.0.0.1'}]"),
		"t.json:3:27: tables[0].backends[0].ip: '127.0.0.1' is not an address that a proxy can have: packets to it are lost"},
	{TABLE(KEYS ", " BACKENDS ",\n\n'binds': []"),
		"t.json:3:10: tables[0].binds: is empty: this table gets no packets"},
};

static void test_faults_have_line_and_column(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(place_examples); i++) {
		struct faults faults;
		struct table_set set;
		bool warning = parse(place_examples[i].document, &set, &faults) == 0;

		assert_fault(&faults, warning, place_examples[i].fault);
		table_set_free(&set);
		faults_clear(&faults);
	}
}

static void test_long_values_are_cut_and_control_characters_escaped(void **state)
{
	(void)state;
	assert_refused(BACKEND("'ip': "
			       "'0123456789012345678901234567890123456789012345678901234567890123456789',"
			       " 'state': 'active'"),
		"t.json: tables[0].backends[0].ip: '0123456789012345678901234567890123456789012345678901234567890123...' is not an IPv4 or IPv6 address");
	/* A value is not cut within a character. */
	assert_refused(BACKEND("'ip': "
			       "'012345678901234567890123456789012345678901234567890123456789012\xc3\xa4',"
			       " 'state': 'active'"),
		"t.json: tables[0].backends[0].ip: '012345678901234567890123456789012345678901234567890123456789012...' is not an IPv4 or IPv6 address");
	/* Control characters for terminals are escaped. */
	assert_refused(BACKEND("'ip': '\\u001b[2J\\u007f\\u009b\\u00e4', 'state': 'active'"),
		"t.json: tables[0].backends[0].ip: '\\x1b[2J\\x7f\xc2\\x9b\xc3\xa4' is not an IPv4 or IPv6 address");
	/* The same is true for keys. */
	assert_refused("{'tables': [], 'a\\tb': 1}",
		"t.json: a\\x09b: unknown key; known here: tables, healthchecks, replaces (keys that begin with \"x-\" or \"_\" are comments)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_members_are_read),
		cmocka_unit_test(test_a_file_without_tables_is_valid),
		cmocka_unit_test(test_missing_members_have_defaults),
		cmocka_unit_test(test_comments_are_ignored_everywhere),
		cmocka_unit_test(test_what_the_programs_of_glb_write_is_read),
		cmocka_unit_test(test_replaces_is_a_number_of_16_hex_digits),
		cmocka_unit_test(test_null_instead_of_an_array_is_an_empty_array),
		cmocka_unit_test(test_wrong_structure_is_named),
		cmocka_unit_test(test_syntax_errors_name_line_and_column),
		cmocka_unit_test(test_a_byte_0_is_no_json),
		cmocka_unit_test(test_all_faults_are_named_and_not_only_the_first),
		cmocka_unit_test(test_faults_have_line_and_column),
		cmocka_unit_test(test_long_values_are_cut_and_control_characters_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
