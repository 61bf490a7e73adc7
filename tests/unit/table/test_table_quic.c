/* SPDX-License-Identifier: BSD-3-Clause */
/* QUIC in tables: what JSON and binary tables refuse, what changes the digests, and what is a secret. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "table/rows/table_build.h"
#include "table/table_lint.h"
#include "tests/unit/table/image.h"
#include "tests/unit/table/table_json_helpers.h"

#define UDP                     "'ip': '10.0.0.1', 'proto': 'udp', 'port': 443, 'quic': true"
#define QUIC_BINDS              "'binds': [{" UDP "}]"
#define KEY                     "'key': 'a1b2c3d4e5f60718293a4b5c6d7e8f90'"
#define CONFIG(members)         "{" members "}"
#define FIRST                   CONFIG("'id': 0, 'server_id_length': 3, 'nonce_length': 8, " KEY)
#define A(id)                   "{'ip': '192.168.0.1', 'state': 'active', 'server_id': " id "}"
#define B(id)                   "{'ip': '192.168.0.2', 'state': 'active', 'server_id': " id "}"
#define QUIC(configs, backends) TABLE(KEYS ", " QUIC_BINDS ", 'quic': [" configs "], 'backends': [" backends "]")
#define SERVER_ID(id, fault)                                                          \
	{                                                                             \
		QUIC(FIRST, A(id)), "t.json: tables[0].backends[0].server_id: " fault \
	}
#define NO_ID " is not a server ID, 2 to 30 hex digits, or an array of two with different lengths"

static const struct example refused[] = {
	SERVER_ID("''", "''" NO_ID),
	SERVER_ID("'ed793'", "'ed793'" NO_ID),
	SERVER_ID("'ed793g'", "'ed793g'" NO_ID),
	SERVER_ID("' ed793a'", "' ed793a'" NO_ID),
	SERVER_ID("'ed793a00000000000000000000000001'", "'ed793a00000000000000000000000001'" NO_ID),
	SERVER_ID("7", "'7' (a number)" NO_ID),
	SERVER_ID("[]", "an array" NO_ID),
	SERVER_ID("['ed793a', 'ed793b']", "an array" NO_ID),
	SERVER_ID("['ed793a', 1]", "an array" NO_ID),
	SERVER_ID("['ed793a', 'ed793b01', 'ed793b0102']", "an array" NO_ID),
	SERVER_ID("'ed79'", "'ed79' has 2 bytes, but no configuration of `quic` has this server_id_length"),
	{TABLE(KEYS ", " BINDS ", 'backends': [" A("'ed79'") "]"),
		"t.json: tables[0].backends[0].server_id: 'ed79' has 2 bytes, but the table has no `quic`"},
	{QUIC(FIRST, A("'ed793a'") ", " B("'ED793A'")),
		"t.json: tables[0].backends[1].server_id: 'ed793a' is listed twice: backends[0] has this server ID already"},
	{QUIC(CONFIG("'id': 7, 'server_id_length': 3, 'nonce_length': 8"), A("'ed793a'")),
		"t.json: tables[0].quic[0].id: '7' is not an integer from 0 to 6"},
	{QUIC(CONFIG("'id': 0, 'server_id_length': 0, 'nonce_length': 8"), A("'ed793a'")),
		"t.json: tables[0].quic[0].server_id_length: '0' is not an integer from 1 to 15"},
	{QUIC(CONFIG("'id': 0, 'server_id_length': 3, 'nonce_length': 3"), A("'ed793a'")),
		"t.json: tables[0].quic[0].nonce_length: '3' is not an integer from 4 to 18"},
	{QUIC(CONFIG("'id': 0, 'server_id_length': 3, 'nonce_length': 17"), A("'ed793a'")),
		"t.json: tables[0].quic[0]: server_id_length and nonce_length must be at most 19 together"},
	{QUIC(CONFIG("'server_id_length': 3, 'nonce_length': 8"), A("'ed793a'")),
		"t.json: tables[0].quic[0].id: missing; expected an integer from 0 to 6"},
	{QUIC(FIRST ", " FIRST, A("'ed793a'")),
		"t.json: tables[0].quic[1].id: '0' is listed twice: quic[0] has this id already"},
	{QUIC(FIRST ", " CONFIG("'id': 1, 'server_id_length': 3, 'nonce_length': 8"), A("'ed793a'")),
		"t.json: tables[0].quic[1].server_id_length: '3' is also that of quic[0], and only one of both has a key: observers read server IDs without a key, so those with a key must be others; use another length"},
	{QUIC(FIRST ", " CONFIG("'id': 1, 'server_id_length': 4, 'nonce_length': 8, " KEY) ", " CONFIG(
		      "'id': 2, 'server_id_length': 5, 'nonce_length': 8, " KEY),
		 A("'ed793a'")),
		"t.json: tables[0].quic[2].server_id_length: '5' is the third server_id_length of the table: a proxy has at most 2 server IDs, of different lengths"},
	{QUIC(CONFIG("'id': 0, 'server_id_length': 3, 'nonce_length': 8, 'key': 'a1b2c3d4e5f60718293a4b5c6d7e8f9'"),
		 A("'ed793a'")),
		"t.json: tables[0].quic[0].key: 'a1b2c3d4...' (31 characters) is not exactly 32 hex digits"},
	{WITH("'quic': {}"), "t.json: tables[0].quic: an object is not an array"},
	{BIND(UDP),
		"t.json: tables[0].binds[0].quic: is true, but the table has no `quic`: add a configuration with edit add-quic"},
	{TABLE(KEYS ", 'binds': [{'ip': '10.0.0.1', 'proto': 'tcp', 'port': 443, 'quic': true}], 'quic': [" FIRST
		    "], 'backends': [" A("'ed793a'") "]"),
		"t.json: tables[0].binds[0].quic: is true, but the bind is for tcp: QUIC packets are udp"},
	{BIND("'ip': '10.0.0.1', 'proto': 'udp', 'port': 443, 'quic': 1"),
		"t.json: tables[0].binds[0].quic: '1' (a number) is not true or false"},
};

static void test_what_json_tables_refuse(void **state)
{
	(void)state;
	check_examples(refused, COUNT(refused));
}

static void test_an_empty_list_is_refused(void **state)
{
	(void)state;
	assert_refused(
		WITH("'quic': []"), "t.json: tables[0].quic: is empty: leave `quic` out if no configuration is used");
}

static void test_what_tables_are_warned_about(void **state)
{
	(void)state;
	assert_warned(
		QUIC(FIRST,
			A("'ed793a'") ", {'ip': '192.168.0.2', 'state': 'draining'}, {'ip': '192.168.0.3', 'state': 'active'}, {'ip': '192.168.0.4', 'state': 'inactive'}"),
		"t.json: tables[0].backends[1]: 192.168.0.2 has no server_id of 3 bytes, which QUIC configuration 0 needs: its QUIC connections do not survive a change of their address (and 1 more in this table)");
	assert_warned(TABLE(KEYS ", " BINDS ", 'quic': [" FIRST "], 'backends': [" A("'ed793a'") "]"),
		"t.json: tables[0].quic: no bind has `quic`: true, so connection IDs do not choose the proxy of any packet");
	assert_warned(
		QUIC(CONFIG("'id': 0, 'server_id_length': 3, 'nonce_length': 8, 'key': '8f95f09245765f80256934e50c66207f'"),
			A("'ed793a'")),
		"t.json: tables[0].quic[0].key: is published as an example, so it is not a secret: make a key with `openssl rand -hex 16`");
}

static struct table_set parsed(const char *document)
{
	struct faults faults;
	struct table_set set;

	assert_int_equal(parse(document, &set, &faults), 0);
	print_faults(&faults);
	faults_clear(&faults);
	assert_int_equal(table_build(&set, 1), 0);
	return set;
}

#define PAST(ip, id)                                                              \
	"'previous': [{'time': '2026-01-01T00:00:00Z', 'backends': [" LISTED ", " \
	"{'ip': '" ip "', 'server_id': '" id "'}]}], "
#define LISTED "{'ip': '192.168.0.2'}"
#define REUSED(ip, id)                                                 \
	TABLE(KEYS ", " QUIC_BINDS ", " PAST(ip, id) "'quic': [" FIRST \
						     "], 'backends': [" A("'ed793a'") ", " B("'000002'") "]")

/* A director must keep forwarding; `check` refuses the table. */
static void test_a_server_id_of_a_previous_state_is_not_used_again(void **state)
{
	struct table_set set;
	struct faults faults;

	(void)state;
	assert_warned(REUSED("192.168.0.7", "ed793a"),
		"t.json: tables[0].backends[0].server_id: 'ed793a' was the server ID of 192.168.0.7 in previous[0]: this proxy would get its QUIC connections; use a server ID that was never used, or wait until this state is forgotten");
	set = parsed(REUSED("192.168.0.7", "ed793a"));
	faults = (struct faults){.thorough = true};
	table_lint_quic(&set, &faults);
	assert_int_equal(faults.errors, 1);
	faults_clear(&faults);
	table_set_free(&set);
	for (int i = 0; i < 2; i++) {
		set = parsed(i ? REUSED("192.168.0.7", "ed793b") : REUSED("192.168.0.1", "ed793a"));
		table_lint_quic(&set, &faults);
		assert_no_fault(&faults);
		table_set_free(&set);
	}
}

