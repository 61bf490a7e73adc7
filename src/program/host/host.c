/* SPDX-License-Identifier: BSD-3-Clause */
#include "program/host/host.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program/host/cpu_list.h"

#define PATHS 8

const char *host_path(const struct host *host, const char *format, ...)
{
	static char paths[PATHS][PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % PATHS];
	size_t used = (size_t)snprintf(path, PATH_MAX, "%s", host->root);
	va_list args;

	if (used >= PATH_MAX)
		used = PATH_MAX - 1;
	va_start(args, format);
	vsnprintf(path + used, PATH_MAX - used, format, args);
	va_end(args);
	return path;
}

bool host_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

FILE *host_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

bool host_line(const char *path, char line[HOST_LINE_MAX])
{
	FILE *file = host_open(path);
	bool read = file && fgets(line, HOST_LINE_MAX, file);

	if (file)
		fclose(file);
	line[read ? strcspn(line, "\n") : 0] = '\0';
	return read;
}

bool host_number(const char *path, long *number)
{
	char line[HOST_LINE_MAX], *end;

	if (!host_line(path, line))
		return false;
	*number = strtol(line, &end, 10);
	return end != line && *end == '\0';
}

bool host_cpus(const char *path, cpu_set_t *cpus)
{
	char line[HOST_LINE_MAX];

	CPU_ZERO(cpus);
	/* Some kernels print "(null)" for a list that was not given to them. */
	return host_line(path, line) && (strcmp(line, "(null)") == 0 || cpu_list_read(line, cpus));
}

bool host_link(const char *path, char name[HOST_ENTRY_MAX])
{
	char target[PATH_MAX];
	ssize_t size = readlink(path, target, sizeof(target) - 1);
	const char *last;

	name[0] = '\0';
	if (size < 0)
		return false;
	target[size] = '\0';
	last = strrchr(target, '/');
	snprintf(name, HOST_ENTRY_MAX, "%.*s", HOST_ENTRY_MAX - 1, last ? last + 1 : target);
	return true;
}

static void take_first(void *context, const char *name)
{
	char *first = context;

	if (!*first)
		snprintf(first, HOST_ENTRY_MAX, "%s", name);
}

bool host_first(const char *folder, char name[HOST_ENTRY_MAX])
{
	name[0] = '\0';
	host_each(folder, take_first, name);
	return *name;
}

void host_each(const char *folder, void (*each)(void *context, const char *name), void *context)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		if (strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0)
			each(context, entries[i]->d_name);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}
