/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/file/file.h"
#include "program/log.h"
#include "program/member.h"

#define FILE_MAX 65536 /* bytes */

static uint64_t hex(const json_t *file, const char *key)
{
	return strtoull(member_text(file, key), NULL, 16);
}

static bool parse(const json_t *file, struct state *state)
{
	if (!json_is_integer(json_object_get(file, "newest")) || !json_is_string(json_object_get(file, "cluster")))
		return false;
	*state = (struct state){
		.cluster = hex(file, "cluster"),
		.newest = (uint64_t)member_number(file, "newest"),
		.value = hex(file, "value"),
		.applied = (uint64_t)member_number(file, "applied"),
		.applied_value = hex(file, "applied_value"),
		.written = hex(file, "written"),
	};
	snprintf(state->digest, TEXT_HEX64, "%s", member_text(file, "digest"));
	return true;
}

void state_read(const char *path, struct state *state)
{
	struct faults faults = {.file = path};
	json_t *file;
	char *text;
	size_t size;
	int error = file_read(path, "the state of glb-fleet", FILE_MAX, &text, &size, &faults);

	*state = (struct state){0};
	if (!error) {
		file = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
		if (!parse(file, state))
			faults_error(&faults, NULL, "is damaged");
		json_decref(file);
		free(text);
	}
	if (faults.errors && error != -ENOENT)
		log_warning("%s; glb-fleet does not know which revision of the table it has seen, and takes what etcd has",
			faults_first_error(&faults));
	faults_clear(&faults);
}

static json_t *describe(const struct state *state)
{
	char cluster[TEXT_HEX64], value[TEXT_HEX64], applied[TEXT_HEX64], written[TEXT_HEX64];

	return json_pack("{s:s, s:s, s:I, s:s, s:I, s:s, s:s, s:s}", "_comment",
		"What glb-fleet reads at its next start. Without this file it takes whatever etcd has.", "cluster",
		text_hex64(state->cluster, cluster), "newest", (json_int_t)state->newest, "value",
		text_hex64(state->value, value), "applied", (json_int_t)state->applied, "applied_value",
		text_hex64(state->applied_value, applied), "written", text_hex64(state->written, written), "digest",
		state->digest);
}

bool state_write(const char *path, const struct state *state)
{
	static uint64_t last_logged;
	struct faults faults = {.file = path};
	json_t *json = describe(state);
	char *text = json ? json_dumps(json, JSON_INDENT(1)) : NULL;
	bool written = text && file_replace(path, NULL, text, strlen(text), &faults) == 0;

	if (!written && log_due(&last_logged))
		log_error("%s; after a restart glb-fleet would not notice that etcd was restored from an old backup",
			text ? faults_first_error(&faults) : "out of memory");
	free(text);
	json_decref(json);
	faults_clear(&faults);
	return written;
}
