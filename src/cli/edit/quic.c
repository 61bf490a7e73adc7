/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs for QUIC configurations: add-quic, remove-quic. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/edit/edit.h"
#include "cli/edit/server_ids.h"
#include "common/text.h"
#include "table/file/json/table_json_quic.h"

#define DEFAULT_SERVER_ID_LENGTH 3
#define DEFAULT_NONCE_LENGTH     8

enum key_kind { KEY_RANDOM, KEY_NONE, KEY_GIVEN };

/* Reads KEY=VALUE. */
static bool parse_setting(const char *operand, struct quic_config *config, enum key_kind *key)
{
	const char *value = strchr(operand, '=');
	size_t size = value ? (size_t)(value++ - operand) : 0;
	uint32_t number;

	if (size == strlen("key") && memcmp(operand, "key", size) == 0) {
		*key = strcmp(value, "random") == 0 ? KEY_RANDOM : strcmp(value, "none") == 0 ? KEY_NONE : KEY_GIVEN;
		return *key != KEY_GIVEN || text_bytes(value, config->key, sizeof(config->key));
	}
	if (!value || !text_number(value, 1, UINT8_MAX, &number))
		return false;
	if (size == strlen("nonce_length") && memcmp(operand, "nonce_length", size) == 0)
		config->nonce_length = (uint8_t)number;
	else if (size == strlen("server_id_length") && memcmp(operand, "server_id_length", size) == 0)
		config->server_id_length = (uint8_t)number;
	else
		return false;
	return true;
}

static int parse_config(const char *verb, char **operands, int count, struct quic_config *config, enum key_kind *key)
{
	uint32_t id;
	const char *fault;

	if (!text_number(operands[0], 0, QUIC_MAX_CONFIGS - 1, &id))
		return command_usage("edit: %s: '%s' is not the id of a configuration, 0 to 6", verb, operands[0]);
	*config = (struct quic_config){
		.id = (uint8_t)id, .server_id_length = DEFAULT_SERVER_ID_LENGTH, .nonce_length = DEFAULT_NONCE_LENGTH};
	*key = KEY_RANDOM;
	for (int i = 1; i < count; i++) {
		if (parse_setting(operands[i], config, key))
			continue;
		/* A value of key= may be most of a secret. */
		return command_usage(
			"edit: %s: '%.*s': expected server_id_length=NUMBER, nonce_length=NUMBER, key=random, key=none, or key= and 32 hex digits",
			verb, (int)strcspn(operands[i], "="), operands[i]);
	}
	fault = quic_config_fault(config);
	return fault ? command_usage("edit: %s: %s", verb, fault) : COMMAND_OK;
}

int edit_check_add_quic(const char *verb, char **operands, int count)
{
	struct quic_config config;
	enum key_kind key;

	return parse_config(verb, operands, count, &config, &key);
}

int edit_check_remove_quic(const char *verb, char **operands, int count)
{
	int code = COMMAND_OK;

	for (int i = 0; i < count && code == COMMAND_OK; i++)
		code = edit_check_add_quic(verb, operands + i, 1);
	return code;
}

/* Writes the server IDs of the backend. */
static bool set_ids(struct edit *edit, uint32_t t, uint32_t b, const struct quic_server_id ids[QUIC_MAX_SERVER_IDS])
{
	char path[64], member[96], text[SERVER_ID_TEXT_MAX];

	snprintf(path, sizeof(path), "tables[%u].backends[%u]", t, b);
	snprintf(member, sizeof(member), "%s.server_id", path);
	return ids[0].length ? json_edit_set(&edit->change.after, path, "server_id", server_id_text(ids, text))
			     : json_edit_drop(&edit->change.after, member);
}

/* Gives all backends server IDs of this length. */
static bool assign(struct edit *edit, uint32_t t, uint8_t length)
{
	const struct table *table = &edit->change.old.set.tables[t];
	struct server_ids ids;
	bool done = true;

	server_ids_open(&ids, table, table->backend_count);
	for (uint32_t b = 0; b < table->backend_count && done; b++) {
		struct quic_server_id own[QUIC_MAX_SERVER_IDS];

		memcpy(own, table->backends[b].server_ids, sizeof(own));
		done = server_ids_add(&ids, length, own) && (set_ids(edit, t, b, own) || edit_failed(edit));
	}
	free(ids.taken);
	return done;
}

static bool add_to(struct edit *edit, uint32_t t, const struct quic_config *config, bool keyed)
{
	char path[32], id[8], server_id[8], nonce[8], hex[2 * QUIC_KEY_SIZE + 1], key[sizeof(hex) + 2], label[16];
	struct json_edit_member members[] = {
		{"id", id}, {"server_id_length", server_id}, {"nonce_length", nonce}, {"key", key}};
	const struct table_set *set = &edit->change.old.set;
	bool there = set->tables[t].quic_count;

	if (table_quic(&set->tables[t], config->id)) {
		command_error("%s: table %s has a QUIC configuration %u already", edit->change.named,
			table_label(set, t, label), config->id);
		return false;
	}
	snprintf(id, sizeof(id), "%u", config->id);
	snprintf(server_id, sizeof(server_id), "%u", config->server_id_length);
	snprintf(nonce, sizeof(nonce), "%u", config->nonce_length);
	snprintf(key, sizeof(key), "\"%s\"", text_hex(config->key, sizeof(config->key), hex));
	snprintf(path, sizeof(path), "tables[%u]", t);
	if (!there && !json_edit_set(&edit->change.after, path, "quic", "[]"))
		return edit_failed(edit);
	snprintf(path, sizeof(path), "tables[%u].quic", t);
	return (json_edit_append(&edit->change.after, path, members, keyed ? 4 : 3) || edit_failed(edit)) &&
	       assign(edit, t, config->server_id_length);
}

bool edit_add_quic(struct edit *edit)
{
	struct quic_config config;
	enum key_kind key = KEY_RANDOM;
	bool done = edit_needs_one_table(edit);

	parse_config("add-quic", edit->operands, edit->count, &config, &key);
	for (uint32_t t = 0; t < edit->change.old.set.count && done; t++)
		if (edit->selected[t])
			done = (key != KEY_RANDOM || cli_random(config.key, sizeof(config.key))) &&
			       add_to(edit, t, &config, key != KEY_NONE);
	return done;
}

static bool is_operand(const struct edit *edit, uint8_t id)
{
	for (int i = 0; i < edit->count; i++)
		if (atoi(edit->operands[i]) == id)
			return true;
	return false;
}

/* Removes the server IDs of a backend that no configuration of `left` uses. */
static bool trim(struct edit *edit, uint32_t t, uint32_t b, const struct table *left)
{
	const struct quic_server_id *old = left->backends[b].server_ids;
	struct quic_server_id ids[QUIC_MAX_SERVER_IDS] = {0};
	unsigned count = 0;

	for (unsigned i = 0; i < QUIC_MAX_SERVER_IDS; i++)
		if (table_quic_uses(left, old[i].length))
			ids[count++] = old[i];
	return memcmp(ids, old, sizeof(ids)) == 0 || set_ids(edit, t, b, ids);
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
	for (uint32_t b = 0; b < left.backend_count && done; b++)
		done = trim(edit, t, b, &left);
	if (left.quic_count)
		return done || edit_failed(edit);
	for (uint32_t i = 0; i < left.bind_count && done; i++) {
		snprintf(path, sizeof(path), "tables[%u].binds[%u].quic", t, i);
		done = json_edit_drop(after, path);
	}
	snprintf(path, sizeof(path), "tables[%u].quic", t);
	return (done && json_edit_drop(after, path)) || edit_failed(edit);
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
