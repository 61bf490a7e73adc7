/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/clock.h"
#include "healthcheck/publish/publish.h"
#include "healthcheck/publish/verdicts.h"
#include "table/file/json/table_json.h"

#define TABLE(name, more, backends)                                            \
	"{'name': '" name "', 'hash_key': '1f1e2d3c4b5a69788796a5b4c3d2e1f0'," \
	" 'seed': 'b0b1c2d3e4f5061728394a5b6c7d8e9f'" more ","                 \
	" 'binds': [{'ip': '10.0.0.1', 'proto': 'tcp', 'port': 80},"           \
	"           {'ip': 'fdb4::1', 'proto': 'tcp', 'port': 80}], 'backends': [" backends "]}"
#define TCP(ip, more) "{'ip': '" ip "', 'state': 'active', 'healthchecks': {'tcp': 22}" more "}"

static struct conf conf = {
	.timing = {.interval_ms = 2000, .timeout_ms = 1000, .trigger_healthy = 3, .trigger_unhealthy = 3},
};

/* Returns `text` with " for '. */
static char *quoted(const char *text)
{
	char *copy = strdup(text);

	for (char *c = copy; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	return copy;
}

/* Builds a list from JSON in which ' stands for ". */
static struct checklist make(const char *json)
{
	struct faults faults = {0};
	struct table_document document;
	struct checklist list;
	char *text = quoted(json);

	if (table_json_parse_document(text, strlen(text), &document, &faults))
		fail_msg("%s", faults_first_error(&faults));
	faults_clear(&faults);
	free(text);
	assert_true(checklist_build(&list, &document, &conf));
	return list;
}

static struct check *find(const struct checklist *list, const char *name)
{
	for (uint32_t i = 0; i < list->check_count; i++)
		if (strcmp(list->checks[i]->name, name) == 0)
			return list->checks[i];
	fail_msg("no check %s", name);
	return NULL;
}

static void set(const struct checklist *list, const char *name, enum damper_verdict verdict)
{
	find(list, name)->damper.verdict = verdict;
}

/* `expected` has `healthy` of each backend after verdicts_apply(), such as "1101". */
static void assert_published(struct checklist *list, unsigned threshold, uint32_t table, const char *expected)
{
	struct verdicts verdicts[TABLE_MAX_TABLES];
	const struct table *of = &list->document.set.tables[table];
	char healthy[64] = "";

	verdicts_apply(list, threshold, verdicts);
	for (uint32_t i = 0; i < of->backend_count; i++)
		healthy[i] = of->backends[i].healthy ? '1' : '0';
	assert_string_equal(healthy, expected);
}

#define FOUR TCP("10.1.0.1", "") "," TCP("10.1.0.2", "") "," TCP("10.1.0.3", "") "," TCP("10.1.0.4", "")

static void test_check_shared_by_tables_runs_once(void **state)
{
	struct checklist list = make("{'tables': [" TABLE("a", "", TCP("10.1.0.1", "")) "," TABLE(
		"b", "", TCP("10.1.0.1", "") "," TCP("10.1.0.2", "")) "]}");

	(void)state;
	assert_int_equal(list.check_count, 2);
	assert_int_equal(list.use_count, 3);
	set(&list, "tcp 10.1.0.1:22", DAMPER_UNHEALTHY);
	set(&list, "tcp 10.1.0.2:22", DAMPER_HEALTHY);
	assert_published(&list, 0, 0, "0");
	assert_published(&list, 0, 1, "01");
	checklist_free(&list);
}

static void test_timing_of_a_table_overrides_that_of_the_file(void **state)
{
	struct checklist list =
		make("{'healthchecks': {'interval_ms': 500, 'trigger': 5},"
		     " 'tables': [" TABLE("a", "", TCP("10.1.0.1", "")) "," TABLE("b",
			     ", 'healthchecks': {'trigger_unhealthy': 7, 'timeout_ms': 9}", TCP("10.1.0.1", "")) "]}");
	const struct check_timing *a = &list.checks[0]->timing, *b = &list.checks[1]->timing;

	(void)state;
	assert_int_equal(list.check_count, 2); /* different timing, so not shared */
	assert_int_equal(a->interval_ms, 500);
	assert_int_equal(a->timeout_ms, 1000);
	assert_int_equal(a->trigger_healthy, 5);
	assert_int_equal(a->trigger_unhealthy, 5);
	assert_int_equal(b->interval_ms, 500);
	assert_int_equal(b->timeout_ms, 9);
	assert_int_equal(b->trigger_healthy, 5);
	assert_int_equal(b->trigger_unhealthy, 7);
	checklist_free(&list);
}

static void test_inactive_backend_is_not_checked(void **state)
{
	struct checklist list = make("{'tables': [" TABLE("a", "",
		"{'ip': '10.1.0.1', 'state': 'inactive', 'healthchecks': {'tcp': 22}},"
		"{'ip': '10.1.0.2', 'state': 'active', 'healthy': false}") "]}");

	(void)state;
	assert_int_equal(list.check_count, 0);
	assert_published(&list, 50, 0, "10");
	checklist_free(&list);
}

static void test_every_check_of_a_backend_must_pass(void **state)
{
	struct checklist list = make("{'tables': [" TABLE("a", "",
		"{'ip': '10.1.0.1', 'state': 'active', 'healthchecks': {'tcp': 22, 'http': "
		"80}}") "]}");

	(void)state;
	set(&list, "tcp 10.1.0.1:22", DAMPER_HEALTHY);
	set(&list, "http 10.1.0.1:80/", DAMPER_UNHEALTHY);
	assert_published(&list, 0, 0, "0");
	set(&list, "http 10.1.0.1:80/", DAMPER_HEALTHY);
	assert_published(&list, 0, 0, "1");
	checklist_free(&list);
}

static void test_panic_counts_all_as_healthy_until_enough_are(void **state)
{
	struct checklist list = make("{'tables': [" TABLE("a", "", FOUR) "]}");
	char name[] = "tcp 10.1.0.1:22";

	(void)state;
	for (char i = '1'; i <= '4'; i++) {
		name[11] = i;
		set(&list, name, DAMPER_HEALTHY);
	}
	set(&list, "tcp 10.1.0.1:22", DAMPER_UNHEALTHY);
	set(&list, "tcp 10.1.0.2:22", DAMPER_UNHEALTHY);
	assert_published(&list, 50, 0, "0011");
	set(&list, "tcp 10.1.0.3:22", DAMPER_UNHEALTHY);
	assert_published(&list, 50, 0, "1111");
	assert_published(&list, 0, 0, "0001");
	set(&list, "tcp 10.1.0.3:22", DAMPER_HEALTHY);
	assert_published(&list, 50, 0, "0011");
	checklist_free(&list);
}

static void assert_kept(struct checklist *list, unsigned threshold, uint32_t backends, uint32_t healthy, uint32_t kept)
{
	struct verdicts verdicts[TABLE_MAX_TABLES];

	verdicts_apply(list, threshold, verdicts);
	assert_int_equal(verdicts[0].backends, backends);
	assert_int_equal(verdicts[0].healthy, healthy);
	assert_int_equal(verdicts[0].kept, kept);
}

static void test_backends_that_only_panic_keeps_in_service_are_counted(void **state)
{
	struct checklist list = make("{'tables': [" TABLE("a", "",
		FOUR ",{'ip': '10.1.0.5', 'state': 'filling', 'healthchecks': {'tcp': 22}}"
		     ",{'ip': '10.1.0.6', 'state': 'draining', 'healthchecks': {'tcp': 22}}"
		     ",{'ip': '10.1.0.7', 'state': 'inactive', 'healthchecks': {'tcp': 22}}") "]}");
	char name[] = "tcp 10.1.0.1:22";

	(void)state;
	assert_kept(&list, 50, 6, 6, 0);
	for (char i = '1'; i <= '6'; i++) {
		name[11] = i;
		set(&list, name, i == '1' ? DAMPER_HEALTHY : DAMPER_UNHEALTHY);
	}
	assert_kept(&list, 50, 6, 1, 4);
	assert_kept(&list, 0, 6, 1, 0);
	checklist_free(&list);
}

static void test_close_without_open(void **state)
{
	struct publisher publisher = {0};
	struct reload_hook hook = {0};

	(void)state;
	publisher_close(&publisher);
	reload_hook_close(&hook);
	assert_int_not_equal(fcntl(STDIN_FILENO, F_GETFD), -1); /* what hook.output would be */
}

static void test_backend_without_a_verdict_keeps_healthy_from_src(void **state)
{
	struct checklist list =
		make("{'tables': [" TABLE("a", "", TCP("10.1.0.1", ", 'healthy': false") "," TCP("10.1.0.2", "")) "]}");

	(void)state;
	assert_published(&list, 0, 0, "01");
	checklist_free(&list);
}

/* Checks the text of the document with 10.1.0.1 unhealthy and all others healthy, before and after it is read again. */
static void assert_text(const char *src, const char *expected)
{
	struct verdicts verdicts[TABLE_MAX_TABLES];
	char *wanted = quoted(expected), *text;
	struct checklist list = make(src);
	size_t size;

	for (uint32_t i = 0; i < list.check_count; i++)
		list.checks[i]->damper.verdict =
			strstr(list.checks[i]->name, "10.1.0.1:") ? DAMPER_UNHEALTHY : DAMPER_HEALTHY;
	verdicts_apply(&list, 0, verdicts);
	text = table_document_text(&list.document, &size);
	assert_int_equal(strlen(text), size);
	assert_string_equal(text, wanted);
	free(text);
	free(wanted);
	checklist_free(&list);
}

#define NUMBERS "'x-n': [0.1, 1.50, 1e3, 1E+3, 3.14159265358979323846264338, 9007199254740993, -0.0]"

static void test_every_byte_but_healthy_stays(void **state)
{
	(void)state;
	assert_text("{'x-z': [1, {'b': null, 'a': 'äö\\u00fc'}], 'tables': [" TABLE("a", ",\t'_n': 1.50",
			    TCP("10.1.0.1", ",  'healthy' :true, " NUMBERS) "," TCP("10.1.0.2", "")) "], '_b': 0}\n\n",
		"{'x-z': [1, {'b': null, 'a': 'äö\\u00fc'}], 'tables': [" TABLE("a", ",\t'_n': 1.50",
			TCP("10.1.0.1", ",  'healthy' :false, " NUMBERS) "," TCP(
				"10.1.0.2", ", 'healthy': true")) "], '_b': 0}\n\n");
	/* The key may be escaped, and the value null. */
	assert_text("{'tables': [" TABLE("a", "", TCP("10.1.0.1", ", 'he\\u0061lthy': null")) "]}",
		"{'tables': [" TABLE("a", "", TCP("10.1.0.1", ", 'he\\u0061lthy': false")) "]}");
}

#define LINES(first, second)  \
	"{'tables': [" TABLE( \
		"a", "", "{\n\t'ip': '10.1.0.1'," first "}, {'ip':'10.1.0.2','state':'active'" second "}") "]}"

static void test_added_member_looks_like_its_neighbours(void **state)
{
	(void)state;
	assert_text(LINES("\n\t'healthchecks': {'tcp': 22},\n\t'state': 'active'\n", ""),
		LINES("\n\t'healthchecks': {'tcp': 22},\n\t'state': 'active',\n\t'healthy': false\n", ",'healthy':true"));
}

static void test_reload_keeps_checks_and_verdicts(void **state)
{
	struct checklist old = make("{'tables': [" TABLE("a", "", FOUR) "]}");
	struct checklist list = make(
		"{'healthchecks': {}, 'tables': [" TABLE("b", "", TCP("10.1.0.2", "") "," TCP("10.1.0.9", "")) "," TABLE(
			"c", ", 'healthchecks': {'trigger': 9}", TCP("10.1.0.3", "")) "]}");
	struct check *second = find(&old, "tcp 10.1.0.2:22");

	(void)state;
	set(&old, "tcp 10.1.0.2:22", DAMPER_UNHEALTHY);
	set(&old, "tcp 10.1.0.3:22", DAMPER_UNHEALTHY);
	assert_true(checklist_adopt(&list, &old));
	assert_ptr_equal(find(&list, "tcp 10.1.0.2:22"), second); /* with its running probe */
	assert_int_equal(find(&list, "tcp 10.1.0.3:22")->damper.verdict, DAMPER_UNHEALTHY);
	assert_int_equal(find(&list, "tcp 10.1.0.3:22")->timing.trigger_healthy, 9);
	assert_int_equal(find(&list, "tcp 10.1.0.9:22")->damper.verdict, DAMPER_UNKNOWN);
	checklist_count(&list);
	assert_int_equal(list.unknown, 1);
	assert_null(old.checks[1]);
	checklist_free(&old);
	assert_published(&list, 0, 0, "01");
	checklist_free(&list);
}

static void test_restart_keeps_verdicts(void **state)
{
	struct checklist old = make("{'tables': [" TABLE("a", "", FOUR) "]}");
	struct checklist list = make("{'tables': [" TABLE("a", "", FOUR) "]}");
	json_t *saved;

	(void)state;
	set(&old, "tcp 10.1.0.1:22", DAMPER_UNHEALTHY);
	set(&old, "tcp 10.1.0.4:22", DAMPER_HEALTHY);
	saved = checklist_save(&old);
	checklist_restore(&list, saved);
	assert_int_equal(list.checks[0]->damper.verdict, DAMPER_UNHEALTHY);
	assert_int_equal(list.checks[1]->damper.verdict, DAMPER_UNKNOWN);
	assert_int_equal(list.checks[3]->damper.verdict, DAMPER_HEALTHY);
	json_decref(saved);
	checklist_free(&old);
	checklist_free(&list);
}

#define TWO_TIMINGS                                                                           \
	"{'tables': [" TABLE("a", "", TCP("10.1.0.1", "") "," TCP("10.1.0.2", "")) "," TABLE( \
		"b", ", 'healthchecks': {'trigger': 9}", TCP("10.1.0.1", "")) "]}"

static void test_two_checks_of_one_target_have_different_names(void **state)
{
	struct checklist old = make(TWO_TIMINGS), list = make(TWO_TIMINGS);
	json_t *saved;

	(void)state;
	assert_int_equal(list.check_count, 3);
	find(&list, "tcp 10.1.0.2:22");
	set(&old, "tcp 10.1.0.1:22 of a", DAMPER_HEALTHY);
	set(&old, "tcp 10.1.0.1:22 of b", DAMPER_UNHEALTHY);
	saved = checklist_save(&old);
	checklist_restore(&list, saved);
	assert_int_equal(find(&list, "tcp 10.1.0.1:22 of a")->damper.verdict, DAMPER_HEALTHY);
	assert_int_equal(find(&list, "tcp 10.1.0.1:22 of b")->damper.verdict, DAMPER_UNHEALTHY);
	json_decref(saved);
	checklist_free(&old);
	checklist_free(&list);
}

/* When a second check of a target is added or removed, names change. Verdicts and running probes stay. */
static void test_names_change_and_verdicts_stay(void **state)
{
	struct checklist one = make("{'tables': [" TABLE("a", "", TCP("10.1.0.1", "")) "]}");
	struct checklist two = make(TWO_TIMINGS), three = make(TWO_TIMINGS), again;
	struct check *check = find(&one, "tcp 10.1.0.1:22");
	json_t *saved;

	(void)state;
	set(&one, "tcp 10.1.0.1:22", DAMPER_UNHEALTHY);
	saved = checklist_save(&one);
	checklist_restore(&three, saved);
	json_decref(saved);
	assert_int_equal(find(&three, "tcp 10.1.0.1:22 of b")->damper.verdict, DAMPER_UNHEALTHY);
	checklist_free(&three);
	assert_true(checklist_adopt(&two, &one));
	checklist_free(&one);
	assert_ptr_equal(find(&two, "tcp 10.1.0.1:22 of a"), check);
	assert_int_equal(find(&two, "tcp 10.1.0.1:22 of b")->damper.verdict, DAMPER_UNHEALTHY);
	again = make("{'tables': [" TABLE("a", "", TCP("10.1.0.1", "")) "]}");
	assert_true(checklist_adopt(&again, &two));
	checklist_free(&two);
	assert_ptr_equal(find(&again, "tcp 10.1.0.1:22"), check);
	checklist_free(&again);
}

/* Otherwise each edit would put the write off again. */
static void test_edits_in_a_row_delay_the_write_only_once(void **state)
{
	struct checklist list = make("{'tables': [" TABLE("a", "", FOUR) "]}");
	struct conf own = {.dst = (char *)"/nonexistent/dst.json"};
	struct publisher publisher;
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);

	(void)state;
	list.unknown = 4;
	publisher_open(&publisher, loop, &own, &list);
	publisher_new_list(&publisher, 3600000);
	publisher_new_list(&publisher, 7200000);
	assert_true(ev_is_active(&publisher.timer));
	assert_true(ev_timer_remaining(loop, &publisher.timer) < 3601);
	publisher_close(&publisher);
	ev_loop_destroy(loop);
	checklist_free(&list);
}

