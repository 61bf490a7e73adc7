/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/file/json/json_past.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "common/utc.h"
#include "table/file/json/table_json_quic.h"

char *past_text(const struct table_past *state)
{
	char time_text[UTC_TEXT_MAX], addr[NETADDR_TEXT_MAX], ids[SERVER_ID_TEXT_MAX], *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	fprintf(to, "{ \"time\": \"%s\", ", utc_format(state->time, time_text));
	if (state->balance)
		fprintf(to, "\"balance\": %g, ", state->balance / 1000.0);
	fprintf(to, "%s\"backends\": [", state->by_health ? "\"by_health\": true, " : "");
	for (uint32_t i = 0; i < state->backend_count; i++) {
		const struct table_past_backend *backend = &state->backends[i];

		fprintf(to, "%s{ \"ip\": \"%s\"", i ? ", " : "", netaddr_format(&backend->addr, addr));
		if (backend->weight != TABLE_DEFAULT_WEIGHT)
			fprintf(to, ", \"weight\": %u", backend->weight);
		if (backend->server_ids[0].length)
			fprintf(to, ", \"server_id\": %s", server_id_text(backend->server_ids, ids));
		fprintf(to, "%s }", backend->healthy ? "" : ", \"healthy\": false");
	}
	fprintf(to, "] }");
	return text_end(to, &text);
}

void past_list_add(struct past_list *list, char *element)
{
	list->failed |= !element;
	list->elements[list->count++] = element;
}

bool past_list_write(struct past_list *list, struct json_edit *edit, const char *object)
{
	bool written = !list->failed;
	char path[64];

	snprintf(path, sizeof(path), "%s%sprevious", object, *object ? "." : "");
	if (written && list->count)
		written = json_edit_set_array(edit, object, "previous", list->elements, list->count);
	else if (written)
		written = json_edit_drop(edit, path);
	for (size_t i = 0; i < list->count; i++)
		free(list->elements[i]);
	return written;
}

bool past_copy_table(
	struct json_copy *copy, uint32_t t, bool (*write)(void *context, struct json_edit *table), void *context)
{
	const struct json_step steps[] = {{.key = "tables"}, {.index = t}};
	struct json_span span;
	struct json_edit edit = {0};
	bool written;

	json_locate(&copy->locate, steps, 2, &span);
	edit.size = span.end - span.value.at;
	edit.text = strndup(copy->locate.text + span.value.at, edit.size);
	written = edit.text && write(context, &edit);
	if (written) {
		json_copy_until(copy, span.value.at);
		fwrite(edit.text, 1, edit.size, copy->to);
		copy->done = span.end;
	}
	free(edit.text);
	return written;
}
