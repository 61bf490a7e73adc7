/* SPDX-License-Identifier: BSD-3-Clause */
#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>

#include "cli/alloc.h"
#include "cli/cli.h"
#include "common/text.h"
#include "quic/quic.h"

enum { TABLE, ID, NONCE, FOR, JSON };
enum server { QUIC_GO, ENVOY, REDIRECT, NGINX, HAPROXY };

static const struct command_option options[] = {
	[TABLE] = {"table", "NAME|#INDEX", "the table, if several have QUIC configurations"},
	[ID] = {"id", "N", "encode, server-config: the configuration, if the proxy has server IDs of several", NULL, 0,
		QUIC_MAX_CONFIGS - 1},
	[NONCE] = {"nonce", "HEX", "encode: the nonce, instead of a random one"},
	[FOR] = {"for", "quic-go|envoy|redirect|nginx|haproxy", "server-config: the program"},
	[JSON] = {"json", NULL, "decode, encode: print JSON"},
	{0},
};

#define CID_MAX 255
#define HEX_MAX (2 * CID_MAX + 1)

struct subject {
	const char *path;
	struct table_set set;
	const struct table *table;
	uint8_t cid[CID_MAX];
	uint32_t cid_size;
	/* NULL: the configuration of the CID is not in the table */
	const struct quic_config *config;
	/* NULL: the CID can be decoded */
	const char *unroutable;
	uint8_t server_id[QUIC_MAX_SERVER_ID], nonce[QUIC_MAX_NONCE];
	/* NULL: none has this server ID */
	const struct table_backend *backend;
};

/* Finds the table that --table names, or the only one with QUIC configurations. */
static int find_table(struct subject *subject, const char *wanted)
{
	uint32_t index = 0, count = 0;
	char label[16];

	if (wanted && !cli_find_table(&subject->set, subject->path, wanted, &index))
		return COMMAND_FAILED;
	for (uint32_t t = 0; !wanted && t < subject->set.count; t++)
		if (subject->set.tables[t].quic_count && count++ == 0)
			index = t;
	if (!wanted && count != 1)
		return count ? command_error("%s: %u tables have `quic`: choose one with --table", subject->path, count)
			     : command_error("%s: no table has `quic`", subject->path);
	subject->table = &subject->set.tables[index];
	if (!subject->table->quic_count)
		return command_error(
			"%s: table %s has no `quic`", subject->path, table_label(&subject->set, index, label));
	return COMMAND_OK;
}

static const struct table_backend *backend_with_id(const struct table *table, const uint8_t *id, uint8_t length)
{
	for (uint32_t i = 0; i < table->backend_count; i++) {
		const struct quic_server_id *own = table_server_id(table->backends[i].server_ids, length);

		if (own && memcmp(own->bytes, id, length) == 0)
			return &table->backends[i];
	}
	return NULL;
}

static struct quic_codec *make_codec(const struct quic_config *config)
{
	struct quic_codec *codec = quic_codec_create(config);

	if (!codec)
		alloc_failed();
	return codec;
}

/* Decodes subject->cid. */
static void decode(struct subject *subject)
{
	struct quic_codec *codec;

	subject->config = table_quic(subject->table, quic_config_id(subject->cid[0]));
	if (!subject->config || subject->cid_size < quic_cid_size(subject->config)) {
		subject->unroutable = subject->config ? "short" : "config";
		return;
	}
	codec = make_codec(subject->config);
	quic_decode(codec, subject->cid, subject->server_id, subject->nonce);
	quic_codec_free(codec);
	subject->backend = backend_with_id(subject->table, subject->server_id, subject->config->server_id_length);
	if (!subject->backend || subject->backend->state == TABLE_INACTIVE)
		subject->unroutable = "server";
}

static json_t *describe(const struct subject *subject)
{
	const struct quic_config *config = subject->config;
	bool decoded = config && subject->cid_size >= quic_cid_size(config);
	char hex[HEX_MAX], address[NETADDR_TEXT_MAX];
	json_t *json = json_pack("{s:s?, s:s, s:s?}", "table", subject->table->name, "cid",
		text_hex(subject->cid, subject->cid_size, hex), "unroutable", subject->unroutable);

	json_object_set_new(json, "config", config ? cli_quic_json(config) : json_null());
	json_object_set_new(json, "server_id",
		decoded ? json_string(text_hex(subject->server_id, config->server_id_length, hex)) : json_null());
	json_object_set_new(json, "nonce",
		decoded ? json_string(text_hex(subject->nonce, config->nonce_length, hex)) : json_null());
	json_object_set_new(json, "backend",
		subject->backend
			? json_pack("{s:s, s:s, s:b}", "ip", netaddr_format(&subject->backend->addr, address), "state",
				  table_state_name(subject->backend->state), "healthy", subject->backend->healthy)
			: json_null());
	return json;
}

