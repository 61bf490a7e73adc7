/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kill-at N COMMAND...
 *
 * Runs COMMAND, and kills it (SIGKILL) before its Nth system call that changes something that outlives the process: a
 * pin, a link, a map's value, a file, or what a message to the kernel's netlink changes. Exits with 137 if it killed
 * COMMAND, else with COMMAND's exit code. The first call is number 0.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

#define KILLED 137

static void fail(const char *operation)
{
	fprintf(stderr, "kill-at: %s: %s\n", operation, strerror(errno));
	exit(2);
}

/* Calls of bpf() that only read, or that make objects that end with the process. */
static bool bpf_changes_nothing(uint64_t command)
{
	return command == BPF_MAP_CREATE || command == BPF_PROG_LOAD || command == BPF_BTF_LOAD ||
	       command == BPF_OBJ_GET || command == BPF_OBJ_GET_INFO_BY_FD || command == BPF_MAP_LOOKUP_ELEM ||
	       command == BPF_MAP_FREEZE;
}

static bool changes_something(uint64_t number, uint64_t first)
{
	switch (number) {
	case SYS_bpf:
		return !bpf_changes_nothing(first);
	case SYS_mkdir:
	case SYS_rename:
	case SYS_rmdir:
	case SYS_sendmsg:
	case SYS_sendto:
	case SYS_unlink:
	case SYS_unlinkat:
		return true;
	default:
		return false;
	}
}

/* Returns whether the child, which stopped, is about to do such a call. */
static bool is_before_a_change(pid_t child)
{
	struct ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(info), &info) < 0)
		fail("PTRACE_GET_SYSCALL_INFO");
	return info.op == PTRACE_SYSCALL_INFO_ENTRY && changes_something(info.entry.nr, info.entry.args[0]);
}

static void wait_for(pid_t child, int *status)
{
	if (waitpid(child, status, 0) != child)
		fail("waitpid");
	if (WIFEXITED(*status))
		exit(WEXITSTATUS(*status));
}

int main(int argc, char **argv)
{
	long remaining = argc > 2 ? atol(argv[1]) : -1;
	int status;
	pid_t child;

	if (remaining < 0) {
		fputs("usage: kill-at N COMMAND...\n", stderr);
		return 2;
	}
	child = fork();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[2], argv + 2);
		fail(argv[2]);
	}
	wait_for(child, &status); /* until execv() */
	ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) != 0)
			fail("PTRACE_SYSCALL");
		wait_for(child, &status);
		if (is_before_a_change(child) && remaining-- == 0)
			break;
	}
	kill(child, SIGKILL);
	while (waitpid(child, &status, 0) == child && !WIFSIGNALED(status))
		ptrace(PTRACE_CONT, child, NULL, NULL);
	return KILLED;
}
