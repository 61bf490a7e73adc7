/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/child.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

void child_withhold_capability(void)
{
	/* Programs of an unprivileged user have only ambient capabilities, programs of root all in the bounding set. */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, CAP_NET_RAW, 0, 0);
	prctl(PR_CAPBSET_DROP, CAP_NET_RAW, 0, 0, 0);
}

void child_prepare(int input, int output, unsigned first_closed)
{
	int stdin_fd = input < 0 ? open("/dev/null", O_RDONLY) : input;
	sigset_t none;

	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	dup2(stdin_fd, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	close_range(first_closed, ~0U, 0); /* libraries may have sockets without O_CLOEXEC */
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
}
