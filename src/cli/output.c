/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/output.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "common/byteorder.h"
#include "common/file.h"
#include "common/text.h"
#include "program/command.h"

#define HEAD_MAX 65536 /* bytes of the file that tell what it is */

enum content {
	CONTENT_EMPTY,
	CONTENT_BINARY_TABLE,
	CONTENT_CAPTURE,
	CONTENT_JSON_TABLE,
	CONTENT_JSON,
	CONTENT_TEXT,
	CONTENT_UNKNOWN,
};

static const char *const content_names[] = {
	[CONTENT_BINARY_TABLE] = "a binary table",
	[CONTENT_CAPTURE] = "a capture",
	[CONTENT_JSON_TABLE] = "a JSON table",
	[CONTENT_JSON] = "JSON",
	[CONTENT_TEXT] = "text, such as a configuration file",
	[CONTENT_UNKNOWN] = "data of an unknown kind",
};

static bool is_capture(const char *head, size_t size)
{
	/* The magic numbers of pcap with microseconds, with nanoseconds and with Kuznetzov's header; and of pcapng. */
	static const uint32_t magics[] = {0xa1b2c3d4, 0xa1b23c4d, 0xa1b2cd34, 0x0a0d0d0a};
	uint32_t magic = size >= 4 ? load_le32(head) : 0;

	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (magic == magics[i] || magic == __builtin_bswap32(magics[i]))
			return true;
	return false;
}

static bool is_text(const char *head, size_t size)
{
	for (size_t at = 0, step; at < size; at += step) {
		step = strchr("\t\n\r\f", head[at]) && head[at] ? 1 : text_character(head + at, size - at);
		/* The last character may be cut. */
		if (step == 0)
			return size == HEAD_MAX && size - at < 4;
	}
	return true;
}

static enum content recognise(const char *head, size_t size)
{
	static const char member[] = "\"tables\"";
	size_t start = 0;

	if (size == 0)
		return CONTENT_EMPTY;
	if (size >= 4 && memcmp(head, "GLBD", 4) == 0)
		return CONTENT_BINARY_TABLE;
	if (is_capture(head, size))
		return CONTENT_CAPTURE;
	if (!is_text(head, size))
		return CONTENT_UNKNOWN;
	while (start < size && strchr(" \t\r\n", head[start]))
		start++;
	if (start == size || (head[start] != '{' && head[start] != '['))
		return CONTENT_TEXT;
	return memmem(head, size, member, sizeof(member) - 1) ? CONTENT_JSON_TABLE : CONTENT_JSON;
}

static bool is_replaceable(const char *path, enum output_kind kind, bool force)
{
	static const enum content wanted[] = {
		[OUTPUT_BINARY_TABLE] = CONTENT_BINARY_TABLE,
		[OUTPUT_JSON_TABLE] = CONTENT_JSON_TABLE,
		[OUTPUT_CAPTURE] = CONTENT_CAPTURE,
	};
	static char head[HEAD_MAX];
	enum content content;
	size_t size;
	int error;

	if (force)
		return true;
	error = file_read_head(path, head, HEAD_MAX, &size);
	content = recognise(head, size);
	if (error == -ENOENT)
		return true;
	if (error)
		command_error(
			"%s: exists and cannot be read, so its kind is unknown: %s; name another file, or give --force to replace it",
			path, strerror(-error));
	else if (content == CONTENT_EMPTY || content == wanted[kind])
		return true;
	else
		command_error("%s: contains %s, not %s: name another file, or give --force to replace it", path,
			content_names[content], content_names[wanted[kind]]);
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
