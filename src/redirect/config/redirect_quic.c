/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/config/redirect_quic.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/siphash.h"
#include "common/text.h"
#include "conf/conf_reader.h"
#include "table/file/table_load.h"

/* An element of the list `quic`. */
struct entry {
	struct quic_config config;
	char *server_id; /* owned */
};

static void read_byte(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	unsigned number = 0;

	conf_read_unsigned(reader, at, key, &number);
	*(uint8_t *)field = (uint8_t)number;
}

/* An error must not show the key, so it does not go through conf_wrong(). */
static void read_key(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct quic_config *config = field;

	config->keyed = text_bytes(config_setting_get_string(at), config->key, sizeof(config->key));
	if (!config->keyed)
		conf_error(reader, at, NULL, "%s", key->expected);
}

#define AT(member) .offset = offsetof(struct entry, member)

const struct conf_key redirect_quic_keys[] = {
	{"id", read_byte, AT(config.id), .max = QUIC_MAX_CONFIGS - 1, .required = "id = 0"},
	{"server_id_length", read_byte, AT(config.server_id_length), .min = 1, .max = QUIC_MAX_SERVER_ID,
		.required = "server_id_length = 3"},
	{"nonce_length", read_byte, AT(config.nonce_length), .min = QUIC_MIN_NONCE, .max = QUIC_MAX_NONCE,
		.required = "nonce_length = 8"},
	{"key", read_key, AT(config), .expected = "is not a text of 32 hex digits"},
	{"server_id", conf_read_string, AT(server_id), .required = "server_id = \"ed793a\""},
	{0},
};

static const struct quic_config *find_config(const struct redirect_quic_conf *conf, uint8_t id)
{
	for (unsigned i = 0; i < conf->count; i++)
		if (conf->configs[i].id == id)
			return &conf->configs[i];
	return NULL;
}

static void add_entry(struct conf_reader *reader, const config_setting_t *at, const struct entry *entry,
	struct redirect_quic_conf *conf)
{
	const struct quic_config *config = &entry->config;
	struct redirect_quic_name name = {
		.config = config->id, .is_self = true, .server_id.length = config->server_id_length};
	const char *fault = quic_config_fault(config);

	if (find_config(conf, config->id))
		conf_error(reader, at, "id", "%u is the ID of an earlier configuration", config->id);
	else if (fault)
		conf_error(reader, at, NULL, "%s", fault);
	else if (!text_bytes(entry->server_id, name.server_id.bytes, config->server_id_length))
		conf_error(reader, at, "server_id", "'%s' is not %u hex digits, which server_id_length asks for",
			entry->server_id, 2 * config->server_id_length);
	else {
		conf->configs[conf->count++] = *config;
		conf->servers[conf->server_count++] = name;
	}
}

void redirect_quic_read_list(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct redirect_quic_conf *conf = field;
	unsigned count = conf_list_length(reader, at, key);

	memset(conf->ports, 0xff, sizeof(conf->ports));
	conf->servers = conf_allocate(reader, at, count, sizeof(*conf->servers));
	for (unsigned i = 0; conf->servers && i < count; i++) {
		const config_setting_t *element = config_setting_get_elem(at, i);
		size_t errors = reader->faults->errors;
		struct entry entry = {0};

		conf_read_group(reader, element, key->keys, &entry);
		if (reader->faults->errors == errors)
			add_entry(reader, element, &entry, conf);
		free(entry.server_id);
		explicit_bzero(&entry, sizeof(entry));
	}
}

/* Adds the server IDs of a backend, one for each configuration of `table` that has a server ID of this length. */
static bool learn_backend(struct redirect_quic_conf *conf, const struct table *table, const struct netaddr *addr,
	const struct quic_server_id server_ids[QUIC_MAX_SERVER_IDS], bool is_past)
{
	for (unsigned i = 0; i < table->quic_count * QUIC_MAX_SERVER_IDS; i++) {
		const struct quic_config *config = &table->quic[i / QUIC_MAX_SERVER_IDS];
		const struct quic_server_id *server_id = &server_ids[i % QUIC_MAX_SERVER_IDS];
		struct redirect_quic_name *name;

		if (server_id->length != config->server_id_length)
			continue;
		name = array_append((void **)&conf->servers, &conf->server_count, sizeof(*name));
		if (!name)
			return false;
		*name = (struct redirect_quic_name){
			.config = config->id, .is_past = is_past, .server_id = *server_id, .addr = *addr};
	}
	return true;
}

static bool learn_backends(struct redirect_quic_conf *conf, const struct table *table)
{
	bool done = true;

	for (uint32_t i = 0; i < table->backend_count && done; i++)
		done = learn_backend(conf, table, &table->backends[i].addr, table->backends[i].server_ids, false);
	for (uint32_t i = 0; i < table->past_count && done; i++) {
		const struct table_past *past = &table->past[i];

		for (uint32_t j = 0; j < past->backend_count && done; j++)
			done = learn_backend(conf, table, &past->backends[j].addr, past->backends[j].server_ids, true);
	}
	return done;
}

