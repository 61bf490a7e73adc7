/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/file/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file/file_rights.h"

static const char *kind_of(mode_t mode)
{
	return S_ISDIR(mode) ? "a directory" : S_ISFIFO(mode) ? "a FIFO" : S_ISSOCK(mode) ? "a socket" : "a device";
}

/* Reads until `size` bytes or the end of the file. Returns the bytes read, or -1 and errno. */
static ssize_t read_all(int fd, char *bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = read(fd, bytes + done, size - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

/* Returns 0 and the file's status if it can be read into memory, or -errno with an error in faults. */
static int check_readable(int fd, const char *what, size_t max, struct stat *info, struct faults *faults)
{
	if (fstat(fd, info) < 0) {
		int error = errno;

		faults_error(faults, NULL, "cannot be read: %s", strerror(error));
		return -error;
	}
	if (!S_ISREG(info->st_mode)) {
		faults_error(faults, NULL, "is %s; expected a regular file", kind_of(info->st_mode));
		return S_ISDIR(info->st_mode) ? -EISDIR : -EINVAL;
	}
	if ((uintmax_t)info->st_size > max) {
		faults_error(faults, NULL, "has %jd bytes; %s has at most %zu", (intmax_t)info->st_size, what, max);
		return -EFBIG;
	}
	return 0;
}

void file_look(const char *path, struct stat *status)
{
	if (stat(path, status) < 0)
		*status = (struct stat){0};
}

bool file_is_unchanged(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

bool file_is_untouched(const struct stat *a, const struct stat *b)
{
	return file_is_unchanged(a, b) && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Returns whether another process has written to the file since `before`. */
static bool has_changed(int fd, const struct stat *before)
{
	struct stat now;

	return fstat(fd, &now) < 0 || !file_is_unchanged(before, &now);
}

static int read_file(int fd, const char *what, size_t max, char **text, size_t *size, struct faults *faults)
{
	struct stat info;
	int error = check_readable(fd, what, max, &info, faults);
	ssize_t got;

	if (error)
		return error;
	*size = (size_t)info.st_size;
	*text = malloc(*size + 1);
	if (!*text) {
		faults_error(faults, NULL, "cannot be read: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	/* Tries to read one byte more than expected, to notice a file that grows. */
	got = read_all(fd, *text, *size + 1);
	if (got == (ssize_t)*size && !has_changed(fd, &info)) {
		(*text)[*size] = '\0';
		return 0;
	}
	error = got < 0 ? errno : EAGAIN;
	if (got < 0)
		faults_error(faults, NULL, "cannot be read: %s", strerror(error));
	else
		faults_error(faults, NULL,
			"changed while it was being read; to change it safely, write another file and rename it");
	free(*text);
	*text = NULL;
	return -error;
}

/* Returns the folder of a path. NULL: out of memory. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == path ? strdup("/") : slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
}

/* Returns the path that the link at `path` has. NULL and errno: there is no link at `path`. */
static char *read_link(const char *path)
{
	char to[PATH_MAX], *folder, *whole;
	ssize_t size = readlink(path, to, sizeof(to) - 1);

	if (size < 0)
		return NULL;
	to[size] = '\0';
	if (to[0] == '/')
		return strdup(to);
	folder = folder_of(path);
	if (!folder || asprintf(&whole, "%s/%s", folder, to) < 0)
		whole = NULL;
	free(folder);
	return whole;
}

/* Returns whether a link of user `maker` may lead to the file, which need not exist. */
static bool may_lead(uid_t maker, const char *file)
{
	char *folder = folder_of(file);
	struct stat info;
	bool may = (lstat(file, &info) == 0 || (folder && stat(folder, &info) == 0)) && info.st_uid == maker;

	free(folder);
	return may;
}

#define LINKS_MAX 40 /* as many as the kernel follows */

char *file_follow(const char *path)
{
	char *at = strdup(path), *next;
	uid_t maker = 0; /* of a link that root does not trust */
	struct stat info;

	for (int i = 0; at && i < LINKS_MAX; i++) {
		if (lstat(at, &info) == 0 && S_ISLNK(info.st_mode) && geteuid() == 0 && info.st_uid != 0)
			maker = info.st_uid;
		next = read_link(at);
		if (!next && (errno == EINVAL || errno == ENOENT || errno == ENOTDIR)) {
			if (!maker || may_lead(maker, at))
				return at;
			free(at);
			errno = EXDEV;
			return NULL;
		}
		free(at);
		at = next;
	}
	if (at)
		errno = ELOOP;
	free(at);
	return NULL;
}

/*
 * Opens the file to read it. With O_NONBLOCK, a FIFO without a writer is refused at once. Only the kernel can follow
 * /dev/stdin and /dev/fd/63, the link of a pipe. Returns a descriptor or -errno.
 */
static int open_file(const char *path)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	bool device = strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
	char *file = device ? strdup(path) : file_follow(path);
	int fd = file ? open(file, flags | (device ? 0 : O_NOFOLLOW)) : -1, error = errno;

	free(file);
	return fd < 0 ? -error : fd;
}

const char *file_reason(int error)
{
	return error == -EXDEV
		       ? "it is a symbolic link of another user, which leads to a file that is not theirs: remove the link, or name the file"
		       : strerror(-error);
}

int file_read(const char *path, const char *what, size_t max, char **text, size_t *size, struct faults *faults)
{
	int fd = open_file(path), error;

	*text = NULL;
	if (fd < 0) {
		faults_error(faults, NULL, "cannot be opened: %s", file_reason(fd));
		return fd;
	}
	error = read_file(fd, what, max, text, size, faults);
	close(fd);
	return error;
}

int file_read_head(const char *path, void *head, size_t max, size_t *size)
{
	/* pread() fails for a FIFO, and so takes nothing out of it. */
	int fd = open_file(path), error = 0;
	ssize_t got = 1;

	*size = 0;
	if (fd < 0)
		return fd;
	while (got > 0 && *size < max) {
		got = pread(fd, (char *)head + *size, max - *size, (off_t)*size);
		if (got < 0)
			error = -errno;
		else
			*size += (size_t)got;
	}
	close(fd);
	return error;
}

static int write_all(int fd, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t done = write(fd, bytes, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		bytes += done;
		size -= (size_t)done;
	}
	return 0;
}

/* Adds an error for the step that failed. Returns -errno. */
static int failed(struct faults *faults, const char *step)
{
	int error = errno;

	faults_error(faults, NULL, "%s: %s; the file is unchanged", step, file_reason(-error));
	return -error;
}

/* A file that is about to be replaced or created. */
struct target {
	const char *path;
	const char *file; /* the path without symbolic links */
	const char *source; /* gives a new file its mode; NULL: none */
	const char *like; /* gives owner, mode and ACL; NULL: the old file does, if there is one */
	const struct stat *known; /* of the old file, which is not replaced if it has changed; NULL: it is replaced */
};

/* Gets the status of the file's model, or only the mode if there is none. Only a regular file may be replaced, so that
 * root cannot lose /dev/null. */
static int check_target(const struct target *target, struct stat *old, struct faults *faults)
{
	*old = (struct stat){.st_mode = file_rights_of_new(target->source)};
	if (stat(target->path, old) < 0 && errno != ENOENT)
		return failed(faults, "cannot be replaced");
	if (old->st_mode & S_IFMT && !S_ISREG(old->st_mode)) {
		faults_error(faults, NULL, "is %s; only a regular file can be replaced", kind_of(old->st_mode));
		return S_ISDIR(old->st_mode) ? -EISDIR : -EINVAL;
	}
	if (target->like && stat(target->like, old) < 0)
		return failed(faults, "the mode of the new file is unknown");
	return 0;
}

/* Sets the rights first, so that nobody can open the file who may not read it in the end. */
static int fill(int fd, const struct target *target, const struct stat *old, const void *bytes, size_t size,
	struct faults *faults)
{
	bool is_new = !(old->st_mode & S_IFMT);
	struct stat now;
	int error = is_new ? 0 : file_rights_copy(fd, target->like ? target->like : target->path, old, faults);

	if (error)
		return error;
	if (is_new && fchmod(fd, old->st_mode) < 0)
		return failed(faults, "the mode of the new file cannot be set");
	if (write_all(fd, bytes, size) < 0)
		return failed(faults, "the new file cannot be written");
	if (fsync(fd) < 0)
		return failed(faults, "the new file cannot be flushed to the disk");
	file_look(target->path, &now); /* last, directly before the rename */
	if (!target->known || file_is_unchanged(target->known, &now))
		return 0;
	faults_error(faults, NULL, "another program has changed the file since it was read");
	return -ESTALE;
}

void file_sync_folder(const char *folder, struct faults *faults)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		faults_warn(faults, NULL,
			"the folder cannot be flushed to the disk, so a power failure may undo the change: %s",
			strerror(errno));
	if (fd >= 0)
		close(fd);
}

#define TEMPORARY     ".glb-unfinished-XXXXXX"
#define ANY_TEMPORARY ".glb-unfinished-??????"

/* Removes the temporary files of killed writers. A living writer locks its file before the first byte and until the
 * rename. */
static void remove_leftovers(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	struct stat info;

	while (dir && (entry = readdir(dir))) {
		int fd;

		if (fnmatch(ANY_TEMPORARY, entry->d_name, 0) != 0)
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
			unlinkat(dirfd(dir), entry->d_name, 0);
		close(fd);
	}
	if (dir)
		closedir(dir);
}

/* Creates and locks a temporary file, and stores its path in `name` of `size` bytes. Returns the descriptor, or -1 and
 * errno. */
static int open_temporary(const char *folder, char *name, size_t size)
{
	struct stat info = {0};
	int fd;

	do {
		if (snprintf(name, size, "%s/" TEMPORARY, folder) >= (int)size) {
			errno = ENAMETOOLONG;
			return -1;
		}
		fd = mkostemp(name, O_CLOEXEC);
		if (fd < 0)
			return -1;
		/* If another writer has removed the file as a leftover before it was locked, try again. On a
		 * file system without locks, flock() fails here, but nobody can remove the file either. */
		if (flock(fd, LOCK_EX) == 0 && fstat(fd, &info) == 0 && info.st_nlink == 0) {
			close(fd);
			fd = -1;
		}
	} while (fd < 0);
	return fd;
}

static int replace_in(
	const char *folder, const struct target *target, const void *bytes, size_t size, struct faults *faults)
{
	char temporary[PATH_MAX];
	struct stat old;
	int error = check_target(target, &old, faults);
	int fd;

	if (error)
		return error;
	remove_leftovers(folder);
	fd = open_temporary(folder, temporary, sizeof(temporary));
	if (fd < 0 && errno == ENOENT && access(folder, F_OK) < 0) {
		faults_error(faults, NULL, "cannot be created: there is no folder '%s'", folder);
		return -ENOENT;
	}
	if (fd < 0)
		return failed(faults, "a new file cannot be created in its folder");
	error = fill(fd, target, &old, bytes, size, faults);
	if (!error && rename(temporary, target->file) < 0)
		error = failed(faults, "the new file cannot be renamed");
	if (error)
		unlink(temporary);
	else
		file_sync_folder(folder, faults);
	close(fd);
	return error;
}

static int replace(struct target target, const void *bytes, size_t size, struct faults *faults)
{
	char *file = file_follow(target.path), *folder = file ? folder_of(file) : NULL;
	int error;

	if (!folder) {
		error = failed(faults, "cannot be replaced");
	} else {
		target.file = file;
		error = replace_in(folder, &target, bytes, size, faults);
	}
	free(folder);
	free(file);
	return error;
}

int file_replace(const char *path, const char *source, const void *bytes, size_t size, struct faults *faults)
{
	return replace((struct target){.path = path, .source = source}, bytes, size, faults);
}

int file_replace_like(const char *path, const char *like, const void *bytes, size_t size, struct faults *faults)
{
	return replace((struct target){.path = path, .like = like}, bytes, size, faults);
}

int file_replace_known(const char *path, const struct stat *known, const void *bytes, size_t size, struct faults *faults)
{
	return replace((struct target){.path = path, .known = known}, bytes, size, faults);
}

/* Returns the folder's real path and the file's name. The file need not exist. NULL: out of memory, or a
 * loop of links. */
static char *resolve(const char *path)
{
	char *file = file_follow(path), *folder = file ? folder_of(file) : NULL;
	char *real = folder ? realpath(folder, NULL) : NULL;
	const char *slash = file ? strrchr(file, '/') : NULL;
	char *resolved;

	if (!folder || asprintf(&resolved, "%s/%s", real ? real : folder, slash ? slash + 1 : file) < 0)
		resolved = NULL;
	free(file);
	free(folder);
	free(real);
	return resolved;
}

bool file_is_same(const char *a, const char *b)
{
	struct stat x, y;
	char *first, *second;
	bool same;

	if (stat(a, &x) == 0 && stat(b, &y) == 0)
		return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
	first = resolve(a);
	second = resolve(b);
	same = first && second && strcmp(first, second) == 0;
	free(first);
	free(second);
	return same;
}
