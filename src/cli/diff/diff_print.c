/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/diff/diff_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "common/text.h"
#include "table/file/json/table_json_quic.h"

#define MAX_BINDS    10 /* lines for people, of a table */
#define MAX_BACKENDS 10

static bool is_renamed(const struct table_diff *table)
{
	return table->before && table->after && table->before->name && table->after->name &&
	       strcmp(table->before->name, table->after->name) != 0;
}

static const char *change_of(const struct table_diff *table)
{
	if (!table->before)
		return "added";
	return !table->after ? "removed" : is_renamed(table) ? "renamed" : "kept";
}

/* A bind that is not in the same table of both sets. */
struct bind_change {
	const struct table_bind *bind;
	const char *change; /* "lost", "moved" or "added" */
	bool part; /* other packets of the bind have another fate */
	const struct table_diff *to; /* the table to which a bind has moved */
};

static const struct table_diff *find_new(const struct table_set_diff *diff, uint32_t index)
{
	for (uint32_t i = 0; i < diff->count; i++)
		if (diff->tables[i].after && diff->tables[i].new_index == index)
			return &diff->tables[i];
	return NULL;
}

/* Finds out what happens to bind `index` of the old table. Returns false if it stays. */
static bool old_bind_changes(
	const struct table_set_diff *diff, const struct table_diff *table, uint32_t index, struct bind_change *change)
{
	const struct bind_fate *fate = &table->old_fates[index];
	uint32_t first = table_mask_next(&fate->tables, 0), other = first;
	bool several = first < TABLE_MAX_TABLES && table_mask_next(&fate->tables, first + 1) < TABLE_MAX_TABLES;

	if (table->after && first == table->new_index)
		other = table_mask_next(&fate->tables, first + 1);
	if (!fate->nowhere && other == TABLE_MAX_TABLES)
		return false;
	*change = (struct bind_change){
		.bind = &table->before->binds[index],
		.change = fate->nowhere ? "lost" : "moved",
		.part = fate->nowhere ? first < TABLE_MAX_TABLES : several,
		.to = fate->nowhere ? NULL : find_new(diff, other),
	};
	return true;
}

/* The same for bind `index` of the new table. A bind that has moved is listed with its old table. */
static bool new_bind_changes(const struct table_diff *table, uint32_t index, struct bind_change *change)
{
	const struct bind_fate *fate = &table->new_fates[index];

	*change = (struct bind_change){
		.bind = &table->after->binds[index],
		.change = "added",
		.part = table_mask_any(&fate->tables),
	};
	return fate->nowhere;
}

typedef void bind_fn(const struct bind_change *change, void *context);

/* Calls `visit` for each bind of the table that changes. */
static void for_each_bind(const struct table_set_diff *diff, const struct table_diff *table, bind_fn *visit, void *context)
{
	struct bind_change change;

	for (uint32_t i = 0; table->before && i < table->before->bind_count; i++)
		if (old_bind_changes(diff, table, i, &change))
			visit(&change, context);
	for (uint32_t i = 0; table->after && i < table->after->bind_count; i++)
		if (new_bind_changes(table, i, &change))
			visit(&change, context);
}

static json_t *describe_side(const struct table_backend *backend, uint32_t first)
{
	if (!backend)
		return json_null();
	return json_pack("{s:s, s:b, s:o, s:i, s:o}", "state", table_state_name(backend->state), "healthy",
		backend->healthy, "weight", cli_weight_json(backend), "first_hop_rows", (int)first, "server_ids",
		cli_server_ids_json(backend->server_ids));
}

