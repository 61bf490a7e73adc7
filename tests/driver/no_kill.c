/* SPDX-License-Identifier: BSD-3-Clause */
/* For LD_PRELOAD: the program cannot kill process groups, as if the kernel did not end them (state D). */
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int kill(pid_t pid, int number)
{
	return pid < 0 ? 0 : (int)syscall(SYS_kill, pid, number);
}
