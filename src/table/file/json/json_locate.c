/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/json/json_locate.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Returns the byte at the position; NUL after the end of the text. */
static char peek(const struct json_locate *locate, const struct json_position *position)
{
	return position->at < locate->size ? locate->text[position->at] : '\0';
}

static void advance(const struct json_locate *locate, struct json_position *position)
{
	if (position->at == locate->size)
		return;
	position->at++;
	if (locate->text[position->at - 1] == '\n') {
		position->line++;
		position->column = 1;
	} else if (position->at == locate->size || ((unsigned char)locate->text[position->at] & 0xc0) != 0x80) {
		position->column++;
	}
}

static bool is_space(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* Skips white space, and the commas and colons between values. */
static void skip_to_token(const struct json_locate *locate, struct json_position *position)
{
	char byte;

	while (byte = peek(locate, position), is_space(byte) || byte == ',' || byte == ':')
		advance(locate, position);
}

static void skip_string(const struct json_locate *locate, struct json_position *position)
{
	advance(locate, position);
	while (position->at < locate->size && peek(locate, position) != '"') {
		if (peek(locate, position) == '\\')
			advance(locate, position);
		advance(locate, position);
	}
	advance(locate, position);
}

/* Skips a number, true, false or null. */
static void skip_word(const struct json_locate *locate, struct json_position *position)
{
	do
		advance(locate, position);
	while (position->at < locate->size && !is_space(peek(locate, position)) &&
		!strchr(",:]}", peek(locate, position)));
}

/* Skips the value that begins at the position. */
static void skip_value(const struct json_locate *locate, struct json_position *position)
{
	size_t depth = 0;

	do {
		char byte = peek(locate, position);

		if (byte == '"')
			skip_string(locate, position);
		else if (byte == '{' || byte == '[')
			depth++, advance(locate, position);
		else if ((byte == '}' || byte == ']') && depth > 0)
			depth--, advance(locate, position);
		else
			skip_word(locate, position);
		if (depth > 0)
			skip_to_token(locate, position);
	} while (depth > 0 && position->at < locate->size);
}

/* Returns true if the string from the quote at `begin` up to the one before `end` means `key`. */
static bool is_key(const struct json_locate *locate, size_t begin, size_t end, const char *key)
{
	const char *text = locate->text + begin;
	size_t size = end - begin;
	json_t *decoded;
	bool same;

	if (!memchr(text, '\\', size))
		return size == strlen(key) + 2 && *text == '"' && memcmp(text + 1, key, size - 2) == 0;
	decoded = json_loadb(text, size, JSON_DECODE_ANY, NULL);
	same = json_is_string(decoded) && strcmp(json_string_value(decoded), key) == 0;
	json_decref(decoded);
	return same;
}

/* Enters the array or object at `parent`, if it has children. Sets *child to the first element or key. */
static bool enter(
	const struct json_locate *locate, const struct json_position *parent, char open, struct json_position *child)
{
	*child = *parent;
	if (peek(locate, child) != open)
		return false;
	advance(locate, child);
	skip_to_token(locate, child);
	return !strchr("]}", peek(locate, child));
}

static bool first_child(const struct json_locate *locate, size_t level, char open, struct json_position *child)
{
	return enter(locate, &locate->levels[level].value, open, child);
}

static bool next_child(const struct json_locate *locate, struct json_position *child)
{
	skip_value(locate, child);
	skip_to_token(locate, child);
	return !strchr("]}", peek(locate, child));
}

/* Skips a key. Returns the position of its value. */
static struct json_position value_of(const struct json_locate *locate, struct json_position key, size_t *key_end)
{
	skip_string(locate, &key);
	*key_end = key.at;
	skip_to_token(locate, &key);
	return key;
}

/* Searches from the last member that was found to the end, and then from the start. */
static bool find_member(const struct json_locate *locate, size_t level, const char *key, struct json_position *child)
{
	struct json_position value;
	bool more = first_child(locate, level, '{', child);
	bool again = more && locate->levels[level].has_child;
	size_t end;

	if (again)
		*child = locate->levels[level].child;
	while (more) {
		value = value_of(locate, *child, &end);
		if (is_key(locate, child->at, end, key))
			return true;
		*child = value;
		more = next_child(locate, child);
		if (!more && again) {
			again = false;
			more = first_child(locate, level, '{', child);
		}
	}
	return false;
}

static bool find_index(const struct json_locate *locate, size_t level, size_t index, struct json_position *child)
{
	bool object = peek(locate, &locate->levels[level].value) == '{';
	size_t at = 0, end;

	if (!first_child(locate, level, object ? '{' : '[', child))
		return false;
	if (locate->levels[level].has_child && locate->levels[level].index <= index) {
		*child = locate->levels[level].child;
		at = locate->levels[level].index;
	}
	for (; at < index; at++) {
		if (object)
			*child = value_of(locate, *child, &end);
		if (!next_child(locate, child))
			return false;
	}
	return true;
}

/* Finds a child of the value of `level`, and makes it the value of the next level. */
static bool descend(struct json_locate *locate, size_t level, const struct json_step *step)
{
	bool is_object = peek(locate, &locate->levels[level].value) == '{';
	struct json_position child;
	size_t end;
	bool found = step->key ? find_member(locate, level, step->key, &child)
			       : find_index(locate, level, step->index, &child);

	if (!found)
		return false;
	if (locate->levels[level].has_child && locate->levels[level].child.at == child.at)
		return true; /* the levels below stay known */
	locate->levels[level].has_child = true;
	locate->levels[level].child = child;
	locate->levels[level].index = step->key ? SIZE_MAX : step->index;
	locate->levels[level + 1].value = is_object ? value_of(locate, child, &end) : child;
	locate->levels[level + 1].has_child = false;
	return true;
}

/* Returns the end of the value of `level`. Begins at its child, if that is known. */
static size_t end_of(const struct json_locate *locate, size_t level)
{
	struct json_position at = locate->levels[level].value;
	bool is_object = peek(locate, &at) == '{';
	size_t key_end;

	if (!locate->levels[level].has_child) {
		skip_value(locate, &at);
		return at.at;
	}
	at = locate->levels[level].child;
	do
		at = is_object ? value_of(locate, at, &key_end) : at;
	while (next_child(locate, &at));
	advance(locate, &at);
	return at.at;
}

size_t json_locate(struct json_locate *locate, const struct json_step *steps, size_t count, struct json_span *span)
{
	size_t found = 0;

	if (!locate->levels[0].value.line) {
		locate->levels[0].value = (struct json_position){.line = 1, .column = 1};
		skip_to_token(locate, &locate->levels[0].value);
	}
	while (found < count && found < JSON_LOCATE_STEPS && descend(locate, found, &steps[found]))
		found++;
	span->key = span->value = locate->levels[found].value;
	if (found && peek(locate, &locate->levels[found - 1].value) == '{')
		span->key = locate->levels[found - 1].child;
	span->end = end_of(locate, found);
	return locate->found = found;
}

size_t json_locate_children(const struct json_locate *locate, const struct json_span *parent, struct json_span *first,
	struct json_span *last)
{
	bool is_object = peek(locate, &parent->value) == '{', more;
	bool known =
		locate->levels[locate->found].has_child && locate->levels[locate->found].value.at == parent->value.at;
	size_t count = 0, end, index = locate->levels[locate->found].index;
	struct json_position at;

	for (more = enter(locate, &parent->value, is_object ? '{' : '[', &at); more; count++) {
		last->key = at;
		last->value = at = is_object ? value_of(locate, at, &end) : at;
		skip_value(locate, &at);
		last->end = at.at;
		if (count == 0)
			*first = *last;
		skip_to_token(locate, &at);
		more = !strchr("]}", peek(locate, &at));
		if (count == 0 && known && !is_object && index > 0) {
			at = locate->levels[locate->found].child;
			count = index - 1;
		}
	}
	return count;
}

void json_locate_forget(struct json_locate *locate, size_t begin)
{
	for (size_t i = 0; i < JSON_LOCATE_STEPS; i++)
		if (locate->levels[i].child.at >= begin || locate->levels[i + 1].value.at >= begin)
			locate->levels[i].has_child = false;
}

size_t json_white_before(const char *text, size_t end)
{
	size_t begin = end;

	while (begin > 0 && is_space(text[begin - 1]))
		begin--;
	return end - begin;
}

bool json_locate_path(struct json_locate *locate, const char *path, struct json_span *span)
{
	struct json_step steps[JSON_LOCATE_STEPS];
	char keys[JSON_LOCATE_STEPS][64];
	size_t count = 0;

	for (int size = 0; *path && count < JSON_LOCATE_STEPS; path += size, count++) {
		steps[count] = (struct json_step){0};
		if (sscanf(path, "[%5zu]%n", &steps[count].index, &size) == 1)
			continue;
		path += *path == '.';
		if (sscanf(path, "%63[^.[]%n", keys[count], &size) != 1)
			break;
		steps[count].key = keys[count];
	}
	return json_locate(locate, steps, count, span) == count && !*path;
}
