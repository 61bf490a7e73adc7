/* SPDX-License-Identifier: BSD-3-Clause */
/* For LD_PRELOAD: sends the signal $GLB_TEST_SIGNAL to the program $GLB_TEST_PROGRAM as soon as constructors of libraries run. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void send(void)
{
	const char *program = getenv("GLB_TEST_PROGRAM"), *number = getenv("GLB_TEST_SIGNAL");

	if (program && number && strcmp(program_invocation_short_name, program) == 0)
		kill(getpid(), atoi(number));
}
