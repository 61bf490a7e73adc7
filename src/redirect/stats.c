/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "redirect/explain.h"
#include "redirect/loader.h"
#include "redirect/kernel/pins.h"

#define WATCH_INTERVAL_S 1
#define MAX_INTERFACES   64

enum {
	OPTION_JSON,
	OPTION_WATCH,
};

static const struct command_option options[] = {
	{"json", NULL, "print a JSON object with a member for each interface"},
	{"watch", NULL, "print again every second, with the increase per second, until interrupted"},
	{0},
};

static const char *const names[] = {
#define X(symbol, name, help) [REDIRECT_##symbol] = name,
	REDIRECT_COUNTER_LIST(X)
#undef X
};

struct sample {
	char interface[IFNAMSIZ];
	uint64_t values[REDIRECT_COUNTER_COUNT];
};

struct samples {
	int count;
	struct sample items[MAX_INTERFACES];
};

static int take_sample(const char *interface, void *data)
{
	struct samples *samples = data;
	struct sample *sample = &samples->items[samples->count];
	struct pins pins;
	int error;

	if (samples->count == MAX_INTERFACES)
		return command_error("more than %d interfaces: name one", MAX_INTERFACES);
	error = pins_open(interface, &pins);
	if (error == -ENOENT)
		return command_error("%s: not attached", interface);
	if (error)
		return explain_folder(interface, error);
	snprintf(sample->interface, sizeof(sample->interface), "%s", interface);
	error = pins_read_counters(&pins, sample->values);
	pins_close(&pins);
	if (error == -EPROTO)
		return command_error("%s: the attached program has other counters than version " GLB_VERSION
				     ": attach it again",
			interface);
	if (error)
		return command_error("%s: cannot read the counters: %s", interface, strerror(-error));
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
	if (code < 0)
		return explain_folder(NULL, code);
	if (code == COMMAND_OK && samples->count == 0 && args->options[OPTION_WATCH])
		return command_error("not attached to any interface");
	return code;
}

/* Returns the interface's values in the earlier samples, or NULL if it was not attached then. */
static const uint64_t *earlier_values(const struct samples *earlier, const char *interface)
{
	for (int i = 0; earlier && i < earlier->count; i++)
		if (strcmp(earlier->items[i].interface, interface) == 0)
			return earlier->items[i].values;
	return NULL;
}

static void print_text(const struct samples *samples, const struct samples *earlier)
{
	if (earlier && isatty(STDOUT_FILENO))
		fputs("\033[H\033[J", stdout);
	for (int i = 0; i < samples->count; i++) {
		const struct sample *sample = &samples->items[i];
		const uint64_t *before = earlier_values(earlier, sample->interface);

		printf("%s%s\n", i ? "\n" : "", sample->interface);
		for (int counter = 0; counter < REDIRECT_COUNTER_COUNT; counter++) {
			printf("  %-30s %15" PRIu64, names[counter], sample->values[counter]);
			if (before)
				printf(" %+12" PRId64 "/s",
					(int64_t)(sample->values[counter] - before[counter]) / WATCH_INTERVAL_S);
			putchar('\n');
		}
	}
}

static void print_json(const struct samples *samples, size_t flags)
{
	json_t *json = json_object();

	for (int i = 0; i < samples->count; i++) {
		json_t *values = json_object();

		for (int counter = 0; counter < REDIRECT_COUNTER_COUNT; counter++)
			json_object_set_new(
				values, names[counter], json_integer((json_int_t)samples->items[i].values[counter]));
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

static int stats(const struct command_args *args)
{
	struct samples samples;
	int code = take_samples(args, &samples);

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
	.max_operands = 1,
	.summary = "Print the counters",
	.options = options,
};
