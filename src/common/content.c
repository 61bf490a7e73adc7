/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/content.h"

#include <stdint.h>
#include <string.h>

#include "common/byteorder.h"
#include "common/file/file.h"
#include "common/text.h"

#define HEAD_MAX 65536 /* bytes of the file that tell what it is */

static const char *const names[] = {
	[CONTENT_BINARY_TABLE] = "a binary table",
	[CONTENT_CAPTURE] = "a capture",
	[CONTENT_JSON_TABLE] = "a JSON table",
	[CONTENT_JSON] = "JSON",
	[CONTENT_TEXT] = "text, such as a configuration file",
	[CONTENT_UNKNOWN] = "data of an unknown kind",
};

const char *content_name(enum content content)
{
	return names[content];
}

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

int content_read(const char *path, enum content *content)
{
	static char head[HEAD_MAX];
	size_t size;
	int error = file_read_head(path, head, HEAD_MAX, &size);

	*content = error ? CONTENT_UNKNOWN : recognise(head, size);
	return error;
}
