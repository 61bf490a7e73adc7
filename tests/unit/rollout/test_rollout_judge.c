/* SPDX-License-Identifier: BSD-3-Clause */
#include "rollout/rollout.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STEP_REVISION 70
#define FINGERPRINT   "00000000000000aa"

/*
 * A director is a letter and the revision that it uses, with '+' (healthy) or '-', and then '!' (it refused the step's
 * revision), 'p' (that of the plan), 'r' (it refused an older one), 'f' (another fingerprint) or '?' (its key is no record).
 * A director that was seen is a letter with '+' or '-'.
 */
struct judge_case {
	const char *name, *seen, *directors, *without;
	uint64_t table_revision, phase_s;
	bool truncated, reached, proved, last;
	enum rollout_state state;
	enum rollout_wait wait;
	uint32_t wait_s;
	char *drains;
	bool drained;
	const char *drain;
	enum rollout_verdict verdict;
	const char *reason; /* a part of it */
};

static size_t read_directors(const char *text, struct rollout_director *directors)
{
	size_t count = 0;

	for (; *text; text += *text == ' ', count++) {
		struct rollout_director *director = &directors[count];
		char *end;

		*director = (struct rollout_director){.name = {*text}, .fingerprint = FINGERPRINT};
		director->revision = strtoull(text + 1, &end, 10);
		director->healthy = *end == '+';
		strcpy(director->reasons, director->healthy ? "" : "no next hop");
		for (text = end + 1; *text && *text != ' '; text++) {
			director->refused = *text == '!'   ? STEP_REVISION
					    : *text == 'p' ? 90
					    : *text == 'r' ? 60
							   : director->refused;
			strcpy(director->refusal, "it shrinks");
			if (*text == 'f')
				strcpy(director->fingerprint, "00000000000000bb");
			if (*text == '?')
				strcpy(director->fault, "not JSON");
		}
	}
	return count;
}

static void read_seen(const char *text, struct rollout *rollout, struct rollout_seen *seen)
{
	for (; *text; text += 2 + (text[2] == ' '), rollout->seen_count++)
		seen[rollout->seen_count] = (struct rollout_seen){.name = {*text}, .healthy = text[1] == '+'};
	rollout->seen = seen;
}

static void check(const struct judge_case *given)
{
	struct rollout_director directors[8];
	struct rollout_seen seen[8];
	struct rollout_view view = {.directors = directors,
		.count = read_directors(given->directors, directors),
		.truncated = given->truncated,
		.table_revision = given->table_revision == 0   ? STEP_REVISION
				  : given->table_revision == 1 ? 0
							       : given->table_revision,
		.phase_ms = given->phase_s * 1000,
		.drained = given->drained,
		.drain = given->drain};
	struct rollout rollout = {.state = given->state,
		.drains = given->drains,
		.count = given->last ? 2 : 3,
		.step = 1,
		.reached = given->reached,
		.proved = given->proved,
		.limit_s = 300,
		.table_revision = STEP_REVISION,
		.steps[1] = {.fingerprint = FINGERPRINT, .wait = given->wait, .wait_s = given->wait_s}};
	char reason[ROLLOUT_REASON_MAX];
	enum rollout_verdict verdict;

	read_seen(given->seen, &rollout, seen);
	if (given->without)
		assert_true(rollout_add_without(&rollout, given->without));
	verdict = rollout_judge(&rollout, &view, reason);
	if (verdict != given->verdict)
		fail_msg("%s: verdict %d, not %d: %s", given->name, (int)verdict, (int)given->verdict, reason);
	if (given->reason && !strstr(reason, given->reason))
		fail_msg("%s: '%s' does not say '%s'", given->name, reason, given->reason);
	free(rollout.without);
}

