/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/live/live.h"
#include "cli/shares.h"
#include "cli/speed.h"
#include "common/text.h"
#include "common/utc.h"
#include "table/file/json/json_text.h"
#include "table/file/table_document.h"

enum { TABLE = LIVE_OPTIONS, JSON };

static const struct command_option options[] = {
	LIVE_OPTION_LIST,
	[TABLE] = {"table", "NAME|#INDEX", "print only this table"},
	[JSON] = {"json", NULL, "print JSON"},
	{0},
};

/* Returns the checks of a backend, with the settings that the file has for them; NULL: none, or the file has
 * no checks. */
static char *checks_of(const struct table_health *health, uint32_t table, uint32_t backend)
{
	struct http_settings http = {0};

	if (!health->count || !check_targets_any(&health->tables[table].backends[backend]))
		return NULL;
	table_health_http(health, table, backend, &http);
	return table_health_text(&health->tables[table].backends[backend], &http);
}

static json_t *describe_binds(const struct table *table)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < table->bind_count; i++)
		json_array_append_new(array, cli_bind_json(&table->binds[i]));
	return array;
}

static json_t *describe_backends(
	const struct table *table, const struct shares *shares, const struct table_health *health, uint32_t index)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < table->backend_count; i++) {
		const struct table_backend *backend = &table->backends[i];
		char text[NETADDR_TEXT_MAX], *checks = checks_of(health, index, i);
		json_t *counts = json_array();

		for (unsigned hop = 0; hop < table->row_hops; hop++)
			json_array_append_new(counts, json_integer(shares_count(shares, i, hop)));
		json_array_append_new(
			array, json_pack("{s:s, s:s, s:b, s:o, s:f, s:f, s:o, s:o, s:s?}", "ip",
				       netaddr_format(&backend->addr, text), "state", table_state_name(backend->state),
				       "healthy", backend->healthy, "weight", cli_weight_json(backend),
				       "first_hop_percent", shares_percent(shares, i, 0), "second_hop_percent",
				       table->row_hops > 1 ? shares_percent(shares, i, 1) : 0.0, "rows_by_hop", counts,
				       "server_ids", cli_server_ids_json(backend->server_ids), "checks", checks));
		free(checks);
	}
	return array;
}

/* Returns a balance as people write it; NULL: there is none. */
static const char *balance_text(uint16_t thousandths, char buf[16])
{
	snprintf(buf, 16, "%g", thousandths / 1000.0);
	return thousandths ? buf : NULL;
}

static json_t *balance_json(uint16_t thousandths)
{
	return thousandths ? json_real(thousandths / 1000.0) : json_null();
}

static json_t *describe_past(const struct table *table)
{
	json_t *array = json_array();
	char time[UTC_TEXT_MAX];

	for (uint32_t i = 0; i < table->past_count; i++)
		json_array_append_new(array,
			json_pack("{s:s, s:o, s:i}", "time", utc_format(table->past[i].time, time), "balance",
				balance_json(table->past[i].balance), "backends", (int)table->past[i].backend_count));
	return array;
}

static json_t *describe_quic(const struct table *table)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < table->quic_count; i++)
		json_array_append_new(array, cli_quic_json(&table->quic[i]));
	return array;
}

static json_t *describe_table(
	const struct table *table, const struct shares *shares, const struct table_health *health, uint32_t index)
{
	return json_pack("{s:s?, s:i, s:f, s:i, s:o, s:o, s:o, s:o, s:o}", "name", table->name, "row_hops",
		table->row_hops, "imbalance", shares->imbalance, "backends_in_imbalance", (int)shares->used, "balance",
		balance_json(table->balance), "previous", describe_past(table), "quic", describe_quic(table), "binds",
		describe_binds(table), "backends", describe_backends(table, shares, health, index));
}

static void print_binds(const struct table *table)
{
	char text[TABLE_BIND_TEXT_MAX];

	for (uint32_t i = 0; i < table->bind_count; i++)
		printf("  %-5s  %s\n", i ? "" : "binds", table_bind_text(&table->binds[i], text));
	if (table->bind_count == 0)
		puts("  binds  none");
	for (uint32_t i = 0; i < table->quic_count; i++)
		printf("  QUIC configuration %u: server_id_length %u, nonce_length %u, %s key\n", table->quic[i].id,
			table->quic[i].server_id_length, table->quic[i].nonce_length,
			table->quic[i].keyed ? "with a" : "without");
}

