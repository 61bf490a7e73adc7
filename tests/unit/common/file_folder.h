/* SPDX-License-Identifier: BSD-3-Clause */
/* A temporary folder, in which tests of files run, and small files in it. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file/file.h"
#include "tests/unit/table_helpers.h"

static char folder[] = "/tmp/test_file.XXXXXX";

static inline int enter_folder(void **state)
{
	(void)state;
	umask(022);
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static inline int leave_folder(void **state)
{
	(void)state;
	return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static inline size_t count_entries(const char *path)
{
	DIR *dir = opendir(path);
	size_t count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

static inline void assert_holds(const char *path, const char *text, unsigned mode)
{
	char buf[64] = "";
	struct stat info;
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, buf, sizeof(buf) - 1), strlen(text));
	assert_string_equal(buf, text);
	assert_int_equal(fstat(fd, &info), 0);
	assert_int_equal(info.st_mode & 07777, mode);
	close(fd);
}

static inline void replace(const char *path, const char *text)
{
	struct faults faults = {.file = path};

	assert_int_equal(file_replace(path, NULL, text, strlen(text), &faults), 0);
	assert_no_fault(&faults);
}
