/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/json/json_reader.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

#define MAX_REPORTED 10000 /* errors; so that a hostile file cannot fill the memory with messages */
#define MAX_VALUE    64 /* bytes of a value or key that are shown */
#define MAX_SECRET   8 /* bytes of a secret that are shown */

/* Also true for the second byte of U+0080 to U+009F, which are control characters for terminals, too. */
static bool is_control(const char *text, size_t at)
{
	unsigned char byte = (unsigned char)text[at];

	return byte < 0x20 || byte == 0x7f ||
	       (at > 0 && (unsigned char)text[at - 1] == 0xc2 && byte >= 0x80 && byte < 0xa0);
}

const char *json_reader_text(const char *text, size_t max, char buf[JSON_READER_TEXT_MAX])
{
	size_t size = strnlen(text, max + 1), used = 0;
	bool cut = size > max;

	/* Does not cut within a character. */
	if (cut)
		for (size = max; size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80; size--)
			;
	for (size_t at = 0; at < size; at++) {
		if (is_control(text, at))
			used += (size_t)sprintf(buf + used, "\\x%02x", (unsigned char)text[at]);
		else
			buf[used++] = text[at];
	}
	strcpy(buf + used, cut ? "..." : "");
	return buf;
}

/*
 * Without memory, jansson reports a syntax error that the text does not have, or drops a character of a string, such as
 * the last digit of an address. So its allocations are watched.
 */
static _Thread_local bool failed;

static void *watched_malloc(size_t size)
{
	void *memory = malloc(size);

	failed |= !memory;
	return memory;
}

/* The strings of a table have secret keys, which must not stay in free memory. */
static void clear_and_free(void *memory)
{
	if (memory)
		explicit_bzero(memory, malloc_usable_size(memory));
	free(memory);
}

static void watch(void)
{
	json_set_alloc_funcs(watched_malloc, clear_and_free);
}

/* jansson accepts a byte 0 behind a number, where the text would end for whoever copies it. */
static int reject_zero(const char *text, size_t size, struct faults *faults)
{
	const char *zero = memchr(text, '\0', size);
	struct faults_place place = {.line = 1};

	if (!zero)
		return 0;
	for (; text < zero; text++)
		place.line += *text == '\n';
	faults_error_at(faults, &place, "not JSON: has a byte 0, as UTF-16 does: save it as UTF-8");
	return -EINVAL;
}

int json_reader_parse(const char *text, size_t size, json_t **root, struct faults *faults)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char shown[JSON_READER_TEXT_MAX];
	json_error_t where;

	pthread_once(&once, watch);
	*root = NULL;
	if (reject_zero(text, size, faults))
		return -EINVAL;
	failed = false;
	*root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
	if (failed) {
		json_decref(*root);
		*root = NULL;
		faults_error(faults, NULL, "out of memory");
		return -ENOMEM;
	}
	if (*root)
		return 0;
	if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		faults_error(faults, NULL,
			"begins with a byte order mark, which JSON does not have: save it as UTF-8 without one");
	else
		faults_error_at(faults,
			&(struct faults_place){.line = where.line, .has_column = true, .column = where.column},
			"not JSON: %s", json_reader_text(text_without_token(where.text), 120, shown));
	return -EINVAL;
}

/* Adds a step whose text was appended to the path with snprintf(), which returned `size`. Returns the mark. */
static size_t enter(struct json_reader *reader, struct json_step step, int size)
{
	size_t mark = reader->depth, used = reader->path_sizes[mark], left = sizeof(reader->path) - used;

	reader->steps[mark] = step;
	reader->path_sizes[mark + 1] = used + ((size_t)size < left ? (size_t)size : left - 1);
	reader->depth++;
	return mark;
}

size_t json_reader_enter_key(struct json_reader *reader, const char *key)
{
	size_t used = reader->path_sizes[reader->depth];
	char text[JSON_READER_TEXT_MAX];
	int size = snprintf(reader->path + used, sizeof(reader->path) - used, "%s%s", used ? "." : "",
		json_reader_text(key, MAX_VALUE, text));

	return enter(reader, (struct json_step){.key = key}, size);
}

