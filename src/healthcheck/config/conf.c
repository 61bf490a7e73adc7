/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/config/conf.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/content.h"
#include "common/file/file.h"
#include "common/text.h"
#include "conf/conf_reader.h"
#include "table/table_guard.h"

static const char *parse_ipv4(const char *text, void *field)
{
	struct netaddr addr;

	if (!netaddr_parse(text, &addr) || addr.family != NETADDR_V4)
		return "is not an IPv4 address";
	*(struct netaddr *)field = addr;
	return NULL;
}

static const char *parse_ipv6(const char *text, void *field)
{
	struct netaddr addr;

	if (!netaddr_parse(text, &addr) || addr.family != NETADDR_V6)
		return "is not an IPv6 address";
	*(struct netaddr *)field = addr;
	return NULL;
}

static const char *parse_listen(const char *text, void *field)
{
	if (conf_parse_listen(text, field))
		return NULL;
	return "is neither \"none\" nor an address and port like \"127.0.0.1:19521\" or \"[::1]:19521\"";
}

static bool is_unit(const char *text)
{
	const char *dot = strrchr(text, '.');

	return dot && dot != text && strcmp(dot, ".service") == 0 && !strpbrk(text, " /\t");
}

static void read_reload(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct conf *conf = field;

	conf_read_group(reader, at, key->keys, conf);
	if (conf->reload_notify && conf->reload_notify[0] != '/' && !is_unit(conf->reload_notify))
		conf_error(reader, at, "notify",
			"'%s' is neither a unit (\"glb-director.service\") nor the full path of a pid file",
			conf->reload_notify);
}

/* Reports a name that an earlier table has. `table` is the last one that was read. */
static void check_name(struct conf_reader *reader, const config_setting_t *at, const struct conf_table *table)
{
	const struct conf *conf = reader->conf;

	for (const struct conf_table *other = conf->tables; table->name && other < table; other++)
		if (other->name && strcmp(other->name, table->name) == 0)
			conf_error(reader, at, "name", "'%s' is given twice; give each table once", table->name);
}

static void read_tables(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct conf *conf = field;
	unsigned count = conf_list_length(reader, at, key);

	conf->tables = conf_allocate(reader, at, count, sizeof(*conf->tables));
	for (; conf->tables && conf->table_count < count; conf->table_count++) {
		const config_setting_t *group = config_setting_get_elem(at, (unsigned)conf->table_count);
		struct conf_table *table = &conf->tables[conf->table_count];

		conf_read_group(reader, group, key->keys, table);
		check_name(reader, group, table);
	}
}

#define AT(member) .offset = offsetof(struct conf, member)

static const struct conf_key forwarding_table_keys[] = {
	{"src", conf_read_string, AT(src), .required = "the path of the JSON table that you edit"},
	{"dst", conf_read_string, AT(dst), .required = "the path of the JSON table that glb-healthcheck writes"},
	{0},
};

static const struct conf_key reload_keys[] = {
	{"build", conf_read_string, AT(reload_build), .required = "the path of the binary table that the director reads"},
	{"notify", conf_read_string, AT(reload_notify)},
	{0},
};

static const struct conf_key table_keys[] = {
	{"name", conf_read_string, .offset = offsetof(struct conf_table, name), .required = "the name of a table in src"},
	{"http", conf_http_read, .offset = offsetof(struct conf_table, http), .keys = conf_http_keys},
	{0},
};

