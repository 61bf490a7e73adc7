/* SPDX-License-Identifier: BSD-3-Clause */
/* The file in which a daemon tells its state, and whose lock says that it runs. One thread. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/file/file.h"
#include "common/file/file_lock.h"
#include "program/command.h"
#include "program/installed.h"
#include "program/log.h"
#include "program/not_configured.h"

/* Takes the lock that says which process writes the files; the kernel ends it with the process. error: of reading the
 * configuration, whose example has this name. Returns COMMAND_OK, or the exit code after an error message. */
static inline int status_file_start(const char *program, int error, const char *example, const char *status_file)
{
	char holder[FILE_LOCK_HOLDER_MAX];
	int fd = error ? error : file_lock(status_file, 1000, holder);

	if (error == -ENOENT)
		log_error("%s is not configured yet: " INSTALLED_PAGES "/examples/%s is an example of this file",
			program, example);
	else if (!error && fd == -EWOULDBLOCK)
		log_error("%s: another %s runs with this status_file: %s", status_file, program, holder);
	else if (!error && fd < 0)
		log_error("%s.lock: cannot be created: %s; create its folder, or set status_file", status_file,
			strerror(-fd));
	return error == -ENOENT ? EXIT_NOT_CONFIGURED : fd < 0 ? COMMAND_FAILED : COMMAND_OK;
}

/* Reads the status of a daemon that runs. NULL: faults says why there is none. */
static inline json_t *status_file_read(const char *program, const char *path, size_t max, struct faults *faults)
{
	bool runs = file_is_locked(path);
	json_t *status = NULL;
	char *text = NULL;
	size_t size;

	faults->file = runs ? path : NULL;
	if (!runs)
		faults_error(faults, NULL, "%s does not run: systemctl start %s", program, program);
	else if (file_read(path, "a status", max, &text, &size, faults) == 0 &&
		 !(status = json_loadb(text, size, 0, NULL)))
		faults_error(faults, NULL, "is not JSON; restart %s", program);
	free(text);
	return status;
}
