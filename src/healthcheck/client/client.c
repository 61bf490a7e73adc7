/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/client/client.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/text.h"
#include "program/command.h"

/* Prints what the daemon replied. Returns the exit code. */
static int print_reply(const char *reply, bool as_json)
{
	json_error_t error;
	json_t *status = json_loads(reply, 0, &error);
	int code = client_is_good(status) ? COMMAND_OK : COMMAND_FAILED;

	if (!json_is_array(json_object_get(status, "tables")) || !json_is_object(json_object_get(status, "src")))
		code = command_error("the reply is not a status of glb-healthcheck: %s",
			status ? "members are missing" : text_without_token(error.text));
	else if (as_json)
		puts(reply);
	else
		client_print(status);
	json_decref(status);
	return code;
}

int client_run(const struct conf *conf, bool as_json)
{
	char *reply = client_fetch(conf);
	int code = reply ? print_reply(reply, as_json) : COMMAND_FAILED;

	free(reply);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	return command_error("cannot write to standard output");
}
