/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies a JSON text and changes places in it on the way, so that it is read once. The caller owns all members. One
 * thread. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "table/file/json/json_locate.h"

struct json_copy {
	struct json_locate locate;
	FILE *to;
	size_t done; /* bytes of the text that are copied or replaced */
};

/* Copies the text up to, but without, byte `end`. Errors are those of the stream. */
static inline void json_copy_until(struct json_copy *copy, size_t end)
{
	fwrite(copy->locate.text + copy->done, 1, end - copy->done, copy->to);
	copy->done = end;
}
