/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/checks/check_command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/text.h"
#include "conf/conf_argv.h"
#include "program/child.h"
#include "healthcheck/config/conf_command.h"

/* One child process. It belongs to its probe; after the probe has ended, to the list of processes that are left. */
struct run {
	struct run *next;
	struct commands *commands;
	struct probe *probe;
	const struct conf_command *command;
	struct netaddr addr;
	struct child child; /* pid 0: it has ended */
	ev_child exit;
	ev_io io;
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

/* Plugins of Nagios print performance data after a '|'. */
static bool take(void *data, const char *bytes, size_t size)
{
	struct run *run = data;

	run->size += size;
	for (size_t i = 0; i < size && !run->line_done; i++) {
		if (bytes[i] == '\n' || bytes[i] == '|' || run->line_size == sizeof(run->line) - 1)
			run->line_done = true;
		else
			run->line[run->line_size++] = (unsigned char)bytes[i] < ' ' ? ' ' : bytes[i];
	}
	return run->size <= COMMAND_OUTPUT_MAX;
}

/* Returns false if the program wrote too much, which ends the probe. */
static bool read_output(struct run *run)
{
	int more = child_read(&run->child, take, run);

	if (more <= 0)
		ev_io_stop(run->commands->loop, &run->io);
	if (more < 0)
		probe_end(run->probe, CHECK_BAD_EXIT, "the command wrote more than %d bytes", COMMAND_OUTPUT_MAX);
	return more >= 0;
}

static void on_output(struct ev_loop *, ev_io *io, int)
{
	read_output(io->data);
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
	struct child_failure failure;
	char how[CHILD_END_MAX];

	if (child_failed(&run->child, &failure)) {
		probe_end(run->probe, CHECK_NOT_RUN, "the program %s", failure.text);
		return;
	}
	child_describe_end(status, how);
	if (WIFSIGNALED(status)) {
		end(run, CHECK_BAD_EXIT, how);
		return;
	}
	switch (WEXITSTATUS(status)) {
	case 0:
		end(run, CHECK_PASSED, run->line_size ? "" : how);
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
		end(run, CHECK_BAD_EXIT, how);
	}
}

static void close_pipes(struct run *run)
{
	ev_io_stop(run->commands->loop, &run->io);
	child_close(&run->child);
}

static void free_run(struct run *run)
{
	ev_child_stop(run->commands->loop, &run->exit);
	close_pipes(run);
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

static void on_exit_of_child(struct ev_loop *, ev_child *child, int)
{
	struct run *run = child->data;

	/* The processes that it started in its group must end, too. The kernel gives the number of a group to no other
	 * process until the group is empty. */
	kill(-run->child.pid, SIGKILL);
	run->child.pid = 0;
	/* Does not wait for the end of the output: a process in another group may hold the pipe. */
	if (!run->probe)
		forget(run);
	else if (read_output(run))
		judge(run, child->rstatus);
}

/* Returns the arguments with the proxy's address in place of {ip}; NULL: out of memory. */
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

		for (; to && (place = strstr(from, CONF_COMMAND_IP)); from = place + strlen(CONF_COMMAND_IP))
			fprintf(to, "%.*s%s", (int)(place - from), from, ip);
		if (to)
			fputs(from, to);
		if (!to || fclose(to) != 0) {
			conf_argv_free(arguments);
			return NULL;
		}
	}
	return arguments;
}

/* Returns the process of an earlier run of the same check that was killed and has not ended; 0: none. */
static pid_t left_by(const struct commands *commands, const struct check_spec *spec)
{
	for (const struct run *run = commands->left; run; run = run->next)
		if (run->command == spec->command && netaddr_compare(&run->addr, &spec->addr) == 0)
			return run->child.pid;
	return 0;
}

static void start(struct probe *probe)
{
	struct commands *commands = probe->env->commands;
	pid_t left = left_by(commands, probe->spec);
	struct child_plan plan = {.run = child_run_program};
	char **arguments;
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
	plan.data = arguments = arguments_of(probe->spec->command, &probe->spec->addr);
	if (!run || !arguments) {
		free(run);
		conf_argv_free(arguments);
		probe_end(probe, CHECK_NOT_RUN, "out of memory");
		return;
	}
	*run = (struct run){
		.commands = commands, .probe = probe, .command = probe->spec->command, .addr = probe->spec->addr};
	ev_io_init(&run->io, on_output, -1, EV_READ);
	ev_child_init(&run->exit, on_exit_of_child, 0, 0);
	run->io.data = run->exit.data = run;
	error = child_start(&run->child, &plan);
	conf_argv_free(arguments);
	probe->state = run;
	if (error) {
		probe_end(probe, CHECK_NOT_RUN, "cannot start a process: %s", strerror(-error));
		return;
	}
	ev_io_set(&run->io, run->child.output, EV_READ);
	ev_io_start(commands->loop, &run->io);
	ev_child_set(&run->exit, run->child.pid, 0);
	ev_child_start(commands->loop, &run->exit);
}

static void stop(struct probe *probe)
{
	struct run *run = probe->state;

	probe->state = NULL;
	if (!run)
		return;
	run->probe = NULL;
	if (!run->child.pid) {
		free_run(run);
		return;
	}
	kill(-run->child.pid, SIGKILL);
	close_pipes(run);
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

#define END_MS 1000 /* for all killed programs to end */

void check_command_close(struct commands *commands)
{
	uint64_t deadline = clock_now_ms() + END_MS;
	int status;

	while (commands && commands->left) {
		if (clock_now_ms() < deadline) /* all were killed when they were left */
			child_wait(&commands->left->child, 0, NULL, NULL, &status);
		forget(commands->left);
	}
	free(commands);
}

const struct probe_method check_command = {.start = start, .stop = stop};
