/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "program/openmetrics.h"

static char *text;
static size_t size;

static struct openmetrics begin(enum openmetrics_format format)
{
	return (struct openmetrics){.to = open_memstream(&text, &size), .format = format, .prefix = "glb_"};
}

static void assert_written(struct openmetrics *metrics, const char *expected)
{
	fclose(metrics->to);
	assert_string_equal(text, expected);
	free(text);
}

static void test_counter_and_end_in_openmetrics(void **state)
{
	struct openmetrics metrics = begin(OPENMETRICS_1_0);

	(void)state;
	openmetrics_counter(&metrics, "drops", "lost \"frames\"", UINT64_MAX);
	openmetrics_end(&metrics);
	assert_written(&metrics, "# HELP glb_drops lost \\\"frames\\\"\n# TYPE glb_drops counter\n"
				 "glb_drops_total 18446744073709551615\n# EOF\n");
}

static void test_counter_and_info_in_the_text_format(void **state)
{
	struct openmetrics metrics = begin(OPENMETRICS_LEGACY);

	(void)state;
	openmetrics_counter(&metrics, "drops", "lost \"frames\"", 7);
	openmetrics_family(&metrics, "build", OPENMETRICS_INFO, "the version");
	openmetrics_info(&metrics, OPENMETRICS_LABELS({"version", "1"}, {"isa", "avx2"}));
	openmetrics_end(&metrics);
	assert_written(&metrics, "# HELP glb_drops_total lost \"frames\"\n# TYPE glb_drops_total counter\n"
				 "glb_drops_total 7\n# HELP glb_build_info the version\n# TYPE glb_build_info gauge\n"
				 "glb_build_info{version=\"1\",isa=\"avx2\"} 1\n");
}

static void test_hostile_label_values_are_escaped(void **state)
{
	struct openmetrics metrics = begin(OPENMETRICS_1_0);

	(void)state;
	openmetrics_family(&metrics, "x", OPENMETRICS_GAUGE, "h");
	openmetrics_number(&metrics, OPENMETRICS_LABELS({"a", "\"} 1\n\\"}, {"b", "\xff\x01\xc3\xa9"}, {"c", ""}), 2);
	assert_written(&metrics,
		"# HELP glb_x h\n# TYPE glb_x gauge\nglb_x{a=\"\\\"} 1\\n\\\\\",b=\"??\xc3\xa9\",c=\"\"} 2\n");
}

static void test_real_numbers_keep_their_digits(void **state)
{
	struct openmetrics metrics = begin(OPENMETRICS_LEGACY);

	(void)state;
	openmetrics_family(&metrics, "x", OPENMETRICS_GAUGE, "h");
	openmetrics_real(&metrics, OPENMETRICS_NO_LABELS, 0.1);
	openmetrics_real(&metrics, OPENMETRICS_NO_LABELS, 1795386381.125);
	openmetrics_real(&metrics, OPENMETRICS_NO_LABELS, 0);
	assert_written(&metrics, "# HELP glb_x h\n# TYPE glb_x gauge\nglb_x 0.1\nglb_x 1795386381.125\nglb_x 0\n");
}

static void test_buckets_of_a_histogram_add_up(void **state)
{
	static const double bounds[] = {1e-6, 0.5, 1};
	static const uint64_t counts[] = {3, 0, 2, 1};
	struct openmetrics metrics = begin(OPENMETRICS_1_0);

	(void)state;
	openmetrics_family(&metrics, "gap_seconds", OPENMETRICS_HISTOGRAM, "h");
	openmetrics_histogram(&metrics, OPENMETRICS_LABELS({"lcore", "1"}), bounds, counts, 3, 2.5);
	assert_written(&metrics,
		"# HELP glb_gap_seconds h\n# TYPE glb_gap_seconds histogram\n"
		"glb_gap_seconds_bucket{lcore=\"1\",le=\"1e-06\"} 3\nglb_gap_seconds_bucket{lcore=\"1\",le=\"0.5\"} 3\n"
		"glb_gap_seconds_bucket{lcore=\"1\",le=\"1.0\"} 5\nglb_gap_seconds_bucket{lcore=\"1\",le=\"+Inf\"} 6\n"
		"glb_gap_seconds_count{lcore=\"1\"} 6\nglb_gap_seconds_sum{lcore=\"1\"} 2.5\n");
}

static void test_summary_and_a_histogram_without_labels(void **state)
{
	static const double bound = 2;
	static const uint64_t counts[] = {1, 1};
	struct openmetrics metrics = begin(OPENMETRICS_LEGACY);

	(void)state;
	openmetrics_family(&metrics, "s", OPENMETRICS_SUMMARY, "h");
	openmetrics_summary(&metrics, OPENMETRICS_NO_LABELS, 4, 0.25);
	openmetrics_family(&metrics, "g", OPENMETRICS_HISTOGRAM, "h");
	openmetrics_histogram(&metrics, OPENMETRICS_NO_LABELS, &bound, counts, 1, 9);
	assert_written(&metrics,
		"# HELP glb_s h\n# TYPE glb_s summary\nglb_s_count 4\nglb_s_sum 0.25\n"
		"# HELP glb_g h\n# TYPE glb_g histogram\nglb_g_bucket{le=\"2.0\"} 1\nglb_g_bucket{le=\"+Inf\"} 2\n"
		"glb_g_count 2\nglb_g_sum 9\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counter_and_end_in_openmetrics),
		cmocka_unit_test(test_counter_and_info_in_the_text_format),
		cmocka_unit_test(test_hostile_label_values_are_escaped),
		cmocka_unit_test(test_real_numbers_keep_their_digits),
		cmocka_unit_test(test_buckets_of_a_histogram_add_up),
		cmocka_unit_test(test_summary_and_a_histogram_without_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
