/* SPDX-License-Identifier: BSD-3-Clause */
/* For LD_PRELOAD: an operator replaces a JSON table while a child process of the program writes a new version of it. The
 * child's next fsync(2) of a JSON table renames $EDIT_NEW, if that file exists, to $EDIT_FILE. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pid_t program;

__attribute__((constructor)) static void start(void)
{
	program = getpid();
}

int fsync(int fd)
{
	char text[13] = "";

	if (getpid() != program && pread(fd, text, sizeof(text) - 1, 0) > 0 && strstr(text, "\"tables\""))
		(void)rename(getenv("EDIT_NEW"), getenv("EDIT_FILE"));
	return (int)syscall(SYS_fsync, fd);
}