static void print(const struct subject *subject)
{
	const struct quic_config *config = subject->config;
	char hex[HEX_MAX], address[NETADDR_TEXT_MAX];

	if (!config) {
		command_print(10, "config    %u, which the table does not have: the row decides",
			quic_config_id(subject->cid[0]));
		return;
	}
	command_print(10, "config    %u: server ID of %u byte%s, nonce of %u, %s key", config->id,
		config->server_id_length, text_plural(config->server_id_length), config->nonce_length,
		config->keyed ? "with" : "without");
	if (subject->cid_size < quic_cid_size(config)) {
		command_print(10, "short     %u byte%s, but the configuration needs %u: the row decides",
			subject->cid_size, text_plural(subject->cid_size), quic_cid_size(config));
		return;
	}
	printf("server    %s\n", text_hex(subject->server_id, config->server_id_length, hex));
	printf("nonce     %s\n", text_hex(subject->nonce, config->nonce_length, hex));
	if (subject->backend)
		command_print(10, "backend   %s %s %s%s", netaddr_format(&subject->backend->addr, address),
			table_state_name(subject->backend->state), cli_health_name(subject->backend->healthy),
			subject->unroutable ? ": the row decides" : "");
	else
		command_print(10, "backend   none has this server ID: the row decides");
}

static int run_decode(struct subject *subject, const struct command_args *args)
{
	const char *hex = args->operands[2];

	subject->cid_size = (uint32_t)(strlen(hex) / 2);
	if (subject->cid_size < 1 || subject->cid_size > CID_MAX || !text_bytes(hex, subject->cid, subject->cid_size))
		return command_usage("quic: decode: CID: '%s' is not 1 to 255 bytes in hex", hex);
	decode(subject);
	if (args->options[JSON])
		return cli_print_json(describe(subject));
	print(subject);
	return COMMAND_OK;
}

static const struct quic_server_id *server_id_for(const struct subject *subject, const struct quic_config *config)
{
	return table_server_id(subject->backend->server_ids, config->server_id_length);
}

/* Finds the backend that the operand names, and the configuration of --id or the only one that it has a server ID for.
 * several: any of them, if there are more. */
static int find_server(struct subject *subject, const struct command_args *args, bool several)
{
	const char *id = args->options[ID], *ip = args->operands[2];
	struct netaddr addr;
	uint32_t index, count = 0;

	if (!netaddr_parse(ip, &addr))
		return command_usage("quic: %s: IP: '%s' is not an address", args->operands[0], ip);
	index = table_find_backend(subject->table, NULL, &addr);
	if (index == subject->table->backend_count)
		return command_error("%s: the table with `quic` has no backend %s", subject->path, ip);
	subject->backend = &subject->table->backends[index];
	for (uint8_t i = 0; i < subject->table->quic_count; i++) {
		const struct quic_config *config = &subject->table->quic[i];

		if (!server_id_for(subject, config) || (id && config->id != args->numbers[ID]))
			continue;
		subject->config = config;
		count++;
	}
	if (count == 0)
		return command_error("%s: backend %s has no server ID for %s%s", subject->path, ip,
			id ? "configuration " : "a configuration", id ? id : "");
	if (count > 1 && !several)
		return command_error("%s: backend %s has server IDs for %u configurations: choose one with --id",
			subject->path, ip, count);
	return COMMAND_OK;
}

static int run_encode(struct subject *subject, const struct command_args *args)
{
	int code = find_server(subject, args, false);
	const struct quic_config *config = subject->config;
	struct quic_codec *codec;
	char hex[HEX_MAX];

	if (code != COMMAND_OK)
		return code;
	if (args->options[NONCE] && !text_bytes(args->options[NONCE], subject->nonce, config->nonce_length))
		return command_usage(
			"quic: --nonce: '%s' is not %u bytes in hex", args->options[NONCE], config->nonce_length);
	if (!args->options[NONCE] && !cli_random(subject->nonce, config->nonce_length))
		return COMMAND_FAILED;
	subject->cid_size = quic_cid_size(config);
	codec = make_codec(config);
	quic_encode(codec, (uint8_t)(subject->cid_size - 1), server_id_for(subject, config)->bytes, subject->nonce,
		subject->cid);
	quic_codec_free(codec);
	decode(subject);
	if (args->options[JSON])
		return cli_print_json(describe(subject));
	puts(text_hex(subject->cid, subject->cid_size, hex));
	return COMMAND_OK;
}

static const char *base64(const uint8_t *bytes, size_t size, char text[BASE64_ENCODE_RAW_LENGTH(QUIC_KEY_SIZE) + 1])
{
	base64_encode_raw(text, size, bytes);
	text[BASE64_ENCODE_RAW_LENGTH(size)] = '\0';
	return text;
}

