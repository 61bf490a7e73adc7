/* SPDX-License-Identifier: BSD-3-Clause */
#include "announce/config/driver_conf.h"

#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_argv.h"

/* The texts of driver files that a VIP replaces. */
static const struct conf_argv_place places[] = {
	{"{prefix}", "203.0.113.10/32"},
	{"{address}", "203.0.113.10"},
	{"{length}", "32"},
	{"{family}", "ipv4 or ipv6"},
	{"{name}", "203_0_113_10"},
	{0},
};

enum { VALUE_MAX = NETPREFIX_TEXT_MAX + 4 };

/* "203_0_113_10" for a host, "203_0_113_0_24" for a prefix. */
static void write_name(const struct netprefix *prefix, char value[VALUE_MAX])
{
	char text[NETPREFIX_TEXT_MAX];

	snprintf(value, VALUE_MAX, "%s", netprefix_format(prefix, text));
	for (char *c = value; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
}

/* Writes the value of a place, which is known. */
static void write_value(const char *place, const struct netprefix *prefix, char value[VALUE_MAX])
{
	char address[NETADDR_TEXT_MAX];

	netaddr_format(&prefix->addr, address);
	if (strncmp(place, "{prefix}", 8) == 0)
		snprintf(value, VALUE_MAX, "%s/%u", address, prefix->length);
	else if (strncmp(place, "{address}", 9) == 0)
		snprintf(value, VALUE_MAX, "%s", address);
	else if (strncmp(place, "{length}", 8) == 0)
		snprintf(value, VALUE_MAX, "%u", prefix->length);
	else if (strncmp(place, "{family}", 8) == 0)
		snprintf(value, VALUE_MAX, "%s", prefix->addr.family == NETADDR_V4 ? "ipv4" : "ipv6");
	else
		write_name(prefix, value);
}

static const struct conf_argv_place *place_at(const char *text)
{
	for (const struct conf_argv_place *place = places; place->text; place++)
		if (strncmp(text, place->text, strlen(place->text)) == 0)
			return place;
	return NULL;
}

char *driver_conf_expand(const char *text, const struct netprefix *prefix, enum driver_quoting quoting)
{
	char *expanded = NULL, value[VALUE_MAX];
	size_t size;
	FILE *out = open_memstream(&expanded, &size);

	while (out && *text) {
		const struct conf_argv_place *place = *text == '{' ? place_at(text) : NULL;

		if (!place) {
			fputc(*text++, out);
			continue;
		}
		write_value(text, prefix, value);
		for (const char *c = value; *c; c++)
			fprintf(out, "%s%c", *c == '.' && quoting == DRIVER_REGEX ? "\\" : "", *c);
		text += strlen(place->text);
	}
	if (out && fclose(out) == 0)
		return expanded;
	free(expanded);
	return NULL;
}

/* One run of `batch` and `check` is for all VIPs. */
static const struct conf_argv_place no_places[] = {{0}};

static void read_announced(struct conf_reader *reader, const config_setting_t *at, const struct conf_key *key, void *field)
{
	static const struct netprefix example = {.addr = {.family = NETADDR_V4}, .length = 32};
	size_t errors = reader->faults->errors;
	char **text = field, *pattern, error[128];
	regex_t regex;
	int code;

	conf_argv_read_line(reader, at, key, field);
	if (reader->faults->errors != errors)
		return;
	pattern = driver_conf_expand(*text, &example, DRIVER_REGEX);
	code = pattern ? regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) : REG_ESPACE;
	free(pattern);
	if (!code) {
		regfree(&regex);
		return;
	}
	regerror(code, NULL, error, sizeof(error));
	conf_error(reader, at, NULL, "is not an extended regular expression: %s", error);
}

#define AT(member) .offset = offsetof(struct driver_conf, member)

