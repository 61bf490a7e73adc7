/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/table_document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "table/file/json/json_copy.h"

void table_document_free(struct table_document *document)
{
	if (document->text)
		explicit_bzero(document->text, document->size); /* it has keys */
	free(document->text);
	table_set_free(&document->set);
	table_health_free(&document->health);
	*document = (struct table_document){0};
}

/* Adds a last member, with the same white space as the member before it. A backend has one at least, its address. */
static void add_member(struct json_copy *copy, const struct json_span *object, const char *value)
{
	const char *text = copy->locate.text, *white;
	struct json_span first, last;
	size_t count = json_locate_children(&copy->locate, object, &first, &last), size, colon;

	size = json_white_before(text, last.key.at);
	white = text + last.key.at - size;
	if (count == 1 && !memchr(white, '\n', size)) {
		white = " ";
		size = 1;
	}
	for (colon = last.value.at; text[colon - 1] != '"'; colon--)
		;
	json_copy_until(copy, last.end);
	fprintf(copy->to, ",%.*s\"healthy\"%.*s%s", (int)size, white, (int)(last.value.at - colon), text + colon, value);
}

static void copy_backend(struct json_copy *copy, uint32_t table, uint32_t backend, const char *value)
{
	const struct json_step steps[] = {
		{.key = "tables"}, {.index = table}, {.key = "backends"}, {.index = backend}, {.key = "healthy"}};
	enum { COUNT = sizeof(steps) / sizeof(steps[0]) };
	struct json_span span;

	if (json_locate(&copy->locate, steps, COUNT, &span) < COUNT) {
		add_member(copy, &span, value);
		return;
	}
	json_copy_until(copy, span.value.at);
	fputs(value, copy->to);
	copy->done = span.end;
}

char *table_document_text(const struct table_document *document, size_t *size)
{
	const struct table_set *set = &document->set;
	struct json_copy copy = {.locate = {.text = document->text, .size = document->size}};
	char *text = NULL;

	copy.to = open_memstream(&text, size);
	if (!copy.to)
		return NULL;
	for (uint32_t t = 0; t < set->count; t++)
		for (uint32_t b = 0; b < set->tables[t].backend_count; b++)
			copy_backend(&copy, t, b, set->tables[t].backends[b].healthy ? "true" : "false");
	json_copy_until(&copy, document->size);
	return text_end(copy.to, &text);
}