static int print_envoy(const struct subject *subject, const struct quic_server_id *id)
{
	const struct quic_config *config = subject->config;
	char server_id[32], key[32], version[32];

	if (config->nonce_length > 16 || config->server_id_length + config->nonce_length > 18)
		return command_error(
			"quic: configuration %u is not for Envoy, which needs a nonce_length of at most 16, and at most 18 with server_id_length",
			config->id);
	printf("# In the listener, below udp_listener_config.quic_options:\n"
	       "connection_id_generator_config:\n"
	       "  name: envoy.quic.connection_id_generator.quic_lb\n"
	       "  typed_config:\n"
	       "    \"@type\": type.googleapis.com/envoy.extensions.quic.connection_id_generator.quic_lb.v3.Config\n"
	       "    server_id: {inline_bytes: \"%s\"}\n"
	       "    expected_server_id_length: %u\n"
	       "    nonce_length_bytes: %u\n%s"
	       "    encryption_parameters: {name: quic_lb}\n"
	       "# Below static_resources:\n"
	       "secrets:\n"
	       "- name: quic_lb\n"
	       "  generic_secret:\n"
	       "    secrets:\n"
	       "      encryption_key: {inline_bytes: \"%s\"}\n"
	       "      configuration_version: {inline_bytes: \"%s\"}\n",
		base64(id->bytes, id->length, server_id), id->length, config->nonce_length,
		config->keyed ? "" : "    unencrypted_mode: true\n", base64(config->key, QUIC_KEY_SIZE, key),
		base64(&config->id, 1, version));
	return COMMAND_OK;
}

/* A proxy accepts the CIDs of all configurations, also of those that its server uses no more. */
static int print_redirect(const struct subject *subject)
{
	const char *before = "quic = (\n";
	char hex[HEX_MAX];

	for (uint8_t i = 0; i < subject->table->quic_count; i++) {
		const struct quic_config *config = &subject->table->quic[i];
		const struct quic_server_id *id = server_id_for(subject, config);

		if (!id)
			continue;
		printf("%s\t{ id = %u; server_id_length = %u; nonce_length = %u;", before, config->id, id->length,
			config->nonce_length);
		if (config->keyed)
			printf(" key = \"%s\";", text_hex(config->key, QUIC_KEY_SIZE, hex));
		printf(" server_id = \"%s\"; }", text_hex(id->bytes, id->length, hex));
		before = ",\n";
	}
	puts("\n);");
	return COMMAND_OK;
}

static int run_server_config(struct subject *subject, const struct command_args *args)
{
	int code = args->options[FOR] ? find_server(subject, args, args->numbers[FOR] == REDIRECT)
				      : command_usage("quic: server-config: name the program with --for");
	const struct quic_config *config = subject->config;
	const struct quic_server_id *id;
	char server_id[HEX_MAX], key[HEX_MAX];

	if (code != COMMAND_OK)
		return code;
	id = server_id_for(subject, config);
	switch (args->numbers[FOR]) {
	case QUIC_GO:
		return cli_print_json(json_pack("{s:i, s:s, s:i, s:s?}", "id", config->id, "server_id",
			text_hex(id->bytes, id->length, server_id), "nonce_length", config->nonce_length, "key",
			config->keyed ? text_hex(config->key, QUIC_KEY_SIZE, key) : NULL));
	case ENVOY:
		return print_envoy(subject, id);
	case REDIRECT:
		return print_redirect(subject);
	default:
		return command_error(
			"quic: server-config: %s makes its own connection IDs, and has no setting for those of QUIC-LB",
			args->options[FOR]);
	}
}

static const struct action {
	const char *name;
	bool takes[JSON + 1]; /* of the options that not all actions take */
	int (*run)(struct subject *subject, const struct command_args *args);
} actions[] = {
	{"decode", {[JSON] = true}, run_decode},
	{"encode", {[ID] = true, [NONCE] = true, [JSON] = true}, run_encode},
	{"server-config", {[ID] = true, [FOR] = true}, run_server_config},
};

static int quic_run(const struct command_args *args)
{
	struct subject subject = {.path = args->operands[1]};
	const struct action *action = actions, *end = actions + sizeof(actions) / sizeof(actions[0]);
	int code;

	while (action < end && strcmp(action->name, args->operands[0]) != 0)
		action++;
	if (action == end)
		return command_usage("quic: unknown action '%s': decode, encode or server-config", args->operands[0]);
	for (unsigned option = ID; option <= JSON; option++)
		if (args->options[option] && !action->takes[option])
			return command_usage("quic: --%s is not for %s", options[option].name, action->name);
	if (!cli_load_table(subject.path, &subject.set, NULL))
		return COMMAND_FAILED;
	code = find_table(&subject, args->options[TABLE]);
	if (code == COMMAND_OK)
		code = action->run(&subject, args);
	table_set_free(&subject.set);
	return code;
}

const struct command quic_command = {
	.name = "quic",
	.run = quic_run,
	.operands = "decode|encode|server-config TABLE CID/IP",
	.summary = "Decode or make QUIC connection IDs, and print the configuration of a server that makes them",
	.options = options,
	.note = "server-config prints the key, which is secret.",
};
