/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/operator_switch.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "common/file/file.h"
#include "common/text.h"
#include "common/utc.h"
#include "program/member.h"

#define FILE_MAX 65536

static void take_text(const json_t *file, const char *key, char *to, size_t size)
{
	snprintf(to, size, "%s", member_text(file, key));
	text_mend(to);
}

int operator_switch_read(const char *path, struct operator_switch *state, struct faults *faults)
{
	char *text;
	size_t size;
	json_t *file;
	int error;

	error = file_read(path, "the switch", FILE_MAX, &text, &size, faults);
	if (error == -ENOENT) {
		faults_clear(faults);
		*state = (struct operator_switch){0};
		return 0;
	}
	if (error) {
		*state = (struct operator_switch){.withdrawn = true, .reason = "the switch_file cannot be read"};
		return error;
	}
	file = json_loadb(text, size, 0, NULL);
	*state = (struct operator_switch){.withdrawn = true};
	take_text(file, "by", state->by, sizeof(state->by));
	take_text(file, "reason", state->reason, sizeof(state->reason));
	state->since_s = (uint64_t)member_number(file, "since");
	json_decref(file);
	free(text);
	return 0;
}

/* The user who typed the command, also with sudo. */
static const char *user_name(void)
{
	const char *sudo = getenv("SUDO_USER");
	const struct passwd *user = getpwuid(getuid());

	if (sudo && *sudo)
		return sudo;
	return user ? user->pw_name : "an unknown user";
}

int operator_switch_withdraw(const char *path, const char *reason, struct faults *faults)
{
	json_t *file = json_pack(
		"{s:s, s:s, s:I}", "by", user_name(), "reason", reason ? reason : "", "since", (json_int_t)time(NULL));
	char *text = file ? json_dumps(file, JSON_INDENT(2) | JSON_PRESERVE_ORDER) : NULL;
	int error;

	json_decref(file);
	if (!text) {
		faults_error(faults, NULL, "user and reason are not UTF-8 text");
		return -EINVAL;
	}
	error = file_replace(path, NULL, text, strlen(text), faults);
	free(text);
	return error;
}

int operator_switch_announce(const char *path, struct faults *faults)
{
	if (unlink(path) == 0 || errno == ENOENT)
		return 0;
	faults_error(faults, NULL, "cannot be removed: %s", strerror(errno));
	return -errno;
}

const char *operator_switch_text(const struct operator_switch *state, char buf[300])
{
	char when[UTC_TEXT_MAX];

	/* A file that somebody else wrote may have any number. */
	utc_strftime(state->since_s ? (int64_t)state->since_s : -1, UTC_PEOPLE, when);
	snprintf(buf, 300, "%s withdrew the VIPs at %s%s%s", state->by[0] ? state->by : "an operator", when,
		state->reason[0] ? ": " : "", state->reason);
	return buf;
}
