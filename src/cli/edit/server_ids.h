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

/* Gives `own` a server ID of this length, unless it has one. It then has at most QUIC_MAX_SERVER_IDS. False, with an
 * error: all server IDs of this length are taken, or the kernel gives no random bytes. */
bool server_ids_add(struct server_ids *ids, uint8_t length, struct quic_server_id own[QUIC_MAX_SERVER_IDS]);