static void test_step_is_judged_by_the_directors_that_are_alive(void **state)
{
	static const struct judge_case cases[] = {
		{.name = "all use it", .seen = "a+ b+", .directors = "a70+ b70+", .verdict = ROLLOUT_REACH},
		{.name = "one is behind",
			.seen = "a+ b+",
			.directors = "a70+ b60+",
			.verdict = ROLLOUT_KEEP,
			.reason = "1 of 2 directors does not use step 1: b uses"},
		{.name = "both are behind at the limit",
			.seen = "a+ b+",
			.directors = "a60+ b60+",
			.phase_s = 300,
			.verdict = ROLLOUT_KEEP,
			.reason = "2 of 2 directors do not"},
		{.name = "one is behind for too long",
			.seen = "a+ b+",
			.directors = "a70+ b60+",
			.phase_s = 301,
			.verdict = ROLLOUT_STOP,
			.reason = "does not use step 1 in time: b uses"},
		{.name = "its table does not come from etcd", .seen = "a+", .directors = "a0+", .verdict = ROLLOUT_KEEP},
		{.name = "the revision of the step, but another table",
			.seen = "a+",
			.directors = "a70+f",
			.verdict = ROLLOUT_KEEP},
		{.name = "a refusal",
			.seen = "a+ b+",
			.directors = "a70+ b60+!",
			.verdict = ROLLOUT_STOP,
			.reason = "director b refused the table of step 1: it shrinks"},
		{.name = "an old refusal", .seen = "a+", .directors = "a70+r", .verdict = ROLLOUT_REACH},
		{.name = "degraded by the step",
			.seen = "a+ b+",
			.directors = "a70+ b70-",
			.verdict = ROLLOUT_STOP,
			.reason = "director b was healthy before step 1 and no longer is: no next hop"},
		{.name = "degraded before the step", .seen = "a+ b-", .directors = "a70+ b70-", .verdict = ROLLOUT_REACH},
		{.name = "better than before", .seen = "a+ b-", .directors = "a70+ b70+", .verdict = ROLLOUT_REACH},
		{.name = "vanished",
			.seen = "a+ b+",
			.directors = "a70+",
			.verdict = ROLLOUT_STOP,
			.reason = "director b vanished during step 1"},
		{.name = "vanished while it waits",
			.seen = "a+ b+",
			.directors = "a70+",
			.reached = true,
			.verdict = ROLLOUT_STOP},
		{.name = "vanished, but it does not count",
			.seen = "a+ b+",
			.directors = "a70+",
			.without = "b",
			.verdict = ROLLOUT_REACH},
		{.name = "refuses, but does not count",
			.seen = "a+ b+",
			.directors = "a70+ b60+!",
			.without = "b",
			.verdict = ROLLOUT_REACH},
		{.name = "new, and behind", .seen = "a+", .directors = "a70+ c60+", .verdict = ROLLOUT_KEEP},
		{.name = "new, and not healthy", .seen = "a+", .directors = "a70+ c70-", .verdict = ROLLOUT_REACH},
		{.name = "none is alive",
			.seen = "",
			.directors = "",
			.verdict = ROLLOUT_STOP,
			.reason = "no director is alive"},
		{.name = "only one that does not count is alive",
			.seen = "",
			.directors = "b70+",
			.without = "b",
			.verdict = ROLLOUT_STOP,
			.reason = "no director is alive"},
		{.name = "no record",
			.seen = "a+",
			.directors = "a70+ x0+?",
			.verdict = ROLLOUT_STOP,
			.reason = "director x: its key in etcd does not hold a record of glb-fleet: not JSON"},
		{.name = "too many keys",
			.seen = "a+",
			.directors = "a70+",
			.truncated = true,
			.verdict = ROLLOUT_STOP,
			.reason = "more than 1 keys"},
		{.name = "table changed by hand",
			.seen = "a+",
			.directors = "a70+",
			.table_revision = 71,
			.verdict = ROLLOUT_STOP,
			.reason = "it has the revision 71, and the roll-out expects 70"},
		{.name = "table deleted",
			.seen = "a+",
			.directors = "a70+",
			.table_revision = 1,
			.verdict = ROLLOUT_STOP,
			.reason = "deleted the table"},
		{.name = "etcd restored: the revision went back",
			.seen = "a+",
			.directors = "a70+",
			.table_revision = 5,
			.verdict = ROLLOUT_STOP},
		{.name = "paused", .seen = "a+ b+", .directors = "a60+!", .state = ROLLOUT_PAUSED, .verdict = ROLLOUT_KEEP},
		{.name = "stopped", .seen = "a+", .directors = "a70+", .state = ROLLOUT_STOPPED, .verdict = ROLLOUT_KEEP},
		{.name = "aborted", .seen = "a+", .directors = "a70+", .state = ROLLOUT_ABORTED, .verdict = ROLLOUT_KEEP},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check(&cases[i]);
}

/* The canary is c. It uses the text of step 1, which has the plan's revision; the others use step 0. */
static void test_canary_is_judged_apart_from_the_others(void **state)
{
	static const struct {
		const char *name, *directors, *without, *reason;
		uint64_t phase_s;
		bool reached;
		enum rollout_verdict verdict;
	} cases[] = {
		{.name = "as planned", .directors = "a70+f c90+", .verdict = ROLLOUT_REACH},
		{.name = "the canary is behind", .directors = "a70+f c70+f", .verdict = ROLLOUT_KEEP, .reason = "c uses"},
		{.name = "the canary has another table", .directors = "a70+f c90+f", .verdict = ROLLOUT_KEEP},
		{.name = "another one is ahead", .directors = "a90+ c90+", .verdict = ROLLOUT_KEEP, .reason = "a uses"},
		{.name = "the canary is behind for too long",
			.directors = "a70+f c70+f",
			.phase_s = 301,
			.verdict = ROLLOUT_STOP},
		{.name = "the canary refuses",
			.directors = "a70+f c70+p",
			.verdict = ROLLOUT_STOP,
			.reason = "director c refused"},
		{.name = "a refusal of others is old", .directors = "a70+pf c90+", .verdict = ROLLOUT_REACH},
		{.name = "the canary gets worse",
			.directors = "a70+f c90-",
			.verdict = ROLLOUT_STOP,
			.reason = "director c was healthy before"},
		{.name = "the canary vanishes",
			.directors = "a70+f",
			.verdict = ROLLOUT_STOP,
			.reason = "director c vanished"},
		{.name = "the canary is left out",
			.directors = "a70+f c90+",
			.without = "c",
			.verdict = ROLLOUT_STOP,
			.reason = "the canary c does not count"},
		{.name = "it is watched",
			.directors = "a70+f c90+",
			.reached = true,
			.phase_s = 9,
			.verdict = ROLLOUT_KEEP,
			.reason = "c alone uses step 1: waits 10 s"},
		{.name = "it was watched",
			.directors = "a70+f c90+",
			.reached = true,
			.phase_s = 10,
			.verdict = ROLLOUT_ADVANCE},
		{.name = "it goes back meanwhile",
			.directors = "a70+f c70+f",
			.reached = true,
			.phase_s = 9,
			.verdict = ROLLOUT_LOSE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rollout_director directors[8];
		struct rollout_seen seen[8];
		struct rollout_view view = {.directors = directors,
			.count = read_directors(cases[i].directors, directors),
			.table_revision = STEP_REVISION,
			.phase_ms = cases[i].phase_s * 1000};
		struct rollout rollout = {.count = 3,
			.step = 1,
			.canary = "c",
			.reached = cases[i].reached,
			.limit_s = 300,
			.plan_revision = 90,
			.table_revision = STEP_REVISION,
			.steps = {{.fingerprint = "00000000000000bb"},
				{.fingerprint = FINGERPRINT, .wait = ROLLOUT_CANARY, .wait_s = 10}}};
		char reason[ROLLOUT_REASON_MAX];

		read_seen("a+ c+", &rollout, seen);
		if (cases[i].without)
			assert_true(rollout_add_without(&rollout, cases[i].without));
		if (rollout_judge(&rollout, &view, reason) != cases[i].verdict ||
			(cases[i].reason && !strstr(reason, cases[i].reason)))
			fail_msg("%s: %s", cases[i].name, reason);
		free(rollout.without);
	}
}

static void test_revision_of_the_table_changes_with_its_step(void **state)
{
	struct rollout rollout = {.count = 3, .table_revision = STEP_REVISION, .steps[1].wait = ROLLOUT_CANARY};
	struct rollout_view view = {0};

	(void)state;
	assert_true(rollout_apply(&rollout, ROLLOUT_ADVANCE, &view, ""));
	assert_int_equal(rollout.table_revision, STEP_REVISION); /* the canary's step is not in PREFIX/table */
	assert_true(rollout_apply(&rollout, ROLLOUT_ADVANCE, &view, ""));
	assert_int_equal(rollout.table_revision, 0);
	rollout_free(&rollout);
}

static void test_wait_ends_after_its_time_or_a_proof(void **state)
{
	static const struct judge_case cases[] = {
		{.name = "settles", .phase_s = 2, .verdict = ROLLOUT_KEEP, .reason = "waits 3 s, of which 2 s"},
		{.name = "settled", .phase_s = 3, .verdict = ROLLOUT_ADVANCE},
		{.name = "settled, last", .phase_s = 3, .last = true, .verdict = ROLLOUT_FINISH},
		{.name = "timed", .phase_s = 599, .wait = ROLLOUT_OLDER, .wait_s = 600, .verdict = ROLLOUT_KEEP},
		{.name = "timed out", .phase_s = 600, .wait = ROLLOUT_OLDER, .wait_s = 600, .verdict = ROLLOUT_ADVANCE},
		{.name = "a timed wait shorter than the least",
			.phase_s = 2,
			.wait = ROLLOUT_OLDER,
			.wait_s = 1,
			.verdict = ROLLOUT_KEEP},
		{.name = "drain, not settled", .phase_s = 2, .wait = ROLLOUT_DRAINED, .verdict = ROLLOUT_KEEP},
		{.name = "drain",
			.phase_s = 3,
			.wait = ROLLOUT_DRAINED,
			.verdict = ROLLOUT_PAUSE,
			.reason = "drain: check with"},
		{.name = "older connections",
			.phase_s = 1000000,
			.wait = ROLLOUT_OLDER,
			.verdict = ROLLOUT_PAUSE,
			.reason = "connections that began before step 1"},
		{.name = "drain, proved", .phase_s = 3, .wait = ROLLOUT_DRAINED, .proved = true, .verdict = ROLLOUT_ADVANCE},
		{.name = "proxies have not replied",
			.phase_s = 1000000,
			.wait = ROLLOUT_DRAINED,
			.drains = "[1]",
			.verdict = ROLLOUT_KEEP,
			.reason = "waits until the metrics of the proxies"},
		{.name = "proxies have connections",
			.phase_s = 1000000,
			.wait = ROLLOUT_DRAINED,
			.drains = "[1]",
			.drain = "drain: x has 3",
			.verdict = ROLLOUT_KEEP,
			.reason = ": drain: x has 3"},
		{.name = "proxies are drained",
			.phase_s = 3,
			.wait = ROLLOUT_DRAINED,
			.drains = "[1]",
			.drained = true,
			.verdict = ROLLOUT_ADVANCE},
		{.name = "proxies are drained, not settled",
			.phase_s = 2,
			.wait = ROLLOUT_DRAINED,
			.drains = "[1]",
			.drained = true,
			.verdict = ROLLOUT_KEEP},
		{.name = "proxies have connections when the time is over",
			.phase_s = 600,
			.wait = ROLLOUT_DRAINED,
			.wait_s = 600,
			.drains = "[1]",
			.verdict = ROLLOUT_ADVANCE},
		{.name = "an operator says that they are drained",
			.phase_s = 3,
			.wait = ROLLOUT_DRAINED,
			.drains = "[1]",
			.proved = true,
			.verdict = ROLLOUT_ADVANCE},
		{.name = "proxies do not prove other waits",
			.phase_s = 3,
			.wait = ROLLOUT_OLDER,
			.drains = "[1]",
			.drained = true,
			.verdict = ROLLOUT_PAUSE},
		{.name = "timed, proved earlier",
			.phase_s = 3,
			.wait = ROLLOUT_DRAINED,
			.wait_s = 600,
			.proved = true,
			.verdict = ROLLOUT_ADVANCE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct judge_case given = cases[i];

		given.seen = "a+";
		given.directors = "a70+";
		given.reached = true;
		check(&given);
		/* A director that comes back with an older table begins the wait again, however long it has lasted. */
		given.directors = "a70+ b60+";
		given.verdict = ROLLOUT_LOSE;
		given.reason = "b uses";
		check(&given);
	}
}

static struct rollout running(void)
{
	return (struct rollout){
		.id = "r", .count = 3, .limit_s = 300, .plan_revision = 5, .table_revision = STEP_REVISION};
}

static void test_verdicts_change_the_document(void **state)
{
	struct rollout rollout = running();
	struct rollout_director directors[2];
	struct rollout_view view = {
		.directors = directors, .count = read_directors("a70+ b60-", directors), .phase_ms = 42999};

	(void)state;
	assert_true(rollout_apply(&rollout, ROLLOUT_REACH, &view, ""));
	assert_true(rollout.reached);
	assert_int_equal(rollout.counted_s, 0);
	assert_true(rollout_apply(&rollout, ROLLOUT_KEEP, &view, ""));
	assert_int_equal(rollout.counted_s, 42);
	rollout.proved = true;
	assert_true(rollout_apply(&rollout, ROLLOUT_LOSE, &view, "b"));
	assert_false(rollout.reached || rollout.proved);
	assert_true(rollout_add_without(&rollout, "b"));
	assert_true(rollout_apply(&rollout, ROLLOUT_ADVANCE, &view, ""));
	assert_int_equal(rollout.step, 1);
	assert_int_equal(rollout.table_revision, 0);
	assert_int_equal(rollout.plan_revision, 5);
	assert_int_equal(rollout.seen_count, 1);
	assert_string_equal(rollout.seen[0].name, "a");
	assert_true(rollout.seen[0].healthy);
	assert_true(rollout_apply(&rollout, ROLLOUT_STOP, &view, "why"));
	assert_int_equal(rollout.state, ROLLOUT_STOPPED);
	assert_string_equal(rollout.reason, "why");
	assert_true(rollout_is_active(&rollout));
	assert_true(rollout_apply(&rollout, ROLLOUT_FINISH, &view, ""));
	assert_false(rollout_is_active(&rollout));
	rollout_free(&rollout);
}

/* A leader looks each second, and is then stopped for an hour; another one takes over. */
static void test_clock_never_counts_more_than_it_saw(void **state)
{
	struct rollout_clock first = {0}, second = {0};
	struct rollout rollout = running();
	uint64_t now_ms = 1000000000;

	(void)state;
	assert_int_equal(rollout_clock_ms(&first, &rollout, now_ms), 0);
	for (int i = 1; i <= 100; i++)
		assert_int_equal(rollout_clock_ms(&first, &rollout, now_ms += 1000), i * 1000);
	now_ms += 3600000;
	assert_int_equal(rollout_clock_ms(&first, &rollout, now_ms), 100000 + ROLLOUT_GAP_MS);
	assert_int_equal(rollout_clock_ms(&first, &rollout, now_ms - 86400000), 100000 + ROLLOUT_GAP_MS);
	assert_int_equal(rollout_clock_ms(&first, &rollout, now_ms), 100000 + ROLLOUT_GAP_MS);

	/* The other leader has a monotonic clock of its own, and continues from what was written. */
	rollout.counted_s = 90;
	assert_int_equal(rollout_clock_ms(&second, &rollout, 7), 90000);
	assert_int_equal(rollout_clock_ms(&second, &rollout, 1007), 91000);
	/* What it writes itself changes nothing, but another phase begins anew. */
	rollout.counted_s = 91;
	assert_int_equal(rollout_clock_ms(&second, &rollout, 2007), 92000);
	rollout.reached = true;
	rollout.counted_s = 0;
	assert_int_equal(rollout_clock_ms(&second, &rollout, 3007), 0);
	rollout.step = 1;
	assert_int_equal(rollout_clock_ms(&second, &rollout, 4007), 0);
}

static void test_names(void **state)
{
	char name[ROLLOUT_NAME_MAX + 1];

	(void)state;
	assert_true(rollout_is_name("lb-1.ams_2"));
	assert_false(rollout_is_name(""));
	assert_false(rollout_is_name("a/b"));
	assert_false(rollout_is_name("a\033[2J"));
	assert_false(rollout_is_name("\xc3\xa9"));
	memset(name, 'a', sizeof(name));
	name[ROLLOUT_NAME_MAX] = '\0';
	assert_false(rollout_is_name(name));
	name[ROLLOUT_NAME_MAX - 1] = '\0';
	assert_true(rollout_is_name(name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_step_is_judged_by_the_directors_that_are_alive),
		cmocka_unit_test(test_canary_is_judged_apart_from_the_others),
		cmocka_unit_test(test_revision_of_the_table_changes_with_its_step),
		cmocka_unit_test(test_wait_ends_after_its_time_or_a_proof),
		cmocka_unit_test(test_verdicts_change_the_document),
		cmocka_unit_test(test_clock_never_counts_more_than_it_saw),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
