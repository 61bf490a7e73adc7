/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of glb-healthcheck on this machine, from a healthcheck.conf. edit must not overwrite them. One thread. */
#pragma once

#include <stdbool.h>

/* Owned strings. All are NULL if healthcheck.conf is missing or faulty; `build` also if the daemon builds no table. */
struct healthcheck_files {
	char *src, *dst, *build;
};

void healthcheck_files_read(const char *conf_path, struct healthcheck_files *files);
void healthcheck_files_free(struct healthcheck_files *files);

/* Returns true if the daemon writes the JSON table `path`: it is dst, or the daemon's state is beside it. */
bool healthcheck_files_has_output(const struct healthcheck_files *files, const char *path);
