/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/check_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/text.h"
#include "conf/conf_argv.h"
#include "program/child.h"
#include "healthcheck/config/conf_command.h"

/* The child process reports this: why it cannot run the program. */
#define FAILURE_FD (STDERR_FILENO + 1)

/* One child process. It belongs to its probe; after the probe has ended, to the list of processes that are left. */
struct run {
	struct run *next;
	struct commands *commands;
	struct probe *probe;
	const struct conf_command *command;
	struct netaddr addr;
	pid_t pid;
	ev_child child;
	ev_io io;
	/* Read ends of pipes; -1: closed. The child writes to `failure` only if the program cannot be run. */
	int output, failure;
	/* Bytes that the program wrote. */
	size_t size;
	/* The first line of the output is complete. */
	bool line_done;
	size_t line_size;
	char line[PROBE_REASON_MAX];
};

struct commands {
	struct ev_loop *loop;
	struct run *left;
	unsigned left_count;
};

static void close_pipe(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_output(struct run *run)
{
	ev_io_stop(run->commands->loop, &run->io);
	close_pipe(&run->output);
}

/* Plugins of Nagios print performance data after a '|'. */
static void take(struct run *run, const char *bytes, size_t size)
{
	run->size += size;
	for (size_t i = 0; i < size && !run->line_done; i++) {
		if (bytes[i] == '\n' || bytes[i] == '|' || run->line_size == sizeof(run->line) - 1)
			run->line_done = true;
		else
			run->line[run->line_size++] = (unsigned char)bytes[i] < ' ' ? ' ' : bytes[i];
	}
}

/* Reads what there is, but no more than the limit. */
static void read_output(struct run *run)
{
	char bytes[4096];
	ssize_t size;

	while (run->output >= 0 && run->size <= COMMAND_OUTPUT_MAX) {
		size = read(run->output, bytes, sizeof(bytes));
		if (size > 0)
			take(run, bytes, (size_t)size);
		else if (size == 0 || (errno != EAGAIN && errno != EINTR))
			close_output(run);
		else
			return;
	}
}

static void on_output(struct ev_loop *loop, ev_io *io, int events)
{
	struct run *run = io->data;

	(void)loop;
	(void)events;
	read_output(run);
	if (run->size > COMMAND_OUTPUT_MAX)
		probe_end(run->probe, CHECK_BAD_EXIT, "the command wrote more than %d bytes", COMMAND_OUTPUT_MAX);
}

static void end(struct run *run, enum check_result result, const char *how)
{
	size_t size = run->line_size;

	while (size && run->line[size - 1] == ' ')
		size--;
	run->line[size] = '\0';
	text_mend(run->line);
	probe_end(run->probe, result, "%s%s%s", how, size && *how ? ": " : "", run->line);
}

static void judge(struct run *run, int status)
{
	char how[PROBE_REASON_MAX];
	ssize_t size = read(run->failure, how, sizeof(how) - 1);

	if (size > 0) {
		how[size] = '\0';
		probe_end(run->probe, CHECK_NOT_RUN, "the program %s", how);
		return;
	}
	if (WIFSIGNALED(status)) {
		snprintf(how, sizeof(how), "killed by signal %d", WTERMSIG(status));
		end(run, CHECK_BAD_EXIT, how);
		return;
	}
	switch (WEXITSTATUS(status)) {
	case 0:
		end(run, CHECK_PASSED, run->line_size ? "" : "exit code 0");
		break;
	case 1:
		end(run, CHECK_PASSED, "warning");
		break;
	case 2:
		end(run, CHECK_BAD_EXIT, "critical");
		break;
	case 3:
		end(run, CHECK_NOT_RUN, "unknown");
		break;
	default:
		snprintf(how, sizeof(how), "exit code %d", WEXITSTATUS(status));
		end(run, CHECK_BAD_EXIT, how);
	}
}

static void free_run(struct run *run)
{
	ev_child_stop(run->commands->loop, &run->child);
	close_output(run);
	close_pipe(&run->failure);
	free(run);
}

static void forget(struct run *run)
{
	struct run **at = &run->commands->left;

	while (*at != run)
		at = &(*at)->next;
	*at = run->next;
	run->commands->left_count--;
	free_run(run);
}

static void on_exit_of_child(struct ev_loop *loop, ev_child *child, int events)
{
	struct run *run = child->data;

	(void)loop;
	(void)events;
	/* The processes that it started in its group must end, too. The kernel gives the number of a group to no other
	 * process until the group is empty. */
	kill(-run->pid, SIGKILL);
	run->pid = 0;
	if (!run->probe) {
		forget(run);
		return;
	}
	/* Does not wait for the end of the output: a process in another group may hold the pipe. */
	read_output(run);
	if (run->size > COMMAND_OUTPUT_MAX)
		probe_end(run->probe, CHECK_BAD_EXIT, "the command wrote more than %d bytes", COMMAND_OUTPUT_MAX);
	else
		judge(run, child->rstatus);
}

/* Returns the arguments with the proxy's address in place of {ip}; NULL: out of memory. The child does not
 * free them. */
static char **arguments_of(const struct conf_command *command, const struct netaddr *addr)
{
	char ip[NETADDR_TEXT_MAX], **arguments;
	size_t count = 0;

	netaddr_format(addr, ip);
	while (command->arguments[count])
		count++;
	arguments = calloc(count + 1, sizeof(*arguments));
	for (size_t i = 0; arguments && i < count; i++) {
		const char *from = command->arguments[i], *place;
		size_t size;
		FILE *to = open_memstream(&arguments[i], &size);

		if (!to)
			return NULL;
		for (; (place = strstr(from, CONF_COMMAND_IP)); from = place + strlen(CONF_COMMAND_IP))
			fprintf(to, "%.*s%s", (int)(place - from), from, ip);
		fputs(from, to);
		if (fclose(to) != 0)
			return NULL;
	}
	return arguments;
}

/* The program gets the limits and the working folder of the daemon, but not its environment. */
static _Noreturn void be_child(const struct run *run, int output, int failure)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		    locale[] = "LC_ALL=C.UTF-8";
	char *environment[] = {path, locale, NULL}, buf[CONF_ARGV_FAULT_MAX];
	const char *program = run->command->arguments[0], *fault;
	char **arguments;

	/* The program ends with the daemon. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* dup2() would close a pipe that has one of the lower numbers. */
	failure = fcntl(failure, F_DUPFD_CLOEXEC, FAILURE_FD + 2);
	output = fcntl(output, F_DUPFD_CLOEXEC, FAILURE_FD + 2);
	dup3(failure, FAILURE_FD, O_CLOEXEC);
	child_prepare(-1, output, FAILURE_FD + 1);
	fault = conf_argv_fault(program, buf);
	arguments = fault ? NULL : arguments_of(run->command, &run->addr);
	if (arguments) {
		execve(program, arguments, environment);
		snprintf(buf, sizeof(buf), "cannot be run: %s", strerror(errno));
		fault = buf;
	}
	if (!fault)
		fault = "cannot be run: out of memory";
	if (write(FAILURE_FD, fault, strlen(fault)) < 0)
		_exit(126);
	_exit(127);
}

