/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "program/facts_json.h"

struct numbers {
	bool broken;
	uint16_t port;
	uint32_t links;
	uint64_t packets;
	double seconds;
};

static const struct fact facts[] = {
	{"broken", "broken", OPENMETRICS_GAUGE, FACTS_AT(struct numbers, broken), "1 if it is broken"},
	{NULL, "port", OPENMETRICS_GAUGE, FACTS_AT(struct numbers, port), "has no metric"},
	{"links", NULL, OPENMETRICS_GAUGE, FACTS_AT(struct numbers, links), "has no member"},
	{"packets", "in.packets", OPENMETRICS_COUNTER, FACTS_AT(struct numbers, packets), "packets"},
	{"stalled_seconds", "in.seconds", OPENMETRICS_COUNTER, FACTS_AT(struct numbers, seconds), "seconds"},
	{0},
};

static const struct numbers numbers = {true, 65535, UINT32_MAX, UINT64_C(1) << 53, 0.5};

static char *metrics_of(const struct numbers *from)
{
	struct openmetrics to = {.prefix = "x_"};
	char *text;
	size_t size;

	to.to = open_memstream(&text, &size);
	facts_metrics(&to, facts, from);
	fclose(to.to);
	return text;
}

static void test_metrics(void **state)
{
	char *text = metrics_of(&numbers);

	(void)state;
	assert_string_equal(text, "# HELP x_broken 1 if it is broken\n# TYPE x_broken gauge\nx_broken 1\n"
				  "# HELP x_links has no member\n# TYPE x_links gauge\nx_links 4294967295\n"
				  "# HELP x_packets packets\n# TYPE x_packets counter\nx_packets_total 9007199254740992\n"
				  "# HELP x_stalled_seconds seconds\n# TYPE x_stalled_seconds counter\n"
				  "x_stalled_seconds_total 0.5\n");
	free(text);
}

static void test_number_that_is_not_known_has_no_sample(void **state)
{
	const struct numbers unknown = {.seconds = NAN};
	char *text = metrics_of(&unknown);

	(void)state;
	assert_non_null(strstr(text, "# TYPE x_stalled_seconds counter\n"));
	assert_null(strstr(text, "x_stalled_seconds_total"));
	free(text);
}

static void test_members_of_json(void **state)
{
	json_t *json = json_pack("{s:{}}", "in");
	char *text;

	(void)state;
	facts_json(json, facts, &numbers);
	text = json_dumps(json, JSON_COMPACT);
	assert_string_equal(
		text, "{\"in\":{\"packets\":9007199254740992,\"seconds\":0.5},\"broken\":true,\"port\":65535}");
	free(text);
	json_decref(json);
}

struct drops {
	uint64_t full, other;
	int pid;
};

/* The family begins once, with the help of its first entry, and each sample has its label. */
static void test_entries_of_one_metric_differ_in_a_label(void **state)
{
	static const struct fact by_reason[] = {
		{"drops", "full", OPENMETRICS_COUNTER, FACTS_AT(struct drops, full), "the queue was full",
			{"reason", "full"}, "dropped packets, by reason"},
		{"drops", "other", OPENMETRICS_COUNTER, FACTS_AT(struct drops, other), "others", {"reason", "other"}},
		{"pid", NULL, OPENMETRICS_GAUGE, FACTS_AT(struct drops, pid), "process id"},
		{0},
	};
	struct openmetrics to = {.prefix = "x_"};
	char *text;
	size_t size;

	(void)state;
	to.to = open_memstream(&text, &size);
	facts_metrics(&to, by_reason, &(struct drops){1, 2, 3});
	fclose(to.to);
	assert_string_equal(text, "# HELP x_drops dropped packets, by reason\n# TYPE x_drops counter\n"
				  "x_drops_total{reason=\"full\"} 1\nx_drops_total{reason=\"other\"} 2\n"
				  "# HELP x_pid process id\n# TYPE x_pid gauge\nx_pid 3\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_metrics),
		cmocka_unit_test(test_number_that_is_not_known_has_no_sample),
		cmocka_unit_test(test_members_of_json),
		cmocka_unit_test(test_entries_of_one_metric_differ_in_a_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
