/* SPDX-License-Identifier: BSD-3-Clause */
#include "director/telemetry/telemetry_reply.h"

#include <stdio.h>

int telemetry_reply_error(struct rte_tel_data *data, const char *text)
{
	rte_tel_data_start_dict(data);
	telemetry_reply_text(data, "error", text);
	return 0;
}

void telemetry_reply_numbered(struct rte_tel_data *data, unsigned number, struct rte_tel_data *value)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", number);
	if (value)
		rte_tel_data_add_dict_container(data, name, value, 0);
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