static json_t *describe_backends(const struct table_diff *table)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < table->backend_count; i++) {
		const struct table_diff_backend *backend = &table->backends[i];
		char text[NETADDR_TEXT_MAX];

		json_array_append_new(array,
			json_pack("{s:s, s:o, s:o, s:i, s:i, s:i, s:i, s:i}", "ip", netaddr_format(&backend->addr, text),
				"old", describe_side(backend->before, backend->first_before), "new",
				describe_side(backend->after, backend->first_after), "gained", (int)backend->gained,
				"lost", (int)backend->lost, "still_reached", (int)backend->still_reached, "held_rows",
				(int)backend->held, "broken_rows", (int)backend->broken));
	}
	return array;
}

static void append_bind(const struct bind_change *change, void *array)
{
	json_t *bind = cli_bind_json(change->bind);
	char label[16];

	json_object_update_new(bind, json_pack("{s:s, s:b, s:s?}", "change", change->change, "part", change->part, "to",
					     change->to ? table_diff_label(change->to, label) : NULL));
	json_array_append_new(array, bind);
}

json_t *diff_describe_causes(const uint32_t causes[TABLE_DIFF_CAUSES])
{
	return json_pack("{s:i, s:i, s:i, s:i}", "unmatched", (int)causes[TABLE_DIFF_UNMATCHED], "hash_key",
		(int)causes[TABLE_DIFF_HASH_KEY], "removed", (int)causes[TABLE_DIFF_REMOVED], "pushed_out",
		(int)causes[TABLE_DIFF_PUSHED_OUT]);
}

static json_t *describe_quic(const struct table_diff *table)
{
	json_t *array = json_array();

	for (uint8_t id = 0; id < QUIC_MAX_CONFIGS; id++) {
		const char *change = table_quic_change(table->before, table->after, id);

		if (change)
			json_array_append_new(array, json_pack("{s:i, s:s}", "id", id, "change", change));
	}
	return array;
}

static json_t *describe_table(const struct table_set_diff *diff, const struct table_diff *table)
{
	json_t *binds = json_array(), *json;

	for_each_bind(diff, table, append_bind, binds);
	json = json_pack("{s:s?, s:s?, s:i, s:s, s:b, s:b, s:b}", "name", table_diff_name(table), "old_name",
		table->before ? table->before->name : NULL, "index",
		(int)(table->after ? table->new_index : table->old_index), "table", change_of(table), "hash_key_changed",
		table->key_changed, "seed_known", table->seed_known, "binds_changed", json_array_size(binds) > 0);
	json_object_update_new(
		json, json_pack("{s:i, s:f, s:i, s:f, s:i, s:f, s:o, s:o}", "changed_rows", (int)table->changed,
			      "changed_percent", table_diff_percent(table->changed, TABLE_ROWS), "broken_rows",
			      (int)table->broken, "broken_percent", table_diff_percent(table->broken, TABLE_ROWS),
			      "at_risk_rows", (int)table->at_risk, "at_risk_percent",
			      table_diff_percent(table->at_risk, TABLE_ROWS), "binds", binds, "backends",
			      describe_backends(table)));
	json_object_update_new(json,
		json_pack("{s:o, s:i, s:f, s:i, s:i, s:o}", "broken_by", diff_describe_causes(table->causes), "skew_rows",
			(int)table->skew, "skew_percent", table_diff_percent(table->skew, TABLE_ROWS), "udp_binds",
			(int)table->udp_binds, "udp_moved_rows", (int)table->udp_moved, "quic", describe_quic(table)));
	return json;
}

json_t *diff_describe(const struct table_set_diff *diff)
{
	json_t *tables = json_array(), *json;

	for (uint32_t i = 0; i < diff->count; i++)
		if (!diff->only || diff->only == &diff->tables[i])
			json_array_append_new(tables, describe_table(diff, &diff->tables[i]));
	json = json_pack("{s:i, s:i, s:f, s:i, s:f, s:i, s:f, s:o}", "rows", (int)diff->rows, "changed_rows",
		(int)diff->changed, "changed_percent", table_diff_percent(diff->changed, diff->rows), "broken_rows",
		(int)diff->broken, "broken_percent", table_diff_percent(diff->broken, diff->rows), "at_risk_rows",
		(int)diff->at_risk, "at_risk_percent", table_diff_percent(diff->at_risk, diff->rows), "tables", tables);
	json_object_update_new(
		json, json_pack("{s:o, s:i, s:f, s:i}", "broken_by", diff_describe_causes(diff->causes), "skew_rows",
			      (int)diff->skew, "skew_percent", table_diff_percent(diff->skew, diff->rows),
			      "udp_moved_rows", (int)diff->udp_moved));
	return json;
}

