/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kill-at N COMMAND...
 *
 * Runs COMMAND, and kills it (SIGKILL) before its Nth system call that changes something that outlives the process: a
 * pin, a link, a file, or what a message to the kernel's netlink changes. Exits with 137 if it killed
 * COMMAND, else with COMMAND's exit code. The first call is number 0.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
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

/* The other calls of bpf() only read, or make and fill objects that end with the process. */
static bool bpf_changes(uint64_t command)
{
	return command == BPF_OBJ_PIN || command == BPF_LINK_CREATE || command == BPF_LINK_UPDATE ||
	       command == BPF_LINK_DETACH;
}

/* Whether the message to netlink at `address` of the child is not a request to read, such as RTM_GETLINK. */
static bool netlink_changes(pid_t child, uint64_t address)
{
	struct nlmsghdr header;
	long words[2];

	for (int i = 0; i < 2; i++)
		words[i] = ptrace(PTRACE_PEEKDATA, child, (char *)address + i * sizeof(long), NULL);
	memcpy(&header, words, sizeof(header));
	return header.nlmsg_type % 4 != RTM_GETLINK % 4;
}

static bool changes_something(pid_t child, uint64_t number, const __u64 *args)
{
	switch (number) {
	case SYS_bpf:
		return bpf_changes(args[0]);
	case SYS_sendto:
		return netlink_changes(child, args[1]);
#ifdef SYS_mkdir /* newer architectures have only the calls below */
	case SYS_mkdir:
	case SYS_rename:
	case SYS_rmdir:
	case SYS_unlink:
#endif
	case SYS_mkdirat:
	case SYS_renameat:
	case SYS_renameat2:
	case SYS_sendmsg:
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
	return info.op == PTRACE_SYSCALL_INFO_ENTRY && changes_something(child, info.entry.nr, info.entry.args);
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
