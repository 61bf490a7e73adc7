/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walks a jansson document and reports every fault by its JSON path: `tables[0].backends[3].ip:
 * '10.0.0.300' is not ...`. One reader per document; everything is borrowed.
 */
#ifndef GLB_TABLE_JSON_READER_H
#define GLB_TABLE_JSON_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/faults.h"

struct json_reader {
	struct faults *faults;
	char path[1024]; /* where the walk is */
	size_t path_size;
	size_t reported; /* errors */
};

/* A member of an object; `read` gets the value with the path set to it, and what
 * json_reader_object() was given as `into`. */
struct json_field {
	const char *key;
	const char *required; /* what is expected, for the error where it is missing; NULL: optional */
	void (*read)(struct json_reader *reader, json_t *value, void *into);
};

/* Extends the path; json_reader_leave() takes the returned mark back. */
size_t json_reader_enter_key(struct json_reader *reader, const char *key);
size_t json_reader_enter_index(struct json_reader *reader, size_t index);
void json_reader_leave(struct json_reader *reader, size_t mark);

/* Faults at the path. After too many errors one last error says so, and the rest is dropped. */
void json_reader_error(struct json_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
void json_reader_warn(struct json_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An error: "'VALUE' is not EXPECTED". The value's type is named where it is not `type`. */
void json_reader_reject(struct json_reader *reader, const json_t *value, json_type type, const char *expected);

/* The same for a secret, which must not get into logs: at most 8 characters of it and its length. */
void json_reader_reject_secret(struct json_reader *reader, const json_t *value, const char *expected);

/* Reads each member by its field. Members that begin with "x-" or "_" are comments; other unknown
 * ones are errors. */
void json_reader_object(
	struct json_reader *reader, json_t *value, const struct json_field *fields, size_t count, void *into);

/*
 * The number of elements to read of an array of at most `max`; an error, and 0, where the value is
 * none. An error where there are more than `max`.
 */
size_t json_reader_array(struct json_reader *reader, const json_t *value, size_t max);

/* False, with an error, where the value is not an integer in this range. */
bool json_reader_integer(
	struct json_reader *reader, const json_t *value, json_int_t min, json_int_t max, json_int_t *out);

#define JSON_READER_TEXT_MAX 512

/* Text for a message: cut after `max` bytes (at most 120), control characters escaped; returns buf.
 */
const char *json_reader_text(const char *text, size_t max, char buf[JSON_READER_TEXT_MAX]);

#endif
