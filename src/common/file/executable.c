/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/file/executable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true if every user may replace the files in the folder of this path. */
static bool is_in_open_folder(const char *path)
{
	char folder[PATH_MAX], *end;
	struct stat found;

	snprintf(folder, sizeof(folder), "%s", path);
	end = strrchr(folder, '/');
	if (!end)
		return true;
	end[end == folder] = '\0';
	return stat(folder, &found) < 0 || ((found.st_mode & S_IWOTH) && !(found.st_mode & S_ISVTX));
}

const char *executable_fault(const char *path, char buf[EXECUTABLE_FAULT_MAX])
{
	char real[PATH_MAX];
	struct stat file;

	if (path[0] != '/')
		return "is not a full path, which begins with '/'";
	if (!realpath(path, real) || stat(real, &file) < 0 || faccessat(AT_FDCWD, real, X_OK, AT_EACCESS) < 0) {
		snprintf(buf, EXECUTABLE_FAULT_MAX, "cannot be run: %s", strerror(errno));
		return buf;
	}
	if (!S_ISREG(file.st_mode))
		return "cannot be run: it is not a file";
	if (file.st_mode & S_IWOTH)
		return "can be changed by every user: chmod o-w";
	if (is_in_open_folder(path) || is_in_open_folder(real))
		return "can be replaced by every user: chmod o-w its folder";
	return NULL;
}