#define TWO_LENGTHS FIRST ", " CONFIG("'id': 6, 'server_id_length': 5, 'nonce_length': 11, " KEY)
#define BOTH        A("['c4605e7788', 'ed793a']") ", " B("'000001'")

static void test_values_are_those_of_the_file(void **state)
{
	struct table_set set = parsed(QUIC(TWO_LENGTHS, BOTH));
	const struct table *table = &set.tables[0];

	(void)state;
	assert_int_equal(table->quic_count, 2);
	assert_int_equal(table->quic[1].id, 6);
	assert_int_equal(table->quic[1].nonce_length, 11);
	assert_true(table->quic[0].keyed);
	assert_int_equal(table->quic[0].key[0], 0xa1);
	assert_true(table->binds[0].quic);
	assert_int_equal(table->backends[0].server_ids[0].length, 3);
	assert_memory_equal(table->backends[0].server_ids[0].bytes, "\xed\x79\x3a", 3);
	assert_int_equal(table_server_id(table->backends[0].server_ids, 5)->bytes[0], 0xc4);
	assert_null(table_server_id(table->backends[1].server_ids, 5));
	assert_null(table_server_id(table->backends[1].server_ids, 0));
	table_set_free(&set);
}

static struct table_set with_past(void)
{
	return parsed(TABLE(KEYS ", " QUIC_BINDS ", " PAST("192.168.0.7", "0a0b0c") "'quic': [" TWO_LENGTHS
										    "], 'backends': [" BOTH "]"));
}

