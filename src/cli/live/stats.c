/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/live/snapshot.h"
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

struct stats_view {
	const json_t *now; /* the snapshot to print, with all parts */
	const json_t *before; /* an earlier snapshot of the same process, for rates; NULL: there is none */
	double seconds; /* between the two */
	bool rates; /* print a column with rates */
	bool all; /* also what is zero, and each lcore */
};

#define NAME_WIDTH 34

/* Prints a value and, if there is an earlier one, its rate. Returns false if it is zero and left out. */
static bool print_value(const struct stats_view *view, int indent, const char *name, json_int_t now, const json_t *before)
{
	if (now == 0 && !view->all)
		return false;
	if ((int)strlen(name) > NAME_WIDTH - indent) {
		printf("%*s%s\n", indent, "", name);
		name = "";
	}
	printf("%*s%-*s %20" JSON_INTEGER_FORMAT, indent, "", NAME_WIDTH - indent, name, now);
	if (view->rates && json_is_integer(before) && json_integer_value(before) <= now)
		printf(" %16.0f", (double)(now - json_integer_value(before)) / view->seconds);
	else if (view->rates)
		printf(" %16s", "-");
	putchar('\n');
	return true;
}

static void print_heading(const struct stats_view *view, const char *title)
{
	printf("\n%-*s %20s%s\n", NAME_WIDTH, title, "total", view->rates ? "       per second" : "");
}

/* Prints the integers of an object but the one named `except`. `before`: the same object earlier, or NULL. */
static void print_members(const struct stats_view *view, const json_t *object, const json_t *before, const char *except)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
	{
		if (json_is_integer(value) && strcmp(key, except) != 0)
			print_value(view, 2, key, json_integer_value(value), json_object_get(before, key));
	}
}

/* Prints the sums of the counters: the members of the reply that each lcore has, too. */
static void print_counters(const struct stats_view *view, const json_t *stats, const json_t *before)
{
	json_t *lcores = json_object_get(stats, "lcores"), *unused;
	bool printed = false;
	const char *key;

	json_object_foreach(json_object_iter_value(json_object_iter(lcores)), key, unused)
	{
		printed |= print_value(view, 0, key, member_number(stats, key), json_object_get(before, key));
	}
	if (!printed)
		puts("No counter has counted anything yet (--all lists them).");
}

/* Writes "3 d 4 h", "4 h 12 min", "12 min 5 s" or "5 s". */
static const char *format_uptime(json_int_t seconds, char buf[48])
{
	long long s = seconds, min = s / 60, h = min / 60, d = h / 24;

	if (d)
		snprintf(buf, 48, "%lld d %lld h", d, h % 24);
	else if (h)
		snprintf(buf, 48, "%lld h %lld min", h, min % 60);
	else if (min)
		snprintf(buf, 48, "%lld min %lld s", min, s % 60);
	else
		snprintf(buf, 48, "%lld s", s);
	return buf;
}

static void print_header(const json_t *stats, size_t tables)
{
	const char *alt = member_text(stats, "alt_hash_fields"), *error = member_text(stats, "last_error");
	const char *slow = member_text(stats, "slow"), *why = member_text(stats, "packet_path_why");
	char uptime[48];

	command_print(12, "director    %s, up %s", member_text(stats, "version"),
		format_uptime(member_number(stats, "uptime"), uptime));
	command_print(12, "ISA         %s%s%s", member_text(stats, "packet_path"), why[0] ? ", " : "", why);
	command_print(12, "table       %s", member_text(stats, "table_path"));
	command_print(12, "            %s, %zu table%s, generation %" JSON_INTEGER_FORMAT,
		member_text(stats, "table_format"), tables, text_plural(tables), member_number(stats, "generation"));
	if (slow[0])
		command_print(12, "slow        %s", slow);
	command_print(
		12, "digest      %s, fingerprint %s", member_text(stats, "digest"), member_text(stats, "fingerprint"));
	if (member_text(stats, "first_hops")[0])
		command_print(12, "first_hops  %s", member_text(stats, "first_hops"));
	command_print(
		12, "hash_fields %s%s%s", member_text(stats, "hash_fields"), alt[0] ? "; alt_hash_fields " : "", alt);
	command_print(12, "next hop    %s", member_text(stats, "next_hop_mac"));
	command_print(12, "reloads     %" JSON_INTEGER_FORMAT " succeeded, %" JSON_INTEGER_FORMAT " failed",
		member_number(stats, "reloads"), member_number(stats, "reload_failures"));
	if (error[0])
		command_print(12, "last error  %s", error);
	if (member_number(stats, "capture"))
		command_print(12,
			"capture     by process %" JSON_INTEGER_FORMAT ", user %" JSON_INTEGER_FORMAT
			": %" JSON_INTEGER_FORMAT " packets, %" JSON_INTEGER_FORMAT " lost, %" JSON_INTEGER_FORMAT
			" not examined",
			member_number(stats, "capture_pid"), member_number(stats, "capture_uid"),
			member_number(stats, "capture_matched"), member_number(stats, "capture_lost"),
			member_number(stats, "capture_skipped"));
}

static void print_ports(const struct stats_view *view, const json_t *ports, const json_t *before)
{
	const char *id;
	json_t *port;

	json_object_foreach((json_t *)ports, id, port)
	{
		char title[128], speed[48] = "";

		if (member_number(port, "mbps"))
			snprintf(speed, sizeof(speed), " %" JSON_INTEGER_FORMAT " Mbit/s", member_number(port, "mbps"));
		snprintf(title, sizeof(title), "port %s, link %s%s", id, member_text(port, "link"), speed);
		print_heading(view, title);
		command_print(2, "  %s", member_text(port, "name"));
		print_members(view, port, json_object_get(before, id), "mbps");
	}
}

