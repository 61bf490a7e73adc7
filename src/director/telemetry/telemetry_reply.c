/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/telemetry/telemetry_reply.h"

#include <stdio.h>

#include "common/text.h"

int telemetry_reply_error(struct rte_tel_data *data, const char *text)
{
	rte_tel_data_start_dict(data);
	telemetry_reply_text(data, "error", text);
	return 0;
}

struct rte_tel_data *telemetry_reply_part(void)
{
	struct rte_tel_data *part = rte_tel_data_alloc();

	if (part)
		rte_tel_data_start_dict(part);
	return part;
}

void telemetry_reply_add(struct rte_tel_data *data, const char *key, struct rte_tel_data *part)
{
	if (data && part)
		rte_tel_data_add_dict_container(data, key, part, 0);
	else
		rte_tel_data_free(part);
}

void telemetry_reply_numbered(struct rte_tel_data *data, unsigned number, struct rte_tel_data *part)
{
	char key[16];

	snprintf(key, sizeof(key), "%u", number);
	telemetry_reply_add(data, key, part);
}

/* Copies one piece of the text as ASCII and returns the rest. DPDK 22.11 makes broken JSON of other bytes. */
static const char *take_piece(const char *text, char piece[TELEMETRY_TEXT_SIZE])
{
	size_t size = 0;

	for (; *text && size < TELEMETRY_TEXT_SIZE - 1; text++) {
		if (((unsigned char)*text & 0xc0) == 0x80) /* UTF-8: not the first byte */
			continue;
		piece[size++] = *text >= ' ' && *text <= '~' ? *text : '?';
	}
	piece[size] = '\0';
	return text;
}

void telemetry_reply_text(struct rte_tel_data *data, const char *key, const char *text)
{
	char piece[TELEMETRY_TEXT_SIZE], name[32];

	snprintf(name, sizeof(name), "%s", key);
	for (unsigned part = 2;; part++) {
		text = take_piece(text, piece);
		rte_tel_data_add_dict_string(data, name, piece);
		if (!*text)
			return;
		snprintf(name, sizeof(name), "%s_%u", key, part);
	}
}

void telemetry_reply_hex(struct rte_tel_data *data, const char *key, uint64_t number)
{
	char text[TEXT_HEX64];

	rte_tel_data_add_dict_string(data, key, text_hex64(number, text));
}

void telemetry_reply_facts(struct rte_tel_data *data, const struct fact *facts, const void *from)
{
	for (; facts->help; facts++)
		if (facts->key)
			rte_tel_data_add_dict_uint(data, facts->key, facts_number(facts, from));
}