static void print_past(const struct table *table)
{
	char time[UTC_TEXT_MAX], balance[16];

	if (table->balance)
		printf("  balance %s: the largest imbalance while all backends are healthy\n",
			balance_text(table->balance, balance));
	for (uint32_t i = 0; i < table->past_count; i++) {
		const struct table_past *past = &table->past[i];
		const char *text = balance_text(past->balance, balance);

		printf("  previous state until %s: %" PRIu32 " backend%s%s%s\n", utc_format(past->time, time),
			past->backend_count, text_plural(past->backend_count), text ? ", balance " : "",
			text ? text : "");
	}
}

static bool has_weights(const struct table *table)
{
	for (uint32_t i = 0; i < table->backend_count; i++)
		if (table_backend_weight(&table->backends[i]) != TABLE_DEFAULT_WEIGHT)
			return true;
	return false;
}

/* Returns the width of the column of addresses. */
static int address_width(const struct table *table)
{
	char text[NETADDR_TEXT_MAX];
	int width = 14;

	for (uint32_t i = 0; i < table->backend_count; i++)
		if ((int)strlen(netaddr_format(&table->backends[i].addr, text)) > width)
			width = (int)strlen(text);
	return width;
}

static void print_backends(const struct table *table, const struct shares *shares)
{
	static const char *const ordinals[TABLE_MAX_HOPS] = {
		"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"};
	char text[NETADDR_TEXT_MAX];
	bool weights = has_weights(table);
	int width = address_width(table);

	printf("\n  %-*s  state     health%s", width, "backend", weights ? "  weight" : "");
	for (unsigned hop = 0; hop < table->row_hops; hop++)
		printf("  %7s", ordinals[hop]);
	putchar('\n');
	for (uint32_t i = 0; i < table->backend_count; i++) {
		const struct table_backend *backend = &table->backends[i];

		printf("  %-*s  %-8s  %-6s", width, netaddr_format(&backend->addr, text),
			table_state_name(backend->state), cli_health_name(backend->healthy));
		if (weights)
			printf("  %6u", backend->weight);
		for (unsigned hop = 0; hop < table->row_hops; hop++)
			printf("  %6.2f%%", shares_percent(shares, i, hop));
		putchar('\n');
	}
}

static void print_quic(const struct table *table)
{
	char addr[NETADDR_TEXT_MAX], first[2 * QUIC_MAX_SERVER_ID + 1], second[2 * QUIC_MAX_SERVER_ID + 1];
	int width = address_width(table);

	if (table->quic_count)
		printf("\n  %-*s  server IDs\n", width, "backend");
	for (uint32_t i = 0; table->quic_count && i < table->backend_count; i++) {
		const struct quic_server_id *ids = table->backends[i].server_ids;

		if (ids[0].length)
			printf("  %-*s  %s%s%s\n", width, netaddr_format(&table->backends[i].addr, addr),
				text_hex(ids[0].bytes, ids[0].length, first), ids[1].length ? " " : "",
				text_hex(ids[1].bytes, ids[1].length, second));
	}
}

static void print_checks(const struct table *table, const struct table_health *health, uint32_t index)
{
	char addr[NETADDR_TEXT_MAX];
	int width = address_width(table);
	bool any = false;

	for (uint32_t i = 0; i < table->backend_count; i++) {
		char *checks = checks_of(health, index, i);

		if (checks && !any)
			printf("\n  %-*s  health checks\n", width, "backend");
		any |= checks != NULL;
		if (checks)
			command_print(
				width + 4, "  %-*s  %s", width, netaddr_format(&table->backends[i].addr, addr), checks);
		free(checks);
	}
}