/* A packet does not tell of which table it is. So configurations with the same ID must be the same. */
static void learn_configs(struct conf_reader *reader, const config_setting_t *at, struct redirect_quic_conf *conf,
	const struct table_set *set, uint32_t index)
{
	const struct table *table = &set->tables[index];
	char label[16];

	for (unsigned i = 0; i < table->quic_count; i++) {
		const struct quic_config *config = &table->quic[i], *known = find_config(conf, config->id);

		if (!known)
			conf->configs[conf->count++] = *config;
		else if (memcmp(known, config, sizeof(*known)) != 0)
			conf_error(reader, at, NULL,
				"'%s': table '%s' has another configuration %u than an earlier table; give one of them another ID",
				conf->table, table_label(set, index, label), config->id);
	}
}

static void learn_ports(struct redirect_quic_conf *conf, const struct table *table)
{
	for (uint32_t i = 0; i < table->bind_count; i++)
		for (unsigned port = table->binds[i].port_start;
			table->binds[i].quic && port <= table->binds[i].port_end; port++)
			conf->ports[port / 8] |= (uint8_t)(1 << port % 8);
}

static int compare_ids(const struct redirect_quic_name *a, const struct redirect_quic_name *b)
{
	int difference = memcmp(&a->server_id, &b->server_id, sizeof(a->server_id));

	return difference ? difference : a->config - b->config;
}

/* Orders as compare_ids(). Names of previous states come last. */
static int compare_names(const void *one, const void *other)
{
	const struct redirect_quic_name *a = one, *b = other;
	int difference = compare_ids(a, b);

	return difference ? difference : a->is_past - b->is_past;
}

/* Keeps one backend of each server ID. Two tables can give the same server ID to different backends. */
static void keep_one_of_each(struct conf_reader *reader, const config_setting_t *at, struct redirect_quic_conf *conf)
{
	size_t kept = 0;

	qsort(conf->servers, conf->server_count, sizeof(*conf->servers), compare_names);
	for (size_t i = 0; i < conf->server_count; i++) {
		const struct redirect_quic_name *name = &conf->servers[i];
		char a[NETADDR_TEXT_MAX], b[NETADDR_TEXT_MAX];

		if (kept && compare_ids(&conf->servers[kept - 1], name) == 0) {
			if (!name->is_past && netaddr_compare(&conf->servers[kept - 1].addr, &name->addr) != 0)
				conf_error(reader, at, NULL,
					"'%s': backends %s and %s of different tables have the same server ID for configuration %u",
					conf->table, netaddr_format(&conf->servers[kept - 1].addr, a),
					netaddr_format(&name->addr, b), name->config);
			continue;
		}
		conf->servers[kept++] = *name;
	}
	conf->server_count = kept;
}

static void learn(struct conf_reader *reader, const config_setting_t *at, struct redirect_quic_conf *conf,
	const struct table_set *set)
{
	bool done = true;

	for (uint32_t i = 0; i < set->count && done; i++) {
		learn_configs(reader, at, conf, set, i);
		learn_ports(conf, &set->tables[i]);
		done = learn_backends(conf, &set->tables[i]);
	}
	if (!done)
		conf_error(reader, at, NULL, "out of memory");
	else if (!conf->count)
		conf_warn(reader, at, NULL, "'%s': no table has a QUIC configuration, so connection IDs decide nothing",
			conf->table);
	else
		keep_one_of_each(reader, at, conf);
}

void redirect_quic_read_table(struct conf_reader *reader, const config_setting_t *at, struct redirect_quic_conf *conf)
{
	struct faults faults = {.file = conf->table};
	struct table_set set = {0};
	int error;

	if (conf->count) {
		conf_error(reader, at, NULL, "has all configurations; remove the key quic");
		return;
	}
	if (table_load_version(conf->table))
		error = table_load_binary(conf->table, &set, NULL, &faults);
	else
		error = table_load_json(conf->table, &set, &faults);
	if (error)
		conf_error(reader, at, NULL, "%s", faults_first_error(&faults));
	else
		learn(reader, at, conf, &set);
	faults_clear(&faults);
	table_set_free(&set);
}

uint32_t redirect_quic_digest(const struct redirect_quic_conf *conf)
{
	static const uint8_t no_key[SIPHASH_KEY_SIZE];
	struct siphash_state state;

	siphash_begin(&state, no_key);
	siphash_update(&state, conf->configs, sizeof(conf->configs));
	siphash_update(&state, conf->ports, sizeof(conf->ports));
	for (size_t i = 0; i < conf->server_count; i++) {
		struct redirect_quic_name name = conf->servers[i];

		name.is_past = false; /* makes no difference for packets */
		siphash_update(&state, &name, sizeof(name));
	}
	return conf->count ? (uint32_t)siphash_end(&state, NULL, 0) | 1 : 0;
}

void redirect_quic_free(struct redirect_quic_conf *conf)
{
	free(conf->table);
	free(conf->servers);
	explicit_bzero(conf, sizeof(*conf));
}
