/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/json/table_json_quic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "table/file/json/table_json_members.h"
#include "table/table.h"

_Static_assert(QUIC_KEY_SIZE == SIPHASH_KEY_SIZE, "all keys of a table are read alike");

void table_json_read_key(struct json_reader *reader, json_t *value, const struct json_member *, void *field)
{
	static const uint8_t zero[QUIC_KEY_SIZE];
	const char *text = json_string_value(value);
	uint8_t parsed[QUIC_KEY_SIZE] = {0};

	if (!text_bytes(text, parsed, sizeof(parsed))) {
		json_reader_reject_secret(reader, value, "exactly 32 hex digits");
		return;
	}
	if (memcmp(parsed, zero, sizeof(zero)) == 0)
		json_reader_warn(reader, "'%s' is not a secret: make a key with `openssl rand -hex 16`", text);
	memcpy(field, parsed, sizeof(parsed));
}

static void read_quic_key(struct json_reader *reader, json_t *value, const struct json_member *member, void *field)
{
	struct quic_config *config = field;

	config->keyed = true;
	table_json_read_key(reader, value, member, config->key);
}

const struct json_member table_json_quic[] = {
	{"id", "an integer from 0 to 6", json_read_unsigned, JSON_AT(struct quic_config, id), .max = QUIC_MAX_CONFIGS - 1},
	{"server_id_length", "an integer from 1 to 15", json_read_unsigned, JSON_AT(struct quic_config, server_id_length),
		.min = 1, .max = QUIC_MAX_SERVER_ID, .set = JSON_SET_VALUE},
	{"nonce_length", "an integer from 4 to 18", json_read_unsigned, JSON_AT(struct quic_config, nonce_length),
		.min = QUIC_MIN_NONCE, .max = QUIC_MAX_NONCE, .set = JSON_SET_VALUE},
	{"key", .read = read_quic_key, .set = JSON_SET_TEXT},
	{0},
};

void table_json_read_quic(struct json_reader *reader, json_t *value, const struct json_member *member, void *field)
{
	struct table *table = field;
	uint32_t count;
	struct quic_config *configs = json_reader_array(reader, value, member, sizeof(*configs), &count);

	for (uint32_t i = 0; i < count; i++) {
		/* table_lint_quic() knows these values as those of a member that could not be read. */
		table->quic[i] = (struct quic_config){.id = QUIC_MAX_CONFIGS};
		json_reader_element(reader, value, i, member->members, &table->quic[i]);
	}
	table->quic_count = (uint8_t)count;
	if (configs && json_is_array(value) && !count)
		json_reader_error(reader, "is empty: leave `quic` out if no configuration is used");
	free(configs);
}

/* Returns whether the text is a server ID: hex digits for 1 to 15 bytes. */
static bool parse_server_id(const char *text, struct quic_server_id *id)
{
	size_t digits = text ? strlen(text) : 0;

	*id = (struct quic_server_id){.length = (uint8_t)(digits / 2)};
	return digits >= 2 && digits <= 2 * QUIC_MAX_SERVER_ID && text_bytes(text, id->bytes, digits / 2);
}

void table_json_read_server_id(struct json_reader *reader, json_t *value, const struct json_member *, void *field)
{
	size_t count = json_is_array(value) ? json_array_size(value) : 1;
	struct quic_server_id ids[QUIC_MAX_SERVER_IDS] = {0};
	bool valid = count >= 1 && count <= QUIC_MAX_SERVER_IDS;

	for (size_t i = 0; valid && i < count; i++)
		valid = parse_server_id(
			json_string_value(json_is_array(value) ? json_array_get(value, i) : value), &ids[i]);
	if (!valid || ids[0].length == ids[1].length) {
		json_reader_reject(reader, value, JSON_STRING,
			"a server ID, 2 to 30 hex digits, or an array of two with different lengths");
		return;
	}
	/* The shorter one comes first, and none comes last. */
	if (ids[1].length && ids[1].length < ids[0].length) {
		struct quic_server_id longer = ids[0];

		ids[0] = ids[1];
		ids[1] = longer;
	}
	memcpy(field, ids, sizeof(ids));
}

const char *server_id_text(const struct quic_server_id ids[QUIC_MAX_SERVER_IDS], char buf[SERVER_ID_TEXT_MAX])
{
	char first[2 * QUIC_MAX_SERVER_ID + 1], second[2 * QUIC_MAX_SERVER_ID + 1];

	text_hex(ids[0].bytes, ids[0].length, first);
	text_hex(ids[1].bytes, ids[1].length, second);
	snprintf(buf, SERVER_ID_TEXT_MAX,
		!ids[0].length  ? "null"
		: ids[1].length ? "[\"%s\", \"%s\"]"
				: "\"%s\"",
		first, second);
	return buf;
}
