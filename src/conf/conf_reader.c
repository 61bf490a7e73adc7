/* SPDX-License-Identifier: BSD-3-Clause */
#include "conf/conf_reader.h"

#include <ctype.h>
#include <errno.h>
#include <libgen.h>
#include <stdint.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "conf/conf_syntax.h"
#include "conf/conf_text.h"

/* Writes the path of a setting, or of its member `child`: "lcores.lcore-1.flow_paths[0]". */
static void key_path(const config_setting_t *at, const char *child, char *buf, size_t size)
{
	size_t length;

	if (config_setting_is_root(at))
		buf[0] = '\0';
	else
		key_path(config_setting_parent(at), NULL, buf, size);
	length = strlen(buf);
	if (config_setting_name(at))
		snprintf(buf + length, size - length, "%s%s", length ? "." : "", config_setting_name(at));
	else if (!config_setting_is_root(at))
		snprintf(buf + length, size - length, "[%d]", config_setting_index(at));
	length = strlen(buf);
	if (child)
		snprintf(buf + length, size - length, "%s%s", length ? "." : "", child);
}

static void report(struct conf_reader *reader, const config_setting_t *at, const char *child, bool warning,
	const char *format, va_list args)
{
	struct faults *faults = reader->faults;
	const char *included = config_setting_source_file(at); /* NULL in the file itself */
	char where[256];

	key_path(at, child, where, sizeof(where));
	faults_add(faults, warning,
		&(struct faults_place){
			.file = included ? included : conf_text_name(faults),
			.line = config_setting_is_root(at) ? 0 : (int)config_setting_source_line(at),
			.where = where,
		},
		format, args);
}

void conf_error(struct conf_reader *reader, const config_setting_t *at, const char *child, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report(reader, at, child, false, format, args);
	va_end(args);
}

void conf_warn(struct conf_reader *reader, const config_setting_t *at, const char *child, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report(reader, at, child, true, format, args);
	va_end(args);
}

