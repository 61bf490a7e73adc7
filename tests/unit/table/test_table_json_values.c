/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rule for values in docs/reference/table-json.md, and the message if a value breaks it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/table/table_json_helpers.h"

static const struct example keys_examples[] = {
	{TABLE(BINDS ", " BACKENDS ", 'seed': '00112233445566778899aabbccddeeff', 'hash_key': '0011'"),
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
	{TABLE(KEYS ", " BACKENDS ", 'binds': {}"), "t.json: tables[0].binds: an object is not an array"},
	{TABLE(KEYS ", " BACKENDS ", 'binds': ['a']"), "t.json: tables[0].binds[0]: 'a' (a string) is not an object"},
	{BIND("'ip': '10.0.0', 'proto': 'tcp', 'port': 80"),
		"t.json: tables[0].binds[0].ip: '10.0.0' is not an IPv4 or IPv6 address or CIDR prefix"},
	{BIND("'ip': '10.0.0.0/33', 'proto': 'tcp', 'port': 80"),
		"t.json: tables[0].binds[0].ip: '10.0.0.0/33' is not an IPv4 or IPv6 address or CIDR prefix"},
	{BIND("'proto': 'tcp', 'port': 80"),
		"t.json: tables[0].binds[0].ip: missing; expected an IPv4 or IPv6 address or CIDR prefix"},
	{BIND("'ip': '10.0.0.0', 'port': 80"), "t.json: tables[0].binds[0].proto: missing; expected tcp or udp"},
	{BIND("'ip': '10.0.0.0', 'proto': 'TCP', 'port': 80"),
		"t.json: tables[0].binds[0].proto: 'TCP' is not a protocol: tcp or udp"},
	{BIND("'ip': '10.0.0.0', 'proto': 6, 'port': 80"),
		"t.json: tables[0].binds[0].proto: '6' (a number) is not a protocol: tcp or udp"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp'"),
		"t.json: tables[0].binds[0].port: missing; expected port, or port_start and port_end"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port': 65536"),
		"t.json: tables[0].binds[0].port: '65536' is not an integer from 0 to 65535"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port': -1"),
		"t.json: tables[0].binds[0].port: '-1' is not an integer from 0 to 65535"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port': 9223372036854775807"),
		"t.json: tables[0].binds[0].port: '9223372036854775807' is not an integer from 0 to 65535"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port': 80.5"),
		"t.json: tables[0].binds[0].port: '80.5' (a real number) is not an integer from 0 to 65535"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port': 1e3"),
		"t.json: tables[0].binds[0].port: '1000' (a real number) is not an integer from 0 to 65535"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port': true"),
		"t.json: tables[0].binds[0].port: 'true' is not an integer from 0 to 65535"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port_start': 80"),
		"t.json: tables[0].binds[0].port_end: missing; port_start and port_end belong together"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port_end': 80"),
		"t.json: tables[0].binds[0].port_start: missing; port_start and port_end belong together"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port_start': 81, 'port_end': 80"),
		"t.json: tables[0].binds[0].port_start: '81' is greater than port_end '80'"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port_start': 1, 'port_end': 0"),
		"t.json: tables[0].binds[0].port_start: '1' is greater than port_end '0'"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port_start': 81, 'port_end': 70000"),
		"t.json: tables[0].binds[0].port_end: '70000' is not an integer from 0 to 65535"},
	{BIND("'ip': '10.0.0.0', 'proto': 'tcp', 'port': 80, 'port_end': 80"),
		"t.json: tables[0].binds[0].port: given together with port_start or port_end; give either port, or both port_start and port_end"},
};

static const struct example backends_examples[] = {
	{BACKEND("'ip': '10.0.0.300', 'state': 'active'"),
		"t.json: tables[0].backends[0].ip: '10.0.0.300' is not an IPv4 or IPv6 address"},
	{BACKEND("'ip': '10.0.0.0/8', 'state': 'active'"),
		"t.json: tables[0].backends[0].ip: '10.0.0.0/8' is not an IPv4 or IPv6 address"},
	{BACKEND("'ip': 167772160, 'state': 'active'"),
		"t.json: tables[0].backends[0].ip: '167772160' (a number) is not an IPv4 or IPv6 address"},
	{BACKEND("'state': 'active'"), "t.json: tables[0].backends[0].ip: missing; expected an IPv4 or IPv6 address"},
	{BACKEND("'ip': '10.0.0.2'"),
		"t.json: tables[0].backends[0].state: missing; expected active, filling, draining or inactive"},
	{BACKEND("'ip': '10.0.0.2', 'state': 'up'"),
		"t.json: tables[0].backends[0].state: 'up' is not a state: active, filling, draining or inactive"},
	{BACKEND("'ip': '10.0.0.2', 'state': 1"),
		"t.json: tables[0].backends[0].state: '1' (a number) is not a state: active, filling, draining or inactive"},
	{BACKEND("'ip': '10.0.0.2', 'state': 'active', 'healthy': 1"),
		"t.json: tables[0].backends[0].healthy: '1' (a number) is not true or false"},
	{BACKEND("'ip': '10.0.0.2', 'state': 'active', 'healthy': 'true'"),
		"t.json: tables[0].backends[0].healthy: 'true' (a string) is not true or false"},
	{TABLE(KEYS ", " BINDS ", 'backends': []"),
		"t.json: tables[0].backends: no backend; a table needs at least one that is not inactive"},
	{BACKEND("'ip': '10.0.0.2', 'state': 'inactive'"),
		"t.json: tables[0].backends: every backend is inactive; a table needs at least one that is not inactive"},
	{TABLE(KEYS ", " BINDS ", 'backends': [{'ip': '1.1.1.1', 'state': 'active'}, "
		    "{'ip': '1.1.1.2', 'state': 'active'}, {'ip': '1.1.1.1', 'state': 'inactive'}]"),
		"t.json: tables[0].backends[2].ip: '1.1.1.1' is listed twice: backends[0] has this address already"},
};

#define STATE             "'time': '2026-01-01T00:00:00Z', "
#define PREVIOUS(members) WITH("'previous': [{" members "}]")

static const struct example previous_examples[] = {
	{WITH("'balance': 1"), "t.json: tables[0].balance: '1' is not a number from 1.005 to 2 with at most 3 decimals"},
	{WITH("'balance': 3"), "t.json: tables[0].balance: '3' is not a number from 1.005 to 2 with at most 3 decimals"},
	{WITH("'balance': -1.5"),
		"t.json: tables[0].balance: '-1.5' is not a number from 1.005 to 2 with at most 3 decimals"},
	{WITH("'balance': 1.0625"),
		"t.json: tables[0].balance: '1.0625' is not a number from 1.005 to 2 with at most 3 decimals"},
	{WITH("'balance': 1e308"),
		"t.json: tables[0].balance: '1e+308' is not a number from 1.005 to 2 with at most 3 decimals"},
	{WITH("'balance': '1.02'"),
		"t.json: tables[0].balance: '1.02' (a string) is not a number from 1.005 to 2 with at most 3 decimals"},
	{WITH("'balance': true"),
		"t.json: tables[0].balance: 'true' is not a number from 1.005 to 2 with at most 3 decimals"},
	{WITH("'previous': {}"), "t.json: tables[0].previous: an object is not an array"},
	{WITH("'previous': [1]"), "t.json: tables[0].previous[0]: '1' (a number) is not an object"},
	{PREVIOUS("'backends': []"),
		"t.json: tables[0].previous[0].time: missing; expected the time when a newer state replaced this one, like 2026-01-01T00:00:00Z"},
	{PREVIOUS("'time': 1767225600, 'backends': []"),
		"t.json: tables[0].previous[0].time: '1767225600' (a number) is not a time in UTC like 2026-01-01T00:00:00Z"},
	{PREVIOUS("'time': '2026-02-30T00:00:00Z', 'backends': []"),
		"t.json: tables[0].previous[0].time: '2026-02-30T00:00:00Z' is not a time in UTC like 2026-01-01T00:00:00Z"},
	{PREVIOUS("'time': '2026-01-01T00:00:00Z'"),
		"t.json: tables[0].previous[0].backends: missing; expected an array of the backends that could be first hops"},
	{PREVIOUS(STATE "'balance': 2.5, 'backends': []"),
		"t.json: tables[0].previous[0].balance: '2.5' is not a number from 1.005 to 2 with at most 3 decimals"},
	{PREVIOUS(STATE "'backends': 7"), "t.json: tables[0].previous[0].backends: '7' (a number) is not an array"},
	{PREVIOUS(STATE "'backends': [{'weight': 7}]"),
		"t.json: tables[0].previous[0].backends[0].ip: missing; expected an IPv4 or IPv6 address"},
	{PREVIOUS(STATE "'backends': [{'ip': 'fd00::1%eth0'}]"),
		"t.json: tables[0].previous[0].backends[0].ip: 'fd00::1%eth0' is not an IPv4 or IPv6 address"},
	{PREVIOUS(STATE "'backends': [{'ip': '192.168.0.1', 'weight': 0}]"),
		"t.json: tables[0].previous[0].backends[0].weight: '0' is not an integer from 1 to 1000"},
	{PREVIOUS(STATE "'backends': [{'ip': '192.168.0.1', 'state': 'active'}]"),
		"t.json: tables[0].previous[0].backends[0].state: unknown key; known here: ip, weight, healthy, server_id (keys that begin with \"x-\" or \"_\" are comments)"},
	{PREVIOUS(STATE "'backends': [{'ip': '192.168.0.1'}, {'ip': '192.168.0.2'}, {'ip': '192.168.0.1', 'weight': 5}]"),
		"t.json: tables[0].previous[0].backends[2].ip: '192.168.0.1' is listed twice: backends[0] has this address already"},
	{PREVIOUS(STATE "'backends': [], 'backend': []"),
		"t.json: tables[0].previous[0].backend: unknown key; did you mean backends? (keys that begin with \"x-\" or \"_\" are comments)"},
};

static const struct example set_examples[] = {
	{"{'tables': [{'name': 'a', " KEYS ", " BINDS ", " BACKENDS "}, {'name': 'a', " KEYS ", " BACKENDS
	 ", 'binds': [{'ip': '10.0.0.1', 'proto': 'udp', 'port': 80}]}]}",
		"t.json: tables[1].name: 'a' is also the name of tables[0]: give each table its own name"},
	{"{'tables': [{'name': '#1', " KEYS ", " BINDS ", " BACKENDS "}, {" KEYS ", " BACKENDS
	 ", 'binds': [{'ip': '10.0.0.1', 'proto': 'udp', 'port': 80}]}]}",
		"t.json: tables[0].name: '#1' is also the name of tables[1], which has no name and is called by its index: give each table its own name"},
	{TABLE(KEYS ", " BACKENDS ", 'binds': [{'ip': '10.0.0.0/8', 'proto': 'tcp', 'port_start': 0, 'port_end': 65535}, "
		    "{'ip': '0.0.0.0/0', 'proto': 'udp', 'port': 19522}, "
		    "{'ip': '192.0.0.0/8', 'proto': 'udp', 'port_start': 19524, 'port_end': 65535}, "
		    "{'ip': '192.168.0.0/24', 'proto': 'udp', 'port_start': 1, 'port_end': 19523}]"),
		"t.json: tables[0].backends[0].ip: '192.168.0.1' is inside a bind (tables[0].binds[3]) that matches UDP port 19523: the directors would encapsulate their own packets to this proxy again, in a loop; leave port 19523 out of the bind"},
	{TABLE(KEYS ", " BACKENDS ", 'binds': [{'ip': '192.168.0.1', 'proto': 'tcp', 'port': 80}, "
		    "{'ip': '192.168.0.1', 'proto': 'udp', 'port': 19523}]"),
		"t.json: tables[0].backends[0].ip: '192.168.0.1' is inside a bind (tables[0].binds[1]) that matches UDP port 19523: the directors would encapsulate their own packets to this proxy again, in a loop; leave port 19523 out of the bind"},
	{TABLE(KEYS ", 'backends': [{'ip': '10.0.0.2', 'state': 'active'}, {'ip': '10.0.0.3', 'state': 'inactive'}], "
		    "'binds': [{'ip': '10.0.0.2/31', 'proto': 'udp', 'port': 19523}]"),
		"t.json: tables[0].backends[0].ip: '10.0.0.2' is inside a bind (tables[0].binds[0]) that matches UDP port 19523: the directors would encapsulate their own packets to this proxy again, in a loop; leave port 19523 out of the bind (and 1 more in this table)"},
};

static const struct example healthchecks_examples[] = {
	{"{'tables': [], 'healthchecks': 1}", "t.json: healthchecks: '1' (a number) is not an object"},
	{"{'tables': [], 'healthchecks': {'interval_ms': 0}}",
		"t.json: healthchecks.interval_ms: '0' is not an integer from 10 to 3600000"},
	{"{'tables': [], 'healthchecks': {'interval_ms': 3600001}}",
		"t.json: healthchecks.interval_ms: '3600001' is not an integer from 10 to 3600000"},
	{"{'tables': [], 'healthchecks': {'timeout_ms': '5'}}",
		"t.json: healthchecks.timeout_ms: '5' (a string) is not an integer from 1 to 3600000"},
	{"{'tables': [], 'healthchecks': {'trigger': -3}}",
		"t.json: healthchecks.trigger: '-3' is not an integer from 1 to 1000"},
	{"{'tables': [], 'healthchecks': {'trigger_healthy': 1001}}",
		"t.json: healthchecks.trigger_healthy: '1001' is not an integer from 1 to 1000"},
	{"{'tables': [], 'healthchecks': {'interval': 1}}",
		"t.json: healthchecks.interval: unknown key; did you mean interval_ms? (keys that begin with \"x-\" or \"_\" are comments)"},
	{WITH("'healthchecks': {'trigger': 1.5}"),
		"t.json: tables[0].healthchecks.trigger: '1.5' (a real number) is not an integer from 1 to 1000"},
	{CHECKS("'http': 0"), "t.json: tables[0].backends[0].healthchecks.http: '0' is not an integer from 1 to 65535"},
	{CHECKS("'tcp': 65536"),
		"t.json: tables[0].backends[0].healthchecks.tcp: '65536' is not an integer from 1 to 65535"},
	{CHECKS("'gue': true"),
		"t.json: tables[0].backends[0].healthchecks.gue: 'true' is not an integer from 1 to 65535"},
	{CHECKS("'fou': []"),
		"t.json: tables[0].backends[0].healthchecks.fou: an array is not an integer from 1 to 65535"},
	{CHECKS("'http_uri': 'status'"),
		"t.json: tables[0].backends[0].healthchecks.http_uri: 'status' is not a path that starts with '/', of at most 2048 characters, without spaces or control characters"},
	{CHECKS("'http_uri': '/a b'"),
		"t.json: tables[0].backends[0].healthchecks.http_uri: '/a b' is not a path that starts with '/', of at most 2048 characters, without spaces or control characters"},
	{CHECKS("'http_uri': '/a\\nb'"),
		"t.json: tables[0].backends[0].healthchecks.http_uri: '/a\\x0ab' is not a path that starts with '/', of at most 2048 characters, without spaces or control characters"},
	{CHECKS("'http_uri': 1"),
		"t.json: tables[0].backends[0].healthchecks.http_uri: '1' (a number) is not a path that starts with '/', of at most 2048 characters, without spaces or control characters"},
	{CHECKS("'grpc': 65536"),
		"t.json: tables[0].backends[0].healthchecks.grpc: '65536' is not an integer from 1 to 65535"},
	{CHECKS("'grpc_service': ''"),
		"t.json: tables[0].backends[0].healthchecks.grpc_service: '' is not a name of 1 to 255 characters of ASCII without spaces and control characters"},
	{CHECKS("'grpc_service': 'a b'"),
		"t.json: tables[0].backends[0].healthchecks.grpc_service: 'a b' is not a name of 1 to 255 characters of ASCII without spaces and control characters"},
	{CHECKS("'grpc_service': 1"),
		"t.json: tables[0].backends[0].healthchecks.grpc_service: '1' (a number) is not a name of 1 to 255 characters of ASCII without spaces and control characters"},
	{CHECKS("'https': 443"),
		"t.json: tables[0].backends[0].healthchecks.https: unknown key; did you mean http? (keys that begin with \"x-\" or \"_\" are comments)"},
	{CHECKS("'command': '/bin/true'"),
		"t.json: tables[0].backends[0].healthchecks.command: '/bin/true' is not a name of at most 64 letters, digits, '.', '_' and '-'"},
	{CHECKS("'command': ['true']"),
		"t.json: tables[0].backends[0].healthchecks.command: an array is not a name of at most 64 letters, digits, '.', '_' and '-'"},
	{CHECKS("'http_host': 'a/b'"), "t.json: tables[0].backends[0].healthchecks.http_host: 'a/b' is not a host name"},
	{CHECKS("'http_host': 'a\\r\\nX: y'"),
		"t.json: tables[0].backends[0].healthchecks.http_host: 'a\\x0d\\x0aX: y' is not a host name"},
	{CHECKS("'http_method': 'GET\\r\\n'"),
		"t.json: tables[0].backends[0].healthchecks.http_method: 'GET\\x0d\\x0a' is not a method: GET, HEAD or OPTIONS"},
	{CHECKS("'http_status': 200"),
		"t.json: tables[0].backends[0].healthchecks.http_status: '200' (a number) is not a set of statuses from 100 to 599 like \"200-299,304\""},
	{WITH("'healthchecks': {'http_status': '200-'}"),
		"t.json: tables[0].healthchecks.http_status: '200-' is not a set of statuses from 100 to 599 like \"200-299,304\""},
	{"{'tables': [], 'healthchecks': {'http_tls': 'true'}}",
		"t.json: healthchecks.http_tls: 'true' (a string) is not true or false"},
	{CHECKS("'http_headers': {'X-Token': 'secret\\r\\nX: y'}"),
		"t.json: tables[0].backends[0].healthchecks.http_headers.X-Token: has a value with a character that is not printable ASCII"},
	{CHECKS("'http_headers': {'Host': 'secret'}"),
		"t.json: tables[0].backends[0].healthchecks.http_headers.Host: cannot be set here; use the setting for the host"},
	{CHECKS("'http_headers': {'X-Token': 12345}"),
		"t.json: tables[0].backends[0].healthchecks.http_headers.X-Token: has a value that is not a string"},
	{CHECKS("'http_headers': 'secret'"),
		"t.json: tables[0].backends[0].healthchecks.http_headers: is not an object of 1 to 32 headers: {\"NAME\": \"VALUE\"}"},
	{CHECKS("'http': 80, 'http_method': 'HEAD', 'http_body': 'ok'"),
		"t.json: tables[0].backends[0].healthchecks: a text is expected in the body, but a response to HEAD has no body: use GET, or expect no text"},
};

static void test_bad_names_and_keys_are_errors(void **state)
{
	(void)state;
	check_examples(keys_examples, COUNT(keys_examples));
}

static void test_bad_binds_are_errors(void **state)
{
	(void)state;
	check_examples(binds_examples, COUNT(binds_examples));
}

static void test_bad_backends_are_errors(void **state)
{
	(void)state;
	check_examples(backends_examples, COUNT(backends_examples));
}

static void test_bad_balances_and_previous_states_are_errors(void **state)
{
	(void)state;
	check_examples(previous_examples, COUNT(previous_examples));
}

/* Previous states are read as they are written, with the defaults. */
static void test_balance_and_previous_states_are_read(void **state)
{
	static const struct {
		const char *text;
		uint16_t thousandths;
	} balances[] = {{"1.005", 1005}, {"1.02", 1020}, {"1.999", 1999}, {"2", 2000}, {"2.0", 2000}, {"1.1", 1100},
		{"1.155", 1155}, {"null", 0}};
	struct faults faults;
	struct table_set set;

	(void)state;
	for (size_t i = 0; i < COUNT(balances); i++) {
		char document[1024];

		snprintf(document, sizeof(document),
			WITH("'hops': 8, 'balance': %s, 'previous': [{"
			     "'time': '2026-01-02T00:00:01Z', 'balance': %s, 'backends': [{'ip': '192.168.0.1', 'weight': 7},"
			     " {'ip': '192.168.0.9'}], 'x-why': 1}, {'time': '2026-01-01T00:00:00Z', 'backends':"
			     " [{'ip': '192.168.0.1'}]}]"),
			balances[i].text, balances[i].text);
		assert_int_equal(parse(document, &set, &faults), 0);
		assert_no_fault(&faults);
		assert_int_equal(set.tables[0].balance, balances[i].thousandths);
		assert_int_equal(set.tables[0].past_count, 2);
		assert_int_equal(set.tables[0].past[0].time, 1767312001);
		assert_int_equal(set.tables[0].past[0].balance, balances[i].thousandths);
		assert_int_equal(set.tables[0].past[0].backend_count, 2);
		assert_int_equal(set.tables[0].past[0].backends[0].weight, 7);
		assert_int_equal(set.tables[0].past[0].backends[1].weight, 100);
		assert_int_equal(set.tables[0].past[0].backends[1].addr.bytes[3], 9);
		assert_int_equal(set.tables[0].past[1].balance, 0);
		table_set_free(&set);
		faults_clear(&faults);
	}
}

static void test_bad_health_check_settings_are_errors(void **state)
{
	(void)state;
	check_examples(healthchecks_examples, COUNT(healthchecks_examples));
}

static void test_tables_that_cannot_work_together_are_errors(void **state)
{
	(void)state;
	check_examples(set_examples, COUNT(set_examples));
}

static const struct example warnings_examples[] = {
	{BIND("'ip': '10.0.0.1/8', 'proto': 'tcp', 'port': 80"),
		"t.json: tables[0].binds[0].ip: '10.0.0.1/8' has bits set beyond the prefix length, and is read as '10.0.0.0/8'"},
	{TABLE(KEYS ", " BACKENDS ", 'binds': []"), "t.json: tables[0].binds: is empty: this table gets no packets"},
	{TABLE(KEYS ", " BINDS ", 'backends': [{'ip': '1.1.1.1', 'state': 'active'}, "
		    "{'ip': '224.0.0.1', 'state': 'active'}, {'ip': '0.0.0.0', 'state': 'active'}, "
		    "{'ip': '127.0.0.1', 'state': 'active'}]"),
		"t.json: tables[0].backends[1].ip: '224.0.0.1' is not an address that a proxy can have: packets to it are lost (and 2 more in this table)"},
	{BACKEND("'ip': '1.1.1.1', 'state': 'draining'"),
		"t.json: tables[0].backends: no backend is good (active or filling, and healthy): new connections go to backends that should not get them"},
	{BACKEND("'ip': '1.1.1.1', 'state': 'active', 'healthy': false"),
		"t.json: tables[0].backends: no backend is good (active or filling, and healthy): new connections go to backends that should not get them"},
	{TABLE(BINDS ", " BACKENDS ", 'hash_key': '00000000000000000000000000000000', "
		     "'seed': '00112233445566778899aabbccddeeff'"),
		"t.json: tables[0].hash_key: '00000000000000000000000000000000' is not a secret: make a key with `openssl rand -hex 16`"},
	{TABLE(BINDS ", " BACKENDS ", 'hash_key': '00112233445566778899aabbccddeeff', "
		     "'seed': '00000000000000000000000000000000'"),
		"t.json: tables[0].seed: '00000000000000000000000000000000' is not a secret: make a key with `openssl rand -hex 16`"},
	{"{'tables': [{'name': 'a', " KEYS ", " BINDS ", " BACKENDS "}, {'name': 'b', " KEYS ", " BACKENDS
	 ", 'binds': [{'ip': '10.0.0.0/24', 'proto': 'tcp', 'port_start': 1, 'port_end': 80}]}]}",
		"t.json: tables[1].binds[0]: 'tcp 10.0.0.0/24 port 1-80' overlaps 'tcp 10.0.0.1 port 80' (tables[0].binds[0]): table 'a' wins"},
	{PREVIOUS(STATE "'backends': [{'ip': '192.168.0.2'}]"),
		"t.json: tables[0].previous[0].backends: names no backend that can be a hop now: the entry has no effect, remove it"},
	{PREVIOUS(STATE "'backends': []"),
		"t.json: tables[0].previous[0].backends: names no backend that can be a hop now: the entry has no effect, remove it"},
	{WITH("'hops': 4, 'previous': [{" STATE "'backends': [{'ip': '192.168.0.1'}]}, {'time': '2026-01-01T00:00:01Z', "
	      "'backends': [{'ip': '192.168.0.1'}]}]"),
		"t.json: tables[0].previous[1].time: '2026-01-01T00:00:01Z' is later than that of previous[0]: list the newest state first"},
	{WITH("'previous': [{" STATE "'backends': [{'ip': '192.168.0.1'}]}, {" STATE
	      "'backends': [{'ip': '192.168.0.1'}]}]"),
		"t.json: tables[0].hops: '2' leaves room for 1 previous state, but there are 2: connections of the others may break; use 4 or more"},
	{TABLE(KEYS ", " BACKENDS ", 'binds': [{'ip': '10.0.0.0/8', 'proto': 'tcp', 'port': 80}, "
		    "{'ip': '10.0.0.1', 'proto': 'tcp', 'port': 80}]"),
		"t.json: tables[0].binds[1]: 'tcp 10.0.0.1 port 80' overlaps 'tcp 10.0.0.0/8 port 80' (binds[0]) of the same table"},
};

static void test_questionable_values_are_warnings(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(warnings_examples); i++)
		assert_warned(warnings_examples[i].document, warnings_examples[i].fault);
}