/* Returns 0 or -errno. */
static int spawn(struct run *run)
{
	int output[2] = {-1, -1}, failure[2] = {-1, -1}, error = 0;

	if (pipe2(output, O_CLOEXEC) < 0 || pipe2(failure, O_CLOEXEC) < 0 || (run->pid = fork()) < 0)
		error = -errno;
	if (run->pid == 0 && !error)
		be_child(run, output[1], failure[1]);
	close_pipe(&output[1]);
	close_pipe(&failure[1]);
	run->output = output[0];
	run->failure = failure[0];
	if (error)
		return error;
	setpgid(run->pid, run->pid); /* parent and child both do this, whichever runs first */
	fcntl(run->output, F_SETFL, O_NONBLOCK);
	fcntl(run->failure, F_SETFL, O_NONBLOCK);
	return 0;
}

/* Returns the process of an earlier run of the same check that was killed and has not ended; 0: none. */
static pid_t left_by(const struct commands *commands, const struct check_spec *spec)
{
	for (const struct run *run = commands->left; run; run = run->next)
		if (run->command == spec->command && netaddr_compare(&run->addr, &spec->addr) == 0)
			return run->pid;
	return 0;
}

static void start(struct probe *probe)
{
	struct commands *commands = probe->env->commands;
	pid_t left = left_by(commands, probe->spec);
	struct run *run;
	int error;

	if (left || commands->left_count >= COMMAND_LEFT_MAX) {
		if (left)
			probe_end(probe, CHECK_NOT_RUN, "process %d of an earlier run was killed and has not ended",
				(int)left);
		else
			probe_end(probe, CHECK_NOT_RUN, "%u processes of commands were killed and have not ended",
				commands->left_count);
		return;
	}
	run = calloc(1, sizeof(*run));
	if (!run) {
		probe_end(probe, CHECK_NOT_RUN, "out of memory");
		return;
	}
	*run = (struct run){
		.commands = commands, .probe = probe, .command = probe->spec->command, .addr = probe->spec->addr};
	ev_io_init(&run->io, on_output, -1, EV_READ);
	ev_child_init(&run->child, on_exit_of_child, 0, 0);
	run->io.data = run->child.data = run;
	probe->state = run;
	error = spawn(run);
	if (error) {
		run->pid = 0;
		probe_end(probe, CHECK_NOT_RUN, "cannot start a process: %s", strerror(-error));
		return;
	}
	ev_io_set(&run->io, run->output, EV_READ);
	ev_io_start(commands->loop, &run->io);
	ev_child_set(&run->child, run->pid, 0);
	ev_child_start(commands->loop, &run->child);
}

static void stop(struct probe *probe)
{
	struct run *run = probe->state;

	probe->state = NULL;
	if (!run)
		return;
	run->probe = NULL;
	if (!run->pid) {
		free_run(run);
		return;
	}
	kill(-run->pid, SIGKILL);
	close_output(run);
	close_pipe(&run->failure);
	run->next = run->commands->left;
	run->commands->left = run;
	run->commands->left_count++;
}

struct commands *check_command_open(struct ev_loop *loop, struct faults *faults)
{
	struct commands *commands = calloc(1, sizeof(*commands));

	if (!commands)
		faults_error(faults, NULL, "out of memory");
	else
		commands->loop = loop;
	return commands;
}

void check_command_close(struct commands *commands)
{
	while (commands && commands->left) {
		kill(-commands->left->pid, SIGKILL);
		forget(commands->left);
	}
	free(commands);
}

const struct probe_method check_command = {.start = start, .stop = stop};