const struct conf_key conf_healthcheck_keys[] = {
	{"forwarding_table", conf_read_members, .keys = forwarding_table_keys,
		.required = "{ src = \"FILE\"; dst = \"FILE\"; }"},
	{"reload_command", conf_read_string, AT(reload_command)},
	{"reload", read_reload, .keys = reload_keys},
	{"reload_timeout_ms", conf_read_unsigned, AT(reload_timeout_ms), "90000", 100, 3600000},
	{"interval_ms", conf_read_unsigned, AT(timing.interval_ms), "2000", CHECK_INTERVAL_MS_MIN, CHECK_TIMING_MS_MAX},
	{"timeout_ms", conf_read_unsigned, AT(timing.timeout_ms), "1000", CHECK_TIMEOUT_MS_MIN, CHECK_TIMING_MS_MAX},
	{"trigger", conf_read_unsigned, AT(trigger), "3", 1, CHECK_TRIGGER_MAX},
	{"trigger_healthy", conf_read_unsigned, AT(timing.trigger_healthy), .min = 1, .max = CHECK_TRIGGER_MAX},
	{"trigger_unhealthy", conf_read_unsigned, AT(timing.trigger_unhealthy), .min = 1, .max = CHECK_TRIGGER_MAX},
	{"hold_ms", conf_read_unsigned, AT(hold_ms), "10000", 0, 3600000},
	{"hold_max_ms", conf_read_unsigned, AT(hold_max_ms), .min = 1, .max = 86400000},
	{"panic_threshold", conf_read_unsigned, AT(panic_threshold), "50", 0, 100},
	{"keep_previous_s", conf_read_unsigned, AT(keep_previous_s), "86400", 0, 315360000},
	{"max_shrink", conf_read_unsigned, AT(max_shrink), TEXT_OF(TABLE_GUARD_MAX_SHRINK), 0, TABLE_GUARD_OFF},
	{"max_concurrent", conf_read_unsigned, AT(max_concurrent), "1024", 1, 65535},
	{"full_handshake_ms", conf_read_unsigned, AT(full_handshake_ms), "30000", 0, 86400000},
	{"source_ip", conf_read_text, AT(source_ip), .parse = parse_ipv4},
	{"source_ip6", conf_read_text, AT(source_ip6), .parse = parse_ipv6},
	{"state_file", conf_read_string, AT(state_file)},
	{"listen", conf_read_text, AT(listen), "\"127.0.0.1:19521\"", .parse = parse_listen},
	{"watch", conf_read_bool, AT(watch), "true"},
	{"tunnel_vip", conf_read_bool, AT(tunnel_vip), "false"},
	{"fou_gre", conf_read_bool, AT(fou_gre), "false"},
	{"outbound_udp_checksum", conf_read_bool, AT(outbound_udp_checksum), "false"},
	{"log_probes", conf_read_bool, AT(log_probes), "false"},
	{"http", conf_http_read, AT(http), .keys = conf_http_keys},
	{"tables", read_tables, .max = INT_MAX, .keys = table_keys,
		.expected = "is not a list ( { name = \"...\"; http = { ... }; }, ... )"},
	{"commands", conf_commands_read, AT(commands), .max = INT_MAX, .keys = conf_command_keys,
		.expected = "is not a list ( { name = \"...\"; command = [ ... ]; }, ... )"},
	{"max_commands", conf_read_unsigned, AT(max_commands), "16", 1, 1024},
	{0},
};

/* Reports two keys that name the same file, also through links: writing one would destroy the other. */
static void check_files(struct conf_reader *reader, const config_setting_t *root)
{
	const struct conf *conf = reader->conf;
	const struct {
		const char *group, *key, *path;
	} files[] = {
		{"forwarding_table", "src", conf->src},
		{NULL, "this configuration file", reader->faults->file},
		{"forwarding_table", "dst", conf->dst},
		{"reload", "build", conf->reload_build},
		{NULL, "state_file", conf->state_file},
	};

	for (size_t i = 2; i < sizeof(files) / sizeof(files[0]); i++)
		for (size_t other = 0; files[i].path && other < i; other++) {
			const config_setting_t *group = root;

			if (!files[other].path || !file_is_same(files[i].path, files[other].path))
				continue;
			if (files[i].group)
				group = config_setting_get_member(root, files[i].group);
			conf_error(reader, group, files[i].key, "'%s' is also %s; %s", files[i].path, files[other].key,
				other == 0 ? "glb-healthcheck would overwrite the table that you edit"
					   : "use different files");
			break;
		}
}

/*
 * Reports an output that would destroy a file of another kind. JSON of any kind may be replaced by JSON, and damaged
 * files by all, so that the daemon starts again after a crash.
 */
static void check_content(
	struct conf_reader *reader, const config_setting_t *group, const char *key, const char *path, bool json)
{
	enum content content;

