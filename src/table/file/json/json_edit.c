/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/json/json_edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

/* A part of the text: white space between values. */
struct piece {
	const char *text;
	int size;
};

/* How an object or array is laid out. */
struct layout {
	size_t count; /* of children */
	struct json_span first, last; /* children; only if there are any */
	size_t open, close; /* the brackets */
	struct piece lead, tail; /* white space after the first bracket and before the last one */
	struct piece between; /* after a comma */
	struct piece colon; /* from the end of a key to its value */
};

static bool has_line_end(struct piece piece)
{
	return memchr(piece.text, '\n', (size_t)piece.size) != NULL;
}

static struct piece piece_of(const struct json_edit *edit, size_t begin, size_t end)
{
	return (struct piece){edit->text + begin, (int)(end - begin)};
}

static struct piece white_before(const struct json_edit *edit, size_t end)
{
	return piece_of(edit, end - json_white_before(edit->text, end), end);
}

static bool is_string(const struct json_edit *edit, const struct json_span *child)
{
	return child->key.at < child->value.at && edit->text[child->key.at] == '"';
}

/* Returns what is between the key of a member and its value, for instance ": ". */
static struct piece colon_of(const struct json_edit *edit, const struct json_span *child)
{
	size_t begin = child->value.at;

	while (begin > child->key.at && edit->text[begin - 1] != '"')
		begin--;
	return piece_of(edit, begin, child->value.at);
}

static bool locate(struct json_edit *edit, const char *path, struct json_span *span)
{
	if (edit->locate.text != edit->text)
		edit->locate = (struct json_locate){.text = edit->text};
	edit->locate.size = edit->size;
	return json_locate_path(&edit->locate, path, span);
}

/* Fills the layout of the object or array at the path. */
static bool layout_of(struct json_edit *edit, const char *path, struct layout *layout)
{
	struct json_span span;

	*layout = (struct layout){.lead = {" ", 1}, .tail = {" ", 1}, .between = {" ", 1}, .colon = {": ", 2}};
	if (!locate(edit, path, &span) || !strchr("{[", edit->text[span.value.at]))
		return false;
	layout->open = span.value.at;
	layout->close = span.end - 1;
	layout->count = json_locate_children(&edit->locate, &span, &layout->first, &layout->last);
	layout->tail = white_before(edit, layout->close);
	if (layout->count == 0) {
		layout->lead = layout->tail;
		return true;
	}
	layout->lead = piece_of(edit, layout->open + 1, layout->first.key.at);
	if (layout->count > 1 || has_line_end(layout->lead))
		layout->between = white_before(edit, layout->last.key.at);
	if (is_string(edit, &layout->first))
		layout->colon = colon_of(edit, &layout->first);
	return true;
}

/* Replaces the bytes from begin to end. */
static bool splice(struct json_edit *edit, size_t begin, size_t end, const char *text)
{
	size_t size = strlen(text), whole = edit->size - (end - begin) + size;

	if (whole >= edit->room) {
		size_t room = (whole > edit->size ? whole : edit->size) * 9 / 8 + 1;
		char *grown = realloc(edit->text, room);

		if (!grown)
			return false;
		edit->locate.text = edit->text = grown;
		edit->room = room;
	}
	memmove(edit->text + begin + size, edit->text + end, edit->size - end + 1);
	memcpy(edit->text + begin, text, size);
	edit->size = whole;
	json_locate_forget(&edit->locate, begin);
	return true;
}

/* Adds a child after the last one. */
static bool add_child(struct json_edit *edit, const struct layout *layout, const char *child)
{
	struct piece white = piece_of(edit, layout->open + 1, layout->close), between = layout->between;
	size_t begin = layout->count ? layout->last.end : layout->open + 1;
	char *text = NULL;
	int size;
	bool done;

	if (layout->count)
		size = asprintf(&text, ",%.*s%s", between.size, between.text, child);
	else if (has_line_end(white)) /* the child gets a line of its own between the brackets */
		size = asprintf(&text, "%.*s  %s%.*s", white.size, white.text, child, white.size, white.text);
	else
		return splice(edit, begin, layout->close, child);
	if (size < 0)
		return false;
	done = splice(edit, begin, layout->count ? begin : layout->close, text);
	free(text);
	return done;
}

