/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/publish/output_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/file.h"

/* Writes the number of this process into the lock file, for the message of another one. */
static void sign(int fd)
{
	if (ftruncate(fd, 0) == 0)
		dprintf(fd, "%ld\n", (long)getpid());
}

static int refuse(int fd, const char *path, struct faults *faults)
{
	char owner[32] = "";
	ssize_t size = pread(fd, owner, sizeof(owner) - 1, 0);

	owner[size > 0 ? strspn(owner, "0123456789") : 0] = '\0';
	faults_error(faults, NULL,
		"%s: another glb-healthcheck%s%s%s writes this file: stop it, or give each its own files", path,
		owner[0] ? " (process " : "", owner, owner[0] ? ")" : "");
	return -EBUSY;
}

/* The descriptor stays open, because it holds the lock. A symbolic link as lock file may lead anywhere, so it is refused. */
static int lock(const char *path, struct faults *faults)
{
	char *file = file_follow(path), *name = NULL;
	int fd = -1, error = 0;

	if (file && asprintf(&name, "%s.lock", file) >= 0)
		fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		sign(fd);
	else if (fd >= 0 && errno == EWOULDBLOCK)
		error = refuse(fd, path, faults);
	else
		faults_warn(faults, NULL, "%s: cannot be locked against a second glb-healthcheck, by %s.lock: %s", path,
			file ? file : path, strerror(errno));
	free(name);
	free(file);
	return error;
}

int output_lock(const struct conf *conf, struct faults *faults)
{
	const char *const paths[] = {conf->dst, conf->reload_build, conf->state_file};
	size_t size = strlen(conf->dst);
	int error = 0;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) && !error; i++) {
		/* The lock of dst is enough for the default state file beside it. */
		bool is_default =
			i == 2 && strncmp(paths[i], conf->dst, size) == 0 && strcmp(paths[i] + size, ".state") == 0;

		if (paths[i] && !is_default)
			error = lock(paths[i], faults);
	}
	return error;
}
