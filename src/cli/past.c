/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/past.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/alloc.h"
#include "common/utc.h"

static int compare_backends(const void *a, const void *b)
{
	const struct table_past_backend *one = a, *other = b;

	return netaddr_compare(&one->addr, &other->addr);
}

void past_of_table(const struct table *table, bool healthy_only, struct table_past *state)
{
	*state = (struct table_past){
		.balance = table->balance,
		.backends = alloc_zeroed(table->backend_count, sizeof(*state->backends)),
	};
	for (uint32_t i = 0; i < table->backend_count; i++) {
		const struct table_backend *backend = &table->backends[i];

		if ((backend->state == TABLE_ACTIVE || backend->state == TABLE_FILLING) &&
			(backend->healthy || !healthy_only))
			state->backends[state->backend_count++] =
				(struct table_past_backend){backend->addr, (uint16_t)table_backend_weight(backend)};
	}
	qsort(state->backends, state->backend_count, sizeof(*state->backends), compare_backends);
}

bool past_is_same(const struct table_past *sorted, const struct table_past *other)
{
	if (sorted->balance != other->balance || sorted->backend_count != other->backend_count)
		return false;
	for (uint32_t i = 0; i < other->backend_count; i++) {
		const struct table_past_backend *found = bsearch(&other->backends[i], sorted->backends,
			sorted->backend_count, sizeof(*sorted->backends), compare_backends);

		if (!found || found->weight != other->backends[i].weight)
			return false;
	}
	return true;
}

char *past_text(const struct table_past *state)
{
	char time_text[UTC_TEXT_MAX], addr[NETADDR_TEXT_MAX], *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		alloc_failed();
	fprintf(to, "{ \"time\": \"%s\", ", utc_format(state->time, time_text));
	if (state->balance)
		fprintf(to, "\"balance\": %g, ", state->balance / 1000.0);
	fprintf(to, "\"backends\": [");
	for (uint32_t i = 0; i < state->backend_count; i++) {
		const struct table_past_backend *backend = &state->backends[i];

		fprintf(to, "%s{ \"ip\": \"%s\"", i ? ", " : "", netaddr_format(&backend->addr, addr));
		if (backend->weight != TABLE_DEFAULT_WEIGHT)
			fprintf(to, ", \"weight\": %u", backend->weight);
		fprintf(to, " }");
	}
	fprintf(to, "] }");
	if (fclose(to) != 0)
		alloc_failed();
	return text;
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
