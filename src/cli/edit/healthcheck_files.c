/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/edit/healthcheck_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/file.h"
#include "healthcheck/config/conf.h"

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

void healthcheck_files_read(const char *conf_path, struct healthcheck_files *files)
{
	struct faults faults = {0};
	struct conf conf;

	*files = (struct healthcheck_files){0};
	if (conf_read_healthcheck(conf_path, &conf, &faults) == 0) {
		files->src = copy(conf.src);
		files->dst = copy(conf.dst);
		files->build = copy(conf.reload_build);
		conf_free(&conf);
	}
	faults_clear(&faults);
}

void healthcheck_files_free(struct healthcheck_files *files)
{
	free(files->src);
	free(files->dst);
	free(files->build);
}

bool healthcheck_files_has_output(const struct healthcheck_files *files, const char *path)
{
	struct faults faults = {0};
	char *state = NULL, *text = NULL;
	size_t size;
	bool found = files->dst && file_is_same(files->dst, path);

	if (!found && asprintf(&state, "%s.state", path) >= 0) {
		found = file_read(state, "a state", (size_t)64 << 20, &text, &size, &faults) == 0 &&
			strstr(text, "\"verdicts\"");
		free(state);
	}
	free(text);
	faults_clear(&faults);
	return found;
}