#define IPV6_TABLE(backends, more) TABLE(KEYS ", " BINDS ", 'backends': [" backends "]" more)
#define IPV6(ip)                   "{'ip': '" ip "', 'state': 'active'}"
#define OF_ONE_FAMILY \
	": all proxies of a table, and of its previous states, need addresses of one family; make a second table for the others"
#define NO_PROXY "not an address that a proxy can have: packets to it are lost"

static const struct example ipv6_examples[] = {
	{IPV6_TABLE(IPV6("192.168.0.1") ", " IPV6("fd00::1") ", " IPV6("fd00::2"), ""),
		"t.json: tables[0].backends[1].ip: 'fd00::1' is an IPv6 address, but backends[0] has 192.168.0.1" OF_ONE_FAMILY
		" (and 1 more in this table)"},
	{IPV6_TABLE(IPV6("fd00::1") ", " IPV6("fd00::2") ", " IPV6("192.168.0.1"), ""),
		"t.json: tables[0].backends[2].ip: '192.168.0.1' is an IPv4 address, but backends[0] has fd00::1" OF_ONE_FAMILY},
	{IPV6_TABLE(IPV6("fd00::1"), ", 'previous': [{" STATE "'backends': [{'ip': 'fd00::9'}, {'ip': '192.168.0.1'}]}]"),
		"t.json: tables[0].previous[0].backends[1].ip: '192.168.0.1' is an IPv4 address, but backends[0] has fd00::1" OF_ONE_FAMILY},
	{PREVIOUS(STATE "'backends': [{'ip': 'fd00::1'}]"),
		"t.json: tables[0].previous[0].backends[0].ip: 'fd00::1' is an IPv6 address, but backends[0] has 192.168.0.1" OF_ONE_FAMILY},
	{IPV6_TABLE(IPV6("fd00::1") ", " IPV6("FD00:0::0:1"), ""),
		"t.json: tables[0].backends[1].ip: 'fd00::1' is listed twice: backends[0] has this address already"},
	{IPV6_TABLE(IPV6("fe80::1"), ""),
		"t.json: tables[0].backends[0].ip: 'fe80::1' is a link-local address, " NO_PROXY},
	{IPV6_TABLE(IPV6("febf:ffff::1"), ""),
		"t.json: tables[0].backends[0].ip: 'febf:ffff::1' is a link-local address, " NO_PROXY},
	{IPV6_TABLE(IPV6("fe80::1%eth0"), ""),
		"t.json: tables[0].backends[0].ip: 'fe80::1%eth0' is not an IPv4 or IPv6 address"},
	{IPV6_TABLE(IPV6("::ffff:192.168.0.1"), ""),
		"t.json: tables[0].backends[0].ip: '::ffff:192.168.0.1' is an IPv4 address in IPv6 text, " NO_PROXY},
	{IPV6_TABLE(IPV6("fd00::1") ", " IPV6("ff02::1") ", " IPV6("::") ", " IPV6("::1"), ""),
		"t.json: tables[0].backends[1].ip: 'ff02::1' is " NO_PROXY " (and 2 more in this table)"},
	{TABLE(KEYS ", 'binds': [{'ip': 'fd00::1', 'proto': 'tcp', 'port': 80}], 'backends': [" IPV6("fd00::1") "]"),
		"t.json: tables[0].backends[0].ip: 'fd00::1' is a VIP (tables[0].binds[0]): packets to this proxy come back to the directors"},
	{TABLE(KEYS ", 'binds': [{'ip': 'fd00::/8', 'proto': 'udp', 'port': 19523}], 'backends': [" IPV6("fd00::1") "]"),
		"t.json: tables[0].backends[0].ip: 'fd00::1' is inside a bind (tables[0].binds[0]) that matches UDP port 19523: the directors would encapsulate their own packets to this proxy again, in a loop; leave port 19523 out of the bind"},
};

