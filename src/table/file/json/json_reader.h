/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads values of a jansson document. Each fault names the line, the column (json_locate.h) and the JSON path:
 * `12:18: tables[0].backends[3].ip: '10.0.0.300' is not ...`.
 * One reader per document; everything is borrowed. Not thread-safe.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/faults.h"
#include "table/file/json/json_locate.h"

struct json_reader {
	struct faults *faults;
	struct json_locate *locate; /* in the text of the document; NULL: faults have no line and column */
	char path[1024]; /* of the value that is being read */
	struct json_step steps[JSON_LOCATE_STEPS]; /* the same path; keys are borrowed */
	size_t path_sizes[JSON_LOCATE_STEPS + 1]; /* [n]: size of the path after n steps */
	size_t depth; /* number of steps */
	bool at_key; /* a fault is placed at the member's key, not at its value */
	size_t reported; /* errors so far */
};

/* Parses a document without duplicate keys, which the caller releases. Or sets *root to NULL, adds an error, and
 * returns -EINVAL: it is not JSON, or -ENOMEM. */
int json_reader_parse(const char *text, size_t size, json_t **root, struct faults *faults);

/* What `edit set` does with a member. */
enum json_set {
	JSON_NOT_SET, /* nothing */
	JSON_SET_VALUE, /* it writes numbers, true and false as they are, and other values as a text */
	JSON_SET_TEXT, /* it writes every value as a text */
};

/*
 * A member of an object, once for all who handle it: the reader, the subcommands edit and migrate, and the tests of the
 * schema. A table of members ends with one without a name.
 */
struct json_member {
	const char *name;
	const char *required; /* what is expected, for the error if the member is missing; NULL: optional */
	/* Reads the value into `field`, which is `offset` bytes after the start of the object's struct. */
	void (*read)(struct json_reader *reader, json_t *value, const struct json_member *member, void *field);
	uint32_t offset, size; /* of the field, in bytes; only json_read_unsigned() uses `size` */
	json_int_t min, max; /* of an integer; the most elements of an array */
	const char *(*fault)(const char *text); /* returns NULL if the text is valid, else what is expected */
	const struct json_member *members; /* of the value, or of the objects in it if it is an array */
	enum json_set set;
	bool decides_rows; /* GLB ignores it, and here it decides where packets go */
};

/* The field of a member: JSON_AT(struct table, hops). */
#define JSON_AT(of, field) .offset = offsetof(of, field), .size = sizeof(((of *)0)->field)

/* Returns the member with this name of `size` bytes; NULL: there is none. */
const struct json_member *json_member_find(const struct json_member *members, const char *name, size_t size);

/* Append to the path, which has at most JSON_LOCATE_STEPS steps. Return a mark with which json_reader_leave() restores
 * the path. */
size_t json_reader_enter_key(struct json_reader *reader, const char *key);
size_t json_reader_enter_index(struct json_reader *reader, size_t index);
void json_reader_leave(struct json_reader *reader, size_t mark);

/* Add a fault at the path, with the line and column of its value; if a member is missing, those of its object. After
 * 10000 errors, a last one says that the rest is not listed. */
void json_reader_error(struct json_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
void json_reader_warn(struct json_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds the error "'VALUE' is not EXPECTED". Names the value's type if it is not `type`. */
void json_reader_reject(struct json_reader *reader, const json_t *value, json_type type, const char *expected);

/* The same for a secret, which must not be logged: shows only its first 8 characters and its length. */
void json_reader_reject_secret(struct json_reader *reader, const json_t *value, const char *expected);

/*
 * Reads each member of the object into the struct `into`. Members whose key begins with "x-" or "_" are comments; other
 * keys without an entry are errors, and so are missing required members. An optional member that is null counts as
 * absent, because Go's encoding/json writes null for everything that is not set.
 */
void json_reader_object(struct json_reader *reader, json_t *value, const struct json_member *members, void *into);

/*
 * Allocates the elements of an array and sets *count: all are zero, there is one more, and the caller frees them. Adds
 * an error if the value is not an array, or has more than member->max elements; null is an empty array, for the same
 * reason. NULL, with an error and a count of 0: out of memory.
 */
void *json_reader_array(struct json_reader *reader, const json_t *value, const struct json_member *member, size_t size,
	uint32_t *count);

/* Reads an object in an array, with json_reader_object(). */
void json_reader_element(
	struct json_reader *reader, json_t *array, size_t index, const struct json_member *members, void *into);

/* For `read` of a member: the field is an unsigned integer of member->size bytes, or a char * that is NULL. */
void json_read_unsigned(struct json_reader *reader, json_t *value, const struct json_member *member, void *field);
void json_read_text(struct json_reader *reader, json_t *value, const struct json_member *member, void *field);

/* Stores an integer from `min` to `max` in *out. False, with an error: the value is something else. */
bool json_reader_integer(
	struct json_reader *reader, const json_t *value, json_int_t min, json_int_t max, json_int_t *out);

#define JSON_READER_TEXT_MAX 512

/* Prepares text for a message: cuts it after `max` bytes (at most 120) and escapes control characters. Returns buf. */
const char *json_reader_text(const char *text, size_t max, char buf[JSON_READER_TEXT_MAX]);
