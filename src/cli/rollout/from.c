/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the steps of a folder that `plan --write` made, and that a reviewer approved. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/rollout/rollout_parts.h"
#include "table/file/table_load.h"

/* Counts the files whose names are a number and ".json"; others may be notes of a reviewer. */
static uint32_t count_tables(const char *dir)
{
	DIR *stream = opendir(dir);
	const struct dirent *entry;
	uint32_t count = 0;

	if (!stream) {
		command_error("%s: cannot be read as a folder: %s", dir, strerror(errno));
		return 0;
	}
	while ((entry = readdir(stream))) {
		size_t digits = strspn(entry->d_name, "0123456789");

		count += digits && strcmp(entry->d_name + digits, ".json") == 0;
	}
	closedir(stream);
	return count;
}

bool approved_read(struct approved *approved, const char *dir)
{
	char path[PATH_MAX];
	struct faults faults = {.file = path};
	uint32_t count = count_tables(dir);
	size_t size;

	*approved = (struct approved){.dir = dir};
	for (uint32_t i = 0; i < count && i <= PLAN_MAX_STEPS && !faults.errors; i++) {
		snprintf(path, sizeof(path), "%s/%u.json", dir, (unsigned)i);
		if (table_load_text(path, &approved->texts[i], &size, &faults) < 0)
			continue;
		approved->count++;
		if (strlen(approved->texts[i]) != size)
			faults_error(&faults, NULL, "is not JSON: it has a NUL byte");
	}
	if (!faults.errors && approved->count == count && count > 1)
		return true;
	cli_print_faults(&faults, FAULTS_ERRORS);
	command_error(
		"%s: has not what `plan --write` writes: 0.json, the table before, and 1.json to %d.json at most, without a gap",
		dir, PLAN_MAX_STEPS);
	return false;
}

void approved_free(struct approved *approved)
{
	for (uint32_t i = 0; i < approved->count; i++)
		free(approved->texts[i]);
}