const char *conf_value(const config_setting_t *at, int expected, char buf[CONF_VALUE_MAX])
{
	bool empty = config_setting_length(at) == 0;

	switch (config_setting_type(at)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		snprintf(buf, CONF_VALUE_MAX, "'%lld'%s", config_setting_get_int64(at),
			expected == CONFIG_TYPE_INT ? "" : " (a number)");
		break;
	case CONFIG_TYPE_FLOAT:
		snprintf(buf, CONF_VALUE_MAX, "'%g' (a real number)", config_setting_get_float(at));
		break;
	case CONFIG_TYPE_BOOL:
		return config_setting_get_bool(at) ? "'true'" : "'false'";
	case CONFIG_TYPE_STRING:
		snprintf(buf, CONF_VALUE_MAX, "'%.48s'%s", config_setting_get_string(at),
			expected == CONFIG_TYPE_STRING ? "" : " (in quotes)");
		break;
	case CONFIG_TYPE_GROUP:
		return empty ? "'{}'" : "a group { ... }";
	case CONFIG_TYPE_ARRAY:
		return empty ? "'[]'" : "a list";
	default:
		return empty ? "'()'" : "a list";
	}
	for (char *c = buf; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	return buf;
}

void conf_read_bool(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	char value[CONF_VALUE_MAX];

	(void)key;
	if (config_setting_type(at) != CONFIG_TYPE_BOOL)
		conf_error(reader, at, NULL, "%s is neither true nor false", conf_value(at, CONFIG_TYPE_BOOL, value));
	else
		*(bool *)field = config_setting_get_bool(at);
}

/* False, with an error: the setting is not an integer in the key's range. */
static bool read_integer(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, long long *number)
{
	short type = config_setting_type(at);
	char value[CONF_VALUE_MAX];

	*number = config_setting_get_int64(at);
	if ((type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64) && *number >= key->min && *number <= key->max)
		return true;
	conf_error(reader, at, NULL, "%s is not an integer from %ld to %ld", conf_value(at, CONFIG_TYPE_INT, value),
		key->min, key->max);
	return false;
}

void conf_read_uint16(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	long long number;

	if (read_integer(reader, at, key, &number))
		*(uint16_t *)field = (uint16_t)number;
}

void conf_read_unsigned(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	long long number;

	if (read_integer(reader, at, key, &number))
		*(unsigned *)field = (unsigned)number;
}

void conf_read_string(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	const char *text = config_setting_get_string(at);
	char value[CONF_VALUE_MAX], **string = field;

	(void)key;
	if (!text || !*text) {
		conf_error(reader, at, NULL, "%s is not a non-empty text in quotes",
			conf_value(at, CONFIG_TYPE_STRING, value));
		return;
	}
	free(*string);
	*string = strdup(text);
	if (!*string)
		conf_error(reader, at, NULL, "out of memory");
}

bool conf_read_prefix(struct conf_reader *reader, const config_setting_t *at, struct netprefix *prefix)
{
	const char *text = config_setting_get_string(at);
	char value[CONF_VALUE_MAX], fixed[NETPREFIX_TEXT_MAX];
	bool host_bits = false;

	if (!text || !netprefix_parse(text, prefix, &host_bits)) {
		conf_error(reader, at, NULL, "%s is not an address or a prefix like \"192.0.2.0/24\"",
			conf_value(at, CONFIG_TYPE_STRING, value));
		return false;
	}
	if (host_bits)
		conf_error(reader, at, NULL, "%s has bits after the prefix; write \"%s\", or the address alone",
			conf_value(at, CONFIG_TYPE_STRING, value), netprefix_format(prefix, fixed));
	return !host_bits;
}

bool conf_parse_mac(const char *text, uint8_t mac[6])
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";

	if (strlen(text) != 17)
		return false;
	for (int i = 0; i < 6; i++) {
		const char *high = strchr(digits, text[3 * i]), *low = strchr(digits, text[3 * i + 1]);

		if (!high || !low || (i < 5 && text[3 * i + 2] != ':'))
			return false;
		mac[i] = (uint8_t)((high - digits) % 16 * 16 + (low - digits) % 16);
	}
	return true;
}

void conf_read_mac(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	static const uint8_t zero[6];
	const char *text = config_setting_get_string(at);
	char value[CONF_VALUE_MAX];
	uint8_t mac[6];

	(void)key;
	if (!text || !conf_parse_mac(text, mac))
		conf_error(reader, at, NULL, "%s is not a MAC like 02:00:5e:10:00:01",
			conf_value(at, CONFIG_TYPE_STRING, value));
	else if (mac[0] & 1 || memcmp(mac, zero, 6) == 0)
		conf_error(reader, at, NULL, "%s is not a unicast MAC", conf_value(at, CONFIG_TYPE_STRING, value));
	else
		memcpy(field, mac, 6);
}

bool conf_is_list(const config_setting_t *at)
{
	int type = config_setting_type(at);

	return type == CONFIG_TYPE_ARRAY || type == CONFIG_TYPE_LIST;
}

static const struct conf_retired *find_retired(const struct conf_reader *reader, const char *word)
{
	const struct conf_retired *retired = reader->retired;

	for (; retired && retired->word; retired++)
		if (word && strcmp(retired->word, word) == 0)
			return retired;
	return NULL;
}

void conf_read_choice(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	const char *text = config_setting_get_string(at);
	const struct conf_retired *retired = find_retired(reader, text);
	char value[CONF_VALUE_MAX], expected[128] = "";

	for (unsigned i = 0; key->choices[i]; i++) {
		size_t length = strlen(expected);

		if (text && strcmp(text, key->choices[i]) == 0) {
			*(unsigned *)field = i;
			return;
		}
		snprintf(expected + length, sizeof(expected) - length, "%s\"%s\"", i ? " or " : "", key->choices[i]);
	}
	if (retired && retired->as_choice)
		conf_error(reader, at, NULL, "%s", retired->as_choice);
	else
		conf_error(reader, at, NULL, "%s is not %s", conf_value(at, CONFIG_TYPE_STRING, value), expected);
}