const char *diff_percent_text(uint32_t part, uint32_t whole, char buf[16])
{
	double percent = table_diff_percent(part, whole);

	if (part > 0 && percent < 0.01)
		return "<0.01%";
	if (part < whole && percent > 99.99)
		return ">99.99%";
	snprintf(buf, 16, "%.2f%%", percent);
	return buf;
}

static const char *side_text(const struct table_backend *backend, char buf[32])
{
	if (!backend)
		return "-";
	snprintf(buf, 32, "%s%s", table_state_name(backend->state), backend->healthy ? "" : " down");
	return buf;
}

static void print_backends(const struct table_diff *table)
{
	char text[NETADDR_TEXT_MAX], before[32], after[32];

	puts("  backend          old            new             first hops      gained   lost");
	for (uint32_t i = 0; i < table->backend_count; i++) {
		const struct table_diff_backend *backend = &table->backends[i];

		printf("  %-15s  %-13s  %-13s  %5" PRIu32 " -> %5" PRIu32 "  %6" PRIu32 " %6" PRIu32 "\n",
			netaddr_format(&backend->addr, text), side_text(backend->before, before),
			side_text(backend->after, after), backend->first_before, backend->first_after, backend->gained,
			backend->lost);
	}
}

/* Binary tables do not have weights. */
static bool is_reweighted(const struct table_diff_backend *backend)
{
	return backend->before && backend->after && backend->before->weight && backend->after->weight &&
	       backend->before->weight != backend->after->weight;
}

static void print_weights(const struct table_diff *table)
{
	char text[NETADDR_TEXT_MAX];

	for (uint32_t i = 0; i < table->backend_count; i++)
		if (is_reweighted(&table->backends[i]))
			printf("  %s: weight %u, was %u\n", netaddr_format(&table->backends[i].addr, text),
				table->backends[i].after->weight, table->backends[i].before->weight);
}

bool diff_changes_server_ids(const struct table_diff_backend *backend)
{
	return backend->before && backend->after && backend->before->server_ids[0].length &&
	       memcmp(backend->before->server_ids, backend->after->server_ids, sizeof(backend->after->server_ids)) != 0;
}

static void print_quic(const struct table_diff *table)
{
	char text[NETADDR_TEXT_MAX], ids[2][SERVER_ID_TEXT_MAX];

	for (uint8_t id = 0; id < QUIC_MAX_CONFIGS; id++) {
		const char *change = table_quic_change(table->before, table->after, id);

		if (change)
			printf("  QUIC configuration %u: %s\n", id, change);
	}
	for (uint32_t i = 0; i < table->backend_count; i++) {
		const struct table_diff_backend *backend = &table->backends[i];

		if (diff_changes_server_ids(backend))
			printf("  %s: server_id %s, was %s\n", netaddr_format(&backend->addr, text),
				server_id_text(backend->after->server_ids, ids[0]),
				server_id_text(backend->before->server_ids, ids[1]));
	}
}

char *diff_checks(const struct check_targets *old, const struct http_settings *old_http,
	const struct check_targets *new, const struct http_settings *new_http)
{
	const char *before = old_http ? old_http->values[HTTP_HEADERS] : NULL,
		   *after = new_http ? new_http->values[HTTP_HEADERS] : NULL;
	char *old_text = table_health_text(old, old_http), *new_text = table_health_text(new, new_http), *change = NULL;

	if (old_text && new_text && strcmp(old_text, new_text) != 0) {
		if (asprintf(&change, "%s -> %s", old_text, new_text) < 0)
			change = NULL;
	} else if (new_text && strstr(new_text, "headers") && strcmp(before ? before : "", after ? after : "") != 0) {
		change = strdup("other http_headers");
	}
	free(old_text);
	free(new_text);
	return change;
}

