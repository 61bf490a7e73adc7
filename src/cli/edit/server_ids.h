/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses server IDs at random that no proxy of a table has, or had in a previous state. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "table/table.h"

struct server_ids {
	struct quic_server_id *taken; /* owned */
	size_t count;
};

/* Has room for those of `more` new backends. The caller frees ids->taken. */
void server_ids_open(struct server_ids *ids, const struct table *table, size_t more);

/* Gives `own` a server ID of each length that the configurations of the table have, unless it has one. False, with an
 * error: all server IDs of a length are taken, or the kernel gives no random bytes. */
bool server_ids_fill(struct server_ids *ids, const struct table *table, struct quic_server_id own[QUIC_MAX_SERVER_IDS]);
