/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What redirect.conf says of QUIC: configurations of connection IDs, and which servers they name. Plain data, which
 * nothing changes after redirect_conf_read(). The keys are secrets.
 */
#pragma once

#include <stddef.h>

#include "common/netaddr.h"
#include "conf/conf_key.h"
#include "quic/quic.h"

/* A server ID of a configuration. */
struct redirect_quic_name {
	uint8_t config;
	bool is_self; /* it names this host; then `addr` is not set */
	bool is_past; /* only a previous state of the table has it */
	struct quic_server_id server_id;
	struct netaddr addr;
};
_Static_assert(_Alignof(struct redirect_quic_name) == 1 && _Alignof(struct quic_config) == 1,
	"redirect_quic_digest() reads no padding");

struct redirect_quic_conf {
	char *table; /* path of the forwarding table with all of this; NULL: there is none */
	uint8_t count;
	struct quic_config configs[QUIC_MAX_CONFIGS];
	uint8_t ports[65536 / 8]; /* a bit for each UDP port of a bind with QUIC; `quic` has all */
	size_t server_count;
	struct redirect_quic_name *servers; /* each server ID of a configuration once */
};

/* For the key `quic`: a list of configurations, each with the server ID of this host. */
void redirect_quic_read_list(
	struct conf_reader *reader, const struct config_setting_t *at, const struct conf_key *key, void *field);

/* Reads the file conf->table, which the setting `at` names. Adds an error if it is no table. */
void redirect_quic_read_table(
	struct conf_reader *reader, const struct config_setting_t *at, struct redirect_quic_conf *conf);

/* Returns a number that changes if the configurations or the servers do. 0: there is no configuration. */
uint32_t redirect_quic_digest(const struct redirect_quic_conf *conf);

/* Also overwrites the keys. */
void redirect_quic_free(struct redirect_quic_conf *conf);

/* The keys of an element of that list. */
extern const struct conf_key redirect_quic_keys[];