bool json_edit_set(struct json_edit *edit, const char *object, const char *key, const char *value)
{
	struct layout layout;
	struct json_span span;
	char path[512];
	char *member;
	bool done;

	snprintf(path, sizeof(path), "%s%s%s", object, *object ? "." : "", key);
	if (locate(edit, path, &span))
		return splice(edit, span.value.at, span.end, value);
	if (!layout_of(edit, object, &layout) || edit->text[layout.open] != '{')
		return false;
	if (asprintf(&member, "\"%s\"%.*s%s", key, layout.colon.size, layout.colon.text, value) < 0)
		return false;
	done = add_child(edit, &layout, member);
	free(member);
	return done;
}

/* Returns an object with the members, laid out like the object at the path `like`, if that exists. */
static char *new_object(struct json_edit *edit, const char *like, const struct json_edit_member *members, size_t count)
{
	struct layout layout;
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	layout_of(edit, like, &layout);
	fprintf(to, "{%.*s", layout.lead.size, layout.lead.text);
	for (size_t i = 0; i < count; i++) {
		if (i)
			fprintf(to, ",%.*s", layout.between.size, layout.between.text);
		fprintf(to, "\"%s\"%.*s%s", members[i].key, layout.colon.size, layout.colon.text, members[i].value);
	}
	fprintf(to, "%.*s}", layout.tail.size, layout.tail.text);
	return text_end(to, &text);
}

bool json_edit_append(struct json_edit *edit, const char *array, const struct json_edit_member *members, size_t count)
{
	struct layout layout;
	char last[512];
	char *object;
	bool done;

	if (!layout_of(edit, array, &layout) || edit->text[layout.open] != '[')
		return false;
	snprintf(last, sizeof(last), "%s[%zu]", array, layout.count ? layout.count - 1 : 0);
	object = new_object(edit, last, members, count);
	done = object && add_child(edit, &layout, object);
	free(object);
	return done;
}

bool json_edit_set_array(struct json_edit *edit, const char *object, const char *key, char *const *elements, size_t count)
{
	struct piece indent = {"", 0};
	struct layout layout;
	char *text;
	size_t size;
	FILE *to;
	bool done;

	if (!layout_of(edit, object, &layout) || !(to = open_memstream(&text, &size)))
		return false;
	/* Members are indented by this more than the bracket of the object. */
	if (has_line_end(layout.between) && layout.between.size > layout.tail.size)
		indent = (struct piece){layout.between.text + layout.tail.size, layout.between.size - layout.tail.size};
	fputc('[', to);
	for (size_t i = 0; i < count; i++)
		fprintf(to, "%s%.*s%.*s%s", i ? "," : "", layout.between.size, layout.between.text, indent.size,
			indent.text, elements[i]);
	fprintf(to, "%.*s]", layout.between.size, layout.between.text);
	done = fclose(to) == 0 && json_edit_set(edit, object, key, text);
	free(text);
	return done;
}

bool json_edit_remove(struct json_edit *edit, const char *path)
{
	struct json_span span;
	size_t begin, end;

	if (!*path || !locate(edit, path, &span))
		return false;
	/* With the comma and the white space before it; or, for the first child, with those after it. */
	begin = span.key.at - json_white_before(edit->text, span.key.at);
	end = span.end;
	if (edit->text[begin - 1] == ',') {
		begin -= 1 + json_white_before(edit->text, begin - 1);
		return splice(edit, begin, end, "");
	}
	end += strspn(edit->text + end, " \t\r\n");
	if (edit->text[end] != ',')
		return splice(edit, begin, end, "");
	end++;
	end += strspn(edit->text + end, " \t\r\n");
	return splice(edit, span.key.at, end, "");
}

bool json_edit_drop(struct json_edit *edit, const char *path)
{
	struct json_span span;

	return !locate(edit, path, &span) || json_edit_remove(edit, path);
}

char *json_edit_get(const struct json_edit *edit, const char *path)
{
	struct json_edit reader = *edit;
	struct json_span span;

	if (!locate(&reader, path, &span))
		return NULL;
	return strndup(edit->text + span.value.at, span.end - span.value.at);
}