size_t json_reader_enter_index(struct json_reader *reader, size_t index)
{
	size_t used = reader->path_sizes[reader->depth];
	int size = snprintf(reader->path + used, sizeof(reader->path) - used, "[%zu]", index);

	return enter(reader, (struct json_step){.index = index}, size);
}

void json_reader_leave(struct json_reader *reader, size_t mark)
{
	reader->depth = mark;
	reader->path[reader->path_sizes[mark]] = '\0';
}

static void add(struct json_reader *reader, bool warning, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

static void add(struct json_reader *reader, bool warning, const char *format, va_list args)
{
	struct faults_place place = {.where = reader->path};
	struct json_span span;

	if (reader->locate) {
		json_locate(reader->locate, reader->steps, reader->depth, &span);
		place.has_column = true;
		place.line = reader->at_key ? span.key.line : span.value.line;
		place.column = reader->at_key ? span.key.column : span.value.column;
	}
	faults_add(reader->faults, warning, &place, format, args);
}

static bool may_report(struct json_reader *reader)
{
	if (reader->reported == MAX_REPORTED)
		faults_error(reader->faults, NULL, "more than %d faults: the rest is not listed", MAX_REPORTED);
	return reader->reported++ < MAX_REPORTED;
}

void json_reader_error(struct json_reader *reader, const char *format, ...)
{
	va_list args;

	if (!may_report(reader))
		return;
	va_start(args, format);
	add(reader, false, format, args);
	va_end(args);
}

void json_reader_warn(struct json_reader *reader, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(reader, true, format, args);
	va_end(args);
}

/* Returns "'VALUE'", "an object" or "an array". */
static const char *describe(const json_t *value, json_type type, char *buf, size_t size)
{
	char text[JSON_READER_TEXT_MAX];

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		snprintf(buf, size, "'%s'%s", json_reader_text(json_string_value(value), MAX_VALUE, text),
			type == JSON_STRING ? "" : " (a string)");
		return buf;
	case JSON_INTEGER:
		snprintf(buf, size, "'%" JSON_INTEGER_FORMAT "'%s", json_integer_value(value),
			type == JSON_INTEGER ? "" : " (a number)");
		return buf;
	case JSON_REAL:
		snprintf(buf, size, "'%.17g'%s", json_real_value(value), type == JSON_REAL ? "" : " (a real number)");
		return buf;
	case JSON_TRUE:
		return "'true'";
	case JSON_FALSE:
		return "'false'";
	case JSON_NULL:
		break;
	}
	return "'null'";
}

void json_reader_reject(struct json_reader *reader, const json_t *value, json_type type, const char *expected)
{
	char text[JSON_READER_TEXT_MAX + 32];

	json_reader_error(reader, "%s is not %s", describe(value, type, text, sizeof(text)), expected);
}

void json_reader_reject_secret(struct json_reader *reader, const json_t *value, const char *expected)
{
	char text[JSON_READER_TEXT_MAX];

	if (json_is_string(value))
		json_reader_error(reader, "'%s' (%zu characters) is not %s",
			json_reader_text(json_string_value(value), MAX_SECRET, text), json_string_length(value),
			expected);
	else if (json_is_number(value))
		json_reader_error(reader, "a number is not %s", expected);
	else
		json_reader_reject(reader, value, JSON_STRING, expected);
}

static bool is_comment(const char *key)
{
	return key[0] == '_' || (key[0] == 'x' && key[1] == '-');
}

const struct json_member *json_member_find(const struct json_member *members, const char *name, size_t size)
{
	for (; members->name; members++)
		if (strlen(members->name) == size && memcmp(members->name, name, size) == 0)
			return members;
	return NULL;
}

