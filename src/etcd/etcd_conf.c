/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "conf/conf_argv.h"
#include "conf/conf_reader.h"
#include "etcd/etcd.h"

#define ENDPOINTS_MAX 16

/* Returns what follows "http://" or "https://", or NULL. */
static const char *host_of(const char *url)
{
	if (strncmp(url, "https://", 8) == 0)
		return url + 8;
	return strncmp(url, "http://", 7) == 0 ? url + 7 : NULL;
}

static bool is_endpoint(const char *url)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-:[]";
	const char *host = url ? host_of(url) : NULL;
	size_t size = host ? strspn(host, allowed) : 0;

	return size && size < 300 && (!host[size] || strcmp(host + size, "/") == 0);
}

static void read_endpoint(struct conf_reader *reader, const config_setting_t *at, char **endpoint)
{
	const char *text = config_setting_get_string(at);

	if (!is_endpoint(text)) {
		conf_wrong(
			reader, at, CONFIG_TYPE_STRING, "is not a URL like \"https://192.0.2.1:2379\", without a path");
		return;
	}
	conf_store(reader, at, endpoint, text);
	if (*endpoint && (*endpoint)[strlen(*endpoint) - 1] == '/')
		(*endpoint)[strlen(*endpoint) - 1] = '\0';
}

static void read_endpoints(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	char **endpoints, ***place = field;
	unsigned count = conf_list_length(reader, at, key), read = 0;

	conf_argv_free(*place);
	*place = endpoints = conf_allocate(reader, at, count, sizeof(*endpoints));
	for (unsigned i = 0; endpoints && i < count; i++) {
		read_endpoint(reader, config_setting_get_elem(at, i), &endpoints[read]);
		read += endpoints[read] != NULL;
	}
}

#define AT(member) .offset = offsetof(struct etcd_conf, member)

_Static_assert(ENDPOINTS_MAX == 16, "the error of endpoints has the number");

const struct conf_key etcd_conf_keys[] = {
	{"endpoints", read_endpoints, AT(endpoints), .min = 1, .max = ENDPOINTS_MAX,
		.expected = "is not a list of 1 to 16 URLs like [\"https://192.0.2.1:2379\"]",
		.required = "the URLs of etcd, such as [\"https://192.0.2.1:2379\"]"},
	{"ca_file", conf_read_string, AT(ca_file), .fault = conf_path_fault},
	{"cert_file", conf_read_string, AT(cert_file), .fault = conf_path_fault},
	{"key_file", conf_read_string, AT(key_file), .fault = conf_path_fault},
	{"user", conf_read_string, AT(user)},
	{"password_file", conf_read_string, AT(password_file), .fault = conf_path_fault},
	/* A lease of 15 s is renewed after 5 s, and one silent endpoint must leave the next one enough time. */
	{"timeout_ms", conf_read_unsigned, AT(timeout_ms), "3000", 100, 5000},
	{0},
};

static bool is_loopback(const char *host)
{
	return strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0 || strcmp(host, "localhost") == 0 ||
	       strncmp(host, "localhost:", 10) == 0;
}

static void check_pair(struct conf_reader *reader, const config_setting_t *at, const char *one, const char *other)
{
	if (config_setting_get_member(at, one) && !config_setting_get_member(at, other))
		conf_error(reader, at, other, "missing, but %s is set; write both or none", one);
}

void etcd_conf_read(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	struct etcd_conf *conf = field;

	(void)key;
	conf_read_group(reader, at, etcd_conf_keys, conf);
	check_pair(reader, at, "cert_file", "key_file");
	check_pair(reader, at, "key_file", "cert_file");
	check_pair(reader, at, "user", "password_file");
	check_pair(reader, at, "password_file", "user");
	for (char **url = conf->endpoints; reader->faults->thorough && url && *url; url++)
		if (strncmp(*url, "http://", 7) == 0 && !is_loopback(host_of(*url)))
			conf_warn(reader, at, "endpoints",
				"%s is not encrypted: everybody in between can read and change tables and passwords; use https",
				*url);
}

void etcd_conf_free(struct etcd_conf *conf)
{
	conf_argv_free(conf->endpoints);
	conf_free_strings(etcd_conf_keys, conf);
	*conf = (struct etcd_conf){0};
}
