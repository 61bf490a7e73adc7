/* SPDX-License-Identifier: BSD-3-Clause */
#include "redirect/allow.h"

#include <stdlib.h>
#include <string.h>

#include "program/command.h"
#include "program/member.h"
#include "redirect/host/host.h"

int allow_read(struct redirect_settings *settings, struct redirect_conf *conf)
{
	struct faults faults = {.file = settings->config_file};
	int error = 0;

	redirect_conf_init(conf);
	if (*settings->config_file)
		error = redirect_conf_read(settings->config_file, conf, &faults);
	command_faults(&faults, FAULTS_ERRORS);
	settings->max_hops = (uint8_t)conf->max_hops;
	settings->allow_to_local = conf->allow_to_local;
	settings->quic = redirect_quic_digest(&conf->quic);
	return error ? COMMAND_FAILED : COMMAND_OK;
}

int allow_update(const struct lists *lists, uint32_t ifindex)
{
	struct host host;
	int error = host_read(ifindex, &host);

	if (error)
		return error;
	error = lists_put_host(lists, &host);
	host_free(&host);
	return error;
}

int allow_fill(const struct lists *lists, const struct redirect_conf *conf, uint32_t ifindex)
{
	int error = lists_put_conf(lists, conf);

	if (error)
		return command_error(
			"cannot write the prefixes of the configuration file to the program: %s", strerror(-error));
	error = allow_update(lists, ifindex);
	if (error)
		return command_error("cannot read the addresses of this host: %s", strerror(-error));
	return COMMAND_OK;
}

#define SHOWN 4 /* prefixes of a list in text; of longer lists it shows the number */

static int compare(const void *one, const void *other)
{
	const struct netprefix *a = one, *b = other;
	int difference = netaddr_compare(&a->addr, &b->addr);

	return difference ? difference : a->length - b->length;
}

/* Returns the list as an array of texts, or as null if it allows every address of a family. */
static json_t *list_to_json(const struct lists *lists, enum redirect_list list)
{
	struct redirect_prefixes prefixes;
	json_t *json = json_array();
	char text[NETPREFIX_TEXT_MAX];

	if (lists_read(lists, list, &prefixes) != 0)
		return json;
	qsort(prefixes.items, prefixes.count, sizeof(*prefixes.items), compare);
	for (size_t i = 0; i < prefixes.count; i++)
		json_array_append_new(json, json_string(netprefix_format(&prefixes.items[i], text)));
	if (prefixes.any) {
		json_decref(json);
		json = json_null();
	}
	free(prefixes.items);
	return json;
}

json_t *allow_to_json(const struct redirect_settings *settings, const struct lists *lists)
{
	json_t *json = json_object(), *from;

	if (lists->prefixes < 0)
		return json;
	from = list_to_json(lists, REDIRECT_LIST_FROM);
	json_object_set_new(json, "open_to_any_sender", json_boolean(json_is_null(from)));
	json_object_set_new(json, "allow_from", from);
	json_object_set_new(json, "allow_to",
		settings->allow_to_local ? json_string("local") : list_to_json(lists, REDIRECT_LIST_TO));
	json_object_set_new(json, "next_hops", list_to_json(lists, REDIRECT_LIST_NEXT_HOP));
	json_object_set_new(json, "max_hops", json_integer(settings->max_hops));
	json_object_set_new(json, "quic", json_boolean(settings->quic));
	json_object_set_new(
		json, "config_file", *settings->config_file ? json_string(settings->config_file) : json_null());
	return json;
}

/* Prints " any", " local", " none", " 192.0.2.0/24 198.51.100.7" or " 12 prefixes". */
static void print_list(const json_t *list)
{
	size_t count = json_array_size(list), i;
	const json_t *prefix;

	if (json_is_string(list))
		printf(" %s", json_string_value(list));
	else if (json_is_null(list))
		printf(" any");
	else if (count == 0)
		printf(" none");
	else if (count > SHOWN)
		printf(" %zu prefixes", count);
	else
		json_array_foreach(list, i, prefix) printf(" %s", json_string_value(prefix));
}

void allow_print(const json_t *allow)
{
	const char *file = json_string_value(json_object_get(allow, "config_file"));

	if (json_object_size(allow) == 0)
		return;
	printf("  allow_from");
	print_list(json_object_get(allow, "allow_from"));
	printf("%s, allow_to", json_is_true(json_object_get(allow, "open_to_any_sender")) ? " (open to any sender)" : "");
	print_list(json_object_get(allow, "allow_to"));
	printf(", next_hops");
	print_list(json_object_get(allow, "next_hops"));
	printf(", max_hops %" JSON_INTEGER_FORMAT "%s\n", member_number(allow, "max_hops"),
		json_is_true(json_object_get(allow, "quic")) ? ", by QUIC connection IDs" : "");
	if (file)
		printf("  config-file %s\n", file);
}