static void test_binary_tables_keep_everything(void **state)
{
	struct table_set set = with_past(), back;
	struct image image = encode(&set, TABLE_FILE_V3), again;
	const struct table *a = &set.tables[0], *b;
	struct faults faults = {0};

	(void)state;
	assert_int_equal(table_file_parse(image.bytes, image.size, &back, NULL, &faults), 0);
	b = &back.tables[0];
	assert_int_equal(b->quic_count, 2);
	assert_memory_equal(b->quic, a->quic, sizeof(a->quic));
	assert_true(b->binds[0].quic);
	for (uint32_t i = 0; i < 2; i++) {
		assert_memory_equal(
			b->backends[i].server_ids, a->backends[i].server_ids, sizeof(a->backends[i].server_ids));
		assert_memory_equal(b->past[0].backends[i].server_ids, a->past[0].backends[i].server_ids,
			sizeof(a->past[0].backends[i].server_ids));
	}
	again = encode(&back, TABLE_FILE_V3);
	assert_int_equal(again.size, image.size);
	assert_memory_equal(again.bytes, image.bytes, image.size);
	assert_int_equal(table_set_digest(&set), table_set_digest(&back));
	assert_int_equal(table_set_fingerprint(&set), table_set_fingerprint(&back));
	assert_int_equal(table_file_encode(&set, TABLE_FILE_V2, &image.bytes, &image.size, &faults), -EINVAL);
	assert_fault(&faults, false,
		"tables[0]: 'web' has QUIC configurations, which GLB's directors do not know: version 2 of the binary format has no room for them");
	faults_clear(&faults);
	table_set_free(&set);
	table_set_free(&back);
	free(again.bytes);
	free(image.bytes);
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

/* The extension of with_past(): head 8, weights 4, padding 4, configurations 40, server IDs 64, state 16, two backends
 * of 8 + 32 bytes. */
#define EXTENSION_SIZE 216

static const struct {
	size_t at;
	uint8_t value;
	const char *error;
} corruptions[] = {
	{4, 8, "(tables[0].quic_count): 8; expected at most 7"},
	{4, 0, "expected "},
	{4, 7, "(tables[0].quic): 204; expected no more bytes than the file has"},
	{16, 7, "(tables[0].quic[0].id): 7; expected 0 to 6"},
	{16, 6, "tables[0].quic[1].id: '6' is listed twice: quic[0] has this id already"},
	{17, 0, "(tables[0].quic[0].server_id_length): 0; expected 1 to 15"},
	{17, 16, "tables[0].quic[0]: server_id_length must be 1 to 15"},
	{18, 0, "(tables[0].quic[0].nonce_length): 0; expected 4 to 18"},
	{18, 17, "tables[0].quic[0]: server_id_length and nonce_length must be at most 19 together"},
	{19, 2, "(tables[0].quic[0].keyed): 2; expected 0 or 1"},
	{19, 0, "(tables[0].quic[0].key): "},
	{56, 16, "(tables[0].backends[0].length): 16; expected 0 to 15"},
	{56, 0, "(tables[0].backends[0].server_id): 237; expected 0"},
	{56, 5, "(tables[0].backends[0].length): 5; expected more than that of the server ID before it, or 0"},
	{60, 1, "(tables[0].backends[0].server_id): 1; expected 0"},
	{72, 3, "(tables[0].backends[0].length): 3; expected more than that of the server ID before it, or 0"},
	{88, 4, "tables[0].backends[1].server_id: '00000100' has 4 bytes, but no configuration of `quic` has this server_id_length"},
	{175, 1, "(tables[0].previous[0].server_id): 1; expected 0"},
};

static void test_every_field_of_binary_tables(void **state)
{
	struct table_set set = with_past(), back;
	struct image image = encode(&set, TABLE_FILE_V3);

	(void)state;
	for (size_t i = 0; i <= EXTENSION_SIZE + COUNT(corruptions); i += i < COUNT(corruptions) ? 1 : STEP) {
		struct faults faults = {0};
		struct image bad = {malloc(image.size), image.size};
		const char *error = "";

		memcpy(bad.bytes, image.bytes, image.size);
		if (i < COUNT(corruptions)) {
			error = corruptions[i].error;
			bad.bytes[image.size - EXTENSION_SIZE + corruptions[i].at] = corruptions[i].value;
		} else {
			bad.size -= i - COUNT(corruptions);
		}
		sign(&bad);
		assert_int_equal(table_file_parse(bad.bytes, bad.size, &back, NULL, &faults),
			i == COUNT(corruptions) ? 0 : -EINVAL);
		if (!strstr(faults_first_error(&faults), error))
			fail_msg("%zu: %s, not %s", i, faults_first_error(&faults), error);
		table_set_free(&back);
		faults_clear(&faults);
		free(bad.bytes);
	}
	table_set_free(&set);
	free(image.bytes);
}

/* Whatever chooses the proxy of a QUIC packet is in both route digests; the health of a proxy is not in the
 * fingerprint. */
static void test_quic_is_in_the_digests(void **state)
{
	struct table_set set =
		parsed(QUIC(TWO_LENGTHS, BOTH ", {'ip': '192.168.0.3', 'state': 'inactive', 'server_id': '000003'}"));
	struct table *table = &set.tables[0];
	uint64_t digest = table_set_digest(&set), first = table_set_first_hops(&set), print = table_set_fingerprint(&set);
	uint8_t *const bytes[] = {&table->quic[1].id, &table->quic[0].nonce_length, &table->quic[0].key[15],
		&table->backends[0].server_ids[1].bytes[4], (uint8_t *)&table->quic[0].keyed,
		(uint8_t *)&table->binds[0].quic};

	(void)state;
	for (size_t i = 0; i < COUNT(bytes); i++) {
		*bytes[i] ^= 1;
		assert_int_not_equal(table_set_digest(&set), digest);
		assert_int_not_equal(table_set_first_hops(&set), first);
		assert_int_not_equal(table_set_fingerprint(&set), print);
		*bytes[i] ^= 1;
	}
	table->backends[1].healthy = false;
	assert_int_not_equal(table_set_digest(&set), digest);
	assert_int_equal(table_set_fingerprint(&set), print);
	table->backends[1].healthy = true;
	table->backends[2].server_ids[0].bytes[0] ^= 1;
	assert_int_equal(table_set_digest(&set), digest);
	table_set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_json_tables_refuse),
		cmocka_unit_test(test_an_empty_list_is_refused),
		cmocka_unit_test(test_what_tables_are_warned_about),
		cmocka_unit_test(test_a_server_id_of_a_previous_state_is_not_used_again),
		cmocka_unit_test(test_values_are_those_of_the_file),
		cmocka_unit_test(test_binary_tables_keep_everything),
		cmocka_unit_test(test_every_field_of_binary_tables),
		cmocka_unit_test(test_quic_is_in_the_digests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
