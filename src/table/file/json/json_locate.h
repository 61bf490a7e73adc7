/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds a value in JSON text by its path: for FILE:LINE:COLUMN in messages, and for edits that keep the rest of the
 * text. The text must be valid JSON without duplicate keys; with other text the result is wrong, but within the text.
 * The caller keeps the text. Takes linear time for all values together if they are located in the order of the text. No
 * recursion. One thread per struct.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A place in the text. Lines and columns count from 1, columns in characters (UTF-8), as those of jansson do. */
struct json_position {
	size_t at; /* in bytes */
	int line, column;
};

/* One step of a path: a member of an object by its key, or an element of an array or a member by its index. */
struct json_step {
	const char *key; /* NULL: `index` counts */
	size_t index; /* from 0 */
};

#define JSON_LOCATE_STEPS 16 /* of a path, at most */

struct json_span {
	struct json_position key; /* of a member; of other values the same as `value` */
	struct json_position value;
	size_t end; /* of the value: the byte after its last one */
};

/* Start with only `text` and `size` set. The other members remember where the last values were found. */
struct json_locate {
	const char *text;
	size_t size;
	struct {
		struct json_position value; /* of a value on the last path */
		bool has_child; /* the next level is known, too */
		size_t index; /* of the child; SIZE_MAX: found by its key */
		struct json_position child; /* the next value on that path; in an object its key */
	} levels[JSON_LOCATE_STEPS + 1];
	size_t found; /* the level of the last value */
};

/* Follows the steps as far as they exist, and sets *span to the last value it finds. Returns the number of steps found:
 * less than `count` if a member or an element is missing. With no steps, *span is the whole document. */
size_t json_locate(struct json_locate *locate, const struct json_step *steps, size_t count, struct json_span *span);

/* Finds the first and the last child of an object or array. Returns the number of children; with 0, the spans are not
 * set. */
size_t json_locate_children(const struct json_locate *locate, const struct json_span *parent, struct json_span *first,
	struct json_span *last);

/* Forgets values from byte `begin` on, because the text changes there. */
void json_locate_forget(struct json_locate *locate, size_t begin);

/* Returns the size of the white space before byte `end` of the text. */
size_t json_white_before(const char *text, size_t end);

/* The same as json_locate() for a path as messages show it: `tables[0].backends[3].ip`. Keys must not contain '.' or
 * '[', and have at most 63 bytes. False: not all of the path exists. */
bool json_locate_path(struct json_locate *locate, const char *path, struct json_span *span);
