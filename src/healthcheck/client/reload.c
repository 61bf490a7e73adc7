/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/file/file_lock.h"
#include "healthcheck/client/client.h"
#include "program/command.h"
#include "program/member.h"

#define POLLS   240 /* of a quarter of a second each: a minute */
#define POLL_NS 250000000L

/* Returns the member `src` of the daemon's status, which the caller frees. NULL after an error message. */
static json_t *ask_src(const struct conf *conf)
{
	char *reply = client_fetch(conf);
	json_t *status = reply ? json_loads(reply, 0, NULL) : NULL;
	json_t *src = json_incref(json_object_get(status, "src"));

	if (reply && !json_is_integer(json_object_get(src, "signals"))) {
		command_error("the reply is not a status of glb-healthcheck");
		json_decref(src);
		src = NULL;
	}
	json_decref(status);
	free(reply);
	return src;
}

/* Waits until the daemon has handled one more signal, and says what it thinks of src then. */
static int await_result(const struct conf *conf, json_int_t before)
{
	for (int i = 0; i < POLLS; i++) {
		json_t *src = ask_src(conf);
		const char *error = member_text(src, "error");
		bool done = src && member_number(src, "signals") > before;
		int code = COMMAND_OK;

		if (done && *error)
			code = command_error("src is refused, the last good table stays in use: %s", error);
		json_decref(src);
		if (!src)
			return COMMAND_FAILED;
		if (done)
			return code;
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
	return command_error("the daemon has not read src within a minute");
}

int client_reload(const struct conf *conf)
{
	json_t *src = conf->listen.has_port && file_is_locked(conf->dst) ? ask_src(conf) : NULL;
	json_int_t before = member_number(src, "signals");
	bool told = src;
	pid_t pid;
	int error = file_lock_signal(conf->dst, SIGHUP, &pid);

	json_decref(src);
	if (error == -ESRCH)
		return command_error("no glb-healthcheck that writes %s runs", conf->dst);
	if (error)
		return command_error("SIGHUP to process %ld: %s", (long)pid, strerror(-error));
	if (!conf->listen.has_port)
		return COMMAND_OK;
	return told ? await_result(conf, before)
		    : command_error("process %ld got SIGHUP, but does not tell the result: see its log", (long)pid);
}
