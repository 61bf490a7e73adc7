/* SPDX-License-Identifier: BSD-3-Clause */
/* Every rule of formats.md section 2 with its message. Documents are written with ' for ". */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "table/table_json.h"
#include "table_helpers.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define KEYS                                                                                       \
	"'hash_key': '00112233445566778899aabbccddeeff', 'seed': "                                 \
	"'FFeeddccbbaa99887766554433221100'"
#define BINDS            "'binds': [{'ip': '10.0.0.1', 'proto': 'tcp', 'port': 80}]"
#define BACKENDS         "'backends': [{'ip': '192.168.0.1', 'state': 'active'}]"
#define TABLE(members)   "{'tables': [{'name': 'web', " members "}]}"
#define WITH(members)    TABLE(KEYS ", " BINDS ", " BACKENDS ", " members)
#define BIND(members)    TABLE(KEYS ", " BACKENDS ", 'binds': [{" members "}]")
#define BACKEND(members) TABLE(KEYS ", " BINDS ", 'backends': [{" members "}]")
#define CHECKS(members)                                                                            \
	BACKEND("'ip': '192.168.0.1', 'state': 'active', 'healthchecks': {" members "}")

static int parse(const char *document, struct table_set *set, struct faults *faults)
{
	char *text = strdup(document);
	int error;

	for (char *at = text; *at; at++)
		if (*at == '\'')
			*at = '"';
	*faults = (struct faults){.file = "t.json"};
	error = table_json_parse(text, strlen(text), set, faults);
	free(text);
	return error;
}

static void assert_refused(const char *document, const char *expected)
{
	struct faults faults;
	struct table_set set;

	assert_int_equal(parse(document, &set, &faults), -EINVAL);
	assert_fault(&faults, false, expected);
	/* One mistake, one error. */
	assert_int_equal(faults.errors, 1);
	assert_null(set.tables);
	faults_clear(&faults);
}

static void assert_warned(const char *document, const char *expected)
{
	struct faults faults;
	struct table_set set;

	assert_int_equal(parse(document, &set, &faults), 0);
	assert_fault(&faults, true, expected);
	assert_int_equal(faults.count, 1);
	table_set_free(&set);
	faults_clear(&faults);
}

