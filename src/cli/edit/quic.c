/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs for QUIC configurations: add-quic, remove-quic. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/edit/edit.h"
#include "cli/edit/server_ids.h"
#include "common/text.h"
#include "table/file/json/table_json_quic.h"

int edit_check_remove_quic(const char *verb, char **operands, int count)
{
	uint32_t id;

	for (int i = 0; i < count; i++)
		if (!text_number(operands[i], 0, QUIC_MAX_CONFIGS - 1, &id))
			return command_usage(
				"edit: %s: '%s' is not the id of a configuration, 0 to 6", verb, operands[i]);
	return COMMAND_OK;
}

/* Removes the server IDs of backend `b` that no configuration of `wanted` uses, and adds those that are missing. */
static bool fit_backend(struct edit *edit, uint32_t t, uint32_t b, const struct table *wanted, struct server_ids *taken)
{
	const struct quic_server_id *old = wanted->backends[b].server_ids;
	struct quic_server_id ids[QUIC_MAX_SERVER_IDS] = {0};
	char path[64], member[96], text[SERVER_ID_TEXT_MAX];
	unsigned count = 0;

	for (unsigned i = 0; i < QUIC_MAX_SERVER_IDS; i++)
		if (table_quic_uses(wanted, old[i].length))
			ids[count++] = old[i];
	if (!server_ids_fill(taken, wanted, ids))
		return false;
	if (memcmp(ids, old, sizeof(ids)) == 0)
		return true;
	snprintf(path, sizeof(path), "tables[%u].backends[%u]", t, b);
	snprintf(member, sizeof(member), "%s.server_id", path);
	return (ids[0].length ? json_edit_set(&edit->change.after, path, "server_id", server_id_text(ids, text))
			      : json_edit_drop(&edit->change.after, member)) ||
	       edit_failed(edit);
}

/* Gives the backends the server IDs that fit the configurations of `wanted`, which is the old table otherwise. */
static bool fit(struct edit *edit, uint32_t t, const struct table *wanted)
{
	struct server_ids taken;
	bool done = true;

	server_ids_open(&taken, wanted, wanted->backend_count);
	for (uint32_t b = 0; b < wanted->backend_count && done; b++)
		done = fit_backend(edit, t, b, wanted, &taken);
	free(taken.taken);
	return done;
}

/* The default values come first, and then those of the operands. The length of server IDs may be invalid: then the
 * validator refuses the table, which has too few of them. */
static bool add_to(struct edit *edit, uint32_t t)
{
	struct table wanted = edit->change.old.set.tables[t];
	struct json_edit *after = &edit->change.after;
	uint8_t random[QUIC_KEY_SIZE];
	char path[32], hex[2 * QUIC_KEY_SIZE + 1], key[sizeof(hex) + 2], place[64], *length;
	const struct json_edit_member members[] = {
		{"id", edit->operands[0]}, {"server_id_length", "3"}, {"nonce_length", "8"}, {"key", key}};
	bool done = cli_random(random, sizeof(random));
	uint32_t number = 0;

	if (!done)
		return false;
	snprintf(key, sizeof(key), "\"%s\"", text_hex(random, sizeof(random), hex));
	snprintf(path, sizeof(path), "tables[%u]", t);
	done = wanted.quic_count || json_edit_set(after, path, "quic", "[]");
	snprintf(path, sizeof(path), "tables[%u].quic", t);
	done = done && json_edit_append(after, path, members, 4);
	snprintf(path, sizeof(path), "tables[%u].quic[%u]", t, wanted.quic_count);
	if (!done || !edit_set_quic(edit, path))
		return edit_failed(edit);
	snprintf(place, sizeof(place), "%s.server_id_length", path);
	length = json_edit_get(after, place);
	if (length && text_number(length, 1, QUIC_MAX_SERVER_ID, &number) && wanted.quic_count < QUIC_MAX_CONFIGS)
		wanted.quic[wanted.quic_count++].server_id_length = (uint8_t)number;
	free(length);
	return fit(edit, t, &wanted);
}

bool edit_add_quic(struct edit *edit)
{
	bool done = edit_needs_one_table(edit);

	for (uint32_t t = 0; t < edit->change.old.set.count && done; t++)
		if (edit->selected[t])
			done = add_to(edit, t);
	return done;
}

static bool is_operand(const struct edit *edit, uint8_t id)
{
	for (int i = 0; i < edit->count; i++)
		if (atoi(edit->operands[i]) == id)
			return true;
	return false;
}

/* Removes the configurations that the operands name, and what nothing uses without them. */
static bool remove_from(struct edit *edit, uint32_t t)
{
	struct table left = edit->change.old.set.tables[t];
	struct json_edit *after = &edit->change.after;
	bool done = true;
	char path[64];

	for (uint32_t i = left.quic_count; i-- > 0 && done;) {
		if (!is_operand(edit, left.quic[i].id))
			continue;
		memmove(&left.quic[i], &left.quic[i + 1], (--left.quic_count - i) * sizeof(left.quic[0]));
		snprintf(path, sizeof(path), "tables[%u].quic[%u]", t, i);
		done = json_edit_remove(after, path);
	}
	for (uint32_t i = 0; i < left.bind_count && done && !left.quic_count; i++) {
		snprintf(path, sizeof(path), "tables[%u].binds[%u].quic", t, i);
		done = json_edit_drop(after, path);
	}
	snprintf(path, sizeof(path), "tables[%u].quic", t);
	if (!left.quic_count)
		done = done && json_edit_drop(after, path);
	return done ? fit(edit, t, &left) : edit_failed(edit);
}

bool edit_remove_quic(struct edit *edit)
{
	const struct table_set *set = &edit->change.old.set;
	bool found[TABLE_MAX_TABLES], done = true;

	for (int i = 0; i < edit->count; i++) {
		for (uint32_t t = 0; t < set->count; t++)
			found[t] = edit->selected[t] && table_quic(&set->tables[t], (uint8_t)atoi(edit->operands[i]));
		if (!edit_check_matches(edit, "QUIC configuration", edit->operands[i], found))
			return false;
	}
	for (uint32_t t = 0; t < set->count && done; t++)
		if (edit->selected[t])
			done = remove_from(edit, t);
	return done;
}
