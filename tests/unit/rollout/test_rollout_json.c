/* SPDX-License-Identifier: BSD-3-Clause */
#include "rollout/rollout_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *example(void)
{
	struct rollout rollout = {.id = "20261127-143000-ab12",
		.state = ROLLOUT_PAUSED,
		.by = "ops@host",
		.reason = "drain: \"why\"",
		.began = "2026-11-27T14:30:00Z",
		.steps = {{"00000000000000aa", "before", 0, ROLLOUT_DRAINED, 0},
			{"00000000000000bb", "wanted", 7, ROLLOUT_NO_WAIT, 0}},
		.count = 2,
		.step = 1,
		.reached = true,
		.counted_s = 31,
		.limit_s = 300,
		.table_revision = 12};
	char *text;

	rollout.drains = strdup("[{\"step\":1}]");
	assert_true(rollout_add_without(&rollout, "lb9"));
	rollout.seen = calloc(1, sizeof(*rollout.seen));
	rollout.seen_count = 1;
	strcpy(rollout.seen[0].name, "lb1");
	rollout.seen[0].healthy = true;
	text = rollout_text(&rollout);
	assert_non_null(text);
	rollout_free(&rollout);
	return text;
}

static void test_document_comes_back(void **state)
{
	char *text = example(), *again, fault[ROLLOUT_REASON_MAX];
	struct rollout rollout;

	(void)state;
	assert_true(rollout_parse(text, 44, &rollout, fault));
	assert_int_equal(rollout.state, ROLLOUT_PAUSED);
	assert_int_equal(rollout.steps[0].wait, ROLLOUT_DRAINED);
	assert_int_equal(rollout.steps[1].broken, 7);
	assert_int_equal(rollout.table_revision, 12);
	assert_int_equal(rollout.plan_revision, 44); /* that of the transaction that wrote the document */
	assert_true(rollout_is_without(&rollout, "lb9"));
	assert_true(rollout.reached && !rollout.proved && rollout.seen[0].healthy);
	rollout.plan_revision = 0;
	again = rollout_text(&rollout);
	assert_string_equal(text, again);
	free(again);
	rollout_free(&rollout);
	free(text);
}

/* Replaces `from` in the document by `to`. */
static char *replaced(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	char *made = malloc(strlen(text) + strlen(to) + 1);

	assert_non_null(at);
	memcpy(made, text, at - text);
	strcpy(made + (at - text), to);
	strcat(made, at + strlen(from));
	return made;
}

static void test_documents_of_others_are_refused(void **state)
{
	static const char *const changes[][2] = {
		{"\"step\":1", "\"step\":2"},
		{"\"step\":1", "\"step\":-1"},
		{"\"step\":1", "\"step\":1.0"},
		{"\"step\":1", "\"step\":\"1\""},
		{"\"step\":1", "\"step\":1,\"step\":0"},
		{"\"step\":1", "\"step\":1,\"more\":0"},
		{"\"step\":1,", ""},
		{"\"step\":1", "\"step\":99999999999999999999"},
		{"\"state\":\"paused\"", "\"state\":\"Paused\""},
		{"\"state\":\"paused\"", "\"state\":\"\\u0000\""},
		{"\"wait\":\"drained\"", "\"wait\":\"drain\""},
		{"\"wait_s\":0", "\"wait_s\":-5"},
		{"\"counted_s\":31", "\"counted_s\":-1"},
		{"\"limit_s\":300", "\"limit_s\":0"},
		{"\"fingerprint\":\"00000000000000aa\"", "\"fingerprint\":\"00000000000000AA\""},
		{"\"fingerprint\":\"00000000000000aa\"", "\"fingerprint\":\"\""},
		{"\"broken\":7", "\"broken\":4294967296"},
		{"[{\"step\":1}]", "{}"},
		{"[{\"step\":1}]", "null"},
		{"\"canary\":\"\"", "\"canary\":\"lb1\""}, /* no step waits for it */
		{"\"canary\":\"\"", "\"canary\":\"a/b\""},
		{"\"wait\":\"none\"", "\"wait\":\"canary\""},
		{"[\"lb9\"]", "[9]"},
		{"[\"lb9\"]", "[\"a/b\"]"},
		{"{\"lb1\":true}", "{\"lb1\":1}"},
		{"{\"lb1\":true}", "{\"lb1\\n\":true}"},
		{"{\"lb1\":true}", "[]"},
		{"20261127-143000-ab12", "../../secrets"},
		{"20261127-143000-ab12", "123456789012345678901234567890123"},
		{"{\"id\"", "[\"id\""},
		{"{\"id\"", ""},
	};
	char *text = example(), fault[ROLLOUT_REASON_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		char *made = replaced(text, changes[i][0], changes[i][1]);
		struct rollout rollout;

		fault[0] = '\0';
		if (rollout_parse(made, 1, &rollout, fault) || !*fault)
			fail_msg("%s: is accepted, or no fault: '%s'", changes[i][1], fault);
		free(made);
	}
	free(text);
}