static void reject_unknown(struct json_reader *reader, const struct json_member *members, const char *key)
{
	char known[512] = "known here: ";
	const char *meant = NULL;
	size_t used = strlen(known);

	for (const struct json_member *member = members; member->name; member++) {
		text_guess(key, member->name, &meant);
		if (used < sizeof(known))
			used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
				member != members ? ", " : "", member->name);
	}
	if (meant)
		snprintf(known, sizeof(known), "did you mean %s?", meant);
	reader->at_key = true;
	json_reader_error(reader, "unknown key; %s (keys that begin with \"x-\" or \"_\" are comments)", known);
	reader->at_key = false;
}

void json_reader_object(struct json_reader *reader, json_t *value, const struct json_member *members, void *into)
{
	const char *key;
	json_t *child;
	size_t mark;

	if (!json_is_object(value)) {
		json_reader_reject(reader, value, JSON_OBJECT, "an object");
		return;
	}
	json_object_foreach(value, key, child)
	{
		const struct json_member *member = json_member_find(members, key, strlen(key));

		if (member ? !member->required && json_is_null(child) : is_comment(key))
			continue;
		mark = json_reader_enter_key(reader, key);
		if (member)
			member->read(reader, child, member, (char *)into + member->offset);
		else
			reject_unknown(reader, members, key);
		json_reader_leave(reader, mark);
	}
	for (const struct json_member *member = members; member->name; member++) {
		if (!member->required || json_object_get(value, member->name))
			continue;
		mark = json_reader_enter_key(reader, member->name);
		json_reader_error(reader, "missing; expected %s", member->required);
		json_reader_leave(reader, mark);
	}
}

void *json_reader_array(
	struct json_reader *reader, const json_t *value, const struct json_member *member, size_t size, uint32_t *count)
{
	size_t found = json_array_size(value), max = (size_t)member->max;
	void *elements;

	if (!json_is_array(value) && !json_is_null(value))
		json_reader_reject(reader, value, JSON_ARRAY, "an array");
	if (found > max)
		json_reader_error(reader, "has %zu elements; the maximum is %zu", found, max);
	found = found > max ? max : found;
	elements = calloc(found + 1, size);
	*count = elements ? (uint32_t)found : 0;
	if (!elements)
		json_reader_error(reader, "out of memory");
	return elements;
}

void json_reader_element(
	struct json_reader *reader, json_t *array, size_t index, const struct json_member *members, void *into)
{
	size_t mark = json_reader_enter_index(reader, index);

	json_reader_object(reader, json_array_get(array, index), members, into);
	json_reader_leave(reader, mark);
}

void json_read_unsigned(struct json_reader *reader, json_t *value, const struct json_member *member, void *field)
{
	json_int_t number;

	if (!json_reader_integer(reader, value, member->min, member->max, &number))
		return;
	if (member->size == sizeof(uint8_t))
		*(uint8_t *)field = (uint8_t)number;
	else if (member->size == sizeof(uint16_t))
		*(uint16_t *)field = (uint16_t)number;
	else
		*(uint32_t *)field = (uint32_t)number;
}

void json_read_text(struct json_reader *reader, json_t *value, const struct json_member *member, void *field)
{
	const char *text = json_string_value(value), *expected = member->fault(text ? text : "");
	char **copy = field;

	if (expected) {
		json_reader_reject(reader, value, JSON_STRING, expected);
		return;
	}
	*copy = strdup(text);
	if (!*copy)
		json_reader_error(reader, "out of memory");
}

bool json_reader_integer(struct json_reader *reader, const json_t *value, json_int_t min, json_int_t max, json_int_t *out)
{
	char expected[96];

	if (json_is_integer(value) && json_integer_value(value) >= min && json_integer_value(value) <= max) {
		*out = json_integer_value(value);
		return true;
	}
	snprintf(expected, sizeof(expected), "an integer from %" JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT, min,
		max);
	json_reader_reject(reader, value, JSON_INTEGER, expected);
	return false;
}
