/* SPDX-License-Identifier: BSD-3-Clause */
#include "fleet/fleet_conf.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file/file.h"
#include "common/siphash.h"
#include "conf/conf_reader.h"
#include "table/table_guard.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

static const char *prefix_fault(const char *text)
{
	size_t size = strlen(text);

	if (text[0] != '/' || text[1] == '\0' || text[size - 1] == '/' || size > 200 ||
		strspn(text, NAME_CHARACTERS "/") != size)
		return "is not a prefix like \"/glb/ams1\": a slash, then letters, digits, '-', '.', '_' and '/', and no slash at the end";
	return NULL;
}

static const char *name_fault(const char *text)
{
	size_t size = strlen(text);

	return size <= 64 && strspn(text, NAME_CHARACTERS) == size
		       ? NULL
		       : "is not a name of at most 64 letters, digits, '-', '.' and '_'";
}

static const char *parse_listen(const char *text, void *field)
{
	if (conf_parse_listen(text, field))
		return NULL;
	return "is neither \"none\" nor an address and port like \"127.0.0.1:19524\" or \"[::1]:19524\"";
}

#define AT(member) .offset = offsetof(struct fleet_conf, member)

const struct conf_key fleet_conf_keys[] = {
	{"etcd", etcd_conf_read, AT(etcd), .keys = etcd_conf_keys,
		.required = "a group like { endpoints = [\"https://etcd1:2379\"]; ca_file = \"/etc/glb/etcd/ca.pem\"; }"},
	{"prefix", conf_read_string, AT(prefix), .fault = prefix_fault, .required = "a prefix like \"/glb/ams1\""},
	{"name", conf_read_string, AT(name), .fault = name_fault},
	{"table", conf_read_string, AT(table), "\"/var/lib/glb/fleet.json\"", .fault = conf_path_fault},
	{"build", conf_read_string, AT(build), .fault = conf_path_fault},
	{"binary", conf_read_string, AT(binary), .fault = conf_path_fault},
	{"notify", conf_read_string, AT(notify)},
	{"reload_timeout_ms", conf_read_unsigned, AT(reload_timeout_ms), "90000", 1000, 3600000},
	{"max_shrink", conf_read_unsigned, AT(max_shrink), "50", 0, TABLE_GUARD_OFF},
	{"file_prefix", conf_read_string, AT(file_prefix), "\"rte\""},
	{"look_ms", conf_read_unsigned, AT(look_ms), "1000", 100, 60000},
	{"keys_dir", conf_read_string, AT(keys_dir), "\"/etc/glb/keys\"", .fault = conf_path_fault},
	{"state_file", conf_read_string, AT(state_file), "\"/var/lib/glb-fleet/state.json\"", .fault = conf_path_fault},
	{"status_file", conf_read_string, AT(status_file), "\"/run/glb-fleet/status.json\"", .fault = conf_path_fault},
	{"listen", conf_read_text, AT(listen), "\"127.0.0.1:19524\"", .parse = parse_listen},
	{0},
};

_Static_assert(TABLE_GUARD_MAX_SHRINK == 50, "max_shrink has the default of the guard");

static void read_root(struct conf_reader *reader, const config_setting_t *root)
{
	struct fleet_conf *conf = reader->conf;
	char host[65] = "";

	conf_read_group(reader, root, fleet_conf_keys, conf);
	if (!conf->name) {
		gethostname(host, sizeof(host) - 1);
		if (host[0] && !name_fault(host))
			conf_store(reader, root, &conf->name, host);
		else
			conf_error(reader, root, "name", "is missing, and the host name '%s' %s", host,
				host[0] ? name_fault(host) : "is empty");
	}
	if (conf->name) /* a fleet does not begin with one member of etcd */
		conf->etcd.first = siphash((const uint8_t[SIPHASH_KEY_SIZE]){0}, conf->name, strlen(conf->name));
	if (conf->build && conf->binary && strcmp(conf->build, conf->binary) != 0)
		conf_error(reader, root, "binary", "is not the file that `build` names; delete this key");
	if (!conf->binary)
		conf_store(reader, root, &conf->binary, conf->build ? conf->build : "/var/lib/glb/forwarding_table.bin");
	if (conf->table && conf->binary && file_is_same(conf->table, conf->binary))
		conf_error(reader, root, "table", "is the same file as the binary table");
}

int fleet_conf_read(const char *path, struct fleet_conf *conf, struct faults *faults)
{
	struct conf_reader reader = {.conf = conf, .faults = faults};

	*conf = (struct fleet_conf){0};
	return conf_read_file(path, &reader, read_root);
}

void fleet_conf_free(struct fleet_conf *conf)
{
	etcd_conf_free(&conf->etcd);
	conf_free_strings(fleet_conf_keys, conf);
	*conf = (struct fleet_conf){0};
}