static void test_canaries_that_do_not_fit_are_refused(void **state)
{
	struct rollout good = {.id = "r",
		.canary = "lb2",
		.steps = {{"00000000000000aa", "before", 0, ROLLOUT_NO_WAIT, 0},
			{"00000000000000bb", "canary", 7, ROLLOUT_CANARY, 5},
			{"00000000000000bb", "wanted", 7, ROLLOUT_NO_WAIT, 0}},
		.count = 3,
		.step = 1,
		.limit_s = 300};

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct rollout made = good, rollout;
		char fault[ROLLOUT_REASON_MAX] = "", *text;

		if (i == 1)
			made.canary[0] = '\0';
		if (i == 2)
			made.steps[1].wait_s = 0;
		if (i == 3)
			made.count = 2; /* nobody else would ever use the step */
		if (i == 4)
			made.steps[2].wait = ROLLOUT_CANARY;
		text = rollout_text(&made);
		assert_int_equal(rollout_parse(text, 44, &rollout, fault), i == 0);
		if (i == 0) {
			assert_true(rollout_is_canary(&rollout));
			assert_int_equal(rollout_revision_of(&rollout, "lb2"), 44);
			rollout_free(&rollout);
		}
		free(text);
	}
}

static void test_control_characters_are_replaced(void **state)
{
	char *text = example(), *made = replaced(text, "ops@host", "\\u001b[2J\\nme"), fault[ROLLOUT_REASON_MAX];
	struct rollout rollout;

	(void)state;
	assert_true(rollout_parse(made, 1, &rollout, fault));
	assert_string_equal(rollout.by, "?[2J?me");
	assert_string_equal(rollout.drains, "[{\"step\":1}]");
	rollout_free(&rollout);
	free(made);
	free(text);
}

#define RECORD                                                                                              \
	"{\"name\":\"lb1\",\"version\":\"1\",\"started\":\"x\",\"table\":{\"revision\":12,\"fingerprint\":" \
	"\"00000000000000aa\",\"digest\":\"00000000000000ab\",\"first_hops\":\"00000000000000ac\"},"        \
	"\"seen\":12,\"refused\":null,\"healthy\":false,\"reasons\":[\"a\",\"b\\u0007\"],\"changed\":\"now\"}"

static void test_record_of_a_director(void **state)
{
	struct rollout_director director;
	char *made;

	(void)state;
	rollout_parse_director("lb1", RECORD, &director);
	assert_string_equal(director.fault, "");
	assert_string_equal(director.fingerprint, "00000000000000aa");
	assert_int_equal(director.revision, 12);
	assert_false(director.healthy);
	assert_string_equal(director.reasons, "a; b?");
	made = replaced(RECORD, "\"refused\":null", "\"refused\":{\"revision\":13,\"reason\":\"x\\u009by\"}");
	rollout_parse_director("lb1", made, &director);
	assert_int_equal(director.refused, 13);
	free(made);
	/* A director that does not run uses no table. */
	rollout_parse_director("lb1",
		"{\"name\":\"lb1\",\"version\":\"\",\"table\":null,\"refused\":null,\"healthy\":false,\"reasons\":[],\"changed\":\"\"}",
		&director);
	assert_string_equal(director.fault, "");
	assert_string_equal(director.fingerprint, "");
}

static void test_hostile_records_have_a_fault(void **state)
{
	static const struct {
		const char *name, *text;
	} cases[] = {
		{"lb1", NULL},
		{"lb1", ""},
		{"lb1", "\xff\xfe"},
		{"lb1", "[]"},
		{"lb1", "{}"},
		{"lb1", "{\"name\":\"lb1\"}"},
		{"lb1", "{\"hash_key\":\"SECRET\n"},
		{"lb2", RECORD},
		{"", RECORD},
		{"lb/1", RECORD},
		{"\033[31mlb1", RECORD},
		{"a-name-of-more-than-sixty-three-characters-which-no-director-can-have", RECORD},
	};
	struct rollout_director director;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rollout_parse_director(cases[i].name, cases[i].text, &director);
		if (!*director.fault || strstr(director.fault, "SECRET") || strchr(director.name, '\033'))
			fail_msg("case %zu: '%s': '%s'", i, director.name, director.fault);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_document_comes_back),
		cmocka_unit_test(test_documents_of_others_are_refused),
		cmocka_unit_test(test_canaries_that_do_not_fit_are_refused),
		cmocka_unit_test(test_control_characters_are_replaced),
		cmocka_unit_test(test_record_of_a_director),
		cmocka_unit_test(test_hostile_records_have_a_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
