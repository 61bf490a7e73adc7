/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/progress.h"

#include <unistd.h>

#include "common/clock.h"
#include "program/command.h"

#define INTERVAL_MS 2000

void progress(const char *what, size_t done, size_t count)
{
	static uint64_t next_ms;
	uint64_t now_ms = clock_now_ms();

	if (next_ms && now_ms < next_ms)
		return;
	if (next_ms && isatty(STDERR_FILENO))
		command_note("%s: %zu of %zu", what, done, count);
	next_ms = now_ms + INTERVAL_MS;
}
