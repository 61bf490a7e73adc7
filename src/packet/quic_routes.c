/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet/quic_routes.h"

#include <stdlib.h>
#include <string.h>

const char *quic_fate_name(enum quic_fate fate)
{
	static const char *const names[QUIC_FATES] = {
		[QUIC_ROUTED] = "routed",
		[QUIC_DOWN] = "down",
		[QUIC_UNROUTABLE_CONFIG] = "unroutable_config",
		[QUIC_UNROUTABLE_SHORT] = "unroutable_short",
		[QUIC_UNROUTABLE_SERVER] = "unroutable_server",
	};

	return fate < QUIC_FATES ? names[fate] : NULL;
}

static void add_server(struct quic_routes *routes, const struct quic_server_id *id, uint32_t backend, bool down)
{
	uint8_t bytes[16] = {0};
	uint64_t low, high;
	struct quic_routes_server *server;

	memcpy(bytes, id->bytes, QUIC_MAX_SERVER_ID);
	low = load_le64(bytes);
	high = load_le64(bytes + 8) | quic_routes_length(id->length);
	server = routes->servers + (quic_routes_server(routes, low, high) - routes->servers);
	if (server->length)
		return; /* a file names a server ID twice; the first backend has it */
	*server = (struct quic_routes_server){{low, high}, backend, down, id->length};
}

static bool create_servers(struct quic_routes *routes, const struct table *table, uint32_t first_backend)
{
	uint32_t bits = 1;

	while (1u << bits < 2 * QUIC_MAX_SERVER_IDS * table->backend_count)
		bits++;
	routes->shift = 64 - bits;
	routes->mask = (1u << bits) - 1;
	routes->servers = calloc(routes->mask + 1ull, sizeof(*routes->servers));
	for (uint32_t i = 0; routes->servers && i < table->backend_count; i++) {
		const struct table_backend *backend = &table->backends[i];

		for (unsigned id = 0; id < QUIC_MAX_SERVER_IDS && backend->state != TABLE_INACTIVE; id++)
			if (backend->server_ids[id].length)
				add_server(routes, &backend->server_ids[id], first_backend + i, !backend->healthy);
	}
	return routes->servers;
}

struct quic_routes *quic_routes_create(const struct table *table, uint32_t first_backend)
{
	struct quic_routes *routes = calloc(1, sizeof(*routes));
	bool created = routes && create_servers(routes, table, first_backend);

	for (unsigned id = 0; created && id <= QUIC_MAX_CONFIGS; id++)
		routes->configs[id].cid_size = UINT32_MAX;
	for (unsigned i = 0; created && i < table->quic_count; i++) {
		const struct quic_config *from = &table->quic[i];
		struct quic_routes_config *config = &routes->configs[from->id];

		config->codec = quic_codec_create(from);
		config->cid_size = quic_cid_size(from);
		config->server_id_length = from->server_id_length;
		if (!from->keyed && from->server_id_length <= 8)
			config->plain_mask = UINT64_MAX >> (64 - 8 * from->server_id_length);
		created = config->codec;
	}
	if (created)
		return routes;
	quic_routes_free(routes);
	return NULL;
}

void quic_routes_free(struct quic_routes *routes)
{
	for (unsigned id = 0; routes && id < QUIC_MAX_CONFIGS; id++)
		quic_codec_free(routes->configs[id].codec);
	if (routes)
		free(routes->servers);
	free(routes);
}

enum quic_fate quic_routes_find(
	const struct quic_routes *routes, const uint8_t *payload, uint32_t size, bool quoted, uint32_t *backend)
{
	uint8_t id[16] = {0};
	const struct quic_routes_config *config;
	const struct quic_routes_server *server;
	struct quic_dcid cid;

	*backend = QUIC_NO_SERVER;
	if (!payload || (quoted && !quic_find_quoted_scid(payload, size, &cid)))
		return QUIC_NONE;
	if (!quoted && !quic_find_dcid(payload, size, &cid))
		return QUIC_UNROUTABLE_SHORT;
	config = &routes->configs[quic_config_id(cid.bytes[0])];
	if (!config->codec)
		return QUIC_UNROUTABLE_CONFIG;
	if (cid.size < config->cid_size)
		return QUIC_UNROUTABLE_SHORT;
	quic_decode(config->codec, cid.bytes, id, NULL);
	server = quic_routes_server(
		routes, load_le64(id), load_le64(id + 8) | quic_routes_length(config->server_id_length));
	if (!server->length)
		return QUIC_UNROUTABLE_SERVER;
	*backend = server->backend;
	return server->down ? QUIC_DOWN : QUIC_ROUTED;
}