static const struct conf_key *find_key(const struct conf_key *keys, const char *name)
{
	for (; keys->name; keys++)
		if (strcmp(keys->name, name) == 0)
			return keys;
	return NULL;
}

/* Returns the key that somebody mistyped. NULL: none is like this name. */
static const char *find_meant(const struct conf_key *keys, const char *name)
{
	const char *meant = NULL;

	for (; keys->name; keys++)
		text_guess(name, keys->name, &meant);
	return meant;
}

static void unknown_key(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *keys)
{
	const struct conf_retired *retired = find_retired(reader, config_setting_name(at));
	const char *meant = find_meant(keys, config_setting_name(at));
	char expected[1024] = "";

	if (retired) {
		conf_error(reader, at, NULL, "%s", retired->as_key);
		return;
	}
	if (meant) {
		conf_error(reader, at, NULL, "unknown key; did you mean %s?", meant);
		return;
	}
	for (; keys->name; keys++) {
		size_t length = strlen(expected);

		snprintf(expected + length, sizeof(expected) - length, "%s%s", length ? ", " : "", keys->name);
	}
	conf_error(reader, at, NULL, "unknown key; expected one of %s", expected);
}

void conf_read_group(struct conf_reader *reader, const config_setting_t *group, const struct conf_key *keys, void *base)
{
	char value[CONF_VALUE_MAX];

	if (!config_setting_is_group(group)) {
		conf_error(reader, group, NULL, "%s is not a group { key = value; ... }",
			conf_value(group, CONFIG_TYPE_GROUP, value));
		return;
	}
	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *at = config_setting_get_elem(group, (unsigned)i);
		const struct conf_key *key = find_key(keys, config_setting_name(at));

		if (key)
			key->read(reader, at, key, (char *)base + key->offset);
		else
			unknown_key(reader, at, keys);
	}
	for (; keys->name; keys++)
		if (keys->required && !config_setting_get_member(group, keys->name))
			conf_error(reader, group, keys->name, "missing; write %s", keys->required);
}

/* Returns true if the text has the key in quotes, as JSON has it. */
static bool has_quoted(const char *text, const char *name)
{
	char quoted[64];

	snprintf(quoted, sizeof(quoted), "\"%s\"", name);
	return strstr(text, quoted);
}

unsigned conf_count_keys(const char *text, const struct conf_key *keys)
{
	bool json = text[strspn(text, " \t\r\n")] == '{';
	struct conf_syntax syntax = {.at = text, .line = 1};
	unsigned count = 0;

	for (; json && keys->name; keys++)
		count += has_quoted(text, keys->name);
	while (!json && conf_syntax_next(&syntax)) {
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)syntax.size, syntax.item);
		count += syntax.kind == CONF_SYNTAX_KEY && syntax.depth == 0 && find_key(keys, name);
	}
	return count;
}

static void read_text(const char *text, const char *folder, struct conf_reader *reader,
	void (*read)(struct conf_reader *reader, const config_setting_t *root))
{
	config_t config;

	if (!conf_text_check(text, folder, reader->faults))
		return;
	config_init(&config);
	config_set_include_dir(&config, folder);
	if (config_read_string(&config, text) != CONFIG_TRUE)
		conf_text_error(text, reader->faults, &config);
	else
		read(reader, config_root_setting(&config));
	config_destroy(&config);
}

int conf_read_file(const char *path, struct conf_reader *reader,
	void (*read)(struct conf_reader *reader, const config_setting_t *root))
{
	size_t errors = reader->faults->errors;
	char *text, *folder = strdup(path);
	int error = -ENOMEM;

	text = folder ? conf_text_read(path, reader->faults, &error) : NULL;
	if (text) {
		read_text(text, dirname(folder), reader, read);
		error = reader->faults->errors == errors ? 0 : -EINVAL;
	}
	free(folder);
	free(text);
	return error;
}
