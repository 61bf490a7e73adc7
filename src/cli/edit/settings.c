/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs set and balance, and the check of all verbs' operands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/edit/bind_operand.h"
#include "cli/edit/edit.h"
#include "common/text.h"
#include "table/file/json/json_text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A member that can be set. http_headers is an object, which KEY=VALUE cannot express. */
struct key {
	const char *name;
	bool in_healthchecks; /* of the backend or table, else directly in it */
	bool is_text;
};

/* Backends and tables have the same HTTP settings. */
#define HTTP_KEYS                                                                                   \
	{"http_host", true, true}, {"http_method", true, true}, {"http_status", true, true},        \
		{"http_body", true, true}, {"http_version", true, true}, {"http_tls", true, false}, \
	{                                                                                           \
		"http_verify", true, false                                                          \
	}

static const struct key backend_keys[] = {
	{"state", false, true},
	{"healthy", false, false},
	{"weight", false, false},
	{"http", true, false},
	{"http_uri", true, true},
	{"grpc", true, false},
	{"grpc_service", true, true},
	{"tcp", true, false},
	{"gue", true, false},
	{"fou", true, false},
	{"command", true, true},
	HTTP_KEYS,
};

static const struct key table_keys[] = {
	{"name", false, true},
	{"hops", false, false},
	{"interval_ms", true, false},
	{"timeout_ms", true, false},
	{"trigger", true, false},
	{"trigger_healthy", true, false},
	{"trigger_unhealthy", true, false},
	HTTP_KEYS,
};

#define KEYS_TEXT_MAX 512

/* Writes "state, healthy, weight". Returns buf. */
static const char *keys_text(const struct key *keys, size_t count, char buf[KEYS_TEXT_MAX])
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(buf + used, KEYS_TEXT_MAX - used, "%s%s", i ? ", " : "", keys[i].name);
	return buf;
}

void edit_print_keys(void)
{
	char text[KEYS_TEXT_MAX];

	command_print(2, "KEYs of a backend: %s", keys_text(backend_keys, COUNT(backend_keys), text));
	command_print(2, "KEYs of a table: %s", keys_text(table_keys, COUNT(table_keys), text));
}

static const struct key *find_key(const struct key *keys, size_t count, const char *operand)
{
	size_t size = strcspn(operand, "=");

	for (size_t i = 0; i < count; i++)
		if (strlen(keys[i].name) == size && memcmp(keys[i].name, operand, size) == 0)
			return &keys[i];
	return NULL;
}

/* Returns the number of operands before the first KEY=VALUE: the backends. */
static int count_addresses(char **operands, int count)
{
	int addresses = 0;

	while (addresses < count && !strchr(operands[addresses], '='))
		addresses++;
	return addresses;
}

static int check_addresses(const char *verb, char **operands, int count)
{
	for (int i = 0; i < count; i++) {
		struct netaddr addr, earlier;

		if (!netaddr_parse(operands[i], &addr))
			return command_usage("edit: %s: '%s' is not an address", verb, operands[i]);
		if (addr.family == NETADDR_V6 && strcmp(verb, "add") == 0)
			return command_usage(
				"edit: add: '%s' is an IPv6 address, but hops in GUE are IPv4: give this proxy an IPv4 address",
				operands[i]);
		for (int j = 0; j < i; j++)
			if (netaddr_parse(operands[j], &earlier) && netaddr_compare(&addr, &earlier) == 0)
				return command_usage("edit: %s: '%s' is given twice", verb, operands[i]);
	}
	return COMMAND_OK;
}

static int check_binds(const char *verb, char **operands, int count)
{
	struct table_bind bind;

	for (int i = 0; i < count; i++) {
		if (!bind_operand_parse(operands[i], &bind))
			return command_usage("edit: %s: '%s' is not a bind: %s", verb, operands[i], BIND_OPERAND_FORM);
		for (int j = 0; j < i; j++)
			if (strcmp(operands[i], operands[j]) == 0)
				return command_usage("edit: %s: '%s' is given twice", verb, operands[i]);
	}
	return COMMAND_OK;
}

static int check_settings(char **operands, int count)
{
	int addresses = count_addresses(operands, count);
	const struct key *keys = addresses ? backend_keys : table_keys;
	size_t key_count = addresses ? COUNT(backend_keys) : COUNT(table_keys);
	char known[KEYS_TEXT_MAX];

	if (addresses == count)
		return command_usage("edit: set: KEY=VALUE is missing");
	for (int i = addresses; i < count; i++)
		if (!strchr(operands[i], '='))
			return command_usage("edit: set: '%s' is not KEY=VALUE; give addresses first", operands[i]);
	for (int i = addresses; i < count; i++) {
		if (!find_key(keys, key_count, operands[i]))
			return command_usage("edit: set: '%s': the keys of a %s are %s", operands[i],
				addresses ? "backend" : "table", keys_text(keys, key_count, known));
	}
	return check_addresses("set", operands, addresses);
}

static int check_add_options(const char *const *options)
{
	const char *state = options[EDIT_STATE], *from = options[EDIT_COPY_CHECKS];
	bool known = !state;
	struct netaddr addr;

	for (uint8_t i = 0; i <= TABLE_INACTIVE && !known; i++)
		known = strcmp(state, table_state_name(i)) == 0;
	if (!known)
		return command_usage("edit: --state: '%s' is none of active, filling, draining, inactive", state);
	if (from && !netaddr_parse(from, &addr))
		return command_usage("edit: --copy-checks-from: '%s' is not an address", from);
	return COMMAND_OK;
}

