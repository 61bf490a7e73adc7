/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/keys.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/file/file.h"
#include "common/siphash.h"
#include "common/text.h"
#include "program/member.h"
#include "table/file/json/json_edit.h"
#include "table/table.h"

#define FILE_MAX       4096 /* bytes */
#define NAME_MAX_BYTES 64

struct secrets {
	char hash_key[2 * SIPHASH_KEY_SIZE + 1], seed[2 * SIPHASH_KEY_SIZE + 1], id[TEXT_HEX64];
};

static bool parse(const json_t *file, struct secrets *secrets)
{
	uint8_t hash_key[SIPHASH_KEY_SIZE], seed[SIPHASH_KEY_SIZE];

	if (!text_bytes(member_text(file, "hash_key"), hash_key, sizeof(hash_key)) ||
		!text_bytes(member_text(file, "seed"), seed, sizeof(seed)))
		return false;
	strcpy(secrets->hash_key, member_text(file, "hash_key"));
	strcpy(secrets->seed, member_text(file, "seed"));
	text_hex64(siphash(hash_key, seed, sizeof(seed)), secrets->id);
	return true;
}

static bool name_is_valid(const char *name)
{
	size_t size = strlen(name);

	return size && size <= NAME_MAX_BYTES && name[0] != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") == size;
}

static bool read_secrets(const char *folder, const char *name, struct secrets *secrets, struct faults *faults)
{
	char path[PATH_MAX], *text = NULL;
	json_t *file = NULL;
	struct stat status;
	size_t size;

	snprintf(path, sizeof(path), "%s/%s", folder, name_is_valid(name) ? name : "");
	faults->file = path;
	file_look(path, &status);
	if (!name_is_valid(name))
		faults_error(faults, NULL, "'%.64s' is not a name of keys", name);
	else if (status.st_mode & 077)
		faults_error(faults, NULL, "has mode %04o, so others may read the secret keys: chmod 600",
			status.st_mode & 07777);
	else if (file_read(path, "keys", FILE_MAX, &text, &size, faults) == 0) {
		file = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
		if (!parse(file, secrets))
			faults_error(faults, NULL,
				"is not a JSON object with \"hash_key\" and \"seed\", each with 32 hex digits");
	}
	faults->file = NULL;
	json_decref(file);
	free(text);
	return !faults->errors;
}

bool keys_id(const char *folder, const char *name, char id[TEXT_HEX64], struct faults *faults)
{
	struct secrets secrets = {0};
	bool good = read_secrets(folder, name, &secrets, faults);

	memcpy(id, secrets.id, sizeof(secrets.id));
	return good;
}

static bool set(struct json_edit *edit, const char *object, const char *key, const char *digits)
{
	char value[2 * SIPHASH_KEY_SIZE + 3];

	snprintf(value, sizeof(value), "\"%s\"", digits);
	return json_edit_set(edit, object, key, value);
}

static void expand(struct json_edit *edit, size_t index, const json_t *table, const char *folder, struct faults *faults)
{
	const char *name = member_text(table, "keys"), *id = member_text(table, "keys_id");
	char object[32], path[64];
	struct secrets secrets;

	snprintf(object, sizeof(object), "tables[%zu]", index);
	if (json_object_get(table, "hash_key") || json_object_get(table, "seed")) {
		faults_error(faults, object, "has \"keys\", and also hash_key or seed; delete one of the two");
		return;
	}
	if (!read_secrets(folder, name, &secrets, faults))
		return;
	if (strcmp(id, secrets.id) != 0) {
		faults_error(faults, object,
			"keys '%s' of this director have keys_id %s, and the table was made for '%.16s': give all directors the same file",
			name, secrets.id, id);
		return;
	}
	snprintf(path, sizeof(path), "%s.keys_id", object);
	if (!json_edit_drop(edit, path) || !set(edit, object, "hash_key", secrets.hash_key) ||
		!set(edit, object, "seed", secrets.seed))
		faults_error(faults, object, "out of memory");
	snprintf(path, sizeof(path), "%s.keys", object);
	if (!json_edit_drop(edit, path))
		faults_error(faults, object, "out of memory");
}

char *keys_expand(const char *text, const char *folder, struct faults *faults)
{
	struct json_edit edit = {.text = strdup(text), .size = strlen(text)};
	json_error_t error;
	json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error), *tables, *table;
	size_t i;

	if (!edit.text)
		faults_error(faults, NULL, "out of memory");
	if (!document)
		faults_error(faults, NULL, "line %d, column %d: %s", error.line, error.column,
			text_without_token(error.text));
	tables = json_object_get(document, "tables");
	if (json_array_size(tables) <= TABLE_MAX_TABLES)
		json_array_foreach(tables, i, table) if (!faults->errors && json_object_get(table, "keys"))
			expand(&edit, i, table, folder, faults);
	json_decref(document);
	if (faults->errors) {
		free(edit.text);
		return NULL;
	}
	return edit.text;
}
