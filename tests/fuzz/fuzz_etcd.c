/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads any bytes as what etcd has: the reply to a range, a roll-out, and the record of a director. What glb-director-cli
 * prints of them has no control characters. A roll-out that is valid is the same after it was written and read.
 */
#include <stdlib.h>
#include <string.h>

#include "etcd/etcd_core.h"
#include "rollout/rollout_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_range(const char *text, size_t size)
{
	json_t *body = etcd_parse(text, size);
	struct etcd_kv kv;

	for (size_t i = 0; body && etcd_range_kv(body, i, &kv); i++)
		etcd_kv_free(&kv);
	json_decref(body);
}

static void read_rollout(const char *text)
{
	struct rollout rollout, again;
	char fault[ROLLOUT_REASON_MAX], *written, *twice;

	if (!rollout_parse(text, 7, &rollout, fault)) {
		if (!fault[0] || strpbrk(fault, "\n\r\x1b"))
			abort();
		return;
	}
	written = rollout_text(&rollout);
	if (!written || !rollout_parse(written, 7, &again, fault))
		abort();
	twice = rollout_text(&again);
	if (!twice || strcmp(written, twice) != 0)
		abort();
	free(twice);
	free(written);
	rollout_free(&again);
	rollout_free(&rollout);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rollout_director director;
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	read_range(text, size);
	read_rollout(text);
	rollout_parse_director("director", text, &director);
	free(text);
	return 0;
}