/* "1.02": a number from 1.005 to 2 with at most 3 decimals. */
static bool is_balance(const char *text)
{
	const char *at = text;
	uint32_t whole, decimals = 0;
	size_t digits;

	if (!text_take_number(&at, 1, 2, &whole))
		return false;
	digits = *at == '.' ? strspn(at + 1, "0123456789") : 0;
	if (*at == '.' && (digits < 1 || digits > 3))
		return false;
	for (size_t i = 1; i <= 3; i++)
		decimals = 10 * decimals + (i <= digits ? (uint32_t)(at[i] - '0') : 0);
	at += digits + (digits > 0);
	return !*at && whole * 1000 + decimals >= TABLE_MIN_BALANCE && whole * 1000 + decimals <= TABLE_MAX_BALANCE;
}

static int check_balance(char **operands, int count)
{
	if (count == 1 && (strcmp(operands[0], "off") == 0 || is_balance(operands[0])))
		return COMMAND_OK;
	return command_usage(
		"edit: balance: '%s' is not off or a number from 1.005 to 2 with at most 3 decimals, such as 1.02",
		operands[count - 1]);
}

static int check_forget(char **operands, int count, const char *const *options)
{
	const char *wait = options[EDIT_WAIT];
	uint32_t seconds;

	if (count)
		return command_usage("edit: forget: unexpected operand '%s'", operands[0]);
	if (wait && !text_duration(wait, EDIT_MAX_WAIT_S, &seconds))
		return command_usage("edit: --wait: '%s' is not a duration from 1s to 24h, such as 30s, 10m or 2h", wait);
	return COMMAND_OK;
}

int edit_check_operands(const char *verb, char **operands, int count, const char *const *options)
{
	int code = check_add_options(options);

	if (code != COMMAND_OK)
		return code;
	if (strcmp(verb, "balance") == 0)
		return check_balance(operands, count);
	if (strcmp(verb, "forget") == 0)
		return check_forget(operands, count, options);
	if (strcmp(verb, "set") == 0)
		return check_settings(operands, count);
	if (strstr(verb, "-bind"))
		return check_binds(verb, operands, count);
	return check_addresses(verb, operands, count);
}

/* Returns the value as JSON: a number, true or false as it is, and other text as a string, which the validator may
 * refuse. */
static char *json_value(const struct key *key, const char *value)
{
	json_t *string;
	uint32_t number;
	char *text;

	if (!key->is_text && (text_number(value, 0, UINT32_MAX, &number) || strcmp(value, "true") == 0 ||
				     strcmp(value, "false") == 0))
		return strdup(value);
	string = json_text(value);
	text = json_dumps(string, JSON_ENCODE_ANY);
	json_decref(string);
	return text;
}

/* Sets a member of `healthchecks`, which is created if it is missing or null. */
static bool set_check(struct edit *edit, const char *path, const struct key *key, const char *value)
{
	char checks[96], *old, *object;
	bool done, there;

	snprintf(checks, sizeof(checks), "%s.healthchecks", path);
	old = json_edit_get(&edit->change.after, checks);
	there = old && strcmp(old, "null") != 0;
	free(old);
	if (there)
		return json_edit_set(&edit->change.after, checks, key->name, value);
	if (asprintf(&object, "{ \"%s\": %s }", key->name, value) < 0)
		return false;
	done = json_edit_set(&edit->change.after, path, "healthchecks", object);
	free(object);
	return done;
}

/* Applies KEY=VALUE to the object at the path. */
static bool apply(struct edit *edit, const char *path, const struct key *key, const char *value)
{
	char member[160], *text, *old;
	bool done;

	if (strcmp(value, "none") == 0) {
		snprintf(member, sizeof(member), "%s%s.%s", path, key->in_healthchecks ? ".healthchecks" : "", key->name);
		old = json_edit_get(&edit->change.after, member);
		done = !old || json_edit_remove(&edit->change.after, member);
		free(old);
		return done;
	}
	text = json_value(key, value);
	done = text && (key->in_healthchecks ? set_check(edit, path, key, text)
					     : json_edit_set(&edit->change.after, path, key->name, text));
	free(text);
	return done;
}

static bool apply_all(struct edit *edit, const char *path, const struct key *keys, size_t count)
{
	for (int i = count_addresses(edit->operands, edit->count); i < edit->count; i++)
		if (!apply(edit, path, find_key(keys, count, edit->operands[i]), strchr(edit->operands[i], '=') + 1))
			return false;
	return true;
}

static bool apply_to_backend(struct edit *edit, const char *path)
{
	return apply_all(edit, path, backend_keys, COUNT(backend_keys));
}

bool edit_set(struct edit *edit)
{
	int addresses = count_addresses(edit->operands, edit->count);
	char path[32];

	if (addresses)
		return edit_each_backend(edit, addresses, apply_to_backend);
	if (!edit_needs_one_table(edit))
		return false;
	for (uint32_t t = 0; t < edit->change.old.set.count; t++) {
		snprintf(path, sizeof(path), "tables[%u]", t);
		if (edit->selected[t] && !apply_all(edit, path, table_keys, COUNT(table_keys)))
			return edit_failed(edit);
	}
	return true;
}

bool edit_balance(struct edit *edit)
{
	bool off = strcmp(edit->operands[0], "off") == 0, done = edit_needs_one_table(edit);
	struct json_edit *after = &edit->change.after;
	char path[32], member[48], *old;

	for (uint32_t t = 0; t < edit->change.old.set.count && done; t++) {
		if (!edit->selected[t])
			continue;
		snprintf(path, sizeof(path), "tables[%u]", t);
		snprintf(member, sizeof(member), "%s.balance", path);
		old = json_edit_get(after, member);
		if (off)
			done = (!old || json_edit_remove(after, member)) || edit_failed(edit);
		else
			done = json_edit_set(after, path, "balance", edit->operands[0]) || edit_failed(edit);
		free(old);
	}
	return done;
}
