/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/publish/reload_hook_child.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void reload_hook_child_run(const void *data)
{
	const struct conf *conf = data;
	const struct deliver plan = {
		.json = conf->dst,
		.binary = conf->reload_build,
		.rights = conf->src,
		.notify = conf->reload_notify,
		.timeout_ms = conf->reload_timeout_ms,
	};
	char digest[DIRECTOR_DIGEST_SIZE];

	if (conf->reload_command) {
		execl("/bin/sh", "sh", "-c", conf->reload_command, (char *)NULL);
		fprintf(stderr, "/bin/sh: %s\n", strerror(errno));
		_exit(127);
	}
	if (deliver_build(&plan, digest))
		_exit(EXIT_FAILURE);
	if (!conf->reload_notify)
		_exit(EXIT_SUCCESS);
	_exit(deliver_notify(&plan, digest));
}