static void print_table(
	const struct table_set *set, uint32_t index, const struct shares *shares, const struct table_health *health)
{
	const struct table *table = &set->tables[index];
	char label[16];

	putchar('\n');
	command_print(2, "table %s: %" PRIu32 " backend%s, rows of %u hop%s", table_label(set, index, label),
		table->backend_count, text_plural(table->backend_count), table->row_hops, text_plural(table->row_hops));
	print_binds(table);
	printf("  imbalance %.3f: largest number of first hops / %s of %" PRIu32 " backend%s\n", shares->imbalance,
		shares->weighted ? "share by weight" : "mean", shares->used, text_plural(shares->used));
	print_past(table);
	print_backends(table, shares);
	print_quic(table);
	print_checks(table, health, index);
}

static bool is_same_backends(const struct table_set *a, const struct table_set *b)
{
	bool same = a->count == b->count;

	for (uint32_t t = 0; same && t < a->count; t++) {
		same = a->tables[t].backend_count == b->tables[t].backend_count;
		for (uint32_t i = 0; same && i < a->tables[t].backend_count; i++)
			same = netaddr_compare(&a->tables[t].backends[i].addr, &b->tables[t].backends[i].addr) == 0;
	}
	return same;
}

/* Shows the tables from `first` up to, but without, `end`. */
static int show(const char *path, const struct table_set *set, const struct table_health *health, uint32_t version,
	uint32_t first, uint32_t end, bool json)
{
	const char *format = version == 0 ? "JSON" : version == 2 ? "version 2" : "version 3";
	json_t *tables = json_array();
	char digest[17], first_hops[17], fingerprint[17], replaces[17];
	struct speed speed;

	speed_find(set, &speed);
	snprintf(digest, sizeof(digest), "%016" PRIx64, table_set_digest(set));
	snprintf(first_hops, sizeof(first_hops), "%016" PRIx64, table_set_first_hops(set));
	snprintf(fingerprint, sizeof(fingerprint), "%016" PRIx64, table_set_fingerprint(set));
	snprintf(replaces, sizeof(replaces), "%016" PRIx64, set->replaces);
	if (!json)
		command_print(2, "%s: %s, %" PRIu32 " table%s, digest %s", path, format, set->count,
			text_plural(set->count), digest);
	if (!json)
		printf("first_hops %s\nfingerprint %s%s%s\n", first_hops, fingerprint,
			set->replaces ? ", replaces " : "", set->replaces ? replaces : "");
	if (!json)
		speed_print(&speed);
	for (uint32_t i = first; i < end; i++) {
		struct shares shares;

		shares_count_rows(&shares, &set->tables[i]);
		if (json)
			json_array_append_new(tables, describe_table(&set->tables[i], &shares, health, i));
		else
			print_table(set, i, &shares, health);
		shares_free(&shares);
	}
	if (json) {
		json_t *result = json_pack("{s:o, s:s, s:i, s:s, s:s, s:s, s:s?, s:o}", "file", json_text(path), "format",
			version ? "binary" : "json", "version", (int)version, "digest", digest, "first_hops", first_hops,
			"fingerprint", fingerprint, "replaces", set->replaces ? replaces : NULL, "tables", tables);

		json_object_update_new(result, speed_json(&speed));
		speed_free(&speed);
		return cli_print_json(result);
	}
	speed_free(&speed);
	json_decref(tables);
	return COMMAND_OK;
}

static int show_run(const struct command_args *args)
{
	const char *path = args->operands[0], *name = args->options[TABLE];
	uint32_t version, first = 0;
	struct table_document document = {0};
	struct table_set set;
	int code = live_check(args, "show", 0);

	if (code != COMMAND_OK)
		return code;
	if (args->options[LIVE])
		return live_show(args, name, args->options[JSON]);
	code = COMMAND_FAILED;
	if (!cli_load_table(path, &set, &version))
		return COMMAND_FAILED;
	cli_read_document(path, &document);
	if (!is_same_backends(&document.set, &set)) /* the file is binary, or was replaced since the set was read */
		table_document_free(&document);
	if (!name || cli_find_table(&set, path, name, &first))
		code = show(path, &set, &document.health, version, first, name ? first + 1 : set.count,
			args->options[JSON]);
	table_document_free(&document);
	table_set_free(&set);
	return code;
}

const struct command show_command = {
	.name = "show",
	.run = show_run,
	.operands = "[TABLE]",
	.summary = "Print a table's binds, and each backend's share of the rows",
	.options = options,
};
