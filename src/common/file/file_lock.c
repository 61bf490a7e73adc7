/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/file/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/file/file.h"

/* A lock file that is a link might lead anywhere, so it is refused. Returns a descriptor or -errno. */
static int open_lock(const char *path, int flags)
{
	char *file = file_follow(path), *name = NULL;
	int fd = -1;

	if (file && asprintf(&name, "%s.lock", file) >= 0)
		fd = open(name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	free(name);
	free(file);
	return fd < 0 ? -errno : fd;
}

static pid_t owner_of(int fd)
{
	char text[32] = "";
	long owner = pread(fd, text, sizeof(text) - 1, 0) > 0 ? strtol(text, NULL, 10) : 0;

	return owner > 0 ? (pid_t)owner : 0;
}

int file_lock(const char *path, pid_t *owner)
{
	int fd = open_lock(path, O_RDWR | O_CREAT), error;

	*owner = 0;
	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		if (ftruncate(fd, 0) == 0)
			dprintf(fd, "%ld\n", (long)getpid());
		return fd;
	}
	error = errno;
	if (error == EWOULDBLOCK)
		*owner = owner_of(fd);
	close(fd);
	return -error;
}

static bool is_locked(int fd)
{
	return flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

pid_t file_lock_owner(const char *path)
{
	int fd = open_lock(path, O_RDONLY);
	pid_t owner;

	if (fd < 0)
		return 0;
	owner = is_locked(fd) ? owner_of(fd) : 0;
	close(fd);
	return owner;
}

bool file_is_locked(const char *path)
{
	int fd = open_lock(path, O_RDONLY);
	bool locked;

	if (fd < 0)
		return fd == -EACCES;
	locked = is_locked(fd);
	close(fd);
	return locked;
}

bool file_lock_exists(const char *path)
{
	int fd = open_lock(path, O_RDONLY);

	if (fd >= 0)
		close(fd);
	return fd != -ENOENT;
}
