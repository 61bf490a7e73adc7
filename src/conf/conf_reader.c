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

#define VALUE_MAX 64

/* Returns a setting's value as text for messages, in buf or as a constant. Adds its type if that is not `expected`. */
static const char *value_of(const config_setting_t *at, int expected, char buf[VALUE_MAX])
{
	bool empty = config_setting_length(at) == 0;

	switch (config_setting_type(at)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		snprintf(buf, VALUE_MAX, "'%lld'%s", config_setting_get_int64(at),
			expected == CONFIG_TYPE_INT ? "" : " (a number)");
		break;
	case CONFIG_TYPE_FLOAT:
		snprintf(buf, VALUE_MAX, "'%g' (a real number)", config_setting_get_float(at));
		break;
	case CONFIG_TYPE_BOOL:
		return config_setting_get_bool(at) ? "'true'" : "'false'";
	case CONFIG_TYPE_STRING:
		snprintf(buf, VALUE_MAX, "'%.48s'%s", config_setting_get_string(at),
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

void conf_wrong(struct conf_reader *reader, const config_setting_t *at, int expected, const char *format, ...)
{
	char value[VALUE_MAX], text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	conf_error(reader, at, NULL, "%s %s", value_of(at, expected, value), text);
}

void conf_read_bool(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *, void *field)
{
	if (config_setting_type(at) != CONFIG_TYPE_BOOL)
		conf_wrong(reader, at, CONFIG_TYPE_BOOL, "is neither true nor false");
	else
		*(bool *)field = config_setting_get_bool(at);
}

/* False, with an error: the setting is not an integer in the key's range. */
static bool read_integer(
	struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, long long *number)
{
	short type = config_setting_type(at);

	*number = config_setting_get_int64(at);
	if ((type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64) && *number >= key->min && *number <= key->max)
		return true;
	conf_wrong(reader, at, CONFIG_TYPE_INT, "is not an integer from %ld to %ld", key->min, key->max);
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

void conf_store(struct conf_reader *reader, const config_setting_t *at, char **text, const char *copied)
{
	free(*text);
	*text = strdup(copied);
	if (!*text)
		conf_error(reader, at, NULL, "out of memory");
}

void conf_read_string(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	const char *text = config_setting_get_string(at), *fault = text && key->fault ? key->fault(text) : NULL;

	if (fault || !text || !*text)
		conf_wrong(reader, at, CONFIG_TYPE_STRING, "%s", fault ? fault : "is not a non-empty text in quotes");
	else
		conf_store(reader, at, field, text);
}

const char *conf_path_fault(const char *text)
{
	return text[0] == '/' ? NULL : "is not a full path, which begins with '/'";
}

void conf_free_strings(const struct conf_key *keys, void *base)
{
	for (; keys->name; keys++)
		if (keys->read == conf_read_string)
			free(*(char **)((char *)base + keys->offset));
		else if (keys->read == conf_read_members)
			conf_free_strings(keys->keys, (char *)base + keys->offset);
}

void conf_read_text(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	const char *text = config_setting_get_string(at), *fault = key->parse(text ? text : "", field);

	if (fault)
		conf_wrong(reader, at, CONFIG_TYPE_STRING, "%s", fault);
}

bool conf_read_prefix(struct conf_reader *reader, const config_setting_t *at, struct netprefix *prefix)
{
	const char *text = config_setting_get_string(at);
	char fixed[NETPREFIX_TEXT_MAX];
	bool host_bits = false;

	if (!text || !netprefix_parse(text, prefix, &host_bits)) {
		conf_wrong(reader, at, CONFIG_TYPE_STRING, "is not an address or a prefix like \"192.0.2.0/24\"");
		return false;
	}
	if (host_bits)
		conf_wrong(reader, at, CONFIG_TYPE_STRING,
			"has bits after the prefix; write \"%s\", or the address alone", netprefix_format(prefix, fixed));
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

const char *conf_parse_unicast_mac(const char *text, void *field)
{
	static const uint8_t zero[6];
	uint8_t mac[6];

	if (!conf_parse_mac(text, mac))
		return "is not a MAC like 02:00:5e:10:00:01";
	if (mac[0] & 1 || memcmp(mac, zero, 6) == 0)
		return "is not a unicast MAC";
	memcpy(field, mac, 6);
	return NULL;
}

bool conf_parse_listen(const char *text, struct endpoint *listen)
{
	struct endpoint found;

	if (strcmp(text, "none") == 0)
		found = (struct endpoint){0};
	else if (!endpoint_parse(text, &found) || !found.port || (text[0] == '[') != (found.addr.family == NETADDR_V6))
		return false;
	*listen = found;
	return true;
}

bool conf_is_list(const config_setting_t *at)
{
	int type = config_setting_type(at);

	return type == CONFIG_TYPE_ARRAY || type == CONFIG_TYPE_LIST;
}

bool conf_is_word(const config_setting_t *at, const char *word)
{
	const char *text = config_setting_get_string(at);

	return text && strcmp(text, word) == 0;
}

unsigned conf_list_length(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key)
{
	bool is_list = key->keys ? config_setting_is_list(at) : conf_is_list(at);
	long count = is_list ? config_setting_length(at) : 0;

	if (!is_list || count < key->min || (count > key->max && !key->items))
		conf_wrong(reader, at, CONFIG_TYPE_ARRAY, "%s", key->expected);
	else if (count > key->max)
		conf_error(reader, at, NULL, "has %ld %s; at most %ld", count, key->items, key->max);
	else
		return (unsigned)count;
	return 0;
}

void *conf_allocate(struct conf_reader *reader, const config_setting_t *at, unsigned count, size_t size)
{
	void *elements = calloc((size_t)count + 1, size);

	if (!elements)
		conf_error(reader, at, NULL, "out of memory");
	return elements;
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
	char expected[128] = "";

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
		conf_wrong(reader, at, CONFIG_TYPE_STRING, "is not %s", expected);
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

/* Reads the text of the default as if it stood in a file. */
static void set_default(struct conf_reader *reader, const struct conf_key *key, void *base)
{
	char text[256];
	config_t config;

	snprintf(text, sizeof(text), "%s = %s;", key->name, key->fallback);
	config_init(&config);
	if (config_read_string(&config, text) == CONFIG_TRUE)
		key->read(reader, config_lookup(&config, key->name), key, (char *)base + key->offset);
	config_destroy(&config);
}

static void set_defaults(struct conf_reader *reader, const struct conf_key *keys, void *base)
{
	for (; keys->name; keys++)
		if (keys->fallback)
			set_default(reader, keys, base);
}

void conf_set_defaults(const struct conf_key *keys, void *base)
{
	struct faults none = {0};

	set_defaults(&(struct conf_reader){.conf = base, .faults = &none}, keys, base);
	faults_clear(&none);
}

void conf_read_group(struct conf_reader *reader, const config_setting_t *group, const struct conf_key *keys, void *base)
{
	if (!config_setting_is_group(group)) {
		conf_wrong(reader, group, CONFIG_TYPE_GROUP, "is not a group { key = value; ... }");
		return;
	}
	set_defaults(reader, keys, base);
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

void conf_read_members(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	conf_read_group(reader, at, key->keys, field);
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