/* The time of the event loop is that of its last iteration, before src was read. */
static void test_slow_reading_of_src_does_not_shorten_the_wait_for_first_results(void **state)
{
	struct checklist list = make("{'tables': [" TABLE("a", "", FOUR) "]}");
	struct conf own = {.dst = (char *)"/nonexistent/dst.json", .state_file = (char *)"/nonexistent/state"};
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct publisher publisher;

	(void)state;
	list.unknown = 4;
	publisher_open(&publisher, loop, &own, &list);
	usleep(300000);
	publisher_new_list(&publisher, 200);
	while (!publisher.failed_writes)
		ev_run(loop, EVRUN_ONCE);
	assert_true(clock_now_ms() >= publisher.first_results_ms);
	publisher_close(&publisher);
	ev_loop_destroy(loop);
	checklist_free(&list);
}

static void test_operator_and_not_new_verdicts_end_the_backoff_of_a_failed_write(void **state)
{
	struct checklist list = make("{'tables': [" TABLE("a", "", FOUR) "]}");
	char folder[] = "/tmp/test_publish.XXXXXX", file[64];
	struct conf own = {.dst = (char *)"/nonexistent/dst.json", .state_file = file};
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	struct publisher publisher;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/state", folder);
	publisher_open(&publisher, loop, &own, &list);
	publisher.failures = 10; /* so that the backoff is a minute */
	publisher_new_list(&publisher, 0);
	ev_run(loop, EVRUN_ONCE);
	assert_int_equal(publisher.failed_writes, 1);
	assert_int_equal(unlink(file), 0); /* the state was saved before dst was written */
	assert_true(ev_timer_remaining(loop, &publisher.timer) > 30);
	publisher_request(&publisher, &own.timing, true);
	assert_true(ev_timer_remaining(loop, &publisher.timer) > 30);
	publisher_retry(&publisher); /* SIGHUP */
	assert_true(ev_timer_remaining(loop, &publisher.timer) < 1);
	ev_run(loop, EVRUN_ONCE);
	assert_int_equal(publisher.failed_writes, 2);
	assert_int_equal(unlink(file), 0);
	publisher_request(&publisher, &own.timing, true);
	assert_true(ev_timer_remaining(loop, &publisher.timer) > 30);
	publisher_close(&publisher);
	assert_int_equal(rmdir(folder), 0);
	ev_loop_destroy(loop);
	checklist_free(&list);
}