static void print_lcores(const struct stats_view *view, const json_t *lcores, const json_t *before)
{
	const char *id;
	json_t *lcore;

	json_object_foreach((json_t *)lcores, id, lcore)
	{
		char title[32];

		snprintf(title, sizeof(title), "lcore %.16s", id);
		print_heading(view, title);
		print_members(view, lcore, json_object_get(before, id), "");
	}
}

/* Finds the element whose member `key` has this text, most of the time at this index. NULL: there is none. */
static const json_t *find(const json_t *array, size_t index, const char *key, const char *text)
{
	const json_t *element = json_array_get(array, index);

	if (strcmp(member_text(element, key), text) == 0)
		return element;
	for (size_t i = 0; i < json_array_size(array); i++)
		if (strcmp(member_text(json_array_get(array, i), key), text) == 0)
			return json_array_get(array, i);
	return NULL;
}

static void print_backends(const struct stats_view *view, const json_t *backends, const json_t *before)
{
	size_t i, hidden = 0;
	const json_t *backend;

	json_array_foreach(backends, i, backend)
	{
		const char *ip = member_text(backend, "ip");
		const json_t *same = find(before, i, "ip", ip);
		char name[80];

		snprintf(name, sizeof(name), "%-15.45s %.8s%s", ip, member_text(backend, "state"),
			member_number(backend, "healthy") ? "" : ", down");
		hidden +=
			!print_value(view, 2, name, member_number(backend, "packets"), json_object_get(same, "packets"));
		if (member_number(backend, "no_next_hop")) {
			snprintf(name, sizeof(name), "%-15.45s drop_no_next_hop", ip);
			print_value(view, 2, name, member_number(backend, "no_next_hop"),
				json_object_get(same, "no_next_hop"));
		}
	}
	if (hidden)
		printf("  %zu of %zu backend%s got no packets (--all lists them)\n", hidden, json_array_size(backends),
			text_plural(json_array_size(backends)));
}

static void print_bind(const struct stats_view *view, const json_t *bind, const json_t *before)
{
	char text[SNAPSHOT_BIND_MAX];

	print_value(view, 4, snapshot_bind(bind, text), member_number(bind, "estimated_packets"),
		json_object_get(before, "estimated_packets"));
}

static void print_binds(const struct stats_view *view, const json_t *binds, const json_t *before)
{
	size_t i, hidden = 0;
	const json_t *bind;

	if (json_array_size(binds))
		puts("  packets of each bind, estimated from samples:");
	json_array_foreach(binds, i, bind)
	{
		if (member_number(bind, "estimated_packets") || view->all)
			print_bind(view, bind, find(before, i, "bind", member_text(bind, "bind")));
		else
			hidden++;
	}
	if (hidden)
		printf("    %zu of %zu bind%s had no sample (--all lists them)\n", hidden, json_array_size(binds),
			text_plural(json_array_size(binds)));
}

static void print_tables(const struct stats_view *view, const json_t *tables, const json_t *before)
{
	const json_t *table;
	size_t i;

	json_array_foreach(tables, i, table)
	{
		const json_t *earlier = find(before, i, "name", member_text(table, "name"));
		const char *bind = member_text(table, "first_bind");

		putchar('\n');
		command_print(2, "table %s%s%s", member_text(table, "name"), bind[0] ? " " : "", bind);
		print_value(view, 2, "packets", member_number(table, "packets"), json_object_get(earlier, "packets"));
		print_value(view, 2, "bytes", member_number(table, "bytes"), json_object_get(earlier, "bytes"));
		print_backends(view, json_object_get(table, "backends"), json_object_get(earlier, "backends"));
		print_binds(view, json_object_get(table, "binds"), json_object_get(earlier, "binds"));
	}
}

static void print_view(const struct stats_view *view)
{
	const json_t *stats = json_object_get(view->now, "stats"), *before = json_object_get(view->before, "stats");
	const json_t *tables = json_object_get(view->now, "tables");

	print_header(stats, json_array_size(tables));
	print_heading(view, "counter");
	print_counters(view, stats, before);
	print_ports(view, json_object_get(stats, "ports"), json_object_get(before, "ports"));
	print_tables(view, tables, json_object_get(view->before, "tables"));
	if (view->all)
		print_lcores(view, json_object_get(stats, "lcores"), json_object_get(before, "lcores"));
	if (view->all && member_number(stats, "truncated"))
		puts("\nThere are more lcores than the director lists.");
}

/* Returns whether the director has started again since `before`: its process differs, or uptime or counters
 * went back. */
static bool has_restarted(const json_t *before, const json_t *now)
{
	static const char *const growing[] = {"uptime", "received", "generation"};
	const json_t *earlier = json_object_get(before, "stats"), *stats = json_object_get(now, "stats");

	for (size_t i = 0; i < sizeof(growing) / sizeof(growing[0]); i++)
		if (member_number(stats, growing[i]) < member_number(earlier, growing[i]))
			return true;
	return member_number(before, "pid") != member_number(now, "pid");
}

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
	print_view(view);
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
		restarted = has_restarted(before, now);
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
	print_view(&(struct stats_view){.now = snapshot, .all = args->options[ALL]});
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
