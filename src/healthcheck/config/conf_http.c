/* SPDX-License-Identifier: BSD-3-Clause */
#include "healthcheck/config/conf_http.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf_reader.h"

static void read_status(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	const char *text = config_setting_get_string(at);
	struct status_set set;
	char value[CONF_VALUE_MAX];

	(void)key;
	if (!text || !status_set_parse(text, &set))
		conf_error(reader, at, NULL, "%s is not a set of statuses from 100 to 599 like \"200-299,304\"",
			conf_value(at, CONFIG_TYPE_STRING, value));
	else
		*(struct status_set *)field = set;
}

#define HOST_MAX 253 /* longest name in DNS */

/* The name becomes part of a URL and of a header, so it may contain only the characters of host names. */
static void read_host(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	const char *text = config_setting_get_string(at);
	char value[CONF_VALUE_MAX];

	for (const char *c = text; c && *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-._", *c))
			text = NULL;
	if (!text || strlen(text) > HOST_MAX)
		conf_error(reader, at, NULL, "%s is not a host name", conf_value(at, CONFIG_TYPE_STRING, value));
	else
		conf_read_string(reader, at, key, field);
}

static void read_ca_file(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	size_t errors = reader->faults->errors;

	conf_read_string(reader, at, key, field);
	if (reader->faults->errors == errors && access(*(char **)field, R_OK) < 0)
		conf_error(reader, at, NULL, "'%s' cannot be read", *(char **)field);
}

static const struct conf_key http_keys[] = {
	{.name = "status", .read = read_status, .offset = offsetof(struct conf_http, status)},
	{.name = "host", .read = read_host, .offset = offsetof(struct conf_http, host)},
	{.name = "body", .read = conf_read_string, .offset = offsetof(struct conf_http, body)},
	{.name = "tls", .read = conf_read_bool, .offset = offsetof(struct conf_http, tls)},
	{.name = "verify", .read = conf_read_bool, .offset = offsetof(struct conf_http, verify)},
	{.name = "ca_file", .read = read_ca_file, .offset = offsetof(struct conf_http, ca_file)},
	{0},
};

void conf_http_init(struct conf_http *http)
{
	*http = (struct conf_http){.verify = true};
	status_set_parse("200", &http->status);
}

void conf_http_read(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	(void)key;
	conf_read_group(reader, at, http_keys, field);
}

void conf_http_free(struct conf_http *http)
{
	free(http->host);
	free(http->body);
	free(http->ca_file);
}