static void test_tunnel_vip_adds_checks_to_the_vips(void **state)
{
	static const char text[] = "{'tables': [" TABLE("a", "",
		"{'ip': '10.1.0.1', 'state': 'active',"
		" 'healthchecks': {'gue': 19523, 'fou': 19522}}") "]}";
	struct checklist list;

	(void)state;
	list = make(text);
	assert_int_equal(list.check_count, 2);
	find(&list, "gue 10.1.0.1:19523 to 10.1.0.1");
	find(&list, "fou 10.1.0.1:19522 to 10.1.0.1");
	checklist_free(&list);
	conf.tunnel_vip = true;
	list = make(text);
	conf.tunnel_vip = false;
	assert_int_equal(list.check_count, 5);
	find(&list, "gue 10.1.0.1:19523 to 10.0.0.1");
	find(&list, "gue 10.1.0.1:19523 to fdb4::1");
	find(&list, "fou 10.1.0.1:19522 to 10.0.0.1");
	checklist_free(&list);
	conf.tunnel_vip = conf.fou_gre = true;
	list = make(text);
	conf.tunnel_vip = conf.fou_gre = false;
	assert_int_equal(list.check_count, 6);
	find(&list, "fou 10.1.0.1:19522 to fdb4::1");
	checklist_free(&list);
}