const struct conf_key driver_conf_keys[] = {
	{"announce", conf_argv_read, AT(announce), .places = places},
	{"withdraw", conf_argv_read, AT(withdraw), .places = places},
	{"pipe", conf_read_string, AT(pipe)},
	{"announce_line", conf_argv_read_line, AT(announce_line), .places = places},
	{"withdraw_line", conf_argv_read_line, AT(withdraw_line), .places = places},
	{"batch", conf_argv_read, AT(batch), .places = no_places},
	{"check", conf_argv_read, AT(check), .places = no_places},
	{"announced", read_announced, AT(announced), .places = places},
	{"timeout_ms", conf_read_unsigned, AT(timeout_ms), "5000", 100, 10000},
	{0},
};

static void require(struct conf_reader *reader, const config_setting_t *root, const char *name, const char *what)
{
	if (!config_setting_get_member(root, name))
		conf_error(reader, root, name, "missing; write %s", what);
}

static void exclude(struct conf_reader *reader, const config_setting_t *root, const char *name, const char *other)
{
	const config_setting_t *at = config_setting_get_member(root, name);

	if (at)
		conf_error(reader, at, NULL, "is not possible together with %s; delete one of the two", other);
}

/* Other programs write to a pipe, too, and may do so between two lines. */
static void require_line(struct conf_reader *reader, const config_setting_t *root, const char *name, const char *what)
{
	const config_setting_t *at = config_setting_get_member(root, name);
	const char *text = at ? config_setting_get_string(at) : NULL;

	require(reader, root, name, what);
	if (text && strpbrk(text, "\r\n"))
		conf_error(reader, at, NULL, "has a line break; write one line, without its end");
}

static void check_kind(struct conf_reader *reader, const config_setting_t *root)
{
	if (config_setting_get_member(root, "pipe")) {
		require_line(reader, root, "announce_line", "the line that announces a VIP");
		require_line(reader, root, "withdraw_line", "the line that withdraws a VIP");
		exclude(reader, root, "batch", "pipe");
		exclude(reader, root, "announce", "pipe");
		exclude(reader, root, "withdraw", "pipe");
	} else {
		require(reader, root, "announce", "[\"/full/path\", \"ARGUMENT\"], the command that announces a VIP");
		require(reader, root, "withdraw", "[\"/full/path\", \"ARGUMENT\"], the command that withdraws a VIP");
	}
	if (config_setting_get_member(root, "batch")) {
		require(reader, root, "announce_line", "what batch reads to announce a VIP");
		require(reader, root, "withdraw_line", "what batch reads to withdraw a VIP");
		require(reader, root, "check", "the command that tells what batch has done");
	}
}

static void read_root(struct conf_reader *reader, const config_setting_t *root)
{
	const config_setting_t *check = config_setting_get_member(root, "check");
	const config_setting_t *announced = config_setting_get_member(root, "announced");

	conf_read_group(reader, root, driver_conf_keys, reader->conf);
	check_kind(reader, root);
	if (check && !announced)
		conf_error(reader, root, "announced",
			"missing; write what the output of check has for a VIP that is announced");
	if (announced && !check)
		conf_error(reader, root, "check", "missing, but announced describes its output; write the command");
}

int driver_conf_read(const char *path, struct driver_conf *conf, struct faults *faults)
{
	struct conf_reader reader = {.conf = conf, .faults = faults};

	*conf = (struct driver_conf){0};
	return conf_read_file(path, &reader, read_root);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_arguments(char *const *a, char *const *b)
{
	while (a && b && *a && same_text(*a, *b))
		a++, b++;
	return a == b || (a && b && same_text(*a, *b));
}

bool driver_conf_is_same(const struct driver_conf *a, const struct driver_conf *b)
{
	return same_arguments(a->announce, b->announce) && same_arguments(a->withdraw, b->withdraw) &&
	       same_arguments(a->batch, b->batch) && same_text(a->pipe, b->pipe) &&
	       same_text(a->announce_line, b->announce_line) && same_text(a->withdraw_line, b->withdraw_line);
}

void driver_conf_free(struct driver_conf *conf)
{
	conf_argv_free(conf->announce);
	conf_argv_free(conf->withdraw);
	conf_argv_free(conf->batch);
	conf_argv_free(conf->check);
	free(conf->announced);
	free(conf->pipe);
	free(conf->announce_line);
	free(conf->withdraw_line);
	*conf = (struct driver_conf){0};
}