struct bind_lines {
	uint32_t count, lost;
};

static void print_bind(const struct bind_change *change, void *context)
{
	char text[TABLE_BIND_TEXT_MAX], label[16], what[32];
	struct bind_lines *lines = context;

	lines->lost += change->bind && strcmp(change->change, "lost") == 0;
	if (lines->count++ >= MAX_BINDS)
		return;
	snprintf(what, sizeof(what), "%s%s", change->change, change->part ? " in part" : "");
	command_print(4, "  bind %-13s  %s%s%s", what, table_bind_text(change->bind, text),
		change->to ? " to table " : "", change->to ? table_diff_label(change->to, label) : "");
}

static void print_binds(const struct table_set_diff *diff, const struct table_diff *table)
{
	struct bind_lines lines = {0};

	for_each_bind(diff, table, print_bind, &lines);
	if (lines.count > MAX_BINDS)
		printf("  and %" PRIu32 " more changes of binds; --json lists all\n", lines.count - MAX_BINDS);
	if (lines.lost)
		command_print(2, "  %" PRIu32 " of %" PRIu32 " bind%s %s lost: all connections to %s break", lines.lost,
			table->before->bind_count, text_plural(table->before->bind_count),
			lines.lost == 1 ? "is" : "are", lines.lost == 1 ? "it" : "them");
}

static void print_still_reached(const struct table_diff *table)
{
	for (uint32_t i = 0; i < table->backend_count; i++) {
		const struct table_diff_backend *backend = &table->backends[i];
		char address[NETADDR_TEXT_MAX], state[32];

		if (!backend->still_reached)
			continue;
		command_print(4, "  %s (%s): %s%" PRIu32 " row%s still reach%s it, but not in NEW",
			netaddr_format(&backend->addr, address), side_text(backend->before, state),
			table->seed_known ? "" : "at most ", backend->still_reached,
			text_plural(backend->still_reached), backend->still_reached == 1 ? "es" : "");
	}
}

static void print_cause(uint32_t rows, const char *why)
{
	char percent[16];

	if (rows)
		command_print(4, "  %" PRIu32 " row%s break%s (%s), because %s", rows, text_plural(rows),
			cli_verb(rows), diff_percent_text(rows, TABLE_ROWS, percent), why);
}

/* The other causes have lines already: those of the binds, and of the hash_key. */
static void print_causes(const struct table_diff *table)
{
	char percent[16], address[NETADDR_TEXT_MAX];
	uint32_t lines = 0;

	print_cause(table->causes[TABLE_DIFF_REMOVED], "their proxy is not in NEW, or inactive");
	print_cause(table->causes[TABLE_DIFF_PUSHED_OUT], "other proxies have all hops of the row in NEW");
	for (uint32_t i = 0; i < table->backend_count && table->after && !table->key_changed; i++) {
		const struct table_diff_backend *backend = &table->backends[i];

		if (backend->broken > backend->still_reached && lines++ < MAX_BACKENDS)
			command_print(4, "  %s: connections of %" PRIu32 " of its %" PRIu32 " row%s break",
				netaddr_format(&backend->addr, address), backend->broken, backend->held,
				text_plural(backend->held));
	}
	if (lines > MAX_BACKENDS)
		printf("  and %" PRIu32 " more backends; --json lists all\n", lines - MAX_BACKENDS);
	if (table->skew)
		command_print(4, "  a director that still has OLD loses new connections of %" PRIu32 " row%s (%s)",
			table->skew, text_plural(table->skew), diff_percent_text(table->skew, TABLE_ROWS, percent));
}

