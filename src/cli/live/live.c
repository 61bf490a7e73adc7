/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/live/live.h"

int live_check(const struct command_args *args, const char *name, int operands)
{
	if (args->options[LIVE] && args->count > operands)
		return command_usage("%s: '%s' and --live exclude each other: name a file, or ask a director", name,
			args->operands[0]);
	if (args->options[LIVE])
		return COMMAND_OK;
	if (args->options[TELEMETRY_FILE_PREFIX] || args->options[TELEMETRY_TIMEOUT])
		return command_usage("%s: --file-prefix and --timeout are for --live", name);
	if (args->count <= operands)
		return command_usage("%s: TABLE is missing; or give --live for the table of a running director", name);
	return COMMAND_OK;
}
