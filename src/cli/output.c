/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/content.h"
#include "common/file/file.h"
#include "program/command.h"

static bool is_replaceable(const char *path, enum output_kind kind, bool force)
{
	static const enum content wanted[] = {
		[OUTPUT_BINARY_TABLE] = CONTENT_BINARY_TABLE,
		[OUTPUT_JSON_TABLE] = CONTENT_JSON_TABLE,
		[OUTPUT_CAPTURE] = CONTENT_CAPTURE,
	};
	enum content content;
	int error;

	if (force)
		return true;
	error = content_read(path, &content);
	if (error == -ENOENT)
		return true;
	if (error)
		command_error(
			"%s: exists and cannot be read, so its kind is unknown: %s; name another file, or give --force to replace it",
			path, file_reason(error));
	else if (content == CONTENT_EMPTY || content == wanted[kind])
		return true;
	else
		command_error("%s: contains %s, not %s: name another file, or give --force to replace it", path,
			content_name(content), content_name(wanted[kind]));
	return false;
}

bool output_is_safe(const struct output *output)
{
	struct stat info;

	/* Nothing is lost on a terminal or in /dev/null. A FIFO is checked, because a command that reads its own output
	 * waits forever. */
	if (stat(output->path, &info) < 0 || S_ISCHR(info.st_mode) || S_ISSOCK(info.st_mode))
		return true;
	for (int i = 0; i < OUTPUT_MAX_INPUTS; i++) {
		if (!output->inputs[i] || !file_is_same(output->inputs[i], output->path))
			continue;
		command_error("%s: the output is the same file as the input %s: name another file for the output",
			output->path, output->inputs[i]);
		return false;
	}
	return !S_ISREG(info.st_mode) || is_replaceable(output->path, output->kind, output->force);
}
