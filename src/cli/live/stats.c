/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/live/snapshot.h"
#include "cli/live/stats_view.h"
#include "common/clock.h"
#include "common/text.h"

enum { ALL = TELEMETRY_OPTIONS, WATCH, JSON };

static const struct command_option options[] = {
	TELEMETRY_OPTION_LIST,
	[ALL] = {"all", NULL, "also print zeros, and the counters of each lcore"},
	[WATCH] = {"watch", "[=SECONDS]", "print again every SECONDS (default: 1), with rates"},
	[JSON] = {"json", NULL, "print the reply as JSON"},
	{0},
};

static json_t *read_snapshot(const struct command_args *args, int *code)
{
	struct telemetry telemetry;
	json_t *snapshot;

	*code = telemetry_open(&telemetry, args);
	if (*code != COMMAND_OK)
		return NULL;
	snapshot = snapshot_read(&telemetry, SNAPSHOT_ALL, NULL);
	telemetry_close(&telemetry);
	if (snapshot)
		json_object_set_new(snapshot, "pid", json_integer(telemetry.socket.pid));
	else
		*code = COMMAND_FAILED;
	return snapshot;
}

static int print_reply(const struct command_args *args)
{
	json_t *reply;
	int code = telemetry_request(args, "/glb/stats", &reply);

	return code == COMMAND_OK ? cli_print_json(reply) : code;
}

/* Sleeps until `until` (CLOCK_MONOTONIC). Returns false if a signal asked to end. The signals are blocked otherwise. */
static bool sleep_until(uint64_t until_ns, const sigset_t *ends)
{
	for (;;) {
		uint64_t now = clock_now_ns();
		struct timespec left = clock_timespec(until_ns > now ? (until_ns - now) / 1000 : 0);

		if (sigtimedwait(ends, NULL, &left) >= 0)
			return false;
		if (errno == EAGAIN)
			return true;
	}
}

static void print(const struct stats_view *view, const char *note)
{
	static bool again;

	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout); /* clear the screen */
	else if (again)
		puts("\n----");
	again = true;
	if (note)
		printf("%s\n\n", note);
	stats_view_print(view);
	fflush(stdout);
}

/* Prints again and again until SIGINT or SIGTERM. A director that restarts or is away for some time does not end it. */
static int watch(const struct command_args *args, json_t *now, uint32_t seconds)
{
	uint64_t read_ns = clock_now_ns(), due_ns = read_ns, before_ns;
	json_t *before = NULL;
	sigset_t ends;
	int code;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	print(&(struct stats_view){.now = now, .rates = true, .all = args->options[ALL]}, NULL);
	while (due_ns += seconds * CLOCK_NS_PER_S, sleep_until(due_ns, &ends) && !ferror(stdout)) {
		json_t *next = read_snapshot(args, &code);
		bool restarted;

		if (due_ns + seconds * CLOCK_NS_PER_S < clock_now_ns()) /* the reply was late: do not make up for it */
			due_ns = clock_now_ns();
		if (!next)
			continue;
		json_decref(before);
		before = now;
		before_ns = read_ns;
		now = next;
		read_ns = clock_now_ns();
		restarted = stats_view_restarted(before, now);
		print(&(struct stats_view){.now = now,
			      .before = restarted ? NULL : before,
			      .seconds = (double)(read_ns - before_ns) / CLOCK_NS_PER_S,
			      .rates = true,
			      .all = args->options[ALL]},
			restarted ? "The director has started again: its counters began at 0." : NULL);
	}
	json_decref(before);
	json_decref(now);
	return COMMAND_OK;
}

/* SECONDS may also be a word of its own: --watch 5. */
static int parse_seconds(const struct command_args *args, uint32_t *seconds)
{
	const char *text = args->options[WATCH];

	if (args->count && (!text || *text))
		return command_usage("stats: unexpected operand '%s'", args->operands[0]);
	if (args->count)
		text = args->operands[0];
	if (text && (args->count || *text) && !text_number(text, 1, 3600, seconds))
		return command_usage("stats: --watch: '%s' is not a number of seconds from 1 to 3600", text);
	return COMMAND_OK;
}

static int stats_run(const struct command_args *args)
{
	uint32_t seconds = 1;
	json_t *snapshot;
	int code = parse_seconds(args, &seconds);

	if (code != COMMAND_OK)
		return code;
	if (args->options[JSON] && (args->options[WATCH] || args->options[ALL]))
		return command_usage("stats: --json prints one whole reply, so it excludes --watch and --all");
	if (args->options[JSON])
		return print_reply(args);
	snapshot = read_snapshot(args, &code);
	if (!snapshot)
		return code;
	if (args->options[WATCH])
		return watch(args, snapshot, seconds);
	stats_view_print(&(struct stats_view){.now = snapshot, .all = args->options[ALL]});
	json_decref(snapshot);
	return COMMAND_OK;
}

const struct command stats_command = {
	.name = "stats",
	.run = stats_run,
	.hidden_operands = 1, /* SECONDS after --watch */
	.summary = "Print the counters of a running director",
	.options = options,
};
