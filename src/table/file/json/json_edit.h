/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes values in JSON text and keeps every other byte: comments, order, indentation, line ends. What is added looks
 * like its neighbours. Paths are those of json_locate_path(), for instance `tables[0].backends`. Pure, but allocates
 * memory. Many changes take about linear time if they are made in the order of the text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "table/file/json/json_locate.h"

struct json_edit {
	char *text; /* valid JSON without duplicate keys, and a NUL after it; malloc'd, owned by the caller */
	size_t size;
	size_t room; /* size of the memory; 0: not known */
	struct json_locate locate; /* where the last values were found; starts as zero */
};

/* A member of an object that is added. */
struct json_edit_member {
	const char *key; /* without characters that JSON escapes */
	const char *value; /* as JSON text */
};

/* The functions that return a bool return false if the path does not exist, or out of memory; the text is then
 * unchanged. */

/* Sets a member of the object at the path, or adds it as the last one. */
bool json_edit_set(struct json_edit *edit, const char *object, const char *key, const char *value);

/* Adds an object as the last element of the array at the path. It is laid out like the element before it. */
bool json_edit_append(struct json_edit *edit, const char *array, const struct json_edit_member *members, size_t count);

/* Sets a member of the object that is an array of these elements, or adds it. The elements have lines of their own if
 * the members of the object do. */
bool json_edit_set_array(
	struct json_edit *edit, const char *object, const char *key, char *const *elements, size_t count);

/* Removes the value at the path: a member with its key, or an element; and one comma. */
bool json_edit_remove(struct json_edit *edit, const char *path);

/* The same, but a path that does not exist is no failure. */
bool json_edit_drop(struct json_edit *edit, const char *path);

/* Returns the text of the value at the path, malloc'd. NULL: the path does not exist, or out of memory. */
char *json_edit_get(const struct json_edit *edit, const char *path);
