/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli/progress.h"
#include "common/text.h"
#include "program/installed.h"
#include "table/file/json/table_json.h"
#include "table/file/table_document.h"
#include "table/file/table_load.h"

int cli_print_json(json_t *json)
{
	int failed = !json || json_dumpf(json, stdout, CLI_JSON | JSON_INDENT(2)) < 0;

	json_decref(json);
	if (failed)
		return command_error("cannot write JSON to standard output");
	putchar('\n');
	return COMMAND_OK;
}

bool cli_load_table(const char *path, struct table_set *set, uint32_t *version)
{
	struct faults faults = {.file = path};
	bool loaded;

	progress("read tables", 0, 1);
	loaded = table_load(path, set, version, &faults) == 0;

	if (loaded)
		faults_clear(&faults); /* only check and build-config print warnings */
	else
		cli_print_faults(&faults, FAULTS_ERRORS);
	return loaded;
}

void cli_read_document(const char *path, struct table_document *document)
{
	struct faults ignored = {.file = path};
	char *text;
	size_t size;

	*document = (struct table_document){0};
	if (table_load_version(path) == 0 && table_load_text(path, &text, &size, &ignored) == 0) {
		table_json_parse_document(text, size, document, &ignored);
		free(text);
	}
	faults_clear(&ignored);
}

bool cli_load_routes(const char *path, struct routes **routes, uint32_t *version)
{
	struct faults faults = {.file = path};
	struct table_set set;

	*routes = NULL;
	if (!cli_load_table(path, &set, version))
		return false;
	*routes = routes_create(&set, &faults);
	if (!*routes)
		cli_print_faults(&faults, FAULTS_ERRORS);
	return *routes;
}

static bool find_table(const struct table_set *set, const char *text, uint32_t *index)
{
	for (*index = 0; *index < set->count; ++*index)
		if (set->tables[*index].name && strcmp(set->tables[*index].name, text) == 0)
			return true;
	return text[0] == '#' && set->count > 0 && text_number(text + 1, 0, set->count - 1, index);
}

char *cli_table_names(const struct table_set *set)
{
	char *names = NULL, label[16];
	size_t size;
	FILE *out = open_memstream(&names, &size);

	for (uint32_t i = 0; out && i < set->count; i++)
		fprintf(out, "%s%s", i ? ", " : "", table_label(set, i, label));
	if (out)
		fclose(out);
	return names;
}

bool cli_find_table(const struct table_set *set, const char *path, const char *text, uint32_t *index)
{
	char *names;

	if (find_table(set, text, index))
		return true;
	names = cli_table_names(set);
	if (set->count == 0)
		command_error("%s: there is no table '%s', because the file has no tables", path, text);
	else
		command_error("%s: there is no table '%s'; the file has: %s", path, text, names ? names : "");
	free(names);
	return false;
}

bool cli_load_conf(const char *path, struct conf *conf)
{
	struct faults faults = {.file = path};
	bool loaded = conf_read(path, conf, &faults) == 0;

	if (loaded)
		faults_clear(&faults);
	else
		cli_print_faults(&faults, FAULTS_ERRORS);
	if (!loaded && strcmp(path, INSTALLED_DIRECTOR_CONF) == 0 && access(path, F_OK) < 0)
		command_error("this path is the default of --config: name your director.conf with --config FILE");
	return loaded;
}

bool cli_random(void *bytes, size_t size)
{
	return getrandom(bytes, size, 0) == (ssize_t)size ||
	       command_error("the kernel gives no random bytes: %s", strerror(errno)) == COMMAND_OK;
}

const char *cli_health_name(bool healthy)
{
	return healthy ? "up" : "down";
}

json_t *cli_weight_json(const struct table_backend *backend)
{
	return backend->weight ? json_integer(backend->weight) : json_null();
}

json_t *cli_bind_json(const struct table_bind *bind)
{
	char prefix[NETPREFIX_TEXT_MAX];
	json_t *json = json_pack("{s:s, s:s, s:i, s:i}", "ip", netprefix_format(&bind->prefix, prefix), "proto",
		table_protocol_name(bind->protocol), "port_start", bind->port_start, "port_end", bind->port_end);

	if (bind->quic)
		json_object_set_new(json, "quic", json_true());
	return json;
}

json_t *cli_server_ids_json(const struct quic_server_id ids[QUIC_MAX_SERVER_IDS])
{
	json_t *array = json_array();
	char text[2 * QUIC_MAX_SERVER_ID + 1];

	for (unsigned i = 0; i < QUIC_MAX_SERVER_IDS && ids[i].length; i++)
		json_array_append_new(array, json_string(text_hex(ids[i].bytes, ids[i].length, text)));
	return array;
}

json_t *cli_quic_json(const struct quic_config *config)
{
	return json_pack("{s:i, s:i, s:i, s:b}", "id", config->id, "server_id_length", config->server_id_length,
		"nonce_length", config->nonce_length, "keyed", config->keyed);
}
