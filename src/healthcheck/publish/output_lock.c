/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/publish/output_lock.h"

#include <errno.h>
#include <string.h>

#include "common/file/file_lock.h"

#define PATIENCE_MS 1000 /* somebody who asks whether a daemon runs has the lock for a moment */

/* The descriptor stays open, because it holds the lock. */
static int lock(const char *path, struct faults *faults)
{
	char holder[FILE_LOCK_HOLDER_MAX];
	int fd = file_lock(path, PATIENCE_MS, holder);

	if (fd >= 0)
		return 0;
	if (fd != -EWOULDBLOCK) {
		faults_warn(faults, NULL, "%s: cannot be locked against a second glb-healthcheck, by %s.lock: %s", path,
			path, strerror(-fd));
		return 0;
	}
	faults_error(faults, NULL,
		"%s: another glb-healthcheck writes this file: %s: stop it, or give each its own files", path, holder);
	return -EBUSY;
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
