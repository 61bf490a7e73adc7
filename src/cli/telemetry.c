/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/telemetry.h"

#include <errno.h>
#include <stdlib.h>

/* Prints the prefixes of other directors that may run, so that a wrong --file-prefix is easy to see. */
static void note_others(const struct telemetry *telemetry)
{
	char *others = telemetry_socket_others(&telemetry->socket);

	if (others && *others)
		command_note("there are sockets for --file-prefix %s", others);
	free(others);
}

int telemetry_connect(struct telemetry *telemetry, const struct command_args *args, struct faults *faults)
{
	const char *prefix = args->values[TELEMETRY_FILE_PREFIX];
	int error;

	telemetry->socket.fd = -1;
	error = telemetry_socket_open(&telemetry->socket, prefix, args->numbers[TELEMETRY_TIMEOUT] * 1000, faults);
	if (error != -ENAMETOOLONG)
		return error;
	faults_clear(faults);
	return command_usage("--file-prefix: '%s' is too long for a socket's path", prefix);
}

int telemetry_open(struct telemetry *telemetry, const struct command_args *args)
{
	struct faults faults = {0};
	int error = telemetry_connect(telemetry, args, &faults);

	if (error >= 0)
		return error;
	cli_print_faults(&faults, FAULTS_ERRORS);
	if (error == -ENOENT)
		note_others(telemetry);
	return COMMAND_FAILED;
}

void telemetry_close(struct telemetry *telemetry)
{
	telemetry_socket_close(&telemetry->socket);
}

json_t *telemetry_ask(struct telemetry *telemetry, const char *command)
{
	struct faults faults = {0};
	json_t *reply;

	if (telemetry_socket_ask(&telemetry->socket, command, &reply, &faults))
		cli_print_faults(&faults, FAULTS_ERRORS);
	return reply;
}

int telemetry_request(const struct command_args *args, const char *command, json_t **reply)
{
	struct telemetry telemetry;
	int code = telemetry_open(&telemetry, args);

	if (code != COMMAND_OK)
		return code;
	*reply = telemetry_ask(&telemetry, command);
	telemetry_close(&telemetry);
	return *reply ? COMMAND_OK : COMMAND_FAILED;
}
