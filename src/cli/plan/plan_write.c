/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/plan/plan.h"
#include "common/file/file.h"
#include "common/text.h"

/* Returns true if the folder does not exist, or is empty. Otherwise prints an error. */
static bool is_free(const char *dir)
{
	DIR *stream = opendir(dir);
	const struct dirent *entry;

	if (!stream && errno == ENOENT)
		return true;
	if (!stream) {
		command_error("%s: cannot be used as the folder of the plan: %s", dir, strerror(errno));
		return false;
	}
	while ((entry = readdir(stream)) && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0))
		;
	closedir(stream);
	if (entry)
		command_error("%s: the folder has files already: name a new or an empty folder", dir);
	return !entry;
}

static void remove_folder(const char *dir, uint32_t steps)
{
	char path[PATH_MAX + 16];

	for (uint32_t i = 0; i <= steps; i++) {
		snprintf(path, sizeof(path), "%s/%u.json", dir, (unsigned)i);
		unlink(path);
	}
	rmdir(dir);
}

/* Step 0 is CURRENT. */
static bool write_step(const struct plan_input *input, const struct plan *plan, const char *dir, uint32_t number)
{
	char path[PATH_MAX + 16], *text = input->current_text.text;
	struct faults faults = {.file = path};
	bool written;

	if (number)
		text = plan_step_text(input, plan, number - 1, plan->steps[number - 1].text.text);
	snprintf(path, sizeof(path), "%s/%u.json", dir, (unsigned)number);
	written = !text || file_replace(path, input->wanted_path, text, strlen(text), &faults) == 0;
	if (number)
		free(text);
	cli_print_faults(&faults, FAULTS_ALL);
	return written;
}

/* Returns true if this is the number of a process that has ended. */
static bool is_leftover(const char *number)
{
	uint32_t process;

	return text_number(number, 1, INT32_MAX, &process) && kill((pid_t)process, 0) < 0 && errno == ESRCH;
}

/* A plan that was killed leaves its folder behind. The name of a folder of this form is not the operator's, but its
 * content could be. */
static void tell_leftovers(const char *dir, size_t size)
{
	char pattern[PATH_MAX];
	glob_t found = {0};

	/* A name with characters of patterns is not searched. */
	if ((size_t)snprintf(pattern, sizeof(pattern), "%.*s.*[0-9]", (int)size, dir) < sizeof(pattern) &&
		strcspn(dir, "*?[\\") == strlen(dir) && glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			if (is_leftover(found.gl_pathv[i] + size + 1))
				command_error(
					"warning: %s: a plan that was interrupted left this folder: remove it with rm -r",
					found.gl_pathv[i]);
	globfree(&found);
}

/* Writes into a new folder beside the wanted one, and then renames it, so that the plan is there as a whole or not at
 * all. */
int plan_write(const struct plan_input *input, const struct plan *plan, const char *dir)
{
	char temporary[PATH_MAX];
	size_t size = strlen(dir);
	struct stat info;
	bool there = stat(dir, &info) == 0, written = true;

	while (size > 1 && dir[size - 1] == '/')
		size--;
	if ((size_t)snprintf(temporary, sizeof(temporary), "%.*s.%jd", (int)size, dir, (intmax_t)getpid()) >=
		sizeof(temporary))
		return command_error("%s: the path is too long", dir);
	if (!is_free(dir))
		return COMMAND_FAILED;
	tell_leftovers(dir, size);
	if (mkdir(temporary, 0777) < 0)
		return command_error("%s: cannot be created: %s", temporary, strerror(errno));
	if (there)
		written = chmod(temporary, info.st_mode & 07777) == 0;
	for (uint32_t i = 0; i <= plan->count && written; i++)
		written = write_step(input, plan, temporary, i);
	if (written && rename(temporary, dir) == 0)
		return COMMAND_OK;
	if (written)
		command_error("%s: cannot be renamed to %s: %s", temporary, dir, strerror(errno));
	remove_folder(temporary, plan->count);
	return command_error("%s: nothing is written", dir);
}
