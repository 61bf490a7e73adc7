/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/publish/state_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file/file.h"
#include "common/text.h"
#include "program/log.h"

#define MAX_SIZE ((size_t)64 << 20) /* bytes */

void state_file_read(const char *path, struct checklist *list, struct faults *faults)
{
	struct faults unread = {0};
	json_error_t error = {.text = ""};
	json_t *state = NULL;
	char *text;
	size_t size;

	if (access(path, F_OK) < 0 && errno == ENOENT)
		return;
	if (file_read(path, "the state of glb-healthcheck", MAX_SIZE, &text, &size, &unread) == 0) {
		if (size == 0) /* json_loadb() would name a character that it expected */
			faults_error(&unread, NULL, "is empty");
		else
			state = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	}
	if (!json_is_object(json_object_get(state, "verdicts")))
		faults_warn(faults, NULL, "ignored, so all checks start without a verdict: %s",
			unread.errors ? faults_first_error(&unread)
			: state       ? "no member `verdicts`"
				      : text_without_token(error.text));
	else
		checklist_restore(list, json_object_get(state, "verdicts"));
	json_decref(state);
	free(text);
	faults_clear(&unread);
}

static int write_state(const char *path, const struct checklist *list, struct faults *faults)
{
	json_t *state = json_pack("{s:s, s:o}", "_comment",
		"Verdicts that glb-healthcheck reads at its next start. Delete this file to start without verdicts.",
		"verdicts", checklist_save(list));
	char *text = state ? json_dumps(state, JSON_INDENT(1)) : NULL;
	int error = -ENOMEM;

	if (text)
		error = file_replace(path, NULL, text, strlen(text), faults);
	else
		faults_error(faults, NULL, "out of memory");
	free(text);
	json_decref(state);
	return error;
}

void state_file_save(const char *path, const struct checklist *list)
{
	static uint64_t last_logged;
	struct faults faults = {.file = path};

	if (write_state(path, list, &faults) && log_due(&last_logged))
		log_warning("state not saved: %s", faults_first_error(&faults));
	faults_clear(&faults);
}