	if (!path || content_read(path, &content) < 0 || content == CONTENT_EMPTY || content == CONTENT_UNKNOWN)
		return;
	if (json ? content == CONTENT_JSON || content == CONTENT_JSON_TABLE : content == CONTENT_BINARY_TABLE)
		return;
	conf_error(reader, group, key, "'%s' contains %s, which would be lost: name another file, or move it away",
		path, content_name(content));
}

static void check_contents(struct conf_reader *reader, const config_setting_t *root)
{
	const struct conf *conf = reader->conf;

	check_content(reader, config_setting_get_member(root, "forwarding_table"), "dst", conf->dst, true);
	check_content(reader, root, "state_file", conf->state_file, true);
	check_content(reader, config_setting_get_member(root, "reload"), "build", conf->reload_build, false);
}

#define HOLD_MAX_MS 600000 /* default of hold_max_ms, if hold_ms is not larger */

/* Reads all keys, sets the defaults that depend on other keys, and checks keys against each other. */
static void read_root(struct conf_reader *reader, const config_setting_t *root)
{
	struct conf *conf = reader->conf;
	size_t errors = reader->faults->errors;
	char *state;

	conf_read_group(reader, root, conf_healthcheck_keys, conf);
	if (reader->faults->errors != errors)
		return;
	if (!conf->timing.trigger_healthy)
		conf->timing.trigger_healthy = conf->trigger;
	if (!conf->timing.trigger_unhealthy)
		conf->timing.trigger_unhealthy = conf->trigger;
	if (!conf->hold_max_ms)
		conf->hold_max_ms = conf->hold_ms > HOLD_MAX_MS ? conf->hold_ms : HOLD_MAX_MS;
	if (conf->hold_max_ms < conf->hold_ms)
		conf_error(reader, root, "hold_max_ms", "%u is less than hold_ms, which is %u", conf->hold_max_ms,
			conf->hold_ms);
	if (conf->reload_command && conf->reload_build)
		conf_error(reader, root, "reload_command", "given together with reload; give one");
	if (!conf->state_file && asprintf(&state, "%s.state", conf->dst) >= 0)
		conf->state_file = state;
	check_files(reader, root);
	if (reader->faults->errors == errors)
		check_contents(reader, root);
}

/* Their values are never logged, because headers that are secret pass an access control. */
static bool has_headers(const struct conf *conf)
{
	bool has = conf->http.values[HTTP_HEADERS];

	for (size_t i = 0; i < conf->table_count; i++)
		has |= conf->tables[i].http.values[HTTP_HEADERS] != NULL;
	return has;
}

int conf_read_healthcheck(const char *path, struct conf *conf, struct faults *faults)
{
	struct conf_reader reader = {.conf = conf, .faults = faults};
	struct stat file;
	int error;

	*conf = (struct conf){0};
	error = conf_read_file(path, &reader, read_root);
	if (!error && has_headers(conf) && stat(path, &file) == 0 && file.st_mode & S_IROTH)
		faults_warn(faults, NULL,
			"every user of this host can read the values of `headers`: chgrp glb-healthcheck %s && chmod 0640 %s",
			path, path);
	if (error)
		conf_free(conf);
	return error;
}

void conf_free(struct conf *conf)
{
	conf_free_strings(conf_healthcheck_keys, conf);
	conf_free_strings(reload_keys, conf);
	http_settings_free(&conf->http);
	for (size_t i = 0; i < conf->table_count; i++) {
		free(conf->tables[i].name);
		http_settings_free(&conf->tables[i].http);
	}
	free(conf->tables);
	conf_commands_free(&conf->commands);
	*conf = (struct conf){0};
}

const struct netaddr *conf_source(const struct conf *conf, uint8_t family)
{
	const struct netaddr *source = family == NETADDR_V4 ? &conf->source_ip : &conf->source_ip6;

	return source->family ? source : NULL;
}

void conf_http_of(const struct conf *conf, const char *table, struct http_settings *settings)
{
	http_settings_override(settings, &conf->http);
	for (size_t i = 0; i < conf->table_count; i++)
		if (strcmp(conf->tables[i].name, table) == 0)
			http_settings_override(settings, &conf->tables[i].http);
}
