/* SPDX-License-Identifier: BSD-3-Clause */
/* For LD_PRELOAD: the kernel's clock seems to be synchronised; with FAKE_CLOCK=unsynchronised it seems not to be. */
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

int adjtimex(struct timex *state)
{
	const char *wanted = getenv("FAKE_CLOCK");

	memset(state, 0, sizeof(*state));
	state->status = wanted && strcmp(wanted, "unsynchronised") == 0 ? STA_UNSYNC : 0;
	return TIME_OK;
}
