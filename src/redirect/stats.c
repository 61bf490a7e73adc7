/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "redirect/explain.h"
#include "redirect/loader.h"
#include "redirect/kernel/pins.h"
#include "redirect/metrics/metrics.h"

#define WATCH_INTERVAL_S 1
#define MAX_INTERFACES   64
#define USUAL_HOPS       2 /* a row of a forwarding table usually has this many */

enum {
	OPTION_JSON,
	OPTION_WATCH,
	OPTION_OPENMETRICS,
};

static const struct command_option options[] = {
	{"json", NULL, "print a JSON object with a member for each interface"},
	{"watch", NULL, "print again every second, with the increase per second, until interrupted"},
	{"openmetrics", NULL, "print the metrics of the exporter, in the text format that node_exporter reads"},
	{0},
};

struct samples {
	int count;
	struct attached items[MAX_INTERFACES];
};

static int take_sample(const char *interface, void *data)
{
	struct samples *samples = data;
	struct attached *sample = &samples->items[samples->count];
	struct pins pins;
	int error;

	if (samples->count == MAX_INTERFACES)
		return command_error("more than %d interfaces: name one", MAX_INTERFACES);
	error = pins_open(interface, &pins);
	if (error)
		return explain_folder(interface, error);
	attached_read(interface, &pins, sample);
	pins_close(&pins);
	if (sample->counter_count != REDIRECT_COUNTER_COUNT)
		return command_error("%s: the attached program has other counters than version " GLB_VERSION
				     ": attach it again",
			interface);
	samples->count++;
	return COMMAND_OK;
}

static int take_samples(const struct command_args *args, struct samples *samples)
{
	int code;

	samples->count = 0;
	if (loader_interface(args))
		return take_sample(loader_interface(args), samples);
	code = pins_for_each(take_sample, samples);
	if (code == COMMAND_OK && samples->count == 0)
		code = pins_check_bpffs();
	if (code < 0)
		return explain_folder(NULL, code);
	if (code == COMMAND_OK && samples->count == 0 && args->options[OPTION_WATCH])
		return command_error("not attached to any interface");
	return code;
}

/* Returns the interface's sample among the earlier ones, or NULL if it was not attached then. */
static const struct attached *earlier_sample(const struct samples *earlier, const char *interface)
{
	for (int i = 0; earlier && i < earlier->count; i++)
		if (strcmp(earlier->items[i].interface, interface) == 0)
			return &earlier->items[i];
	return NULL;
}

static void print_value(const char *name, uint64_t value, const uint64_t *before)
{
	printf("  %-30s %15" PRIu64, name, value);
	if (before)
		printf(" %+12" PRId64 "/s", (int64_t)(value - *before) / WATCH_INTERVAL_S);
	putchar('\n');
}

/* Does not print the hops that few tables have and no packet had. */
static void print_hops(const struct attached *sample, const struct attached *before)
{
	char name[32];

	for (int hop = 0; hop < REDIRECT_HOPS && sample->has_hops; hop++) {
		snprintf(name, sizeof(name), "accepted_at_hop_%d", hop + 1);
		if (sample->hops[hop] || hop < USUAL_HOPS)
			print_value(name, sample->hops[hop], before ? &before->hops[hop] : NULL);
	}
}

static void print_text(const struct samples *samples, const struct samples *earlier)
{
	if (earlier && isatty(STDOUT_FILENO))
		fputs("\033[H\033[J", stdout);
	for (int i = 0; i < samples->count; i++) {
		const struct attached *sample = &samples->items[i];
		const struct attached *before = earlier_sample(earlier, sample->interface);

		printf("%s%s\n", i ? "\n" : "", sample->interface);
		for (int counter = 0; counter < REDIRECT_COUNTER_COUNT; counter++)
			print_value(attached_counter_names[counter], sample->counters[counter],
				before ? &before->counters[counter] : NULL);
		print_hops(sample, before);
	}
}

static json_t *hops_to_json(const struct attached *sample)
{
	json_t *hops = json_array();

	for (int hop = 0; hop < REDIRECT_HOPS && sample->has_hops; hop++)
		json_array_append_new(hops, json_integer((json_int_t)sample->hops[hop]));
	return hops;
}

static void print_json(const struct samples *samples, size_t flags)
{
	json_t *json = json_object();

	for (int i = 0; i < samples->count; i++) {
		json_t *values = json_object();

		for (int counter = 0; counter < REDIRECT_COUNTER_COUNT; counter++)
			json_object_set_new(values, attached_counter_names[counter],
				json_integer((json_int_t)samples->items[i].counters[counter]));
		json_object_set_new(values, "accepted_at_hop", hops_to_json(&samples->items[i]));
		json_object_set_new(json, samples->items[i].interface, values);
	}
	json_dumpf(json, stdout, flags | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(json);
}

static int watch(const struct command_args *args, struct samples *samples)
{
	struct samples earlier;
	int code = COMMAND_OK;

	while (code == COMMAND_OK && fflush(stdout) == 0) {
		earlier = *samples;
		sleep(WATCH_INTERVAL_S);
		code = take_samples(args, samples);
		if (code == COMMAND_OK && args->options[OPTION_JSON])
			print_json(samples, JSON_COMPACT);
		else if (code == COMMAND_OK)
			print_text(samples, &earlier);
	}
	return code;
}

/* node_exporter does not read all of OpenMetrics. */
static int print_metrics(const struct command_args *args)
{
	static struct metrics metrics;
	size_t size;
	char *text;
	int error;

	if (args->count || args->options[OPTION_JSON] || args->options[OPTION_WATCH])
		return command_usage("stats: --openmetrics takes no interface and no other option");
	error = metrics_read(&metrics);
	if (error)
		return explain_folder(NULL, error);
	text = metrics_format(&metrics, OPENMETRICS_LEGACY, &size);
	if (!text)
		return command_error("out of memory");
	fwrite(text, 1, size, stdout);
	free(text);
	metrics_free(&metrics);
	return COMMAND_OK;
}

static int stats(const struct command_args *args)
{
	struct samples samples;
	int code;

	if (args->options[OPTION_OPENMETRICS])
		return print_metrics(args);
	code = take_samples(args, &samples);
	if (code != COMMAND_OK)
		return code;
	if (args->options[OPTION_WATCH])
		return watch(args, &samples);
	if (args->options[OPTION_JSON])
		print_json(&samples, JSON_INDENT(2));
	else if (samples.count == 0)
		puts("not attached to any interface");
	else
		print_text(&samples, NULL);
	return COMMAND_OK;
}

const struct command stats_command = {
	.name = "stats",
	.run = stats,
	.operands = "[INTERFACE]",
	.summary = "Print the counters",
	.options = options,
};