static void test_all_members(void **state)
{
	struct faults faults;
	struct table_set set;
	const struct table *table;

	(void)state;
	assert_int_equal(
		parse("{'healthchecks': {'interval_ms': 2000, 'timeout_ms': 1000, 'trigger': 3},"
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

static void test_no_tables_are_valid(void **state)
{
	struct faults faults;
	struct table_set set;

	(void)state;
	assert_int_equal(parse("{'tables': []}", &set, &faults), 0);
	assert_no_fault(&faults);
	assert_int_equal(set.count, 0);
	table_set_free(&set);
}

static void test_defaults(void **state)
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
	assert_int_equal(
		parse("{'_comment': [1, 2], 'x-owner': {'a': null}, 'healthchecks': {'_': 1},"
		      " 'tables': [{'name': 'web', 'x-': 1, " KEYS ", 'healthchecks': {'x-a': 1},"
		      " 'binds': [{'ip': '10.0.0.1', 'proto': 'tcp', 'port': 80, '_why': 'x'}],"
		      " 'backends': [{'ip': '1.1.1.1', 'state': 'active', 'x-rack': 7,"
		      "  'healthchecks': {'_': 0}}]}]}",
			&set, &faults),
		0);
	assert_no_fault(&faults);
	table_set_free(&set);
}

struct example {
	const char *document, *fault;
};

static const struct example structure_examples[] = {
	{"[]", "t.json: an array is not an object"},
	{"{}", "t.json: tables: missing; expected an array of tables"},
	{"{'tables': {}}", "t.json: tables: an object is not an array"},
	{"{'tables': null}", "t.json: tables: 'null' is not an array"},
	{"{'tables': [7]}", "t.json: tables[0]: '7' (a number) is not an object"},
	{"{'tables': [], 'tabels': []}", "t.json: tabels: unknown key; known here: tables, "
					 "healthchecks (keys that begin with "
					 "\"x-\" or \"_\" are comments)"},
	{WITH("'xname': 1"),
		"t.json: tables[0].xname: unknown key; known here: name, hash_key, seed, hops, "
		"binds, "
		"backends, healthchecks (keys that begin with \"x-\" or \"_\" are comments)"},
	{BIND("'ip': '10.0.0.1', 'proto': 'tcp', 'port': 80, 'ports': 1"),
		"t.json: tables[0].binds[0].ports: unknown key; known here: ip, proto, port, "
		"port_start, port_end (keys that begin with \"x-\" or \"_\" are comments)"},
	{BACKEND("'ip': '1.1.1.1', 'state': 'active', 'weight': 1"),
		"t.json: tables[0].backends[0].weight: unknown key; known here: ip, state, "
		"healthy, "
		"healthchecks (keys that begin with \"x-\" or \"_\" are comments)"},
	{TABLE(BINDS ", " BACKENDS ", 'hash_key': '00112233445566778899aabbccddeeff'"),
		"t.json: tables[0].seed: missing; expected 32 hex digits"},
	{TABLE(BINDS ", " BACKENDS ", 'seed': '00112233445566778899aabbccddeeff'"),
		"t.json: tables[0].hash_key: missing; expected 32 hex digits"},
	{TABLE(KEYS ", " BINDS),
		"t.json: tables[0].backends: missing; expected an array of backends"},
	{TABLE(KEYS ", " BACKENDS), "t.json: tables[0].binds: missing; expected an array of binds"},
	{"{'tables': [{" KEYS ", " BINDS ", " BACKENDS "}]}",
		"t.json: tables[0].name: missing; expected a name"},
	{"{'tables': [{'name': '', " KEYS ", " BINDS ", " BACKENDS "}]}",
		"t.json: tables[0].name: '' is not a name: 1 to 255 bytes without control "
		"characters"},
	{"{'tables': [{'name': 'a\\nb', " KEYS ", " BINDS ", " BACKENDS "}]}",
		"t.json: tables[0].name: 'a\\x0ab' is not a name: 1 to 255 bytes without control "
		"characters"},
	{"{'tables': [{'name': 7, " KEYS ", " BINDS ", " BACKENDS "}]}",
		"t.json: tables[0].name: '7' (a number) is not a name: 1 to 255 bytes without "
		"control "
		"characters"},
	{WITH("'hops': 1"), "t.json: tables[0].hops: '1' is not an integer from 2 to 4"},
	{WITH("'hops': 5"), "t.json: tables[0].hops: '5' is not an integer from 2 to 4"},
	{WITH("'hops': '2'"),
		"t.json: tables[0].hops: '2' (a string) is not an integer from 2 to 4"},
	{WITH("'hops': 2.0"),
		"t.json: tables[0].hops: '2' (a real number) is not an integer from 2 to 4"},
};

static const struct example keys_examples[] = {
	{TABLE(BINDS ", " BACKENDS
		     ", 'seed': '00112233445566778899aabbccddeeff', 'hash_key': '0011'"),
		"t.json: tables[0].hash_key: '0011' (4 characters) is not exactly 32 hex digits"},
	{TABLE(BINDS ", " BACKENDS ", 'hash_key': '00112233445566778899aabbccddeeff', "
		     "'seed': '00112233445566778899aabbccddeeff0'"),
		"t.json: tables[0].seed: '00112233...' (33 characters) is not exactly 32 hex digits"},
	{TABLE(BINDS ", " BACKENDS ", 'hash_key': '00112233445566778899aabbccddeeff', "
		     "'seed': '0x112233445566778899aabbccddeeff'"),
		"t.json: tables[0].seed: '0x112233...' (32 characters) is not exactly 32 hex digits"},
	{TABLE(BINDS ", " BACKENDS ", 'hash_key': '00112233445566778899aabbccddeeff', 'seed': 12"),
		"t.json: tables[0].seed: a number is not exactly 32 hex digits"},
};

static const struct example binds_examples[] = {
	{TABLE(KEYS ", " BACKENDS ", 'binds': {}"),
		"t.json: tables[0].binds: an object is not an array"},
	{TABLE(KEYS ", " BACKENDS ", 'binds': ['a']"),
		"t.json: tables[0].binds[0]: 'a' (a string) is not an object"},
	{BIND("'ip': '10.0.0', 'proto': 'tcp', 'port': 80"),
		"t.json: tables[0].binds[0].ip: '10.0.0' is not an IPv4 or IPv6 address or CIDR "
		"prefix"},
	{BIND("'ip': '10.0.0.0/33', 'proto': 'tcp', 'port': 80"),
		"t.json: tables[0].binds[0].ip: '10.0.0.0/33' is not an IPv4 or IPv6 address or "
		"CIDR "
		"prefix"},
	{BIND("'proto': 'tcp', 'port': 80"), "t.json: tables[0].binds[0].ip: missing; expected an "
					     "IPv4 or IPv6 address or CIDR prefix"},
	{BIND("'ip': '10.0.0.0', 'port': 80"),
		"t.json: tables[0].binds[0].proto: missing; expected tcp or udp"},
	{BIND("'ip': '10.0.0.0', 'proto': 'TCP', 'port': 80"),
		"t.json: tables[0].binds[0].proto: 'TCP' is not a protocol: tcp or udp"},
	{BIND("'ip': '10.0.0.0', 'proto': 6, 'port': 80"),
		"t.json: tables[0].binds[0].proto: '6' (a number) is not a protocol: tcp or udp"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp'"), "t.json: tables[0].binds[0].port: missing; "
						   "expected port, or port_start and port_end"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port': 65536"),
		"t.json: tables[0].binds[0].port: '65536' is not an integer from 0 to 65535"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port': -1"),
		"t.json: tables[0].binds[0].port: '-1' is not an integer from 0 to 65535"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port': 9223372036854775807"),
		"t.json: tables[0].binds[0].port: '9223372036854775807' is not an integer from 0 "
		"to "
		"65535"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port': 80.5"),
		"t.json: tables[0].binds[0].port: '80.5' (a real number) is not an integer from 0 "
		"to "
		"65535"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port': 1e3"),
		"t.json: tables[0].binds[0].port: '1000' (a real number) is not an integer from 0 "
		"to "
		"65535"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port': true"),
		"t.json: tables[0].binds[0].port: 'true' is not an integer from 0 to 65535"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port_start': 80"),
		"t.json: tables[0].binds[0].port_end: missing; port_start and port_end belong "
		"together"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port_end': 80"),
		"t.json: tables[0].binds[0].port_start: missing; port_start and port_end belong "
		"together"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port_start': 81, 'port_end': 80"),
		"t.json: tables[0].binds[0].port_start: '81' is greater than port_end '80'"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port_start': 81, 'port_end': 70000"),
		"t.json: tables[0].binds[0].port_end: '70000' is not an integer from 0 to 65535"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port': 80, 'port_end': 80"),
		"t.json: tables[0].binds[0].port: given together with port_start or port_end; give "
		"either port, or both of the others"},
};

static const struct example backends_examples[] = {
	{BACKEND("'ip': '10.0.0.300', 'state': 'active'"),
		"t.json: tables[0].backends[0].ip: '10.0.0.300' is not an IPv4 or IPv6 address"},
	{BACKEND("'ip': '10.0.0.0/8', 'state': 'active'"),
		"t.json: tables[0].backends[0].ip: '10.0.0.0/8' is not an IPv4 or IPv6 address"},
	{BACKEND("'ip': 167772160, 'state': 'active'"),
		"t.json: tables[0].backends[0].ip: '167772160' (a number) is not an IPv4 or IPv6 "
		"address"},
	{BACKEND("'state': 'active'"),
		"t.json: tables[0].backends[0].ip: missing; expected an IPv4 or IPv6 address"},
	{BACKEND("'ip': '10.0.0.1'"), "t.json: tables[0].backends[0].state: missing; expected "
				      "active, filling, draining or "
				      "inactive"},
	{BACKEND("'ip': '10.0.0.1', 'state': 'up'"), "t.json: tables[0].backends[0].state: 'up' is "
						     "not a state: active, filling, draining "
						     "or inactive"},
	{BACKEND("'ip': '10.0.0.1', 'state': 1"), "t.json: tables[0].backends[0].state: '1' (a "
						  "number) is not a state: active, filling, "
						  "draining or inactive"},
	{BACKEND("'ip': '10.0.0.1', 'state': 'active', 'healthy': 1"),
		"t.json: tables[0].backends[0].healthy: '1' (a number) is not true or false"},
	{BACKEND("'ip': '10.0.0.1', 'state': 'active', 'healthy': 'true'"),
		"t.json: tables[0].backends[0].healthy: 'true' (a string) is not true or false"},
	{TABLE(KEYS ", " BINDS ", 'backends': []"),
		"t.json: tables[0].backends: no backend; a table needs at least one that is not "
		"inactive"},
	{BACKEND("'ip': '10.0.0.1', 'state': 'inactive'"),
		"t.json: tables[0].backends: every backend is inactive; a table needs at least one "
		"that is not inactive"},
	{TABLE(KEYS
		 ", " BINDS ", 'backends': [{'ip': '1.1.1.1', 'state': 'active'}, "
		 "{'ip': '1.1.1.2', 'state': 'active'}, {'ip': '1.1.1.1', 'state': 'inactive'}]"),
		"t.json: tables[0].backends[2].ip: '1.1.1.1' is listed twice: backends[0] has this "
		"address already"},
	{TABLE(KEYS
		 ", " BINDS ", 'backends': [{'ip': '192.168.0.9', 'state': 'active'}, "
		 "{'ip': 'FD00:0::1', 'state': 'active'}, {'ip': 'fd00::0:1', 'state': 'active'}]"),
		"t.json: tables[0].backends[2].ip: 'fd00::1' is listed twice: backends[1] has this "
		"address already"},
};

static const struct example healthchecks_examples[] = {
	{"{'tables': [], 'healthchecks': 1}",
		"t.json: healthchecks: '1' (a number) is not an object"},
	{"{'tables': [], 'healthchecks': {'interval_ms': 0}}",
		"t.json: healthchecks.interval_ms: '0' is not an integer from 1 to 2147483647"},
	{"{'tables': [], 'healthchecks': {'timeout_ms': '5'}}",
		"t.json: healthchecks.timeout_ms: '5' (a string) is not an integer from 1 to "
		"2147483647"},
	{"{'tables': [], 'healthchecks': {'trigger': -3}}",
		"t.json: healthchecks.trigger: '-3' is not an integer from 1 to 2147483647"},
	{"{'tables': [], 'healthchecks': {'interval': 1}}",
		"t.json: healthchecks.interval: unknown key; known here: interval_ms, timeout_ms, "
		"trigger, trigger_healthy, trigger_unhealthy (keys that begin with \"x-\" or \"_\" "
		"are "
		"comments)"},
	{WITH("'healthchecks': {'trigger': 1.5}"), "t.json: tables[0].healthchecks.trigger: '1.5' "
						   "(a real number) is not an integer from "
						   "1 to 2147483647"},
	{CHECKS("'http': 0"),
		"t.json: tables[0].backends[0].healthchecks.http: '0' is not an integer from 1 to "
		"65535"},
	{CHECKS("'tcp': 65536"), "t.json: tables[0].backends[0].healthchecks.tcp: '65536' is not "
				 "an integer from 1 to "
				 "65535"},
	{CHECKS("'gue': null"), "t.json: tables[0].backends[0].healthchecks.gue: 'null' is not an "
				"integer from 1 to "
				"65535"},
	{CHECKS("'fou': []"), "t.json: tables[0].backends[0].healthchecks.fou: an array is not an "
			      "integer from 1 to "
			      "65535"},
	{CHECKS("'http_uri': 'status'"),
		"t.json: tables[0].backends[0].healthchecks.http_uri: 'status' is not a path that "
		"starts with '/'"},
	{CHECKS("'http_uri': 1"),
		"t.json: tables[0].backends[0].healthchecks.http_uri: '1' (a number) is not a path "
		"that starts with '/'"},
	{CHECKS("'https': 443"),
		"t.json: tables[0].backends[0].healthchecks.https: unknown key; known here: http, "
		"http_uri, tcp, gue, fou (keys that begin with \"x-\" or \"_\" are comments)"},
};

static const struct example syntax_examples[] = {
	{"", "t.json:1:0: not JSON: '[' or '{' expected near end of file"},
	{"{'tables': [\n  {]}", "t.json:2:4: not JSON: string or '}' expected near ']'"},
	{"{'tables': [],\n 'tables': []}",
		"t.json:2:9: not JSON: duplicate object key near '\"tables\"'"},
	{"{'tables': []} x", "t.json:1:16: not JSON: end of file expected near 'x'"},
	{"{'tables': 99999999999999999999}",
		"t.json:1:31: not JSON: too big integer near '99999999999999999999'"},
	{"{'tables': ['\x01']}", "t.json:1:13: not JSON: control character 0x1 near '\"'"},
	{"{'tables': '\\u0000'}", "t.json:1:19: not JSON: \\u0000 is not allowed without "
				  "JSON_ALLOW_NUL near '\"\\u0000\"'"},
	{"{'tables': '\xff'}", "t.json:1:12: not JSON: unable to decode byte 0xff near '\"'"},
};

static void check_examples(const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_refused(examples[i].document, examples[i].fault);
}

static void test_structure(void **state)
{
	(void)state;
	check_examples(structure_examples, COUNT(structure_examples));
}

static void test_keys(void **state)
{
	(void)state;
	check_examples(keys_examples, COUNT(keys_examples));
}

static void test_binds(void **state)
{
	(void)state;
	check_examples(binds_examples, COUNT(binds_examples));
}

static void test_backends(void **state)
{
	(void)state;
	check_examples(backends_examples, COUNT(backends_examples));
}

static void test_healthchecks(void **state)
{
	(void)state;
	check_examples(healthchecks_examples, COUNT(healthchecks_examples));
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

static void test_all_faults_are_named_not_just_the_first(void **state)
{
	struct faults faults;
	struct table_set set;

	(void)state;
	assert_int_equal(
		parse("{'tables': [{'name': 'a', " KEYS ", 'hops': 9, 'colour': 'red',"
		      " 'binds': [{'ip': 'x', 'proto': 'sctp', 'port': 70000}],"
		      " 'backends': [{'ip': '1.1.1.1', 'state': 'up'}, {'ip': '1.1.1.1'}]},"
		      " {'name': 'b'}]}",
			&set, &faults),
		-EINVAL);
	assert_int_equal(faults.errors, 12);
	assert_fault(&faults, false,
		"t.json: tables[0].binds[0].ip: 'x' is not an IPv4 or IPv6 "
		"address or CIDR prefix");
	assert_fault(&faults, false,
		"t.json: tables[0].backends[1].ip: '1.1.1.1' is listed twice: "
		"backends[0] has this address already");
	assert_fault(&faults, false, "t.json: tables[1].hash_key: missing; expected 32 hex digits");
	faults_clear(&faults);
}

static void test_long_and_odd_values_are_cut_and_escaped(void **state)
{
	(void)state;
	assert_refused(
		BACKEND("'ip': "
			"'0123456789012345678901234567890123456789012345678901234567890123456789',"
			" 'state': 'active'"),
		"t.json: tables[0].backends[0].ip: "
		"'01234567890123456789012345678901234567890123456789"
		"01234567890123...' is not an IPv4 or IPv6 address");
	/* Not in the middle of a character, */
	assert_refused(
		BACKEND("'ip': "
			"'012345678901234567890123456789012345678901234567890123456789012\xc3\xa4',"
			" 'state': 'active'"),
		"t.json: tables[0].backends[0].ip: "
		"'01234567890123456789012345678901234567890123456789"
		"0123456789012...' is not an IPv4 or IPv6 address");
	/* nothing that a terminal would obey, */
	assert_refused(BACKEND("'ip': '\\u001b[2J\\u007f\\u009b\\u00e4', 'state': 'active'"),
		"t.json: tables[0].backends[0].ip: '\\x1b[2J\\x7f\xc2\\x9b\xc3\xa4' is not an IPv4 "
		"or "
		"IPv6 address");
	/* and the same for keys. */
	assert_refused("{'tables': [], 'a\\tb': 1}", "t.json: a\\x09b: unknown key; known here: "
						     "tables, healthchecks (keys that begin with "
						     "\"x-\" or \"_\" are comments)");
}

static const struct example warnings_examples[] = {
	{BIND("'ip': '10.0.0.1/8', 'proto': 'tcp', 'port': 80"),
		"t.json: tables[0].binds[0].ip: '10.0.0.1/8' has bits set beyond the prefix "
		"length: "
		"'10.0.0.0/8' is meant"},
	{TABLE(KEYS ", " BACKENDS ", 'binds': []"),
		"t.json: tables[0].binds: there are none: this table gets no packets"},
	{BACKEND("'ip': 'fd00::1', 'state': 'active'"),
		"t.json: tables[0].backends[0].ip: 'fd00::1' is an IPv6 address: hops in GUE are "
		"IPv4, "
		"the director refuses this table"},
	{TABLE(KEYS ", " BINDS ", 'backends': [{'ip': '1.1.1.1', 'state': 'active'}, "
		    "{'ip': 'fd00::2', 'state': 'active'}, {'ip': 'fd00::1', 'state': 'active'}]"),
		"t.json: tables[0].backends[1].ip: 'fd00::2' is an IPv6 address (and 1 more of "
		"this "
		"table): hops in GUE are IPv4, the director refuses this table"},
	{BACKEND("'ip': '1.1.1.1', 'state': 'draining'"),
		"t.json: tables[0].backends: none of 1 is good (active or filling, and healthy): "
		"new "
		"connections go to backends that should not get them"},
	{BACKEND("'ip': '1.1.1.1', 'state': 'active', 'healthy': false"),
		"t.json: tables[0].backends: none of 1 is good (active or filling, and healthy): "
		"new "
		"connections go to backends that should not get them"},
	{TABLE(BINDS ", " BACKENDS ", 'hash_key': '00000000000000000000000000000000', "
		     "'seed': '00112233445566778899aabbccddeeff'"),
		"t.json: tables[0].hash_key: '00000000000000000000000000000000' is no secret: make "
		"one "
		"with `openssl rand -hex 16`"},
	{TABLE(BINDS ", " BACKENDS ", 'hash_key': '00112233445566778899aabbccddeeff', "
		     "'seed': '00000000000000000000000000000000'"),
		"t.json: tables[0].seed: '00000000000000000000000000000000' is no secret: make one "
		"with `openssl rand -hex 16`"},
	{"{'tables': [{'name': 'a', " KEYS ", " BINDS ", " BACKENDS "}, {'name': 'a', " KEYS
	 ", " BACKENDS ", 'binds': [{'ip': '10.0.0.1', 'proto': 'udp', 'port': 80}]}]}",
		"t.json: tables[1].name: 'a' is the name of tables[0] too"},
	{"{'tables': [{'name': 'a', " KEYS ", " BINDS ", " BACKENDS "}, {'name': 'b', " KEYS
	 ", " BACKENDS
	 ", 'binds': [{'ip': '10.0.0.0/24', 'proto': 'tcp', 'port_start': 1, 'port_end': 80}]}]}",
		"t.json: tables[1].binds[0]: 'tcp 10.0.0.0/24 port 1-80' overlaps 'tcp 10.0.0.1 "
		"port "
		"80' (tables[0].binds[0]): table 'a' wins"},
	{TABLE(KEYS ", " BACKENDS ", 'binds': [{'ip': '10.0.0.0/8', 'proto': 'tcp', 'port': 80}, "
		    "{'ip': '10.0.0.1', 'proto': 'tcp', 'port': 80}]"),
		"t.json: tables[0].binds[1]: 'tcp 10.0.0.1 port 80' overlaps 'tcp 10.0.0.0/8 port "
		"80' "
		"(binds[0]) of the same table"},
};

static void test_warnings(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(warnings_examples); i++)
		assert_warned(warnings_examples[i].document, warnings_examples[i].fault);
}

/* A document of `tables` tables of so many binds and backends; broken: with bad addresses. */
static char *large_document(unsigned tables, unsigned binds, unsigned backends, bool broken)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	fprintf(to, "{\"tables\":[");
	for (unsigned t = 0; t < tables; t++) {
		fprintf(to,
			"%s{\"name\":\"%u\",\"hash_key\":\"%032d\",\"seed\":\"%032d\",\"binds\":[",
			t ? "," : "", t, 1, 1);
		for (unsigned i = 0; i < binds; i++)
			fprintf(to, "%s{\"ip\":\"10.%u.%u.1/24\",\"proto\":\"tcp\",\"port\":%u}",
				i ? "," : "", i / 256, i % 256, t);
		fprintf(to, "],\"backends\":[");
		for (unsigned i = 0; i < backends; i++)
			fprintf(to, "%s{\"ip\":\"10.%u.%u.%s\",\"state\":\"active\"}", i ? "," : "",
				i / 256, i % 256, broken ? "x" : "1");
		fprintf(to, "]}");
	}
	fprintf(to, "]}");
	fclose(to);
	return text;
}

static void test_limits(void **state)
{
	static const struct {
		unsigned tables, binds, backends;
		const char *error;
	} cases[] = {
		{64, 1, 1, NULL},
		{65, 1, 1, "t.json: tables: 65 elements; at most 64 are possible"},
		{1, 4096, 1, NULL},
		{1, 4097, 1, "t.json: tables[0].binds: 4097 elements; at most 4096 are possible"},
		{1, 1, 4096, NULL},
		{1, 1, 4097,
			"t.json: tables[0].backends: 4097 elements; at most 4096 are possible"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char *text =
			large_document(cases[i].tables, cases[i].binds, cases[i].backends, false);
		struct faults faults;
		struct table_set set;

		assert_int_equal(parse(text, &set, &faults), cases[i].error ? -EINVAL : 0);
		if (cases[i].error)
			assert_fault(&faults, false, cases[i].error);
		assert_int_equal(faults.errors, cases[i].error != NULL);
		table_set_free(&set);
		faults_clear(&faults);
		free(text);
	}
}

static void test_warnings_of_one_kind_are_capped_in_each_table(void **state)
{
	char *text = large_document(2, 500, 1, false);
	struct faults faults;
	struct table_set set;

	(void)state;
	assert_int_equal(parse(text, &set, &faults), 0);
	assert_int_equal(faults.count, 2 * 11);
	assert_fault(&faults, true,
		"t.json: tables[1].binds: 490 more binds have bits set beyond the prefix length");
	table_set_free(&set);
	faults_clear(&faults);
	free(text);
}

static void test_errors_are_bounded(void **state)
{
	char *text = large_document(5, 0, 4096, true);
	struct faults faults;
	struct table_set set;

	(void)state;
	assert_int_equal(parse(text, &set, &faults), -EINVAL);
	assert_int_equal(faults.errors, 10001);
	assert_fault(&faults, false, "t.json: more than 10000 faults: the rest is not listed");
	faults_clear(&faults);
	free(text);
}

static void test_deep_nesting_is_refused(void **state)
{
	char *text = malloc(1000001);
	struct faults faults;
	struct table_set set;

	(void)state;
	memset(text, '[', 1000000);
	text[1000000] = '\0';
	assert_int_equal(parse(text, &set, &faults), -EINVAL);
	assert_string_equal(faults_first_error(&faults),
		"t.json:1:2049: not JSON: maximum parsing depth reached near '['");
	faults_clear(&faults);
	free(text);
}

static char folder[] = "/tmp/test_table_json.XXXXXX";

static int enter_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
	(void)state;
	return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void assert_unreadable(const char *path, int error, const char *text)
{
	struct faults faults = {.file = path};
	struct table_set set;

	assert_int_equal(table_json_read(path, &set, &faults), error);
	assert_string_equal(faults_first_error(&faults), text);
	assert_int_equal(faults.count, 1);
	faults_clear(&faults);
}

static void test_files_that_cannot_be_read(void **state)
{
	FILE *big;

	(void)state;
	assert_unreadable("none", -ENOENT, "none: cannot be opened: No such file or directory");
	assert_unreadable(".", -EISDIR, ".: is a directory; expected a regular file");
	assert_unreadable("/dev/null", -EINVAL, "/dev/null: is a device; expected a regular file");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_unreadable("fifo", -EINVAL, "fifo: is a FIFO; expected a regular file");
	unlink("fifo");
	big = fopen("big", "w");
	assert_int_equal(ftruncate(fileno(big), 64 * 1024 * 1024 + 1), 0);
	fclose(big);
	assert_unreadable("big", -EFBIG, "big: has 67108865 bytes; a table has at most 67108864");
	unlink("big");
}

static void test_file_is_read(void **state)
{
	struct faults faults = {.file = "t.json"};
	struct table_set set;
	FILE *to = fopen("t.json", "w");

	(void)state;
	fputs("{\"tables\": []}", to);
	fclose(to);
	assert_int_equal(table_json_read("t.json", &set, &faults), 0);
	assert_no_fault(&faults);
	table_set_free(&set);
	unlink("t.json");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_members),
		cmocka_unit_test(test_no_tables_are_valid),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_comments_are_ignored_everywhere),
		cmocka_unit_test(test_structure),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_binds),
		cmocka_unit_test(test_backends),
		cmocka_unit_test(test_healthchecks),
		cmocka_unit_test(test_syntax_errors_name_line_and_column),
		cmocka_unit_test(test_all_faults_are_named_not_just_the_first),
		cmocka_unit_test(test_long_and_odd_values_are_cut_and_escaped),
		cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_warnings_of_one_kind_are_capped_in_each_table),
		cmocka_unit_test(test_errors_are_bounded),
		cmocka_unit_test(test_deep_nesting_is_refused),
		cmocka_unit_test(test_files_that_cannot_be_read),
		cmocka_unit_test(test_file_is_read),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
