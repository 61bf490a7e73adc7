/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/edit/server_ids.h"

#include <string.h>

#include "cli/alloc.h"
#include "cli/cli.h"
#include "common/text.h"

static void take(struct server_ids *ids, const struct quic_server_id own[QUIC_MAX_SERVER_IDS])
{
	for (unsigned i = 0; i < QUIC_MAX_SERVER_IDS && own[i].length; i++)
		ids->taken[ids->count++] = own[i];
}

void server_ids_open(struct server_ids *ids, const struct table *table, size_t more)
{
	size_t room = table->backend_count + more;

	for (uint32_t p = 0; p < table->past_count; p++)
		room += table->past[p].backend_count;
	*ids = (struct server_ids){.taken = alloc_zeroed(room * QUIC_MAX_SERVER_IDS, sizeof(*ids->taken))};
	for (uint32_t i = 0; i < table->backend_count; i++)
		take(ids, table->backends[i].server_ids);
	for (uint32_t p = 0; p < table->past_count; p++)
		for (uint32_t i = 0; i < table->past[p].backend_count; i++)
			take(ids, table->past[p].backends[i].server_ids);
}

static bool is_taken(const struct server_ids *ids, const struct quic_server_id *id)
{
	for (size_t i = 0; i < ids->count; i++)
		if (memcmp(&ids->taken[i], id, sizeof(*id)) == 0)
			return true;
	return false;
}

/* Adds 1 to the server ID as a number. */
static void count_up(struct quic_server_id *id)
{
	for (unsigned i = id->length; i-- > 0 && ++id->bytes[i] == 0;)
		;
}

/* Begins at a random one and counts up, so that it also finds the last one that is left. */
static bool choose(const struct server_ids *ids, struct quic_server_id *id)
{
	if (!cli_random(id->bytes, id->length))
		return false;
	for (size_t tries = 0; tries <= ids->count; tries++, count_up(id))
		if (!is_taken(ids, id))
			return true;
	command_error("all server IDs of %u byte%s are taken: use a QUIC configuration with longer ones", id->length,
		text_plural(id->length));
	return false;
}

bool server_ids_fill(struct server_ids *ids, const struct table *table, struct quic_server_id own[QUIC_MAX_SERVER_IDS])
{
	for (uint32_t i = 0; i < table->quic_count && !own[QUIC_MAX_SERVER_IDS - 1].length; i++) {
		struct quic_server_id id = {.length = table->quic[i].server_id_length}, first = own[0];

		if (table_server_id(own, id.length))
			continue;
		if (!choose(ids, &id))
			return false;
		ids->taken[ids->count++] = id;
		own[0] = first.length && first.length < id.length ? first : id;
		own[1] = first.length && first.length < id.length ? id : first;
	}
	return true;
}
