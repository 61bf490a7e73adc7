/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs for backends that stay: add, drain, undrain. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/edit/edit.h"
#include "cli/edit/server_ids.h"
#include "table/file/json/table_json_quic.h"

int edit_check_addresses(const char *verb, char **operands, int count)
{
	for (int i = 0; i < count; i++) {
		struct netaddr addr, earlier;

		if (!netaddr_parse(operands[i], &addr))
			return command_usage("edit: %s: '%s' is not an address", verb, operands[i]);
		for (int j = 0; j < i; j++)
			if (netaddr_parse(operands[j], &earlier) && netaddr_compare(&addr, &earlier) == 0)
				return command_usage("edit: %s: '%s' is given twice", verb, operands[i]);
	}
	return COMMAND_OK;
}

/* Returns the index of the backend in the table; backend_count: it is not there. */
static uint32_t edit_find_backend(const struct table *table, const char *operand)
{
	struct netaddr addr = {0};

	netaddr_parse(operand, &addr);
	return table_find_backend(table, NULL, &addr);
}

/* Checks that the selected tables have the backend, in a clear choice of tables. */
static bool check_backend(const struct edit *edit, const char *operand)
{
	const struct table_set *set = &edit->change.old.set;
	bool found[TABLE_MAX_TABLES];

	for (uint32_t i = 0; i < set->count; i++)
		found[i] =
			edit->selected[i] && edit_find_backend(&set->tables[i], operand) < set->tables[i].backend_count;
	return edit_check_matches(edit, "backend", operand, found);
}

static bool is_operand(const struct edit *edit, int count, const struct table_backend *backend)
{
	for (int i = 0; i < count; i++) {
		struct netaddr addr = {0};

		netaddr_parse(edit->operands[i], &addr);
		if (netaddr_compare(&addr, &backend->addr) == 0)
			return true;
	}
	return false;
}

bool edit_each_backend(struct edit *edit, int count, edit_visit *visit, void *context)
{
	const struct table_set *set = &edit->change.old.set;

	for (int i = 0; i < count; i++)
		if (!check_backend(edit, edit->operands[i]))
			return false;
	for (uint32_t t = 0; t < set->count; t++)
		for (uint32_t b = set->tables[t].backend_count; edit->selected[t] && b-- > 0;)
			if (is_operand(edit, count, &set->tables[t].backends[b]) && !visit(edit, t, b, context))
				return false;
	return true;
}

static bool set_state(struct edit *edit, uint32_t t, uint32_t b, void *state)
{
	char path[64];

	snprintf(path, sizeof(path), "tables[%u].backends[%u]", t, b);
	return json_edit_set(&edit->change.after, path, "state", state) || edit_failed(edit);
}

bool edit_drain(struct edit *edit)
{
	return edit_each_backend(edit, edit->count, set_state, "\"draining\"");
}

bool edit_undrain(struct edit *edit)
{
	return edit_each_backend(edit, edit->count, set_state, "\"active\"");
}

/* Returns the text of the checks that the new backends of a table get, or NULL: none. False, with an error: there are
 * none to copy. */
static bool get_checks(const struct edit *edit, uint32_t t, char **checks)
{
	const struct table_set *set = &edit->change.old.set;
	uint32_t from;
	char path[64], label[16];

	*checks = NULL;
	if (!edit->copy_checks_from)
		return true;
	from = edit_find_backend(&set->tables[t], edit->copy_checks_from);
	snprintf(path, sizeof(path), "tables[%u].backends[%u].healthchecks", t, from);
	if (from < set->tables[t].backend_count)
		*checks = json_edit_get(&edit->change.before, path);
	if (!*checks)
		command_error("%s: --copy-checks-from: table %s has no backend %s with health checks",
			edit->change.named, table_label(set, t, label), edit->copy_checks_from);
	return *checks;
}

static void note_missing_checks(const struct edit *edit, uint32_t t)
{
	const struct table_health_table *health = &edit->change.old.health.tables[t];
	char addr[NETADDR_TEXT_MAX];

	for (uint32_t i = 0; i < health->backend_count; i++) {
		const struct check_targets *targets = &health->backends[i];

		if (!check_targets_any(targets))
			continue;
		command_note(
			"%s: the new backend has no health checks, but others have; to copy them: --copy-checks-from %s",
			edit->change.named, netaddr_format(&edit->change.old.set.tables[t].backends[i].addr, addr));
		return;
	}
}

/* Adds a backend with these checks, or without any if they are NULL, and with server IDs if the table has `quic`. */
static bool add_to(struct edit *edit, uint32_t t, const char *operand, const char *checks, struct server_ids *ids)
{
	const struct table *table = &edit->change.old.set.tables[t];
	struct quic_server_id own[QUIC_MAX_SERVER_IDS] = {0};
	struct netaddr addr = {0};
	char text[NETADDR_TEXT_MAX], ip[NETADDR_TEXT_MAX + 2], state[16], path[32], id[SERVER_ID_TEXT_MAX];
	struct json_edit_member members[5] = {{"ip", ip}, {"state", state}, {"healthy", "true"}};
	size_t count = 3;

	if (!server_ids_fill(ids, table, own))
		return false;
	if (own[0].length)
		members[count++] = (struct json_edit_member){"server_id", server_id_text(own, id)};
	if (checks)
		members[count++] = (struct json_edit_member){"healthchecks", checks};

	netaddr_parse(operand, &addr);
	snprintf(ip, sizeof(ip), "\"%s\"", netaddr_format(&addr, text));
	snprintf(state, sizeof(state), "\"%s\"", edit->state);
	snprintf(path, sizeof(path), "tables[%u].backends", t);
	return json_edit_append(&edit->change.after, path, members, count) || edit_failed(edit);
}

static bool add_all(struct edit *edit, uint32_t t)
{
	const struct table_set *set = &edit->change.old.set;
	char label[16], *checks;
	struct server_ids ids;
	bool added = true;

	for (int i = 0; i < edit->count; i++) {
		uint32_t there = edit_find_backend(&set->tables[t], edit->operands[i]);

		if (there == set->tables[t].backend_count)
			continue;
		command_error(
			"%s: %s is in table %s already, with the state %s: to change it, use the verb undrain or set",
			edit->change.named, edit->operands[i], table_label(set, t, label),
			table_state_name(set->tables[t].backends[there].state));
		return false;
	}
	if (!get_checks(edit, t, &checks))
		return false;
	if (!checks)
		note_missing_checks(edit, t);
	server_ids_open(&ids, &set->tables[t], (size_t)edit->count);
	for (int i = 0; i < edit->count && added; i++)
		added = add_to(edit, t, edit->operands[i], checks, &ids);
	free(ids.taken);
	free(checks);
	return added;
}

bool edit_add(struct edit *edit)
{
	bool added = edit_needs_one_table(edit);

	for (uint32_t t = 0; t < edit->change.old.set.count && added; t++)
		if (edit->selected[t])
			added = add_all(edit, t);
	return added;
}
