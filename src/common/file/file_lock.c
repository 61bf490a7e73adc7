/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/file/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "common/file/file.h"

#define POLL_MS 20u

/* Returns the path of the lock file, which the caller frees, or NULL and errno. */
static char *name_of(const char *path)
{
	char *file = file_follow(path), *name = NULL;

	if (file && asprintf(&name, "%s.lock", file) < 0)
		name = NULL;
	free(file);
	return name;
}

/* Returns a descriptor or -errno. */
static int open_to_ask(const char *path)
{
	char *name = name_of(path);
	int fd = name ? open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1, error = errno;

	free(name);
	return fd < 0 ? -error : fd;
}

/* Gives a new lock file to those who may write to its folder; only root can give it to the folder's owner. In a sticky
 * folder nobody replaces a file of another user. */
static void share(int fd, const struct stat *folder)
{
	mode_t writers = folder->st_mode & (folder->st_mode & S_ISVTX ? 0 : 0222);

	if (writers && fchown(fd, folder->st_uid, folder->st_gid) < 0 && fchown(fd, (uid_t)-1, folder->st_gid) < 0)
		writers = writers & S_IWOTH ? writers : 0;
	(void)fchmod(fd, 0600 | writers | writers << 1);
}

/* Returns a descriptor or -errno. A hard link might lead to a file of another user, whose content is not for us to
 * change. */
static int open_file(const char *name)
{
	const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	char *copy = strdup(name);
	int fd = open(name, flags | O_EXCL, 0600), error = 0;
	bool is_new = fd >= 0;
	struct stat info, folder;

	if (!is_new && errno == EEXIST)
		fd = open(name, flags, 0600);
	if (fd < 0 || !copy || fstat(fd, &info) < 0 || stat(dirname(copy), &folder) < 0)
		error = errno;
	else if (!S_ISREG(info.st_mode) || info.st_nlink > 1)
		error = S_ISREG(info.st_mode) ? EMLINK : EINVAL;
	else if (is_new)
		share(fd, &folder);
	free(copy);
	if (error && fd >= 0)
		close(fd);
	return error ? -error : fd;
}

static int open_folder(const char *name)
{
	struct stat info;
	int fd, error;

	do { /* again if another process ends its lock in between */
		error = mkdir(name, 0700) < 0 ? errno : 0;
		if (error && error != EEXIST && error != EROFS)
			return -error;
		fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	} while (fd < 0 && errno == ENOENT && error != EROFS);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &info) == 0 && info.st_uid == geteuid() && !(info.st_mode & 077))
		return fd;
	close(fd);
	return -EPERM;
}

/* The holder of a file writes its number into it. */
static pid_t owner_of(int fd)
{
	char text[32] = "";
	long owner = pread(fd, text, sizeof(text) - 1, 0) > 0 ? strtol(text, NULL, 10) : 0;

	return owner > 0 ? (pid_t)owner : 0;
}

/* A folder has no content, but the kernel lists its lock with numbers that are those of stat(2) on bpffs. */
static pid_t owner_of_folder(const struct stat *folder)
{
	FILE *locks = fopen("/proc/locks", "re");
	unsigned long long inode;
	unsigned int major, minor;
	pid_t pid, owner = 0;
	char *line = NULL;
	size_t size = 0;

	while (locks && !owner && getline(&line, &size, locks) > 0)
		if (sscanf(line, "%*d: FLOCK ADVISORY %*s %d %x:%x:%llu", &pid, &major, &minor, &inode) == 4 &&
			inode == folder->st_ino && makedev(major, minor) == folder->st_dev && pid > 0)
			owner = pid;
	free(line);
	if (locks)
		fclose(locks);
	return owner;
}

#define COMM_MAX 17

static bool read_name(pid_t pid, char name[COMM_MAX])
{
	char path[32];
	FILE *file;
	bool done;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "re");
	done = file && fscanf(file, "%16[^\n]", name) == 1;
	if (file)
		fclose(file);
	return done;
}

static void name_holder(int fd, char holder[FILE_LOCK_HOLDER_MAX])
{
	struct stat info;
	pid_t owner = fstat(fd, &info) == 0 && S_ISDIR(info.st_mode) ? owner_of_folder(&info) : owner_of(fd);
	char name[COMM_MAX];
	bool named = owner && read_name(owner, name);

	snprintf(holder, FILE_LOCK_HOLDER_MAX,
		named   ? "process %d (%s)"
		: owner ? "process %d"
			: "another process",
		(int)owner, name);
}

/* Whoever ends a lock removes what was locked, so that another process may have locked something that has no name. */
static bool has_name(int fd, const char *name)
{
	struct stat locked, named;

	return fstat(fd, &locked) == 0 && lstat(name, &named) == 0 && locked.st_dev == named.st_dev &&
	       locked.st_ino == named.st_ino;
}

static int lock(int (*open_lock)(const char *name), const char *name, unsigned wait_ms, char holder[FILE_LOCK_HOLDER_MAX])
{
	int fd, error;

	for (unsigned waited = 0;; waited += POLL_MS) {
		fd = open_lock(name);
		if (fd < 0)
			return fd;
		error = flock(fd, LOCK_EX | LOCK_NB) < 0 ? errno : 0;
		if (!error && has_name(fd, name))
			return fd;
		if (error == EWOULDBLOCK)
			name_holder(fd, holder);
		close(fd);
		if (error && (error != EWOULDBLOCK || waited >= wait_ms))
			return -error;
		nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
	}
}

int file_lock(const char *path, unsigned wait_ms, char holder[FILE_LOCK_HOLDER_MAX])
{
	char *name = name_of(path);
	int fd = name ? lock(open_file, name, wait_ms, holder) : -errno;

	free(name);
	if (fd >= 0 && ftruncate(fd, 0) == 0)
		dprintf(fd, "%ld\n", (long)getpid());
	return fd;
}

int file_lock_folder(const char *path, unsigned wait_ms, char holder[FILE_LOCK_HOLDER_MAX])
{
	return lock(open_folder, path, wait_ms, holder);
}

void file_unlock(const char *path, int lock)
{
	char *name = name_of(path);

	if (name)
		unlink(name);
	free(name);
	close(lock);
}

void file_unlock_folder(const char *path, int lock)
{
	rmdir(path);
	close(lock);
}

static bool is_locked(int fd)
{
	return flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* The number in the file is what its owner wrote, so root must not believe it: the process must run this program. */
static int signal_program(pid_t pid, int number)
{
	char own[COMM_MAX], name[COMM_MAX];
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), error = fd < 0 ? errno : 0;

	if (!error && (!read_name(getpid(), own) || !read_name(pid, name) || strcmp(own, name) != 0))
		error = ESRCH;
	if (!error && syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) < 0)
		error = errno;
	if (fd >= 0)
		close(fd);
	return -error;
}

int file_lock_signal(const char *path, int number, pid_t *owner)
{
	int fd = open_to_ask(path), error = -ESRCH;

	*owner = 0;
	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	if (is_locked(fd))
		*owner = owner_of(fd);
	close(fd);
	return *owner ? signal_program(*owner, number) : error;
}

static bool ask(int fd)
{
	bool locked = fd == -EACCES;

	if (fd >= 0) {
		locked = is_locked(fd);
		close(fd);
	}
	return locked;
}

bool file_lock_exists(const char *path)
{
	int fd = open_to_ask(path);

	if (fd >= 0)
		close(fd);
	return fd != -ENOENT;
}

bool file_is_locked(const char *path)
{
	return ask(open_to_ask(path));
}

bool file_folder_is_locked(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return ask(fd < 0 ? -errno : fd);
}