char *diff_udp_text(const struct table_diff *table)
{
	char percent[16], *text;

	if (asprintf(&text,
		    "UDP (%" PRIu32 " of %" PRIu32 " bind%s): flows of %" PRIu32
		    " row%s move to another proxy at once (%s) if glb-redirect runs with --udp first-hop, the default; with --udp connected, connected sockets keep theirs as TCP does",
		    table->udp_binds, table->before->bind_count, text_plural(table->before->bind_count), table->udp_moved,
		    text_plural(table->udp_moved), diff_percent_text(table->udp_moved, TABLE_ROWS, percent)) < 0)
		return NULL;
	return text;
}

static void print_udp(const struct table_diff *table)
{
	char *text = table->udp_moved ? diff_udp_text(table) : NULL;

	if (text)
		command_print(4, "  %s", text);
	free(text);
}

static void print_counts(uint32_t changed, const char *of, uint32_t broken, uint32_t rows, const char *label)
{
	char changed_text[16], broken_text[16];

	command_print(2, "%s: %" PRIu32 "%s row%s change%s (%s), %" PRIu32 " break%s (%s)", label, changed, of,
		*of ? text_plural(rows) : text_plural(changed), cli_verb(changed),
		diff_percent_text(changed, rows, changed_text), broken, cli_verb(broken),
		diff_percent_text(broken, rows, broken_text));
}

/* Returns true if the comparison of the rows has something to tell. */
static bool rows_differ(const struct table_diff *table)
{
	bool differ = table->key_changed;

	for (uint32_t i = 0; i < table->backend_count; i++)
		differ |= table->backends[i].gained || table->backends[i].lost || table->backends[i].still_reached;
	return differ;
}

static void print_table(const struct table_set_diff *diff, const struct table_diff *table, unsigned parts)
{
	char buf[16], label[TABLE_MAX_NAME + 16];

	snprintf(label, sizeof(label), "table %s", table_diff_label(table, buf));
	if (table->before && table->after)
		print_counts(table->changed, "", table->broken, TABLE_ROWS, label);
	else if (table->after)
		command_print(2, "%s: added", label);
	else
		command_print(2, "%s: removed, %" PRIu32 " row%s break%s (%s)", label, table->broken,
			text_plural(table->broken), cli_verb(table->broken),
			diff_percent_text(table->broken, TABLE_ROWS, buf));
	print_udp(table);
	if (is_renamed(table))
		command_print(4, "  renamed, its old name is %s", table->before->name);
	if (table->key_changed)
		puts("  hash_key changed: flows move to other rows, so every row counts as broken");
	print_binds(diff, table);
	if (table->rows)
		print_still_reached(table);
	else if (table->before)
		puts("  no packet matches this table of OLD, so its rows do not count");
	if (table->at_risk)
		command_print(4,
			"  %" PRIu32 " other row%s lose%s a later hop: only connections older than OLD can break%s",
			table->at_risk, text_plural(table->at_risk), cli_verb(table->at_risk),
			table_is_version_2(table->before)
				? "; OLD is a version 2 file, so diff cannot tell if it has previous states with such connections"
				: "");
	if (parts & DIFF_CAUSES)
		print_causes(table);
	if (parts & DIFF_BACKENDS && (!table->before || !table->after || rows_differ(table)))
		print_backends(table);
	print_weights(table);
	print_quic(table);
	putchar('\n');
}

void diff_print(const struct table_set_diff *diff, unsigned parts)
{
	char of[32];

	for (uint32_t i = 0; i < diff->count; i++)
		if (!diff->only || diff->only == &diff->tables[i])
			print_table(diff, &diff->tables[i], parts);
	if (diff->only)
		return;
	snprintf(of, sizeof(of), " of %" PRIu32, diff->rows);
	print_counts(diff->changed, of, diff->broken, diff->rows, "all");
}