static void test_bad_ipv6_backends_are_errors(void **state)
{
	(void)state;
	check_examples(ipv6_examples, COUNT(ipv6_examples));
}

/* Two tables of one set may have different families. An address that cannot be read does not decide the family. */
static void test_each_table_has_its_family(void **state)
{
	static const char two[] =
		"{'tables': [{" KEYS ", 'binds': [{'ip': '10.0.0.1', 'proto': 'tcp', 'port': 80}], 'backends': [" IPV6(
			"fd00::1") "]}, {" KEYS
				   ", 'binds': [{'ip': '10.0.0.1', 'proto': 'tcp', 'port': 81}], 'hops': 5, 'backends': [" IPV6(
					   "10.0.0.2") "]}]}";
	struct faults faults;
	struct table_set set;

	(void)state;
	assert_int_equal(parse(two, &set, &faults), 0);
	assert_no_fault(&faults);
	assert_int_equal(set.tables[0].backends[0].addr.family, NETADDR_V6);
	assert_int_equal(set.tables[1].backends[0].addr.family, NETADDR_V4);
	table_set_free(&set);
	faults_clear(&faults);
	assert_int_equal(
		parse(IPV6_TABLE(IPV6("fd00::g") ", " IPV6("192.168.0.1") ", " IPV6("fd00::1"), ""), &set, &faults),
		-EINVAL);
	assert_int_equal(faults.count, 1);
	table_set_free(&set);
	faults_clear(&faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_names_and_keys_are_errors),
		cmocka_unit_test(test_bad_binds_are_errors),
		cmocka_unit_test(test_bad_backends_are_errors),
		cmocka_unit_test(test_bad_balances_and_previous_states_are_errors),
		cmocka_unit_test(test_balance_and_previous_states_are_read),
		cmocka_unit_test(test_bad_health_check_settings_are_errors),
		cmocka_unit_test(test_tables_that_cannot_work_together_are_errors),
		cmocka_unit_test(test_questionable_values_are_warnings),
		cmocka_unit_test(test_bad_ipv6_backends_are_errors),
		cmocka_unit_test(test_each_table_has_its_family),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