#define UNCHECKED(ip, more) "{'ip': '" ip "', 'state': 'active'" more "}"

static void test_unhealthy_backend_without_checks_stays_as_it_is_written(void **state)
{
	static const char text[] = "{'tables': [" TABLE("a", "",
		UNCHECKED("10.1.0.1", ", 'healthy': false") "," UNCHECKED("10.1.0.2", ", 'healthy': true") "," UNCHECKED(
			"10.1.0.3", "") "," TCP("10.1.0.4", ", 'healthy': false")) "]}";
	struct checklist list = make(text);

	(void)state;
	set(&list, "tcp 10.1.0.4:22", DAMPER_HEALTHY);
	assert_published(&list, 50, 0, "0111");
	assert_int_equal(checklist_verdict(&list, 0, 0), DAMPER_UNHEALTHY);
	set(&list, "tcp 10.1.0.4:22", DAMPER_UNHEALTHY);
	assert_published(&list, 50, 0, "0110");
	/* It does not count: 2 of 3 are healthy. */
	assert_published(&list, 66, 0, "0110");
	/* Panic says that checks are wrong. No check says that it is unhealthy. */
	assert_published(&list, 67, 0, "0111");
	checklist_free(&list);
}

static void test_backend_without_a_verdict_keeps_healthy_from_src_after_a_panic(void **state)
{
	struct checklist list = make("{'tables': [" TABLE(
		"a", "", TCP("10.1.0.1", ", 'healthy': false") "," TCP("10.1.0.2", "") "," TCP("10.1.0.3", "")) "]}");

	(void)state;
	set(&list, "tcp 10.1.0.2:22", DAMPER_UNHEALTHY);
	set(&list, "tcp 10.1.0.3:22", DAMPER_HEALTHY);
	assert_published(&list, 50, 0, "111");
	set(&list, "tcp 10.1.0.2:22", DAMPER_HEALTHY);
	assert_published(&list, 50, 0, "011");
	checklist_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check_shared_by_tables_runs_once),
		cmocka_unit_test(test_timing_of_a_table_overrides_that_of_the_file),
		cmocka_unit_test(test_inactive_backend_is_not_checked),
		cmocka_unit_test(test_every_check_of_a_backend_must_pass),
		cmocka_unit_test(test_panic_counts_all_as_healthy_until_enough_are),
		cmocka_unit_test(test_backends_that_only_panic_keeps_in_service_are_counted),
		cmocka_unit_test(test_close_without_open),
		cmocka_unit_test(test_backend_without_a_verdict_keeps_healthy_from_src),
		cmocka_unit_test(test_unhealthy_backend_without_checks_stays_as_it_is_written),
		cmocka_unit_test(test_backend_without_a_verdict_keeps_healthy_from_src_after_a_panic),
		cmocka_unit_test(test_every_byte_but_healthy_stays),
		cmocka_unit_test(test_added_member_looks_like_its_neighbours),
		cmocka_unit_test(test_reload_keeps_checks_and_verdicts),
		cmocka_unit_test(test_restart_keeps_verdicts),
		cmocka_unit_test(test_two_checks_of_one_target_have_different_names),
		cmocka_unit_test(test_names_change_and_verdicts_stay),
		cmocka_unit_test(test_edits_in_a_row_delay_the_write_only_once),
		cmocka_unit_test(test_slow_reading_of_src_does_not_shorten_the_wait_for_first_results),
		cmocka_unit_test(test_operator_and_not_new_verdicts_end_the_backoff_of_a_failed_write),
		cmocka_unit_test(test_tunnel_vip_adds_checks_to_the_vips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
