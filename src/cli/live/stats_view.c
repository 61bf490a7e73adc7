/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/live/stats_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/live/snapshot.h"
#include "common/text.h"

#define NAME_WIDTH 34

/* Prints a value and, if there is an earlier one, its rate. Returns false if it is zero and left out. */
static bool print_value(const struct stats_view *view, int indent, const char *name, json_int_t now, const json_t *before)
{
	if (now == 0 && !view->all)
		return false;
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

/* Prints the integers of an object. `before`: the same object earlier, or NULL. Returns the number of lines. */
static size_t print_members(const struct stats_view *view, int indent, const json_t *object, const json_t *before,
	const char *const *except)
{
	size_t lines = 0;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
	{
		bool skipped = !json_is_integer(value);

		for (const char *const *name = except; !skipped && *name; name++)
			skipped = strcmp(*name, key) == 0;
		if (!skipped)
			lines += print_value(view, indent, key, json_integer_value(value), json_object_get(before, key));
	}
	return lines;
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
	const char *alt = snapshot_text(stats, "alt_hash_fields"), *error = snapshot_text(stats, "last_error");
	const char *slow = snapshot_text(stats, "slow"), *why = snapshot_text(stats, "packet_path_why");
	char uptime[48];

	command_print(12, "director    %s, up %s", snapshot_text(stats, "version"),
		format_uptime(snapshot_number(stats, "uptime"), uptime));
	command_print(12, "ISA         %s%s%s", snapshot_text(stats, "packet_path"), why[0] ? ", " : "", why);
	command_print(12, "table       %s", snapshot_text(stats, "table_path"));
	command_print(12, "            %s, %zu table%s, generation %" JSON_INTEGER_FORMAT,
		snapshot_text(stats, "table_format"), tables, text_plural(tables), snapshot_number(stats, "generation"));
	if (slow[0])
		command_print(12, "slow        %s", slow);
	command_print(12, "digest      %s, fingerprint %s", snapshot_text(stats, "digest"),
		snapshot_text(stats, "fingerprint"));
	command_print(
		12, "hash_fields %s%s%s", snapshot_text(stats, "hash_fields"), alt[0] ? "; alt_hash_fields " : "", alt);
	command_print(12, "next hop    %s", snapshot_text(stats, "next_hop_mac"));
	command_print(12, "reloads     %" JSON_INTEGER_FORMAT " succeeded, %" JSON_INTEGER_FORMAT " failed",
		snapshot_number(stats, "reloads"), snapshot_number(stats, "reload_failures"));
	if (error[0])
		command_print(12, "last error  %s", error);
	if (snapshot_number(stats, "capture"))
		command_print(12,
			"capture     by process %" JSON_INTEGER_FORMAT ", user %" JSON_INTEGER_FORMAT
			": %" JSON_INTEGER_FORMAT " packets, %" JSON_INTEGER_FORMAT " lost, %" JSON_INTEGER_FORMAT
			" not examined",
			snapshot_number(stats, "capture_pid"), snapshot_number(stats, "capture_uid"),
			snapshot_number(stats, "capture_matched"), snapshot_number(stats, "capture_lost"),
			snapshot_number(stats, "capture_skipped"));
}

static void print_ports(const struct stats_view *view, const json_t *ports, const json_t *before)
{
	static const char *const except[] = {"mbps", NULL};
	const char *id;
	json_t *port;

	json_object_foreach((json_t *)ports, id, port)
	{
		char title[128], speed[48] = "";

		if (snapshot_number(port, "mbps"))
			snprintf(speed, sizeof(speed), " %" JSON_INTEGER_FORMAT " Mbit/s", snapshot_number(port, "mbps"));
		snprintf(title, sizeof(title), "port %s, link %s%s", id, snapshot_text(port, "link"), speed);
		print_heading(view, title);
		command_print(2, "  %s", snapshot_text(port, "name"));
		print_members(view, 2, port, json_object_get(before, id), except);
	}
}

static void print_lcores(const struct stats_view *view, const json_t *lcores, const json_t *before)
{
	static const char *const none[] = {NULL};
	const char *id;
	json_t *lcore;

	json_object_foreach((json_t *)lcores, id, lcore)
	{
		char title[32];

		snprintf(title, sizeof(title), "lcore %.16s", id);
		print_heading(view, title);
		print_members(view, 2, lcore, json_object_get(before, id), none);
	}
}

/* Finds the element whose member `key` has this text, most of the time at this index. NULL: there is none. */
static const json_t *find(const json_t *array, size_t index, const char *key, const char *text)
{
	const json_t *element = json_array_get(array, index);

	if (strcmp(snapshot_text(element, key), text) == 0)
		return element;
	for (size_t i = 0; i < json_array_size(array); i++)
		if (strcmp(snapshot_text(json_array_get(array, i), key), text) == 0)
			return json_array_get(array, i);
	return NULL;
}

static void print_backends(const struct stats_view *view, const json_t *backends, const json_t *before)
{
	size_t i, hidden = 0;
	const json_t *backend;

	json_array_foreach(backends, i, backend)
	{
		const char *ip = snapshot_text(backend, "ip");
		const json_t *same = find(before, i, "ip", ip);
		char name[80];

		snprintf(name, sizeof(name), "%-15.15s %.8s%s", ip, snapshot_text(backend, "state"),
			snapshot_number(backend, "healthy") ? "" : ", down");
		hidden += !print_value(
			view, 2, name, snapshot_number(backend, "packets"), json_object_get(same, "packets"));
		if (snapshot_number(backend, "no_next_hop")) {
			snprintf(name, sizeof(name), "%-15.15s drop_no_next_hop", ip);
			print_value(view, 2, name, snapshot_number(backend, "no_next_hop"),
				json_object_get(same, "no_next_hop"));
		}
	}
	if (hidden)
		printf("  %zu of %zu backend%s got no packets (--all lists them)\n", hidden, json_array_size(backends),
			text_plural(json_array_size(backends)));
}

/* A long bind has a line of its own above its count. */
static void print_bind(const struct stats_view *view, const json_t *bind, const json_t *before)
{
	char text[SNAPSHOT_BIND_MAX];
	json_int_t packets = snapshot_number(bind, "estimated_packets");
	bool is_long = strlen(snapshot_bind(bind, text)) + 4 > NAME_WIDTH;

	if (is_long)
		printf("    %s\n", text);
	print_value(view, 4, is_long ? "" : text, packets, json_object_get(before, "estimated_packets"));
}

static void print_binds(const struct stats_view *view, const json_t *binds, const json_t *before)
{
	size_t i, hidden = 0;
	const json_t *bind;

	if (json_array_size(binds))
		puts("  packets of each bind, estimated from samples:");
	json_array_foreach(binds, i, bind)
	{
		if (snapshot_number(bind, "estimated_packets") || view->all)
			print_bind(view, bind, find(before, i, "bind", snapshot_text(bind, "bind")));
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
		const json_t *earlier = find(before, i, "name", snapshot_text(table, "name"));
		const char *bind = snapshot_text(table, "first_bind");

		putchar('\n');
		command_print(2, "table %s%s%s", snapshot_text(table, "name"), bind[0] ? " " : "", bind);
		print_value(view, 2, "packets", snapshot_number(table, "packets"), json_object_get(earlier, "packets"));
		print_value(view, 2, "bytes", snapshot_number(table, "bytes"), json_object_get(earlier, "bytes"));
		print_backends(view, json_object_get(table, "backends"), json_object_get(earlier, "backends"));
		print_binds(view, json_object_get(table, "binds"), json_object_get(earlier, "binds"));
	}
}

void stats_view_print(const struct stats_view *view)
{
	static const char *const not_counters[] = {"uptime", "generation", "reloads", "reload_failures",
		"classifier_bytes", "prefix_lengths_ipv4", "prefix_lengths_ipv6", "port_maps", "misfit_prefixes",
		"truncated", NULL};
	const json_t *stats = json_object_get(view->now, "stats"), *before = json_object_get(view->before, "stats");
	const json_t *tables = json_object_get(view->now, "tables");

	print_header(stats, json_array_size(tables));
	print_heading(view, "counter");
	if (print_members(view, 0, stats, before, not_counters) == 0)
		puts("No counter has counted anything yet (--all lists them).");
	print_ports(view, json_object_get(stats, "ports"), json_object_get(before, "ports"));
	print_tables(view, tables, json_object_get(view->before, "tables"));
	if (view->all)
		print_lcores(view, json_object_get(stats, "lcores"), json_object_get(before, "lcores"));
	if (view->all && snapshot_number(stats, "truncated"))
		puts("\nThere are more lcores than the director lists.");
}

bool stats_view_restarted(const json_t *before, const json_t *now)
{
	static const char *const growing[] = {"uptime", "received", "generation"};
	const json_t *earlier = json_object_get(before, "stats"), *stats = json_object_get(now, "stats");

	for (size_t i = 0; i < sizeof(growing) / sizeof(growing[0]); i++)
		if (snapshot_number(stats, growing[i]) < snapshot_number(earlier, growing[i]))
			return true;
	return snapshot_number(before, "pid") != snapshot_number(now, "pid");
}
