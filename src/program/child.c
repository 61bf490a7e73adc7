/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

#define FAILURE_FD (STDERR_FILENO + 1) /* in the child process */
#define ROUNDS     4
#define KILLED_MS  1000

void child_withhold_capability(void)
{
	/* Programs of an unprivileged user have only ambient capabilities, programs of root all in the bounding set. */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, CAP_NET_RAW, 0, 0);
	prctl(PR_CAPBSET_DROP, CAP_NET_RAW, 0, 0, 0);
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* A file and not a pipe, so that nobody has to write while the program runs. Returns a descriptor, or -1 and errno. */
static int open_input(const char *text)
{
	int fd = text ? memfd_create("input", MFD_CLOEXEC) : open("/dev/null", O_RDONLY | O_CLOEXEC);
	size_t size = text ? strlen(text) : 0;

	if (fd < 0 || !size)
		return fd;
	if (write(fd, text, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	close_one(&fd);
	return fd;
}

/* dup2() would close a pipe that has one of the lower numbers. */
static int move_up(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, FAILURE_FD + 1);
}

static _Noreturn void be_child(const struct child_plan *plan, int input, int output, int failure)
{
	int errors;
	sigset_t none;

	input = move_up(input);
	output = move_up(output);
	failure = move_up(failure);
	errors = plan->drop_errors ? move_up(open("/dev/null", O_WRONLY)) : output;
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	dup2(input, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(errors, STDERR_FILENO);
	dup3(failure, FAILURE_FD, O_CLOEXEC);
	close_range(FAILURE_FD + 1, ~0U, 0); /* libraries may have sockets without O_CLOEXEC */
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	plan->run(plan->data);
	_exit(127);
}

/* Whoever started this program may have made it ignore its children. Then the kernel would forget how they end. */
static void remember_ends(void)
{
	struct sigaction action;

	if (sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
		signal(SIGCHLD, SIG_DFL);
}

int child_start(struct child *child, const struct child_plan *plan)
{
	int output[2] = {-1, -1}, failure[2] = {-1, -1}, input = open_input(plan->input), error = 0;

	*child = (struct child){0};
	remember_ends();
	if (input < 0 || pipe2(output, O_CLOEXEC) < 0 || pipe2(failure, O_CLOEXEC | O_NONBLOCK) < 0 ||
		(child->pid = fork()) < 0)
		error = errno;
	else if (child->pid == 0)
		be_child(plan, input, output[1], failure[1]);
	close_one(&input);
	close_one(&output[1]);
	close_one(&failure[1]);
	child->output = output[0];
	child->failure = failure[0];
	if (error) {
		child_close(child);
		child->pid = 0;
		return -error;
	}
	setpgid(child->pid, child->pid); /* parent and child both do this, whichever runs first */
	fcntl(child->output, F_SETFL, O_NONBLOCK);
	return 0;
}

static void report(int error, const char *fault)
{
	struct child_failure failure = {.error = error};

	if (fault)
		snprintf(failure.text, sizeof(failure.text), "%s", fault);
	else
		snprintf(failure.text, sizeof(failure.text), "cannot be run: %s", strerror(error));
	if (write(FAILURE_FD, &failure, sizeof(failure)) < 0)
		_exit(126);
}

void child_run_program(const void *data)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		    locale[] = "LC_ALL=C.UTF-8";
	char *environment[] = {path, locale, NULL}, buf[EXECUTABLE_FAULT_MAX];
	char *const *argv = data;
	const char *fault;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	fault = executable_fault(argv[0], buf);
	if (!fault)
		execve(argv[0], argv, environment);
	report(fault ? 0 : errno, fault);
}

void child_run_tool(const void *data)
{
	static const char *const folders[] = {"/usr/sbin", "/sbin", "/usr/local/sbin"};
	char *const *argv = data;
	char path[256];

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	execvp(argv[0], argv);
	for (size_t i = 0; errno == ENOENT && i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], argv[0]);
		execv(path, argv);
	}
	report(errno, NULL);
}

int child_read(struct child *child, child_take *take, void *data)
{
	char bytes[65536];

	for (int round = 0; round < ROUNDS; round++) {
		ssize_t size = read(child->output, bytes, sizeof(bytes));

		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			return 1;
		if (size <= 0)
			return 0;
		if (!take(data, bytes, (size_t)size))
			return -EFBIG;
	}
	return 1;
}

/* Returns 0 if the process has ended. Without `take`, nobody reads the output. */
static int wait_end(struct child *child, int pidfd, unsigned timeout_ms, child_take *take, void *data)
{
	uint64_t end = clock_now_ms() + timeout_ms;

	for (;;) {
		struct pollfd fds[] = {
			{.fd = pidfd, .events = POLLIN}, {.fd = take ? child->output : -1, .events = POLLIN}};
		uint64_t now = clock_now_ms(), left = now < end ? end - now : 0;
		int more;

		if (poll(fds, 2, left < INT_MAX ? (int)left : INT_MAX) < 0 && errno != EINTR)
			return -errno;
		more = take ? child_read(child, take, data) : 1;
		if (more < 0)
			return more;
		if (fds[0].revents)
			return 0;
		if (!more)
			close_one(&child->output);
		if (!left)
			return -ETIMEDOUT;
	}
}

int child_wait(struct child *child, unsigned timeout_ms, child_take *take, void *data, int *status)
{
	int pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	int error = pidfd < 0 ? -errno : wait_end(child, pidfd, timeout_ms, take, data);

	kill(-child->pid, SIGKILL);
	if (error && pidfd >= 0)
		wait_end(child, pidfd, KILLED_MS, NULL, NULL);
	if (waitpid(child->pid, status, WNOHANG) != child->pid && !error)
		error = -ECHILD;
	close_one(&pidfd);
	return error;
}

bool child_failed(struct child *child, struct child_failure *failure)
{
	return read(child->failure, failure, sizeof(*failure)) == sizeof(*failure);
}

void child_close(struct child *child)
{
	close_one(&child->output);
	close_one(&child->failure);
}

void child_describe_end(int status, char text[CHILD_END_MAX])
{
	if (WIFSIGNALED(status))
		snprintf(text, CHILD_END_MAX, "killed by signal %d", WTERMSIG(status));
	else
		snprintf(text, CHILD_END_MAX, "exit code %d", WEXITSTATUS(status));
}
